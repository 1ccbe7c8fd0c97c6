"""Broken twins of learners that are read from noisy sums: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

from dataclasses import replace

from discreet.audit.case import Case
from discreet.audit.cases.learners import BLOCKS, gaussian_case
from discreet.audit.twins.twin import Twins
from discreet.mechanisms.learners.noisy_blocks import NoisyBlocks
from discreet.privacy.guarantee import ADD_REMOVE
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
