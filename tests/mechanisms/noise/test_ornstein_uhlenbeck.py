"""Ornstein–Uhlenbeck and tiers: reference D2, laws of the draws, and that combining tiers tells no more."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest

from discreet.mechanisms.noise.gaussian import Gaussian
from discreet.mechanisms.noise.ornstein_uhlenbeck import OrnsteinUhlenbeck, TieredGaussian
from discreet.privacy.kinds import ApproxDP, GaussianDP
from discreet.sampling.source import SeededSource

D2 = json.loads((Path(__file__).parents[2] / "reference" / "D2_coupling_iteration_ou.json").read_text())


@pytest.mark.parametrize("row", D2["ornstein_uhlenbeck"]["rows"])
def test_erratum_17_the_mechanism_that_the_chapter_leaves_out(row):
    d, radius, sigma = int(row["d"]), row["R"], row["sigma_gauss"]
    made = OrnsteinUhlenbeck(row["Delta"], sigma, radius**2 / (radius**2 + d * sigma**2))
    stopped = OrnsteinUhlenbeck.diffusion(
        row["Delta"], theta=row["theta"], time=row["t"], spread=math.sqrt(row["rho_sq"])
    )
    assert made.guarantee.renyi(2) / 2 == pytest.approx(row["rdp_per_alpha_ou"], rel=1e-12)
    assert made.mean_squared_error(radius, d) == pytest.approx(row["mse_ou_worst_case_||f||=R"], rel=1e-12)
    assert float(stopped.sigma) == pytest.approx(sigma, rel=1e-9)
    assert float(stopped.shrink) == pytest.approx(float(made.shrink), rel=1e-9)


def test_no_shrinkage_is_better_at_the_radius():
    target = ApproxDP(0.5, 1e-6)
    best = OrnsteinUhlenbeck.calibrate(target=target, sensitivity=1, radius=3, dimension=10)
    errors = [
        OrnsteinUhlenbeck(1, best.sigma, c).mean_squared_error(3, 10) for c in np.linspace(1e-3, 1, 500)
    ]
    assert best.mean_squared_error(3, 10) <= min(errors) * (1 + 1e-12)
    assert best.guarantee <= target
    assert best.guarantee == Gaussian.calibrate(target=target, sensitivity=1).guarantee


def test_the_release_is_a_shrunk_gaussian():
    """Kolmogorov–Smirnov at level 1e-6, 20 000 draws; a spread 10 % off is rejected."""
    mechanism = OrnsteinUhlenbeck(1, 2.0, 0.25)
    drawn = mechanism.releases(3, 20_000, SeededSource(5))
    assert kstest(drawn, "norm", args=(0.75, 0.5)).pvalue > 1e-6
    assert kstest(drawn, "norm", args=(0.75, 0.45)).pvalue < 1e-6


def tiers():
    return TieredGaussian.calibrate(
        targets=[ApproxDP(2, 1e-6), ApproxDP(1, 1e-6), ApproxDP(0.2, 1e-6)], sensitivity=1
    )


def test_every_tier_meets_its_own_target_and_all_together_cost_the_innermost():
    made = tiers()
    for k, epsilon in enumerate((2, 1, 0.2)):
        assert made.tier(k).guarantee <= ApproxDP(epsilon, 1e-6)
    assert made.guarantee == made.tier(0).guarantee
    assert isinstance(made.guarantee, GaussianDP)


def test_each_tier_has_exactly_its_own_law_and_the_steps_are_independent():
    """KS and correlations at level 1e-6, 6000 releases; 25 % off, or fresh noise in each tier, fails."""
    made = TieredGaussian(1, (1.0, 2.0, 4.0))
    drawn = made.releases(3, 6000, SeededSource(3))
    for k, sigma in enumerate((1.0, 2.0, 4.0)):
        assert kstest(drawn[:, k], "norm", args=(3, sigma)).pvalue > 1e-6
        assert kstest(drawn[:, k], "norm", args=(3, sigma * 1.25)).pvalue < 1e-6
    steps = np.diff(np.column_stack([np.full(6000, 3.0), drawn]), axis=1)
    bound = 4.9 / math.sqrt(6000)  # |r|√n is normal: 4.9 has level 1e-6
    assert np.abs(np.corrcoef(steps.T) - np.eye(3)).max() < bound
    fresh = np.column_stack([made.tier(k).releases(3, 6000, SeededSource(k)) for k in range(3)])
    wrong = np.diff(np.column_stack([np.full(6000, 3.0), fresh]), axis=1)
    assert np.abs(np.corrcoef(wrong.T) - np.eye(3)).max() > bound


def test_what_is_released_is_one_rounding_of_the_exact_sum():
    """Rounding the offset and the noise apart would show which multiple of the grid the value was."""
    made, value = TieredGaussian(1, (2.0**-30, 2.0**-29)), Fraction(2**25) + Fraction(1, 3)
    grid = made.tier(0).step
    below = (value / grid).__floor__() * grid
    near = made.releases(value - below, 60, SeededSource(2)).tolist()  # the same bits, all cells exact
    far = made.releases(value, 60, SeededSource(2))
    assert far.tolist() == [[float(below + Fraction(y)) for y in row] for row in near]
    assert (far != float(below) + np.array(near)).any()


def test_tiers_far_apart_are_decided_exactly_and_agree_with_ball_arithmetic(monkeypatch):
    """A chain in doubles is the chain in balls on the same bits, also where σ is 2^18 times the innermost."""
    made = TieredGaussian(1, (1.0, 1.5, 2.0**18))
    fast = made.releases(0.3, 60, SeededSource(8))
    monkeypatch.setattr("discreet.mechanisms.noise.ornstein_uhlenbeck.DOUBT", 1.0)  # leave nothing to doubles
    assert (fast == made.releases(0.3, 60, SeededSource(8))).all()


def test_tiers_of_one_chain_share_the_bits_that_are_read_late(monkeypatch):
    """Fresh bits for each tier would be noise that is not in the chain: all ones leave all to them."""
    monkeypatch.setattr("discreet.mechanisms.noise.ornstein_uhlenbeck.DOUBT", 1.0)
    made = TieredGaussian(1, (1.0, 1.0 + 2.0**-40))

    class Edge:
        seeded = True

        def __init__(self):
            self.calls, self.rest = 0, SeededSource(4)

        def words(self, count):
            self.calls += 1
            if self.calls > 1:
                return self.rest.words(count)
            return np.array([2**64 - 1, 2**63] * (count // 2), dtype=np.uint64)

    inner, outer = made.releases(0, 30, Edge()).T
    assert np.unique(inner).size > 5  # decided by late bits
    assert np.abs(inner - outer).max() < 1e-4


def test_combining_tiers_says_no_more_than_the_inner_one():
    """The best combination of all tiers has the variance of the first; with fresh noise it would not."""
    variances = np.array([1.0, 4.0, 16.0])
    chained = np.minimum.outer(variances, variances)  # Cov(y_j, y_k) = min
    best = 1 / np.linalg.inv(chained).sum()
    assert best == pytest.approx(1.0)
    assert 1 / (1 / variances).sum() < 0.8  # fresh noise: combining would say more than was paid for


def test_shapes_and_bad_input():
    inner, outer = TieredGaussian(1, (1, 3)).release(np.zeros((2, 2)), SeededSource(1))
    assert inner.shape == outer.shape == (2, 2)
    for sigmas in ((), (2, 1), (1, 1)):
        with pytest.raises(ValueError, match="increasing"):
            TieredGaussian(1, sigmas)
    with pytest.raises(ValueError, match="at least one target"):
        TieredGaussian.calibrate(targets=[], sensitivity=1)
    with pytest.raises(ValueError, match="shrunk"):
        OrnsteinUhlenbeck(1, 1, 1.5)
    with pytest.raises(ValueError, match="positive"):
        OrnsteinUhlenbeck.diffusion(1, theta=0, time=1, spread=1)


def test_errors_stay_below_the_stated_bounds_as_often_as_stated():
    """20 000 releases beyond a bound of probability 0.01: at most 300 (level 1e-6), and not none."""
    shrunk = OrnsteinUhlenbeck(1, 2.0, 0.25)
    beyond = np.abs(shrunk.releases(3, 20_000, SeededSource(1)) - 0.75) >= shrunk.tail_bound(0.01)
    assert 0 < beyond.sum() <= 300
    made = TieredGaussian(1, (1, 2))
    far = np.abs(made.releases(3, 20_000, SeededSource(2)) - 3) >= made.tail_bound(0.01)
    assert 0 < far[:, 1].sum() <= 300
    assert far[:, 0].sum() < far[:, 1].sum()
