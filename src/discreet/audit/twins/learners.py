"""Broken twins of learners that are read from noisy sums: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.audit.case import Case
from discreet.audit.cases.learners import (
    BLOCKS,
    CORNER,
    FAR,
    LENGTH,
    PLANE,
    STRENGTH,
    ball_of,
    centres,
    clusters_of,
    gaussian_case,
    minimum_of,
    moments_of,
    squares_of,
)
from discreet.audit.twins.twin import Twins
from discreet.mechanisms.learners.class_moments import STEPS, moment_blocks
from discreet.mechanisms.learners.functional import square_block
from discreet.mechanisms.learners.noisy_blocks import Block, NoisyBlocks
from discreet.mechanisms.learners.output_perturbation import minimum_block
from discreet.mechanisms.learners.second_moments import DIAGONAL, ball_blocks
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


@twin("noisy_blocks/split_swapped", "the counts' part of a round of k-means for each column of the sums")
def split_swapped() -> Case:
    """Claim ½ for counts and ¼ for each of two columns; give ¼ to the counts and ½ to each column."""
    counts, sums = Block("counts", 2, 1, 1, 0.25), Block("sums", 4, 2 * STEPS, 2 * STEPS**2, 1)
    broken = NoisyBlocks((counts, sums), "gaussian", 1.0, relation=ADD_REMOVE)
    pair = (clusters_of(np.vstack([-FAR, FAR]))[2:], clusters_of(-FAR)[2:])
    return replace(gaussian_case(broken, *pair), claim=GaussianDP(1, relation=ADD_REMOVE))


@twin("noisy_blocks/inertia_beside", "the sum of squared distances of k-means, released without noise")
def inertia_beside() -> Case:
    """Release what nobody noised nor paid for: a row at distance K from its centre adds K²."""
    paid = (Block("counts", 1, 1, 1, 0.5), Block("sums", 1, STEPS, STEPS**2, 0.5))
    broken = NoisyBlocks((*paid, Block("inertia", 1, 1, 1, 1)), "gaussian", 1.0, relation=ADD_REMOVE)
    honest = gaussian_case(broken, [[1], [STEPS], [STEPS**2]], [[0], [0], [0]])
    return replace(honest, claim=GaussianDP(1, relation=ADD_REMOVE))


@twin("noisy_blocks/one_centre_of_many", "the centres of a part taken to move by one coordinate's range")
def one_centre_of_many() -> Case:
    """Noise for 2K where all four coordinates move by it."""
    broken = NoisyBlocks((Block("centres", 4, 2 * STEPS, 4 * STEPS**2),), "gaussian", 1.0)
    return replace(gaussian_case(broken, *centres().pair), claim=GaussianDP(1))


@twin("noisy_blocks/diagonal_of_the_sums", "the diagonal of the second moments under the noise of the sums")
def diagonal_of_the_sums() -> Case:
    """Reuse a bound: squares move by R² in noise for R, next to nothing."""
    count, sums, second = ball_blocks(2, LENGTH, ADD_REMOVE)
    reused = replace(second, square=(DIAGONAL * LENGTH) ** 2)
    broken = NoisyBlocks.calibrate((count, sums, reused), target=GaussianDP(1, relation=ADD_REMOVE))
    return gaussian_case(broken, ball_of([[LENGTH / STEPS, 0.0]]), ball_of([]))


@twin("noisy_blocks/strength_of_the_mean", "λ of a mean of losses taken for that of their sum")
def strength_of_the_mean() -> Case:
    """Noise for 2L/(nλ) of n = 10 records on the minimum of their sum, whose λ is not multiplied by n."""
    block = minimum_block("weights", PLANE, STRENGTH, ADD_REMOVE)
    tenth = replace(block, square=Fraction(block.square) / 100)
    broken = NoisyBlocks((tenth,), "gaussian", 1.0, relation=ADD_REMOVE)
    return gaussian_case(broken, [minimum_of([1.0])], [minimum_of([])])


@twin("noisy_blocks/coefficients_one_by_one", "the largest coefficient's bound for all of them together")
def coefficients_one_by_one() -> Case:
    """Noise for one coefficient of (y − xw)², which moves by 1, on three that move together by 2."""
    block = square_block(1, STEPS, ADD_REMOVE, constant=False)
    one = replace(block, square=Fraction(block.square) / 4)
    broken = NoisyBlocks.calibrate((one,), target=GaussianDP(1, relation=ADD_REMOVE))
    return gaussian_case(broken, squares_of([1.0]), squares_of([]))
