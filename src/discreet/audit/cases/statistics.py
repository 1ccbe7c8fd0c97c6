"""Cases of NoisyStatistics with each noise, of OnePosteriorSample, and of the noisy queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, Cases, Profile
from discreet.audit.cases.noise import discrete_gaussian_pmf, discrete_laplace_pmf, moved
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.mechanisms.posterior.statistical_query import GRID, GaussianQuery, LaplaceQuery
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import GaussianDP, PureDP
from discreet.sampling import exact
from discreet.sampling.source import Source

case = Cases()

N = 4
TRUNCATION = Fraction(1, 8)


# ── NoisyStatistics ─────────────────────────────────────────────────────────────────────────────────


def noisy(
    mechanism: NoisyStatistics, counted: tuple[list[int], int | None], runs: int, source: Source
) -> NDArray[Any]:
    """Many runs at once, NOT a release: the same noise mechanism on the same vector, one row a run."""
    vector = mechanism.vector(*counted)
    return noised(mechanism, vector.tolist(), mechanism.shares(vector.size).tolist(), runs, source)


def noised(
    mechanism: NoisyStatistics, vector: list[int], shares: list[float], runs: int, source: Source
) -> NDArray[Any]:
    each = zip(vector, shares, strict=True)
    return np.stack([mechanism.noiser_of(share).releases(v, runs, source) for v, share in each], axis=1)


@case("noisy_statistics/laplace")
def noisy_laplace() -> Case:
    mechanism = NoisyStatistics(BetaBernoulli(1, 1), n=N, noise="laplace", scale=1)
    return Case.of(
        mechanism,
        (([1], None), ([0], None)),
        lambda s: s[:, 0] >= 1,
        profiles.shifted_laplace(1.0),
        run=noisy,
    )


@case("noisy_statistics/gaussian")
def noisy_gaussian() -> Case:
    """(4, 0) against (3, 1): √2 apart, σ = 3/2; the log ratio is (y·(1, −1) − 3)/σ²."""
    model = DirichletCategorical([1, 1])
    mechanism = NoisyStatistics(model, n=N, noise="gaussian", scale=Fraction(3, 2))
    return Case.of(
        mechanism,
        (([4, 0], None), ([3, 1], None)),
        lambda s: s[:, 0] - s[:, 1] > 3 + 2.25,
        profiles.normal(math.sqrt(2) / 1.5),
        run=noisy,
    )


@case("noisy_statistics/discrete_laplace")
def noisy_discrete_laplace() -> Case:
    """(4, 0, 0) against (3, 1, 0): L1 distance 2."""
    mechanism = NoisyStatistics(DirichletCategorical([1, 1, 1]), n=N, noise="discrete_laplace", scale=2)
    pmf = discrete_laplace_pmf(2.0)
    return Case.of(
        mechanism,
        (([4, 0, 0], None), ([3, 1, 0], None)),
        lambda s: (s[:, 0] >= 4) & (s[:, 1] <= 0),
        exchanged(pmf),
        run=noisy,
    )


@case("noisy_statistics/discrete_gaussian")
def noisy_discrete_gaussian() -> Case:
    """(4, 0, 0) against (3, 1, 0): L2 distance √2, σ² = 9/4."""
    mechanism = NoisyStatistics(
        DirichletCategorical([1, 1, 1]), n=N, noise="discrete_gaussian", scale=Fraction(3, 2)
    )
    return Case.of(
        mechanism,
        (([4, 0, 0], None), ([3, 1, 0], None)),
        lambda s: s[:, 0] - s[:, 1] > 3 + 2.25,
        exchanged(discrete_gaussian_pmf(2.25)),
        run=noisy,
    )


def exchanged(pmf: NDArray[np.float64]) -> Profile:
    """(Z₁ + 1, Z₂) against (Z₁, Z₂ + 1)"""
    return profiles.finite(np.outer(moved(pmf, 1), pmf), np.outer(pmf, moved(pmf, 1)))


ACROSS = BayesianLinearRegression([0], [[1]], shape=2, scale=1, radius=17, grid=1)


def crossed(share: float | None = None) -> Case:
    """(12, 12) against (12, −12): only the product moves, by 288, and 289 is the most that any row's does."""
    mechanism = NoisyStatistics.calibrate(ACROSS, n=1, target=GaussianDP(1), noise="gaussian")
    shares = mechanism.shares(3).tolist() if share is None else [1, share, 1]

    def many(vector: list[int], runs: int, source: Source) -> NDArray[Any]:
        return noised(mechanism, vector, shares, runs, source)

    return Case(
        mechanism.guarantee,
        many,
        ([144, 144, 144], [144, -144, 144]),
        lambda s: s[:, 1] > float(mechanism.scale) ** 2 / 2 / 288,
        profiles.normal(288 / (float(mechanism.scale) * math.sqrt(shares[1]))),
    )


@case("noisy_statistics/moments")
def noisy_moments() -> Case:
    return crossed()


@case("noisy_statistics/add_remove")
def noisy_added() -> Case:
    """With n private: (successes, failures) = (1, 2) against (0, 2)"""
    mechanism = NoisyStatistics(BetaBernoulli(1, 1), scale=1, relation=ADD_REMOVE)
    pmf = discrete_laplace_pmf(1.0)
    return Case.of(
        mechanism,
        (([1], 3), ([0], 2)),
        lambda s: s[:, 0] >= 1,
        profiles.finite(moved(pmf, 1), pmf),
        run=noisy,
    )


# ── OnePosteriorSample ──────────────────────────────────────────────────────────────────────────────


def sampled(mechanism: OnePosteriorSample, statistic: list[int], runs: int, source: Source) -> NDArray[Any]:
    """Many runs at once, NOT a release: the law that release draws once from."""
    return mechanism._private_posterior(statistic).sample(runs, source)  # noqa: SLF001


@case("one_posterior_sample/beta")
def truncated_beta() -> Case:
    """All others failures: the ratio is largest near the upper end, where few draws fall."""
    mechanism = OnePosteriorSample.calibrate(
        BetaBernoulli(1, 1), n=N, target=PureDP(1), truncation=TRUNCATION
    )
    s = 1 / float(mechanism.temperature)
    left, right = (1 + s, 1 + s * (N - 1)), (1.0, 1 + s * N)
    return Case.of(
        mechanism,
        ([1], [0]),
        lambda p: p > 0.75,
        profiles.truncated_beta(left, right, float(TRUNCATION)),
        run=sampled,
    )


@case("one_posterior_sample/dirichlet")
def truncated_dirichlet() -> Case:
    """(1, 3, 0) against (0, 4, 0): the second category is likely, so a ratio far from it is rare."""
    mechanism = OnePosteriorSample.calibrate(
        DirichletCategorical([1, 1, 1]), n=N, target=PureDP(1), truncation=TRUNCATION
    )
    s = 1 / float(mechanism.temperature)
    return Case.of(
        mechanism,
        ([1, N - 1, 0], [0, N, 0]),
        lambda p: p[:, 0] > 2 * p[:, 1],
        ratio_profile([1 + s, 1 + s * (N - 1), 1], [1, 1 + s * N, 1], float(TRUNCATION)),
        run=sampled,
    )


def ratio_profile(left: Sequence[float], right: Sequence[float], lower: float) -> Profile:
    """Dirichlet laws on θ_i ≥ l that differ in two entries by ±s: ln p/q = s ln(θ₁/θ₂) − ln(Z_P/Z_Q).

    With w = θ₁ + θ₂ and φ = θ₁/w, the inner integral over φ is an incomplete Beta, the outer is quadrature.
    """
    s = left[0] - right[0]

    def above(law: Sequence[float], odds: float) -> float:
        """∫∫ over θ₁ > odds·θ₂ of the unnormalised density"""
        a, b, c = law
        nodes, weights = np.polynomial.legendre.leggauss(200)
        total, cut = 0.0, odds / (1 + odds)
        kinks = (
            [x for x in (lower / cut, lower / (1 - cut)) if 2 * lower < x < 1 - lower] if 0 < cut < 1 else []
        )
        edges = [2 * lower, *sorted(kinks), 1 - lower]
        for x, y in pairwise(edges):
            w = (x + y) / 2 + (y - x) / 2 * nodes
            start = np.clip(cut, lower / w, 1 - lower / w)
            inner = betainc(a, b, 1 - lower / w) - betainc(a, b, start)
            total += float((weights * w ** (a + b - 1) * (1 - w) ** (c - 1) * inner).sum() * (y - x) / 2)
        return total * math.exp(betaln(a, b))

    totals = above(left, 0.0), above(right, 0.0)

    def delta(epsilon: float) -> float:
        odds = math.exp((epsilon + math.log(totals[0] / totals[1])) / s)
        return above(left, odds) / totals[0] - math.exp(epsilon) * above(right, odds) / totals[1]

    return delta


# ── noisy queries ───────────────────────────────────────────────────────────────────────────────────


@case("laplace_query")
def laplace_query() -> Case:
    """Σφ = 1 against 0 in steps of 2^-20; NOT a release: release's own noise, so many at once."""
    mechanism = LaplaceQuery(float, n=2, epsilon=1)

    def answers(total: int, runs: int, source: Source) -> NDArray[Any]:
        scale = 1 / (GRID * Fraction(mechanism.epsilon))
        return total + exact.discrete_laplace(source, scale, runs) * float(GRID)

    return Case(mechanism.guarantee, answers, (1, 0), lambda y: y >= 1, profiles.shifted_laplace(1.0))


@case("gaussian_query")
def gaussian_query() -> Case:
    """Σφ = 1 against 0 in steps of 2^-20, where the discrete law is the normal one to 1e-12."""
    mechanism = GaussianQuery(float, n=2, rho=Fraction(1, 2))

    def answers(total: int, runs: int, source: Source) -> NDArray[Any]:
        variance = 1 / (2 * GRID**2 * Fraction(mechanism.rho))
        return total + exact.discrete_gaussian(source, variance, runs) * float(GRID)

    return Case(mechanism.guarantee, answers, (1, 0), lambda y: y > 1.5, profiles.normal(1.0))
