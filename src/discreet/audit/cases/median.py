"""Cases of the medians and of sample-and-aggregate; sensitivities by brute force over tiny data sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, Cases, Profile
from discreet.audit.exact_profiles import Law
from discreet.mechanisms.noise.clipped_mean import ClippedMean
from discreet.mechanisms.noise.laplace import laplace_cells
from discreet.mechanisms.sensitivity.propose_test_release import ProposeTestRelease
from discreet.mechanisms.sensitivity.sample_and_aggregate import SampleAndAggregate
from discreet.mechanisms.sensitivity.smooth_sensitivity import SmoothSensitivityMedian
from discreet.privacy.kinds import PureDP
from discreet.sampling import exact
from discreet.sampling.source import Source

case = Cases()

GRID = Fraction(1, 1024)
Data = tuple[float, ...]


def lower_median(data: Sequence[float]) -> float:
    return sorted(data)[(len(data) - 1) // 2]


def within(data: Data, changes: int) -> Iterator[Data]:
    """Every data set that differs in at most so many records, values among the bounds and those present."""
    values = {0.0, 1.0, *data}
    for places in combinations(range(len(data)), changes):
        for new in product(values, repeat=changes):
            moved = list(data)
            for place, value in zip(places, new, strict=True):
                moved[place] = value
            yield tuple(moved)


def local_sensitivity(data: Data) -> float:
    return max(abs(lower_median(data) - lower_median(other)) for other in within(data, 1))


def reach(data: Data, changes: int) -> float:
    """A_k: the largest local sensitivity within k changes, by definition."""
    return max(local_sensitivity(other) for other in within(data, changes))


def smooth_sensitivity(data: Data, beta: float) -> float:
    """max_k e^{−βk} A_k"""
    return max(math.exp(-beta * k) * reach(data, k) for k in range(len(data) + 1))


def laplace_event(left: Law, right: Law, level: float) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
    """{y : ln p(y)/q(y) > level}; false where y is NaN, a refusal"""
    (a, b), (c, d) = left, right
    return lambda y: math.log(d / b) - np.abs(y - a) / b + np.abs(y - c) / d > level


def before_clamping(
    mechanism: SmoothSensitivityMedian, data: Data, runs: int, source: Source
) -> NDArray[Any]:
    """Many draws at once, NOT a release: they still lie beyond the bounds, where the two laws differ most."""
    center, scale = mechanism._law(data)  # noqa: SLF001 - the part under audit
    cells = np.array(laplace_cells(source, [center] * runs, scale), dtype=np.float64)
    return np.asarray(float(mechanism.lower) + float(mechanism.interval.step) * cells)


@case("smooth_sensitivity_median")
def smooth_sensitivity_median() -> Case:
    """(0, 1, 1) against (0, ½, 1): centers ½ apart, scales e^{−β} apart."""
    mechanism = SmoothSensitivityMedian(0, 1, 1, Fraction(1, 10), grid=GRID)
    left, right = (0.0, 1.0, 1.0), (0.0, 0.5, 1.0)
    laws = [(lower_median(x), smooth_sensitivity(x, mechanism.beta) / 0.5) for x in (left, right)]
    event = laplace_event(laws[0], laws[1], 1.0)
    return Case.of(mechanism, (left, right), event, profiles.laplace(laws[0], laws[1]), run=before_clamping)


@case("propose_test_release")
def propose_test_release() -> Case:
    """(0, 0, 1) against (0, 1, 1), both at distance 0 from breaking the proposal: δ alone protects."""
    mechanism = ProposeTestRelease(
        0, 1, Fraction(1, 4), Fraction(1, 2), Fraction(1, 2), Fraction(1, 10), grid=GRID
    )
    left, right = (0.0, 0.0, 1.0), (0.0, 1.0, 1.0)
    laws = [(lower_median(x), 0.25 / 0.5) for x in (left, right)]
    passed = [passing(x, mechanism.threshold) for x in (left, right)]
    return Case.of(
        mechanism,
        (left, right),
        laplace_event(laws[0], laws[1], 1.0 + math.log(passed[1] / passed[0])),
        tested(laws, passed),
    )


def passing(data: Data, threshold: int, *, proposal: float = 0.25, rate: float = 0.5) -> float:
    """P(D + Z > τ), D the least number of changes after which the local sensitivity exceeds the proposal."""
    distance = next((k for k in range(len(data) + 1) if reach(data, k) > proposal), len(data) + 1)
    z = np.arange(-400, 401)
    weights = np.exp(-rate * np.abs(z))
    return float(weights[z + distance > threshold].sum() / weights.sum())


def tested(laws: Sequence[Law], passed: Sequence[float]) -> Profile:
    """δ of {refused} and of the Laplace laws scaled by the chance to pass."""
    tail, shift = profiles.laplace(laws[0], laws[1]), math.log(passed[1] / passed[0])

    def delta(epsilon: float) -> float:
        refused = max(0.0, (1 - passed[0]) - math.exp(epsilon) * (1 - passed[1]))
        return refused + passed[0] * tail(epsilon + shift)

    return delta


def clipped_quarters() -> ClippedMean:
    """ε = 1 for two records in [0, 1] on a grid of quarters: one of them moves the sum by up to 4 cells."""
    return ClippedMean.calibrate(target=PureDP(1), lower=0, upper=1, records=2, grid=Fraction(1, 4))


def four_cells() -> Profile:
    """Discrete Laplace of scale 4, moved by 4"""
    pmf = np.exp(-np.abs(np.arange(-400, 401)) / 4)
    pmf /= pmf.sum()
    return profiles.finite(np.concatenate([np.zeros(4), pmf]), np.concatenate([pmf, np.zeros(4)]))


@case("clipped_mean")
def clipped_mean() -> Case:
    """(1, ½) against (0, ½)"""
    mechanism = clipped_quarters()
    return Case.of(mechanism, ([1.0, 0.5], [0.0, 0.5]), lambda y: y >= 0.75, four_cells())


def sample_and_aggregate_runs(
    mechanism: SampleAndAggregate, data: Sequence[float], runs: int, source: Source
) -> NDArray[Any]:
    """Many runs at once, NOT a release: the same shuffle and answers, equal answers aggregated together."""
    rows = np.asarray(data)[shuffles(source, len(data), runs)]
    blocks = np.array_split(np.arange(len(data)), mechanism.blocks)
    seen, where = np.unique(rows, axis=0, return_inverse=True)
    outputs = np.empty(runs)
    for i, row in enumerate(seen):
        answers = [mechanism._answer(row[block]) for block in blocks]  # noqa: SLF001 - the part under audit
        at = np.flatnonzero(where.ravel() == i)
        aggregator: Any = mechanism.aggregator
        outputs[at] = aggregator.releases(np.array(answers), at.size, source)
    return outputs


def shuffles(source: Source, n: int, runs: int) -> NDArray[np.int64]:
    """Fisher–Yates, every run at once."""
    order = np.tile(np.arange(n), (runs, 1))
    every = np.arange(runs)
    for last in range(n - 1, 0, -1):
        other = exact.uniform_integers(source, last + 1, runs)
        order[every, last], order[every, other] = order[every, other], order[every, last]
    return order


def block_maximum(block: NDArray[Any]) -> float:
    return float(np.max(block))


@case("sample_and_aggregate")
def sample_and_aggregate() -> Case:
    """Average the maxima of two blocks of two: (1, 0, 0, 0) against (0, 0, 0, 0) moves one of them by 1."""
    mechanism = SampleAndAggregate(block_maximum, 2, clipped_quarters())
    return Case.of(
        mechanism,
        ((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
        lambda y: y >= 0.5,
        four_cells(),
        run=sample_and_aggregate_runs,
    )
