"""The headline about shares: the difference that is surest, and never a group against itself."""

import numpy as np

from discreet.report.cells import Contrast
from discreet.report.drawn.shares import Shares


def shares(mean, width):
    mean = np.array(mean)
    groups = tuple(f"class {i + 1}" for i in range(len(mean)))
    ends = np.stack([mean - width, mean + width], axis=-1)
    return Shares("drink", groups, ("tea", "coffee", "milk"), mean, ends)


def test_a_sure_difference_is_said_before_a_larger_one_that_is_not():
    mean = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]]
    found = Contrast.of(shares(mean, np.array([0.2, 0.05, 0.01])))
    assert (found.sure, found.level, found.most, found.least) == (True, 1, 1, 0)
    assert "“drink” is “coffee” in about 50" in found.sentence()
    assert "doubt" not in found.sentence()


def test_where_nothing_is_sure_the_largest_difference_between_two_groups_is_said_so():
    found = Contrast.of(shares([[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.33, 0.33, 0.34]], 0.2))
    assert not found.sure
    assert found.most != found.least
    assert abs(found.size - 0.1) < 1e-9
    assert found.sentence().startswith("No difference is beyond doubt")


def test_a_difference_of_drawn_shares_has_no_interval():
    found = Contrast.of(shares([[0.4, 0.3, 0.3], [0.1, 0.65, 0.25]], np.nan))
    assert (found.sure, found.level, found.most, found.least) == (True, 1, 1, 0)
    assert "probability" not in found.sentence()
