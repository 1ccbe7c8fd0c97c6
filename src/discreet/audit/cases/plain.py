"""Cases of NoisyNumbers: a histogram of which a record changes its cell, and a count with one record more."""

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
from discreet.mechanisms.statistics.noisy_numbers import NoisyNumbers
from discreet.models.plain import Histogram, RecordCount
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.sampling.source import Source

case = Cases()

WARDS = Histogram("ward", sizes=(3,))
REPLACED = (([4, 0, 0], 4), ([3, 1, 0], 4))
ADDED = (([1], 1), ([0], 0))


def noisy(mechanism: NoisyNumbers, counted: tuple[list[int], int], runs: int, source: Source) -> NDArray[Any]:
    """Many runs at once, NOT a release: the same noise mechanism on the same vector, one row a run."""
    values, n = counted
    vector = mechanism.model.vector(values, n, mechanism.relation)
    return np.stack([mechanism.noiser.releases(int(v), runs, source) for v in vector], axis=1)


@case("noisy_numbers/discrete_laplace")
def discrete_laplace() -> Case:
    """(4, 0, 0) against (3, 1, 0): L1 distance 2."""
    mechanism = NoisyNumbers(WARDS, n=4, noise="discrete_laplace", scale=2)
    pmf = discrete_laplace_pmf(2.0)
    return Case.of(mechanism, REPLACED, lambda s: (s[:, 0] >= 4) & (s[:, 1] <= 0), exchanged(pmf), run=noisy)


@case("noisy_numbers/gaussian")
def gaussian() -> Case:
    """(4, 0, 0) against (3, 1, 0): √2 apart, σ = 3/2."""
    mechanism = NoisyNumbers(WARDS, n=4, noise="gaussian", scale=Fraction(3, 2))
    profile = profiles.normal(math.sqrt(2) / 1.5)
    return Case.of(mechanism, REPLACED, lambda s: s[:, 0] - s[:, 1] > 5.25, profile, run=noisy)


@case("noisy_numbers/discrete_gaussian")
def discrete_gaussian() -> Case:
    """√2 apart, σ² = 9/4."""
    mechanism = NoisyNumbers(WARDS, n=4, noise="discrete_gaussian", scale=Fraction(3, 2))
    profile = exchanged(discrete_gaussian_pmf(2.25))
    return Case.of(mechanism, REPLACED, lambda s: s[:, 0] - s[:, 1] > 5.25, profile, run=noisy)


@case("noisy_numbers/laplace")
def laplace() -> Case:
    """One record more, counted with Laplace noise of scale 1 [N19 Example 5.1]."""
    mechanism = NoisyNumbers(RecordCount(), noise="laplace", scale=1, relation=ADD_REMOVE)
    return Case.of(mechanism, ADDED, lambda s: s[:, 0] >= 1, profiles.shifted_laplace(1.0), run=noisy)


@case("noisy_numbers/add_remove")
def added() -> Case:
    """One record more, with integer noise."""
    mechanism = NoisyNumbers(RecordCount(), scale=1, relation=ADD_REMOVE)
    pmf = discrete_laplace_pmf(1.0)
    profile = profiles.finite(moved(pmf, 1), pmf)
    return Case.of(mechanism, ADDED, lambda s: s[:, 0] >= 1, profile, run=noisy)
