"""Cases of one draw of all tables of a Bayesian network a → b of two binary columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, xlog1py, xlogy

from discreet.audit.case import Case, Cases, Profile
from discreet.mechanisms.posterior.network_sample import OneNetworkSample
from discreet.models.bayes_net import BayesianNetwork
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import Source

case = Cases()

N = 4
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
