"""A query q(θ), read once, and answered from any posterior of a release that was paid for. Post-processing.

Algorithm 1 of [D14] answers q(θ_k), θ_k a fresh draw: here that is q of a release of posterior draws.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import Floats, credible
from discreet.posteriors.posterior import LEVEL, Posterior
from discreet.posteriors.read import DrawnPosterior
from discreet.query.expression import Parameter, Predicate, QueryPart
from discreet.query.grammar import read
from discreet.query.text import QueryError, in_one_line
from discreet.query.vocabulary import Vocabulary
from discreet.sampling.source import SeededSource, Source
from discreet.shown import visible

DRAWS = 4000
MOST_NUMBERS = 2**24  # draws × parameters of one answer: seconds at most
AT_ONCE = 2**22
FEWEST = 100


@final
@dataclass(frozen=True)
class QueryAnswer:
    """What a posterior says of q(θ): of a number its mean, spread and interval; of a claim its probability.

    Of released draws it has q at each draw in `each`, their mean, and nothing that was not released.
    """

    query: str
    kind: str  # number, or probability
    mean: float
    sd: float | None
    lower: float | None
    upper: float | None
    level: float | None
    draws: int  # from which it was computed; 0 where in closed form
    error: float  # standard deviation of `mean` over other draws: what the computer adds
    undefined: float  # share of draws at which q is not a finite number; the rest is about the others
    each: tuple[float, ...] = ()  # of released draws: q(θ_k)

    @property
    def words(self) -> str:
        """Say the answer in one line."""
        asked = visible(self.query)
        many = f" ({self.undefined:.2%} of θ give no finite number)" if self.undefined else ""
        if self.kind == "probability":
            return f"P({asked}) = {self.mean:.4g}{many}"
        if self.lower is None or self.level is None:
            return f"{asked} = {', '.join(f'{x:.6g}' for x in self.each)}, at each released draw{many}"
        return f"{asked} = {self.mean:.6g}, {self.level:.0%} in [{self.lower:.6g}, {self.upper:.6g}]{many}"


@final
@dataclass(frozen=True)
class Query:
    """q: Θ → ℝ or {true, false}, with the parameters and columns that it names. Made by `parse`."""

    text: str
    vocabulary: Vocabulary = field(repr=False)
    names: tuple[str, ...]
    part: QueryPart = field(repr=False, compare=False)

    @property
    def kind(self) -> str:
        """Say what an answer is: a number, or the probability of a claim."""
        return "probability" if isinstance(self.part, Predicate) else "number"

    def at(self, theta: ArrayLike) -> NDArray[Any]:
        """q(θ) for θ of shape (draws, parameters): (draws); NaN where it is not defined."""
        rows = np.atleast_2d(np.asarray(theta, dtype=np.float64))
        if rows.shape[1] != len(self.vocabulary.parameters):
            raise ValueError(
                f"θ has {len(self.vocabulary.parameters)} parameters in the query, got {rows.shape[1]}"
            )
        with np.errstate(all="ignore"):  # what is not finite is counted, and said
            return self.part.at(rows)

    def of(
        self, posterior: Posterior, *, level: float = LEVEL, draws: int = DRAWS, source: Source | None = None
    ) -> QueryAnswer:
        """Answer from a posterior, free. Asked twice the answer is the same: the seed is the query's text."""
        if posterior.names != self.vocabulary.parameters:
            raise QueryError(
                "the query was read for other parameters than this posterior has: parse it with "
                "Vocabulary.of(posterior)"
            )
        if isinstance(posterior, DrawnPosterior):
            return self._of_released(self.at(posterior.flat_sample(posterior.size)))
        bits = source or SeededSource(int.from_bytes(hashlib.sha256(self.text.encode()).digest()[:8], "big"))
        exact = self._closed(posterior, level)
        return exact or self._summary(self.at_draws(posterior, draws, bits), level)

    def at_draws(self, posterior: Posterior, draws: int, source: Source) -> NDArray[Any]:
        """Evaluate at fresh draws of a posterior, a part of them in memory at a time."""
        width = len(self.vocabulary.parameters)
        size = max(min(draws, MOST_NUMBERS // width), min(draws, FEWEST))
        step = max(1, AT_ONCE // width)
        parts = [min(step, size - i) for i in range(0, size, step)]
        return np.concatenate([self.at(posterior.flat_sample(part, source)) for part in parts])

    def _closed(self, posterior: Posterior, level: float) -> QueryAnswer | None:
        """Return what the posterior itself says, where a parameter alone is asked for."""
        if not isinstance(self.part, Parameter):
            return None
        place = self.part.place
        lower, upper = map(float, posterior.flat_interval(level)[place])
        mean, sd = float(posterior.flat_mean()[place]), float(np.sqrt(posterior.flat_variance()[place]))
        d = posterior.diagnostics
        error = sd / np.sqrt(d.ess) if d.ess < np.inf else 0.0
        return QueryAnswer(
            self.text, "number", mean, sd, lower, upper, level, d.chains * d.draws, float(error), 0.0
        )

    def _summary(self, values: NDArray[Any], level: float) -> QueryAnswer:
        known = self._defined(values)
        mean, sd, size = float(known.mean()), float(known.std()), len(values)
        undefined = 1 - len(known) / size
        error = sd / len(known) ** 0.5
        if self.kind == "probability":
            return QueryAnswer(self.text, self.kind, mean, None, None, None, None, size, error, undefined)
        lower, upper = map(float, np.quantile(known, credible(level)))
        return QueryAnswer(self.text, self.kind, mean, sd, lower, upper, level, size, error, undefined)

    def _of_released(self, values: NDArray[Any]) -> QueryAnswer:
        known, size = self._defined(values), len(values)
        error = float(known.std() / size**0.5)
        each = tuple(float(x) for x in values)
        undefined = 1 - len(known) / size
        return QueryAnswer(
            self.text, self.kind, float(known.mean()), None, None, None, None, size, error, undefined, each
        )

    def _defined(self, values: NDArray[Any]) -> Floats:
        numbers = values.astype(np.float64)
        known: Floats = numbers[np.isfinite(numbers)]
        if not known.size:
            raise QueryError(
                f"{self.text} is a finite number for no θ that was drawn: it divides by 0, or the like"
            )
        return known


def parse(text: str, names: Vocabulary | Iterable[str]) -> Query:
    """Read a query on θ, whose parameters are called `names`; whatever the grammar lacks is refused."""
    vocabulary = names if isinstance(names, Vocabulary) else Vocabulary(tuple(names))
    part, named = read(text, vocabulary)
    return Query(in_one_line(text), vocabulary, named, part)
