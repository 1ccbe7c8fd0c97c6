"""Discrete Gaussian noise by its exact profile: against sums over mass functions, and as a value."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from discreet.mechanisms.noise.gaussian import DiscreteGaussian
from discreet.privacy.accounting.composition import repeat
from discreet.privacy.arithmetic.ball import precision
from discreet.privacy.arithmetic.discrete_normal import _tails, _wide, several_delta, whole
from discreet.privacy.json import from_json, to_json
from discreet.privacy.kinds import ApproxDP, DiscreteGaussianDP, ZeroCDP


def brute(variance, shift, times, epsilon):
    """Convolve the mass function, then sum over the values whose loss exceeds ε."""
    z = np.arange(-200, 201)
    one = np.exp(-(z**2) / (2 * variance))
    total = one = one / one.sum()
    for _ in range(times - 1):
        total = np.convolve(total, one)
    loss = (times * shift**2 + 2 * shift * (np.arange(total.size) - total.size // 2)) / (2 * variance)
    return float((total * np.clip(-np.expm1(np.minimum(epsilon - loss, 0)), 0, None)).sum())


@pytest.mark.parametrize("variance", [0.5, 1.3, 4.0, 30.0, 70.0, 200.0])
@pytest.mark.parametrize(("shift", "times"), [(1, 1), (1, 2), (3, 1), (1, 7), (2, 5)])
def test_the_profile_is_that_of_the_convolved_mass_function(variance, shift, times):
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        truth, found = (
            brute(variance, shift, times, epsilon),
            float(several_delta(Fraction(variance), shift, times, epsilon)),
        )
        room = 2.5 * times * 2 * np.exp(-(np.pi**2) * variance)  # (1 + η)/(1 − η), η the theory's
        assert truth * (1 - 1e-9) - 1e-14 <= found
        if times == 1 or room < 1:
            assert found <= truth * (1 + 1e-9 + 2 * room * (times > 1)) + 1e-14


def test_both_ways_to_sum_a_tail_agree_and_are_balls():
    with precision(128):
        for variance in (64, 100):
            tails = _tails(Fraction(variance), 128)
            for start in (1, 2, 17, 60):
                assert _wide(Fraction(variance), start).overlaps(tails[start - 1])
                assert _wide(Fraction(variance), start).rel_accuracy_bits() > 80
            assert whole(Fraction(variance)).overlaps(1 + 2 * tails[0])
        assert not _wide(Fraction(64), 17).overlaps(_tails(Fraction(64), 128)[16] * arb("1.0000001"))


# σ by this profile, by zCDP, and of the continuous law (analytic Gaussian), at Δ₂² and (ε, δ)
@pytest.mark.parametrize(
    ("square", "target", "sigma", "by_zcdp", "continuous"),
    [(1, ApproxDP(1, 1e-6), 4.2308, 4.5309, 4.2247), (2, ApproxDP(0.1, 1e-6), 51.343, 55.810, 51.343)],
)
def test_noise_is_that_of_the_exact_profile(square, target, sigma, by_zcdp, continuous):
    made = DiscreteGaussian.calibrate(target=target, sensitivity=np.nextafter(square**0.5, 2))
    assert float(made.variance) ** 0.5 == pytest.approx(sigma, rel=1e-4)
    assert continuous <= sigma < 0.94 * by_zcdp
    less = ((1, 0.998 * Fraction(made.variance), square),)
    assert not DiscreteGaussianDP(less) <= target
    assert ZeroCDP(square / (2 * 0.99 * by_zcdp**2)).epsilon(1e-6) > target.loss  # the figure of before


def test_as_a_value():
    one = DiscreteGaussianDP(((1, Fraction(7, 3), 2),))
    assert one.rho == Fraction(3, 7)
    assert one.zcdp_bound >= Fraction(3, 7)
    assert one <= ZeroCDP(0.428572)
    assert not one <= ZeroCDP(0.428571)
    assert from_json(to_json(one)) == one
    assert repeat(one, 3) == DiscreteGaussianDP(((1, Fraction(7, 3), 6),))
    assert repeat(one, 3).delta(1) == pytest.approx(brute(7 / 3, 1, 6, 1.0), rel=1e-8)
    assert one <= repeat(one, 2)
    assert not repeat(one, 2) <= one
    assert one.group(1) == one
    assert one.group(3) == DiscreteGaussianDP(((3, Fraction(7, 3), 2),))
    unlike = DiscreteGaussianDP(((1, 2, 1), (2, 5, 1)))
    assert unlike.group(3) == ZeroCDP(9 * unlike.rho)
    assert one.epsilon(0) == np.inf
    assert one.delta(one.epsilon(1e-9)) <= 1e-9
    with pytest.raises(ValueError, match="at least one count"):
        DiscreteGaussianDP(())
    with pytest.raises(ValueError, match="positive"):
        DiscreteGaussianDP(((1, 0, 1),))


def test_a_group_is_no_better_hidden_than_two_steps_of_its_trade_off():
    """f(1 − f(α)) of one record, at the corners of f, is the miss rate of the doubled shift."""
    variance, times = 1.7, 3
    z = np.arange(-80, 81)
    one = np.exp(-(z**2) / (2 * variance))
    total = one / one.sum()
    for _ in range(times - 1):
        total = np.convolve(total, one / one.sum())
    s = np.arange(total.size) - total.size // 2
    reach = np.array([total[s >= t].sum() for t in range(-60, 61)])  # α by threshold, falling
    once = np.interp(reach, reach[::-1], (1 - np.roll(reach, times))[::-1])
    twice = np.interp(1 - once, reach[::-1], (1 - np.roll(reach, times))[::-1])
    inner = slice(2 * times + 1, -1)
    group = DiscreteGaussianDP(((1, variance, times),)).group(2)
    for epsilon in (0.2, 1.0, 3.0):
        by_trade_off = np.max(1 - np.exp(epsilon) * reach[inner] - twice[inner])
        assert group.delta(epsilon) == pytest.approx(by_trade_off, rel=1e-6)


def test_wider_noise_need_not_promise_more():
    narrow, wide = DiscreteGaussianDP(((1, 0.505, 1),)), DiscreteGaussianDP(((1, 0.53, 1),))
    assert wide.delta(1) > narrow.delta(1)
    assert not wide <= narrow
