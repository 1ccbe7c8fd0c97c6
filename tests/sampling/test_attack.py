"""One float draw of numpy's gamma names the data set; one of ours does not.

numpy computes b·V³, b = a − ⅓, V = 1 + cX, in doubles. V³ steps by three last places where V steps by one,
so about two thirds of all doubles near the draw are no value of V ↦ b·V³, and which ones depends on a. Ours
returns the cell of the ideal draw, and every cell has positive probability under every shape.
"""

import numpy as np
import pytest

from discreet.sampling import exact
from discreet.sampling.source import SeededSource

DRAWS = 20_000


def possible(values, shape):
    """Whether numpy's operations can produce each value from some double V (8 either way suffice)"""
    b = shape - 1.0 / 3.0
    v = np.cbrt(values / b)
    below, above = v, v
    found = b * (v * v * v) == values
    for _ in range(8):
        below, above = np.nextafter(below, 0), np.nextafter(above, np.inf)
        found |= (b * (below * below * below) == values) | (b * (above * above * above) == values)
    return found


@pytest.mark.parametrize("shape", [2.0, 500.0, 1e6])
def test_numpy_rules_out_the_neighbour(shape):
    draws = np.random.default_rng(1).gamma(shape, size=DRAWS)
    assert possible(draws, shape).all()  # the attack never rules out the truth
    assert np.mean(~possible(draws, shape + 1)) > 0.5


@pytest.mark.parametrize("shape", [2.0, 500.0, 1e6])
def test_ours_does_not(shape):
    """The verdict on one draw is as frequent under both data sets: within 5 sd (error rate 6e-7)"""
    ours, neighbours = (exact.gamma(SeededSource(k), shape + k, DRAWS) for k in (0, 1))
    verdicts = [np.mean(~possible(x, shape + 1)) for x in (ours, neighbours)]
    assert abs(verdicts[0] - verdicts[1]) < 5 * np.sqrt(0.5 / DRAWS)


def test_every_cell_of_one_shape_occurs_under_the_neighbour():
    """On a coarse grid, where all cells that matter can be seen, the supports are the same set"""
    one, other = (set(exact.beta(SeededSource(k), 20 + k, 30 - k, 200_000, bits=5)) for k in (0, 1))
    common = {k / 32 for k in range(6, 20)}
    assert common <= one
    assert common <= other
