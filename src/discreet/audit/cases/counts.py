"""Cases of NoisyCounts with each noise: two tables of counts that one record moves at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import betainc, betaln, xlog1py, xlogy

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, Cases, Profile
from discreet.audit.cases.noise import discrete_gaussian_pmf
from discreet.mechanisms.posterior.network_sample import OneNetworkSample
from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.naive_bayes import NaiveBayes
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import Source

case = Cases()

N = 4
MODEL = NaiveBayes("y", ("a", "b")).bind({"y": 2, "a": 1, "b": 1})
ALL, BUT_ONE = [4, 0, 4, 0], [3, 1, 3, 1]  # of 4 records all have y = 0, or all but one


def noised(mechanism: NoisyCounts, counts: list[int], runs: int, source: Source) -> NDArray[Any]:
    """Many runs at once, NOT a release: the same noise on the same cells, one row a run."""
    tables = zip(np.reshape(counts, (len(mechanism.noisers), -1)), mechanism.noisers, strict=True)
    cells = [noiser.releases(int(v), runs, source) for table, noiser in tables for v in table]
    return np.stack(cells, axis=1)


def two_sided(losses: list[float]) -> Profile:
    """Z + 1 against Z of discrete Laplace noise, several times: the loss is ±1/b, + with odds e^{1/b}."""
    signs = list(product((1, -1), repeat=len(losses)))
    total = np.array([np.dot(s, losses) for s in signs])
    mass = np.array(
        [math.prod(1 / (1 + math.exp(-i * x)) for i, x in zip(s, losses, strict=True)) for s in signs]
    )
    return lambda epsilon: float((mass * np.maximum(-np.expm1(epsilon - total), 0)).sum())


@case("noisy_counts/discrete_laplace")
def discrete_laplace() -> Case:
    """Scales 4 and 8: ε = 2/4 + 2/8, all of it in the corner where every moved cell is beyond its count."""
    mechanism = NoisyCounts(MODEL, n=N, noise="discrete_laplace", scales=(4, 8))
    return Case.of(
        mechanism,
        (ALL, BUT_ONE),
        lambda s: (s[:, 0] >= 4) & (s[:, 1] <= 0) & (s[:, 2] >= 4) & (s[:, 3] <= 0),
        two_sided([1 / 4, 1 / 4, 1 / 8, 1 / 8]),
        epsilon=0.75,
        run=noised,
    )


@case("noisy_counts/laplace")
def laplace() -> Case:
    """One record more, with n private: scales 2 and 4, ε = 1/2 + 1/4."""
    mechanism = NoisyCounts(MODEL, noise="laplace", scales=(2, 4), relation=ADD_REMOVE)
    return Case.of(
        mechanism,
        ([4, 0, 4, 0], [3, 0, 3, 0]),
        lambda s: (s[:, 0] >= 4) & (s[:, 2] >= 4),
        two_laplaces(1 / 2, 1 / 4),
        epsilon=0.75,
        run=noised,
    )


def two_laplaces(first: float, second: float) -> Profile:
    """E δ₂(ε − L₁): L₁ is ±`first` with mass ½ and e^{−first}/2, and between them ½e^{(l−first)/2} dl/2."""

    def one(epsilon: float) -> float:
        if epsilon >= second:
            return 0.0
        return -math.expm1(epsilon) if epsilon <= -second else -math.expm1((epsilon - second) / 2)

    def delta(epsilon: float) -> float:
        ends = one(epsilon - first) / 2 + one(epsilon + first) * math.exp(-first) / 2
        kinks = [k for k in (epsilon - second, epsilon + second) if -first < k < first]
        middle = quad(
            lambda x: one(epsilon - x) * math.exp((x - first) / 2) / 4, -first, first, points=kinks or None
        )
        return float(ends + middle[0])

    return delta


@case("noisy_counts/gaussian")
def gaussian() -> Case:
    """σ = 2 and 3: μ² = 2/4 + 2/9."""
    mechanism = NoisyCounts(MODEL, n=N, noise="gaussian", scales=(2, 3))
    return Case.of(
        mechanism,
        (ALL, BUT_ONE),
        lambda s: (s[:, 0] - s[:, 1] - 3) / 4 + (s[:, 2] - s[:, 3] - 3) / 9 > 1,
        profiles.normal(math.sqrt(2 / 4 + 2 / 9)),
        run=noised,
    )


@case("noisy_counts/discrete_gaussian")
def discrete_gaussian() -> Case:
    """σ = 2 and 3 on the integers."""
    mechanism = NoisyCounts(MODEL, n=N, noise="discrete_gaussian", scales=(2, 3))
    return Case.of(
        mechanism,
        (ALL, BUT_ONE),
        lambda s: (s[:, 0] - s[:, 1] - 3) / 4 + (s[:, 2] - s[:, 3] - 3) / 9 > 1,
        two_differences(4.0, 9.0),
        run=noised,
    )


def two_differences(*variances: float) -> Profile:
    """Loss of a table is (Z₀ − Z₁ + 1)/σ²; two tables independently."""
    laws = []
    for variance in variances:
        pmf = discrete_gaussian_pmf(variance)
        law = np.convolve(pmf, pmf[::-1])
        reach = law.size // 2
        kept = slice(reach - 80, reach + 81)  # beyond lies less than 1e-100
        laws.append(((np.arange(-80, 81) + 1) / variance, law[kept]))
    (x, p), (y, q) = laws
    total, mass = np.add.outer(x, y), np.outer(p, q)
    return lambda epsilon: float((mass * np.maximum(-np.expm1(np.minimum(epsilon - total, 1.0)), 0)).sum())


@case("noisy_counts/add_remove")
def added() -> Case:
    """One record more, with n private: discrete noise, scales 2 and 4."""
    mechanism = NoisyCounts(MODEL, scales=(2, 4), relation=ADD_REMOVE)
    return Case.of(
        mechanism,
        ([4, 0, 4, 0], [3, 0, 3, 0]),
        lambda s: (s[:, 0] >= 4) & (s[:, 2] >= 4),
        two_sided([1 / 2, 1 / 4]),
        epsilon=0.75,
        run=noised,
    )


# ── Cases of one draw of all tables of a Bayesian network a → b of two binary columns.
TRUNCATION = Fraction(1, 8)
NETWORK = BayesianNetwork([("a", "b")]).bind({"a": 2, "b": 2})  # type: ignore[arg-type]  # edges, as users give them


def tables(mechanism: OneNetworkSample, counts: list[int], runs: int, source: Source) -> NDArray[Any]:
    """Many runs at once, NOT a release: the law that release draws once from, the first entry of each row."""
    return np.stack(
        [_first(mechanism, row, runs, source) for row in np.reshape(counts, (-1, 2)).tolist()], axis=1
    )


def _first(mechanism: OneNetworkSample, row: list[int], runs: int, source: Source) -> NDArray[Any]:
    same = np.tile(row, (runs, 1))
    return mechanism._rows(same, source)[:, 0]  # noqa: SLF001 - what release itself draws


def neighbours(n: int) -> tuple[list[int], list[int]]:
    """Count (a; a, b): all others are (0, 0), and one record is (1, 0), or (0, 0) as well."""
    return [n - 1, 1, n - 1, 0, 1, 0], [n, 0, n, 0, 0, 0]


def entries(counts: list[int], s: float) -> list[tuple[float, float]]:
    return [(1 + s * first, 1 + s * second) for first, second in np.reshape(counts, (-1, 2))]


def log_ratio(
    left: Sequence[tuple[float, float]], right: Sequence[tuple[float, float]], lower: float
) -> Callable[[Sequence[NDArray[Any]]], NDArray[Any]]:
    """Return ln dP/dQ of products of Beta laws on [l, 1−l], at one θ for each row."""

    def normaliser(a: float, b: float) -> float:
        share = betainc(a, b, 1 - lower) - betainc(a, b, lower)
        return float(betaln(a, b) + math.log(share))

    tilt = sum(normaliser(*p) - normaliser(*q) for p, q in zip(left, right, strict=True))

    def at(theta: Sequence[NDArray[Any]]) -> NDArray[Any]:
        each = [
            xlogy(p[0] - q[0], x) + xlog1py(p[1] - q[1], -x)
            for p, q, x in zip(left, right, theta, strict=True)
        ]
        total: NDArray[Any] = reduce(np.add, each) - tilt
        return total

    return at


def product_profile(
    left: Sequence[tuple[float, float]], right: Sequence[tuple[float, float]], lower: float, points: int = 120
) -> Profile:
    """δ(ε) = E_P (1 − e^(ε−L))₊ over three independent rows, by Gauss–Legendre on each."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    x = 0.5 + (0.5 - lower) * nodes
    masses = []
    for a, b in left:
        mass = weights * x ** (a - 1) * (1 - x) ** (b - 1)
        masses.append(mass / mass.sum())
    grid = np.meshgrid(x, x, x, indexing="ij", sparse=True)
    loss = log_ratio(left, right, lower)(grid)
    mass = reduce(np.multiply, np.meshgrid(*masses, indexing="ij", sparse=True))
    return lambda epsilon: float((mass * -np.expm1(np.minimum(epsilon - loss, 0.0))).sum())


def network_case(mechanism: OneNetworkSample, *, threshold: float) -> Case:
    """Claim ε = 1 and audit the worst pair of this graph: all others alike, one leaves their row."""
    s, lower = float(mechanism.weight), float(mechanism.lower)
    counts = neighbours(mechanism.n or 0)
    left, right = (entries(each, s) for each in counts)
    loss = log_ratio(left, right, lower)
    return Case(
        PureDP(1),
        partial(tables, mechanism),
        (counts[0], counts[1]),
        lambda theta: loss(list(theta.T)) > threshold,
        product_profile(left, right, lower),
    )


@case("one_network_sample")
def network() -> Case:
    mechanism = OneNetworkSample.calibrate(NETWORK, n=N, target=PureDP(1), truncation=TRUNCATION)
    return network_case(mechanism, threshold=0.6)
