"""How far a record moves what is noised, measured over hostile neighbours against what is declared."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.learners.class_moments import SWAPPED, class_moments, moment_blocks, quantised
from discreet.mechanisms.learners.functional import class_blocks, class_sums, square_block, square_sums
from discreet.mechanisms.learners.lloyd import cluster_sums, lloyd_blocks
from discreet.mechanisms.learners.second_moments import ball_blocks, ball_moments
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE

HOSTILE = [np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324, 0.0, 1.0, -1.0, 0.3, -0.1464, 3.0]
ONES = np.ones(2)
CORNERS = np.array([[a, b] for a in HOSTILE for b in HOSTILE])


def by_class(x, y):
    return class_moments(x, y, 2, 0 * ONES, ONES)


def clusters(x, y):
    q = quantised(x, 0 * ONES, ONES)
    return cluster_sums(q, np.array([[-4096.0, 0.0], [4096.0, 0.0]]))


LENGTH = 4096


def squared(x, y):
    answers, ends, of_y = np.where(y > 0, 1.0, -1e308), (0 * ONES, ONES), (np.zeros(1), np.ones(1))
    return (square_sums(x, answers, ends, of_y, LENGTH, constant=True),)


def classed(x, y):
    return class_sums(x, y, 2, (0 * ONES, ONES), LENGTH, constant=True)


def in_ball(x, y):
    return ball_moments(x, 0 * ONES, ONES, LENGTH)


# name → the integers of every block for (rows, codes), and the blocks under a relation
STATISTICS = {
    "class_moments": (by_class, lambda relation: moment_blocks(2, 2, relation)),
    "lloyd": (clusters, lambda relation: lloyd_blocks(2, 2, 1, relation)[2:]),
    "functional_squares": (
        squared,
        lambda relation: (square_block(2, LENGTH, relation, constant=True),),
    ),
    "functional_classes": (classed, lambda relation: class_blocks(2, 2, LENGTH, relation, constant=True)),
    "second_moments": (in_ball, lambda relation: ball_blocks(2, LENGTH, relation)),
}


ATTAINED = {"functional_squares": 0.45}  # rows along both axes and both answers are not among the corners


def moved(one, other):
    """L1 and squared L2 by block, in exact integers."""
    gaps = [[int(a) - int(b) for a, b in zip(u, v, strict=True)] for u, v in zip(one, other, strict=True)]
    return [(sum(map(abs, gap)), sum(g * g for g in gap)) for gap in gaps]


@pytest.mark.parametrize("name", STATISTICS)
def test_no_hostile_record_moves_it_further_and_some_record_as_far(name):
    of, blocks = STATISTICS[name]
    rows = [(x[None], np.array([y])) for x in CORNERS for y in (-1, 0, 1)]
    nothing = (np.zeros((0, 2)), np.zeros(0, np.int64))
    each = [of(*row) for row in rows]
    empty = of(*nothing)
    alone = [moved(one, empty) for one in each]
    rng = np.random.default_rng(1)
    pairs = [moved(each[i], each[j]) for i, j in rng.integers(len(each), size=(4000, 2))]
    for relation, seen in ((ADD_REMOVE, alone), (SUBSTITUTE, pairs)):
        shares = []
        for i, block in enumerate(blocks(relation)):
            assert max(gap[i][0] for gap in seen) <= block.l1
            shares.append(Fraction(max(gap[i][1] for gap in seen)) / Fraction(block.square))
        assert all(share <= 1 for share in shares)
        assert max(shares) > ATTAINED.get(name, 0.95)  # of some block, by some pair of these records


def test_the_worst_swap_within_a_class_is_below_its_bound_and_above_four():
    """t²(1 + 4(2 − t)²) on a fine grid of [0, 2]: its maximum (71 + 8√2)/16 is below 103/20."""
    t = np.linspace(0, 2, 200_001)
    worst = (t**2 * (1 + 4 * (2 - t) ** 2)).max()
    assert worst == pytest.approx((71 + 8 * 2**0.5) / 16, rel=1e-9)
    assert worst < SWAPPED


def test_moments_are_those_of_numpy():
    """Beside numpy's own sums, on values of the grid, where nothing is rounded."""
    rng = np.random.default_rng(3)
    x, y = rng.integers(-4096, 4097, size=(20_000, 3)) / 4096, rng.integers(-1, 2, size=20_000)
    counts, flat = class_moments(x, y, 2, np.zeros(3), np.ones(3))
    sums, squares = flat.reshape(2, 2, 3)
    for code in (0, 1):
        here = (x[y == code] * 4096).astype(np.int64)
        assert counts[code] == len(here)
        assert (sums[code] == 4096 * here.sum(axis=0)).all()
        assert (squares[code] == (2 * here**2 - 4096**2).sum(axis=0)).all()
