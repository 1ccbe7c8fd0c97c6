"""Broken twins of learners that are read from noisy sums: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

from dataclasses import replace

from discreet.audit.case import Case
from discreet.audit.cases.learners import BLOCKS, CORNER, gaussian_case, moments_of
from discreet.audit.twins.twin import Twins
from discreet.mechanisms.learners.class_moments import STEPS, moment_blocks
from discreet.mechanisms.learners.noisy_blocks import NoisyBlocks
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import GaussianDP

twin = Twins()


@twin("noisy_blocks/each_pays_all", "every block takes the whole budget")
def each_pays_all() -> Case:
    """σ_i = Δ_i for both blocks, under the claim that one of them would deserve."""
    broken = NoisyBlocks(
        tuple(replace(block, share=1) for block in BLOCKS), "gaussian", 1.0, relation=ADD_REMOVE
    )
    honest = gaussian_case(broken, [[3, 0], [2]], [[2, 0], [0]])
    return replace(honest, claim=GaussianDP(1, relation=ADD_REMOVE))


@twin("noisy_blocks/squares_for_free", "sums of a class are paid for and its squares are not")
def squares_for_free() -> Case:
    """Noise for sums that a substitution moves by 2K each, on squares too."""
    counts, moments = moment_blocks(2, 1, SUBSTITUTE)
    paid = replace(moments, square=2 * STEPS**4)
    broken = NoisyBlocks.calibrate((counts, paid), target=GaussianDP(1))
    return gaussian_case(broken, moments_of([(1, 1)]), moments_of([(CORNER, 1)]))
