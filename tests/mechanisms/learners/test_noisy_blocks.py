"""Several noisy vectors of the same records: what they promise together, what each may see."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.learners.noisy_blocks import Block, NoisyBlocks
from discreet.sampling.source import SeededSource

TWO = (Block("counts", 2, 1, 1, Fraction(1, 4)), Block("sums", 3, 9, 25, Fraction(3, 4)))


def test_promises_by_the_number():
    """μ² = Δ₁²/σ₁² + Δ₂²/σ₂² = (¼ + ¾)/scale², and ε = (¼ + ¾)/scale."""
    gaussian = NoisyBlocks(TWO, "gaussian", 2.0)
    assert gaussian.deviations == (4.0, pytest.approx(10 / 0.75**0.5))
    assert gaussian.guarantee.gdp_bound == pytest.approx(0.5, rel=1e-12)
    laplace = NoisyBlocks(TWO, "discrete_laplace", 2.0)
    assert laplace.guarantee.epsilon(0) == pytest.approx(0.5, rel=1e-12)
    assert laplace.deviations[1] == pytest.approx(2**0.5 * 2 * 9 / 0.75)


@pytest.mark.parametrize(
    "target", [dc.ApproxDP(1, 1e-6), dc.PureDP(0.5), dc.GaussianDP(0.3), dc.ZeroCDP(0.1)]
)
def test_calibration_meets_its_target_and_hardly_more(target):
    ready = NoisyBlocks.calibrate(TWO, target=target)
    assert ready.guarantee <= target
    assert not NoisyBlocks(TWO, ready.noise, ready.scale * 0.999).guarantee <= target


def test_a_block_sees_what_was_released_before_it_and_nothing_else():
    seen = []

    def ask(i, released):
        seen.append(tuple(len(part) for part in released))
        return np.full(TWO[i].size, 10**6)

    out = NoisyBlocks(TWO, "gaussian", 1.0).release(ask, SeededSource(1))
    assert seen == [(), (2,)]
    assert [part.shape for part in out] == [(2,), (3,)]
    assert (np.concatenate(out) != 10**6).all()


def test_wide_noise_stays_on_the_grid_of_the_integers():
    """σ = 2^30: every draw is a whole number of units, as its integers are, and no slower way is taken."""
    wide = NoisyBlocks((Block("sums", 1000, 2**30, 4**30),), "gaussian", 1.0)
    (out,) = wide.release(lambda *_: np.zeros(1000, np.int64), SeededSource(1))
    assert (out == np.rint(out)).all()
    assert abs(out.std() / 2**30 - 1) < 5 / 2000**0.5  # five standard errors


def test_noise_beyond_forty_bits_is_calibrated_and_drawn():
    """Second moments of 30 columns have L2 sensitivities of 2^34: every scale that is tried has a grid."""
    ready = NoisyBlocks.calibrate((Block("moments", 2, 2**36, 4**34),), target=dc.ApproxDP(0.1, 1e-6))
    (out,) = ready.release(lambda *_: np.array([1, 2]), SeededSource(1))
    assert np.isfinite(out).all()
    assert ready.deviations[0] > 2**38


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros(4, np.int64), np.full(2, 2**62)])
def test_what_is_not_integers_of_the_blocks_size_is_refused(bad):
    with pytest.raises(ValueError, match="integers"):
        NoisyBlocks(TWO, "gaussian", 1.0).release(lambda *_: bad)


def test_blocks_are_checked():
    with pytest.raises(ValueError, match="noise must be one of"):
        NoisyBlocks(TWO, "magic", 1.0)
    with pytest.raises(ValueError, match="at least one block"):
        NoisyBlocks((), "gaussian", 1.0)
    with pytest.raises(ValueError, match="greater than 0"):
        Block("x", 1, 1, 0)
