"""Neighbouring statistics of each family, with the laws of one draw on both, in plain double arithmetic.

A pair lists what the library's worst cases are audited with; it never asks the library which pair is worst.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Profile
from discreet.audit.exact_profiles import Law


@dataclass(frozen=True)
class Neighbours:
    """Two statistics, profile and Rényi curve of left against right, and where the log ratio exceeds ε."""

    left: list[int]
    right: list[int]
    delta: Profile
    renyi: Profile
    event: Callable[[float], Callable[[NDArray[Any]], NDArray[np.bool_]]]
    counts: tuple[int | None, int | None] = (None, None)  # private numbers of records, under ADD_REMOVE


def beta_neighbours(a: float, b: float, r: float, statistics: tuple[list[int], list[int]]) -> Neighbours:
    """Beta(a+r, b) on the first statistic, Beta(a, b+r) on the second; p itself is drawn."""
    return Neighbours(
        *statistics,
        profiles.beta(a, b, r),
        profiles.renyi(profiles.log_beta(a + r, b), profiles.log_beta(a, b + r)),
        lambda e: lambda p: p > profiles.beta_threshold(a, b, r, e),
    )


def mirrored(pair: Neighbours) -> Neighbours:
    """Exchange p and 1−p in what is drawn."""
    return replace(pair, event=lambda e: lambda p: pair.event(e)(1 - p))


def bernoulli(alpha: float, beta: float, *, n: int, r: float) -> Iterator[Neighbours]:
    """Every k of the n−1 others, both directions."""
    for k in range(n):
        a, b = alpha + r * k, beta + r * (n - 1 - k)
        yield beta_neighbours(a, b, r, ([k + 1], [k]))
        yield mirrored(beta_neighbours(b, a, r, ([k], [k + 1])))


def bernoulli_added(alpha: float, beta: float, *, others: int, r: float) -> Iterator[Neighbours]:
    """ADD_REMOVE: one success more among `others` failures, both directions."""
    laws = (alpha + r, beta + r * others), (alpha, beta + r * others)
    known = ([1], others + 1), ([0], others)
    for i, j in ((0, 1), (1, 0)):
        yield replace(side(laws[i], laws[j], (known[i][0], known[j][0])), counts=(known[i][1], known[j][1]))


def side(left: Law, right: Law, statistics: tuple[list[int], list[int]]) -> Neighbours:
    """Beta(a, b) against Beta(a', b)"""
    rises = left[0] > right[0]
    return Neighbours(
        *statistics,
        profiles.beta_side(left, right),
        profiles.renyi(profiles.log_beta(*left), profiles.log_beta(*right)),
        lambda e: lambda p: (p > profiles.beta_side_threshold(left, right, e)) == rises,
    )


def geometric(alpha: float, beta: float, *, n: int, r: float, upper: int) -> Iterator[Neighbours]:
    """Beta(α+rn, β) against Beta(α+rn, β+rB), other records at 0, both directions; event in 1−p."""
    fixed = alpha + r * n
    for i, j in ((0, upper), (upper, 0)):
        yield mirrored(side((beta + r * i, fixed), (beta + r * j, fixed), ([i], [j])))


def categorical(alpha: list[float], *, n: int, r: float) -> Iterator[Neighbours]:
    """Every two categories, the others of the n−1 records in a third one."""
    d = len(alpha)
    for i in range(d):
        for j in range(d):
            if i != j:
                yield _two_categories(alpha, i, j, (n, r))


def _two_categories(alpha: list[float], i: int, j: int, size: tuple[int, float]) -> Neighbours:
    (n, r), third = size, next(k for k in range(len(alpha)) if k not in (i, j))
    counts = [[0] * len(alpha) for _ in range(2)]
    for row, k in zip(counts, (i, j), strict=True):
        row[k], row[third] = 1, n - 1
    pair = beta_neighbours(alpha[i], alpha[j], r, (counts[0], counts[1]))
    return replace(pair, event=lambda e: lambda p: pair.event(e)(p[:, i] / (p[:, i] + p[:, j])))


def gamma_neighbours(left: Law, right: Law, statistics: tuple[list[int], list[int]]) -> Neighbours:
    """Gamma(shape, rate) laws of λ with the shape or the rate in common."""
    rises = left[0] > right[0] or left[1] < right[1]
    return Neighbours(
        *statistics,
        profiles.gamma(left, right),
        profiles.renyi(profiles.log_gamma(*left), profiles.log_gamma(*right), reach=40.0),
        lambda e: lambda x: (x > profiles.gamma_threshold(left, right, e)) == rises,
    )


def poisson(shape: float, rate: float, *, n: int, r: float, upper: int) -> Iterator[Neighbours]:
    """All others at 0, one record at 0 or at the bound."""
    laws = (shape, rate + r * n), (shape + r * upper, rate + r * n)
    yield gamma_neighbours(laws[0], laws[1], ([0], [upper]))
    yield gamma_neighbours(laws[1], laws[0], ([upper], [0]))


def waiting(prior: Law, *, n: int, r: float, upper: float, steps: int) -> Iterator[Neighbours]:
    """All others at 0, one record at 0 or at the bound, which is so many grid steps."""
    shape, rate = prior
    laws = (shape + r * n, rate), (shape + r * n, rate + r * upper)
    yield gamma_neighbours(laws[0], laws[1], ([0], [steps]))
    yield gamma_neighbours(laws[1], laws[0], ([steps], [0]))


def normal_mean(
    strength: float, variance: float, *, n: int, r: float, width: float, steps: int
) -> Iterator[Neighbours]:
    """N(rw/κ, σ²/κ) against N(0, σ²/κ), κ = κ₀ + rn: prior mean and lower bound 0, others at 0."""
    kappa = strength + r * n
    shift, spread = r * width / kappa, variance / kappa
    mu = shift / math.sqrt(spread)
    yield Neighbours(
        [steps],
        [0],
        profiles.normal(mu),
        profiles.renyi(
            lambda z: -((z - mu) ** 2) / 2 - _HALF_LOG, lambda z: -(z**2) / 2 - _HALF_LOG, reach=40
        ),
        lambda e: lambda x: x > shift / 2 + e * spread / shift,
    )


_HALF_LOG = 0.5 * math.log(2 * math.pi)
