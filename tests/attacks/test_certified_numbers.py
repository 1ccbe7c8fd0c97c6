"""Numbers that were doubles of another library, or trusted numpy's: certified, and held to oracles."""

import itertools
import math
import sys
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from discreet.privacy.accounting.composition import compose
from discreet.privacy.amplification.subsampling import (
    SampledGaussianCurve,
    SampledGaussianProfile,
    sampled_laws,
    subsampled_gaussian,
)
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import GaussianDP, PureDP


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch):
    """No other accounting library is asked."""
    monkeypatch.setitem(sys.modules, "dp_accounting", None)


# ── many subsampled releases ──


def one_delta(mu, q, epsilon):
    """δ of one release for any real ε, both ways round: the best event is a tail, by the closed threshold."""
    odds = (math.exp(epsilon) - (1 - q)) / q
    x = -math.inf if odds <= 0 else (math.log(odds) + mu**2 / 2) / mu
    plain, other = norm.sf(x), norm.sf(x - mu)
    forth = (1 - q) * plain + q * other - math.exp(epsilon) * plain
    odds = (math.exp(-epsilon) - (1 - q)) / q
    x = -math.inf if odds <= 0 else (math.log(odds) + mu**2 / 2) / mu
    plain, other = norm.cdf(x), norm.cdf(x - mu)
    return forth, plain - math.exp(epsilon) * ((1 - q) * plain + q * other)


def two_deltas(mu, q, epsilon):
    """δ of two releases: the first's loss integrated, the second in closed form; good to 1e-9."""

    def loss(x):
        return math.log1p(q * math.expm1(mu * x - mu**2 / 2))

    def mixture(x):
        return (1 - q) * norm.pdf(x) + q * norm.pdf(x - mu)

    forth = quad(lambda x: mixture(x) * one_delta(mu, q, epsilon - loss(x))[0], -12, 12 + mu, limit=400)[0]
    back = quad(lambda x: norm.pdf(x) * one_delta(mu, q, epsilon + loss(x))[1], -12, 12 + mu, limit=400)[0]
    return forth, back


@pytest.mark.parametrize(("mu", "q"), [(1.0, 0.1), (2.0, 0.5)])
def test_two_releases_lie_just_above_the_integral(mu, q):
    laws = sampled_laws(mu**2, q, 2, SampledGaussianCurve(mu**2, q, 2, poisson=True))
    for epsilon in (0.0, 0.1, 0.5, 2.0):
        for law, truth in zip(laws, two_deltas(mu, q, epsilon), strict=True):
            assert truth - 1e-9 <= law.delta(epsilon) <= truth * (1 + 1e-4) + 1e-9


def test_without_sampling_it_is_the_gaussian_composition():
    """Rate 1: five releases of μ = 1 are √5-GDP, whose profile is in closed form."""
    promise = SampledGaussianProfile(1.0, 1, 5)
    for epsilon in (0.0, 1.0, 4.0):
        truth = GaussianDP.from_square(5).delta(epsilon)
        assert truth * (1 - 1e-12) <= promise(epsilon) <= truth * (1 + 1e-4)


@pytest.mark.parametrize("order", [2, 3, 7, 40])
@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 3), Fraction(1)])
def test_whole_orders_are_rounded_up_from_the_truth(order, rate):
    """Σ C(α,k)(1−q)^{α−k}q^k e^{k(k−1)μ²/2} in 60 digits, and by quadrature, and the chord between orders."""
    with mp.workdps(60):
        q = mp.mpf(rate.numerator) / rate.denominator
        terms = (
            mp.binomial(order, k) * (1 - q) ** (order - k) * q**k * mp.exp(mp.mpf(k * (k - 1)) / 2)
            for k in range(order + 1)
        )
        truth = 10 * mp.log(mp.fsum(terms)) / (order - 1)
    curve = SampledGaussianCurve(1.0, rate, 10, poisson=True)
    assert truth <= curve(order) <= truth * (1 + mp.mpf(2) ** -50)
    assert curve(order - 0.5) <= curve(order) <= curve(order + 0.5)


@pytest.mark.parametrize("order", [2, 3, 6])
def test_fixed_size_samples_are_rounded_up_from_the_theorem(order):
    """The bound for m of n restated in 80 digits, differences and all."""
    q, square = Fraction(1, 100), 1.0
    with mp.workdps(80):
        rate, s = mp.mpf(1) / 100, mp.mpf(square)

        def chi(even):
            return mp.fsum(
                (-1) ** i * mp.binomial(even, i) * mp.exp(i * (i - 1) * s / 2) for i in range(even + 1)
            )

        total = mp.mpf(1)
        for j in range(2, order + 1):
            first = 4 * mp.sqrt(chi(2 * (j // 2)) * chi(2 * -(-j // 2)))
            total += mp.binomial(order, j) * rate**j * min(first, 2 * mp.exp(j * (j - 1) * s / 2))
        truth = 7 * mp.log(total) / (order - 1)
    claimed = SampledGaussianCurve(square, q, 7, poisson=False)(order)
    assert truth <= claimed <= truth * (1 + mp.mpf(2) ** -48)


def test_extreme_runs_answer_too():
    rare = Fraction(1, 10**30)
    for mu, rate, steps in ((1e-9, 0.5, 10**6), (1.0, rare, 10**6), (1e6, 0.5, 3), (1e6, 1e-3, 1)):
        promise = subsampled_gaussian(GaussianDP(mu, relation=ADD_REMOVE), rate, steps)
        assert 0 <= promise.delta(1) <= promise.delta(0) <= 1
        assert promise.epsilon(1e-6) >= 0


# ── unequal pure losses ──


@pytest.mark.parametrize("seed", range(4))
def test_unequal_pure_losses_are_never_below_the_truth(seed):
    """All 2^k outcomes of randomised response in 60 digits, losses of very different sizes."""
    rng = np.random.default_rng(seed)
    losses = (10.0 ** rng.uniform(-6, 1, 6)).tolist()
    promise = compose(*map(PureDP, losses))
    with mp.workdps(60):
        outcomes = []
        for signs in itertools.product((1, -1), repeat=len(losses)):
            pairs = list(zip(signs, map(mp.mpf, losses), strict=True))
            weight = mp.fprod(1 / (1 + mp.exp(-s * e)) for s, e in pairs)
            outcomes.append((sum(s * e for s, e in pairs), weight))
        for epsilon in (0.0, *(sum(losses) * share for share in (0.3, 0.9, 0.999999))):
            truth = mp.fsum(w * max(0, -mp.expm1(epsilon - loss)) for loss, w in outcomes)
            claimed = mp.mpf(promise.delta(epsilon))
            assert truth <= claimed <= truth * (1 + mp.mpf("1e-8")) + mp.mpf("1e-15")
