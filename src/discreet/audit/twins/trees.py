"""Broken twins of forests and boosted models: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

import math
from dataclasses import replace

from discreet.audit.case import Case
from discreet.audit.cases.learners import gaussian_case
from discreet.audit.cases.trees import TWO_TREES, boosting_substitute
from discreet.audit.twins.twin import Twins
from discreet.mechanisms.learners.noisy_blocks import NoisyBlocks
from discreet.mechanisms.learners.tree_counts import UNIT, class_totals, histograms, leaf_counts
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import GaussianDP

twin = Twins()


@twin("noisy_blocks/trees_for_free", "trees of the same records counted as trees of disjoint ones")
def trees_for_free() -> Case:
    """σ of one tree for each of two: a record is in a leaf of both."""
    one = NoisyBlocks.calibrate((leaf_counts(1, 2, 2, SUBSTITUTE),), target=GaussianDP(1))
    broken = NoisyBlocks((leaf_counts(2, 2, 2, SUBSTITUTE),), "gaussian", one.scale / math.sqrt(2))
    honest = gaussian_case(broken, [TWO_TREES[0] * 2], [TWO_TREES[1] * 2])
    return replace(honest, claim=one.guarantee)


@twin(
    "noisy_blocks/noise_of_one_round", "boosting whose noise falls with ε and does not grow with the rounds"
)
def noise_of_one_round() -> Case:
    """Residuals of 8 rounds in the noise that one round of them needs."""
    blocks = histograms(class_totals(2, ADD_REMOVE), (1,), 1, 8, ADD_REMOVE)
    sums = tuple(replace(block, share=8 * block.share) for block in blocks[2:])
    broken = NoisyBlocks((*blocks[:2], *sums), "gaussian", 1.0, relation=ADD_REMOVE)
    honest = gaussian_case(broken, [[0, 1], [1], *[[UNIT]] * 8], [[0, 0], [0], *[[0]] * 8])
    return replace(honest, claim=GaussianDP(1, relation=ADD_REMOVE))


@twin("noisy_blocks/residual_turned", "a record replaced taken to move a sum of residuals by 1 and not by 2")
def residual_turned() -> Case:
    """Δ₂² = 2 for a residual that turns from 1 to −1 in its bin, as if the two were in different bins."""
    honest = boosting_substitute()
    blocks = histograms(class_totals(2, SUBSTITUTE), (1, 1), 1, 2, SUBSTITUTE)
    cheap = tuple(replace(block, square=2 * UNIT**2) for block in blocks[2:])
    claim = NoisyBlocks.calibrate((*blocks[:2], *cheap), target=GaussianDP(1))
    return replace(gaussian_case(claim, *honest.pair), claim=claim.guarantee)
