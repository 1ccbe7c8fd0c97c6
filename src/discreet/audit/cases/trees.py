"""Cases of forests and boosted models: the record that moves every block of one furthest."""

from __future__ import annotations

from discreet.audit.case import Case, Cases
from discreet.audit.cases.learners import gaussian_case
from discreet.mechanisms.learners.noisy_blocks import NoisyBlocks
from discreet.mechanisms.learners.tree_counts import UNIT, class_totals, histograms, leaf_counts
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import GaussianDP

case = Cases()

TWO_TREES = ([3, 0, 0, 1], [2, 0, 0, 2])  # a record of class 0 in the first leaf, or of class 1 in the second


@case("noisy_blocks/forest")
def forest() -> Case:
    """Replace a record, which leaves its leaf in each of two trees for another: 1-GDP for both together."""
    block = leaf_counts(2, 2, 2, SUBSTITUTE)
    mechanism = NoisyBlocks.calibrate((block,), target=GaussianDP(1))
    return gaussian_case(mechanism, [TWO_TREES[0] * 2], [TWO_TREES[1] * 2])


@case("noisy_blocks/boosting")
def boosting() -> Case:
    """Add a record alone in its bins: a total, a count of each column, and in each round a residual of 1."""
    relation = ADD_REMOVE
    blocks = histograms(class_totals(2, relation), (1, 1), 1, 2, relation)
    mechanism = NoisyBlocks.calibrate(blocks, target=GaussianDP(1, relation=relation))
    return gaussian_case(mechanism, [[0, 1], [1, 1], *[[UNIT]] * 4], [[0, 0], [0, 0], *[[0]] * 4])


@case("noisy_blocks/boosting_substitute")
def boosting_substitute() -> Case:
    """Replace a record in the bins where it is: its class, and in each round a residual of 1 by −1."""
    blocks = histograms(class_totals(2, SUBSTITUTE), (1, 1), 1, 2, SUBSTITUTE)
    mechanism = NoisyBlocks.calibrate(blocks, target=GaussianDP(1))
    return gaussian_case(mechanism, [[0, 1], [1, 1], *[[UNIT]] * 4], [[1, 0], [1, 1], *[[-UNIT]] * 4])
