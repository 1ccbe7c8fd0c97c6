"""The three ways to answer that [D14, §4.2] names, on what was released: the marginal, the MAP, a draw.

On the private posterior only the draw has a promise: the marginal and the maximum are functions of the data
without randomness, so that two neighbouring tables are told apart by any change in them. On a posterior of a
release that was paid for all of them are post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import final

import numpy as np

from discreet.families.family import Floats
from discreet.posteriors.network.posterior import NetworkDirichlet, per_row
from discreet.posteriors.posterior import FamilyPosterior, Posterior
from discreet.posteriors.read import DrawnPosterior
from discreet.privacy.guarantee import NotProved
from discreet.query.query import Query, QueryAnswer
from discreet.query.text import QueryError
from discreet.sampling.source import SeededSource, Source

FINE, WIDEST, TURNS = 400, 1 - 1e-9, 4
PRIVATE = (
    "only draws of this posterior were released: its {what} is a function of the private table without any "
    "randomness, and would tell neighbouring tables apart; noisy statistics have a posterior that is public"
)


@final
@dataclass(frozen=True)
class Ways:
    """What each way says of one query; a number, or why there is none."""

    query: str
    marginal: float | str
    maximum: float | str
    draw: float | str


def compare(query: Query, posterior: Posterior, source: Source | None = None) -> Ways:
    """Answer by E q(θ), by q at the maximum of the posterior, and by q at one draw; free, of a release."""
    if isinstance(posterior, DrawnPosterior):
        first = query.of(posterior).each[0]
        return Ways(query.text, PRIVATE.format(what="mean"), PRIVATE.format(what="maximum"), first)
    found: QueryAnswer = query.of(posterior)
    one = query.at(posterior.flat_sample(1, source or SeededSource(1)))[0]
    return Ways(query.text, found.mean, _at_maximum(query, posterior), float(one))


def _at_maximum(query: Query, posterior: Posterior) -> float | str:
    try:
        return float(query.at(maximum(posterior))[0])
    except QueryError as refused:
        return str(refused)


@singledispatch
def maximum(posterior: Posterior) -> Floats:
    """θ at which the posterior's density is largest; refused where no density is known."""
    raise QueryError(
        f"no density of {type(posterior).__name__} is known, so that its maximum is not; ask for the marginal"
    )


@maximum.register
def _of_network(posterior: NetworkDirichlet) -> Floats:
    """Return (α − 1)/Σ(α − 1) in each row; a row with an entry below 1 has its maximum at the edge."""
    less = posterior.concentrations - 1
    if (less < 0).any() or (per_row(posterior.model, less) == 0).any():
        raise QueryError("some row of the tables has no single largest density: ask for the marginal")
    return np.asarray(less / per_row(posterior.model, less))


@maximum.register
def _of_family(posterior: FamilyPosterior) -> Floats:
    """Search one parameter between far quantiles, on finer and finer grids."""
    if len(posterior.names) != 1:
        raise QueryError("the maximum is searched for one parameter; ask for the marginal")
    low, high = posterior.flat_interval(WIDEST)[0]
    for _ in range(TURNS):
        grid = np.linspace(low, high, FINE)
        try:
            best = int(np.argmax(posterior.log_density(grid)))
        except NotProved as refused:
            raise QueryError(str(refused)) from None
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, FINE - 1)]
    return np.array([(low + high) / 2])
