"""Noise on whole numbers, added as whole numbers, is the release that fractions give."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.noise.gaussian import Gaussian
from discreet.sampling.source import SeededSource


@pytest.mark.parametrize(("sigma", "grid"), [(Fraction(10**9, 3), 1), (Fraction(1, 3), None), (5e11, 1)])
def test_integers_and_fractions_give_one_release(sigma, grid):
    mechanism = Gaussian(1, sigma, grid)
    value = np.array([[2**62 + 12345, -3 * 10**15], [7, -(2**63)]])
    fast, slow = (mechanism.release(v, SeededSource(1)) for v in (value, value.astype(object)))
    assert np.array_equal(fast, slow)
    assert not np.array_equal(fast, mechanism.release(value, SeededSource(2)))
    assert mechanism.release(np.int64(7), SeededSource(1)) == mechanism.release(7, SeededSource(1))
