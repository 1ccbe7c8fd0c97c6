"""Cases of GroupedStatistics: a record that leaves one group and enters another, and one that is added."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, Cases
from discreet.audit.cases.noise import discrete_gaussian_pmf, discrete_laplace_pmf, moved
from discreet.audit.cases.statistics import exchanged
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.statistics.grouped_statistics import GroupedStatistics
from discreet.models.grouped import Grouped
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.sampling.source import Source

case = Cases()

WARDS = Grouped(BetaBernoulli(1, 1), ("ward",), ("smoker",), sizes=(2,))
# Rows (successes, n) of two groups: one success leaves the first group and enters the second.
MOVED = ([[1, 2], [0, 1]], [[0, 1], [1, 2]])
ADDED = ([[1, 2], [0, 1]], [[0, 1], [0, 1]])


def noisy(mechanism: GroupedStatistics, value: list[list[int]], runs: int, source: Source) -> NDArray[Any]:
    """Many runs at once, NOT a release: the same noise mechanism on the same vector, one row a run."""
    vector = mechanism.model.vector(value).reshape(-1)
    return np.stack([mechanism.noiser.releases(int(v), runs, source) for v in vector], axis=1)


@case("grouped_statistics/discrete_laplace")
@case("grouped_statistics/substitute")
def moved_discrete_laplace() -> Case:
    """Two blocks move, each by one: L1 distance 2."""
    mechanism = GroupedStatistics(WARDS, n=3, noise="discrete_laplace", scale=2)
    return Case.of(
        mechanism,
        MOVED,
        lambda s: (s[:, 0] >= 1) & (s[:, 2] <= 0),
        exchanged(discrete_laplace_pmf(2.0)),
        run=noisy,
    )


@case("grouped_statistics/gaussian")
def moved_gaussian() -> Case:
    """√2 apart, σ = 3/2."""
    mechanism = GroupedStatistics(WARDS, n=3, noise="gaussian", scale=Fraction(3, 2))
    return Case.of(
        mechanism,
        MOVED,
        lambda s: s[:, 0] - s[:, 2] > 2.25,
        profiles.normal(math.sqrt(2) / 1.5),
        run=noisy,
    )


@case("grouped_statistics/discrete_gaussian")
def moved_discrete_gaussian() -> Case:
    """√2 apart, σ² = 9/4."""
    mechanism = GroupedStatistics(WARDS, n=3, noise="discrete_gaussian", scale=Fraction(3, 2))
    return Case.of(
        mechanism,
        MOVED,
        lambda s: s[:, 0] - s[:, 2] > 2.25,
        exchanged(discrete_gaussian_pmf(2.25)),
        run=noisy,
    )


@case("grouped_statistics/laplace")
def added_laplace() -> Case:
    """One record more: one block moves by one, however many groups there are."""
    mechanism = GroupedStatistics(WARDS, noise="laplace", scale=1, relation=ADD_REMOVE)
    return Case.of(mechanism, ADDED, lambda s: s[:, 0] >= 1, profiles.shifted_laplace(1.0), run=noisy)


@case("grouped_statistics/add_remove")
def added_discrete_laplace() -> Case:
    """Add the record with integer noise."""
    mechanism = GroupedStatistics(WARDS, scale=1, relation=ADD_REMOVE)
    pmf = discrete_laplace_pmf(1.0)
    return Case.of(mechanism, ADDED, lambda s: s[:, 0] >= 1, profiles.finite(moved(pmf, 1), pmf), run=noisy)
