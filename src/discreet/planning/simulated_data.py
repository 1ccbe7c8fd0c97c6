"""Data sets that might be: parameters and the statistics of n records, enumerated or simulated.

Numpy's generator is right here: whatever is drawn is drawn from public knowledge and is never released.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlog1py, xlogy

from discreet.catalogue import ROWS
from discreet.families.family import Family, Floats, Integers
from discreet.families.laws.dirichlet import DirichletLaw
from discreet.families.laws.linear_regression import RegressionLaw
from discreet.families.records import ScalarFamily
from discreet.planning.imagined import Rng, parameters, totals
from discreet.planning.posterior_arrays import coordinates
from discreet.planning.within_bounds import (
    MOST_BEYOND,
    beyond,
    clipping,
    parameters_within,
    unclipped_totals,
)
from discreet.posteriors.scalar.record_law import Trial, record_law

MOST_TERMS = 4096  # data sets that are summed over exactly
NEGLIGIBLE = 1e-14  # probability of a data set left out of an exact sum
DATA, NOISE = 1, 2  # independent streams of one seed
TOWARDS_LIMIT = 2**40  # weight of a public sample under which the prior no longer counts


@final
@dataclass(frozen=True, eq=False)
class SimulatedCases:
    """Nodes (θ, S) with weights that add up to 1: a law of parameters and of n records given each."""

    model: Family
    n: int
    theta: Floats  # (nodes, coordinates)
    statistics: Floats  # (nodes, len(S)), whole numbers
    weights: Floats
    assumed: str
    seed: int
    exact: bool = False  # every data set is counted with its probability; otherwise nodes are simulated
    asked: int | None = None  # how many simulations were asked for
    clips: bool = False  # whether records beyond the bounds are clipped, and read as such

    def rng(self) -> Rng:
        """Return the generator that every mechanism's noise starts from: common random numbers."""
        return np.random.default_rng((self.seed, NOISE))


def cases(
    model: Family,
    n: int,
    *,
    truth: ArrayLike | None = None,
    public_sample: ArrayLike | None = None,
    simulations: int | None = None,
    seed: int = 0,
    clips: bool = False,
) -> SimulatedCases:
    """θ from the prior (or `truth`) and records from the likelihood, or records like a public sample.

    Unless `clips`, bounds are facts about the data: see `within_bounds`.
    """
    if truth is not None and public_sample is not None:
        raise ValueError("give truth or public_sample, not both: each says what data to expect")
    if not (n == n // 1 and n >= 1):
        raise ValueError(f"n must be a positive number of records, got {n!r}")
    size = _size(model, simulations)
    asked = None if simulations is None else size
    if public_sample is not None:
        return replace(_resampled(model, int(n), public_sample, size, seed), asked=asked, clips=clips)
    if truth is not None:
        return replace(_at(model, int(n), truth, size, seed, clips=clips), asked=asked)
    rng = np.random.default_rng(seed)
    within = None if clips or not clipping(model) else parameters_within(model, size, rng)
    if within is not None:
        assumed = "the prior predictive, given that records lie within the bounds"
        return replace(_simulated(model, int(n), within, assumed, seed), asked=asked)
    theta = parameters(model, size, rng)
    assumed = "the prior predictive" + (", clipped to the bounds" if clipping(model) else "")
    found = _simulated(model, int(n), theta, assumed, seed, clipped=True)
    return replace(found, asked=asked, clips=clips)


def thinned(nodes: SimulatedCases, count: int) -> SimulatedCases:
    """Return some of the data sets, each as likely as it is; of one parameter evenly over its range."""
    if len(nodes.weights) <= count and not nodes.exact:
        return nodes
    even = (np.arange(count) + 0.5) / count
    order = np.lexsort((nodes.statistics[:, 0], nodes.theta[:, 0]))
    if nodes.theta.shape[1] > 1:
        order = np.arange(len(order))
    chosen = order[np.searchsorted(np.cumsum(nodes.weights[order]), even * nodes.weights.sum())]
    return replace(
        nodes,
        theta=nodes.theta[chosen],
        statistics=nodes.statistics[chosen],
        weights=np.full(count, 1 / count),
        exact=False,
    )


def _size(model: Family, simulations: int | None) -> int:
    if simulations is None:
        row = ROWS.get(model.name)
        chosen: int = (few if row is None else row.load("plan_size"))(model)
        return chosen
    if not (simulations == simulations // 1 and simulations >= 16):
        raise ValueError(f"simulations must be a whole number of at least 16, got {simulations!r}")
    return int(simulations)


def few(_model: Family) -> int:
    """Return how many data sets are imagined where a family's exact objects are asked one by one."""
    return 200


def many(_model: Family) -> int:
    return 5000


def by_categories(model: DirichletLaw) -> int:
    return max(64, min(1000, 2**14 // model.dimension))


def by_weights(model: RegressionLaw) -> int:
    """Count on a noise-aware reading of each, a tenth of a second at nine columns."""
    return int(np.clip(64 * (9 / (model.dimension + 1)) ** 2, 16, 64))


def _simulated(
    model: Family, n: int, theta: Floats, assumed: str, seed: int, *, clipped: bool = False
) -> SimulatedCases:
    size, rng = len(theta), np.random.default_rng((seed, DATA))
    free = clipping(model) and not clipped
    statistics = (unclipped_totals if free else totals)(model, theta, n, rng).astype(np.float64)
    return SimulatedCases(
        model, n, coordinates(model, theta), statistics, np.full(size, 1 / size), assumed, seed
    )


def _at(model: Family, n: int, truth: ArrayLike, size: int, seed: int, *, clips: bool) -> SimulatedCases:
    try:
        point = np.asarray(truth, dtype=np.float64)
        fits = point.shape == np.shape(model.mean()) and bool(np.isfinite(model.log_density(point)))
    except (TypeError, ValueError, np.linalg.LinAlgError):
        fits = False
    if not fits:
        raise ValueError(
            f"truth must be a parameter of {type(model).__name__}, inside its range; got {truth!r}"
        )
    assumed = f"θ = {np.array2string(point, precision=4, separator=', ')}"
    law = enumerated(model, point, n)
    if law is None:
        theta = np.broadcast_to(point, (size, *point.shape))
        free = not clips and clipping(model) and beyond(model, theta[:1])[0] <= MOST_BEYOND
        return replace(_simulated(model, n, theta, assumed, seed, clipped=not free), clips=clips)
    support, mass = law
    theta = coordinates(model, np.broadcast_to(point, (len(support), *point.shape)))
    return SimulatedCases(
        model, n, theta, support[:, None].astype(np.float64), mass, assumed, seed, exact=True
    )


def _resampled(model: Family, n: int, sample: ArrayLike, size: int, seed: int) -> SimulatedCases:
    """Bootstrap n records; θ is where the posterior goes as the sample is repeated for ever."""
    rows = model.each(sample)
    if not len(rows):
        raise ValueError("public_sample has no records to draw from; give some, or leave it out")
    whole = model.statistic(sample)
    limit = np.asarray(model.update(whole, len(rows), weight=TOWARDS_LIMIT).mean(), dtype=np.float64)
    rng = np.random.default_rng((seed, DATA))
    counts = rng.multinomial(n, np.full(len(rows), 1 / len(rows)), size=size)
    theta = coordinates(model, np.broadcast_to(limit, (size, *limit.shape)))
    assumed = f"a public sample of {len(rows)} records, resampled"
    statistics = (counts @ rows).astype(np.float64)
    return SimulatedCases(model, n, theta, statistics, np.full(size, 1 / size), assumed, seed)


# ── every statistic of n records given θ ─────────────────────────────────────────────────────────────────
@singledispatch
def enumerated(model: Family, theta: Floats, n: int) -> tuple[Integers, Floats] | None:  # noqa: ARG001
    """Every likely statistic with its probability, where the law is simple and short; else None."""
    return None


@enumerated.register(ScalarFamily)
def _enumerated_scalar_family(model: ScalarFamily, theta: Floats, n: int) -> tuple[Integers, Floats] | None:
    law = record_law(model)
    return _binomial(n * law.copies, float(theta)) if isinstance(law, Trial) and law.unit == 1 else None


def _binomial(n: int, p: float) -> tuple[Integers, Floats] | None:
    reach = 9 * (n * p * (1 - p)) ** 0.5 + 40
    k = np.arange(max(0, int(n * p - reach)), min(n, int(n * p + reach) + 1) + 1)
    if k.size > MOST_TERMS:
        return None
    log = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p)
    mass = np.exp(log)
    kept = mass > NEGLIGIBLE
    return k[kept], mass[kept] / mass[kept].sum()
