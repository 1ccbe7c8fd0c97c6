"""Cases of learners that are read from noisy sums: the pair that moves all blocks of one furthest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.case import Case, Cases, Profile
from discreet.audit.cases.noise import discrete_laplace_pmf, moved
from discreet.audit.exact_profiles import finite, normal
from discreet.mechanisms.learners.class_moments import STEPS, class_moments, moment_blocks, moments_of_all
from discreet.mechanisms.learners.functional import class_blocks, class_sums, square_block, square_sums
from discreet.mechanisms.learners.lloyd import cluster_sums, lloyd_blocks
from discreet.mechanisms.learners.matched_centres import matched_block
from discreet.mechanisms.learners.noisy_blocks import Block, NoisyBlocks
from discreet.mechanisms.learners.output_perturbation import minimum_block, minimum_cells
from discreet.mechanisms.learners.second_moments import ball_blocks, ball_moments
from discreet.models.generalized_linear import Feature, GeneralizedLinear
from discreet.models.hinge import HuberHinge
from discreet.models.regression_records import Records
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee
from discreet.privacy.kinds import GaussianDP, PureDP
from discreet.sampling import exact
from discreet.sampling.source import Source

case = Cases()

Blocks = Sequence[Sequence[int]]  # the integers of each block


def gaussian_case(mechanism: NoisyBlocks, left: Blocks, right: Blocks) -> Case:
    """All blocks of one data set against its neighbour's, in their own noise: N(Δ, diag σ²), μ² = ΣΔ²/σ².

    σ is asked of the mechanism and Δ is not: it comes from the two data sets. What is drawn is the noise that
    the mechanism draws, for every block at once.
    """
    shift = [np.subtract(x, y, dtype=np.float64) for x, y in zip(left, right, strict=True)]
    inverse = [1 / sigma**2 for sigma in mechanism.deviations]
    square = sum(w * float(d @ d) for w, d in zip(inverse, shift, strict=True))
    weights = np.concatenate([w * d for w, d in zip(inverse, shift, strict=True)])
    middle = weights @ (np.concatenate(left) + np.concatenate(right)) / 2
    return Case(
        mechanism.guarantee,
        partial(_runs, mechanism),
        (left, right),
        lambda out: out @ weights - middle > 1.0,
        normal(float(np.sqrt(square))),
    )


def _runs(mechanism: NoisyBlocks, blocks: Blocks, runs: int, source: Source) -> NDArray[Any]:
    """Many runs at once, NOT a release: the noise of each block on entries that moved."""
    columns = [
        exact.normal(source, int(v), Fraction(sigma) ** 2, runs, 2.0**-20 if sigma < 2**20 else 1)
        for sigma, block in zip(mechanism.deviations, blocks, strict=True)
        for v in block
    ]
    return np.stack(columns, axis=1)


def laplace_runs(mechanism: NoisyBlocks, blocks: Blocks, runs: int, source: Source) -> NDArray[Any]:
    """Return as many of discrete Laplace noise."""
    each = zip(mechanism.noisers, blocks, strict=True)
    return np.stack([noiser.releases(int(v), runs, source) for noiser, block in each for v in block], axis=1)


def laplace_profile(mechanism: NoisyBlocks, steps: tuple[int, int]) -> Profile:
    """One entry of each of two blocks moves by so many steps."""
    laws = [discrete_laplace_pmf(sigma / math.sqrt(2)) for sigma in mechanism.deviations]
    left = [moved(law, step) for law, step in zip(laws, steps, strict=True)]
    return finite(np.outer(*left), np.outer(*laws))


BLOCKS = (Block("counts", 2, 1, 1, Fraction(1, 4)), Block("sums", 1, 2, 4, Fraction(3, 4)))


@case("noisy_blocks/gaussian")
def gaussian() -> Case:
    """Add a record, which moves a count by one and a sum by its bound: 1-GDP for both together."""
    mechanism = NoisyBlocks.calibrate(BLOCKS, target=GaussianDP(1, relation=ADD_REMOVE))
    return gaussian_case(mechanism, [[3, 0], [2]], [[2, 0], [0]])


@case("noisy_blocks/discrete_laplace")
def laplace() -> Case:
    """Do so with ε = 1 for both together."""
    mechanism = NoisyBlocks.calibrate(BLOCKS, target=PureDP(1, relation=ADD_REMOVE))
    return Case.of(
        mechanism,
        ([[3, 0], [2]], [[2, 0], [0]]),
        lambda out: (out[:, 0] >= 3) & (out[:, 2] >= 2),
        laplace_profile(mechanism, (1, 2)),
        run=laplace_runs,
    )


# ── moments by class: one column and two classes; the pair that moves them furthest
Rows = Sequence[tuple[float, int]]  # (x, class)
CORNER = -0.1464  # beside a record at 1, the one in its class that moves both moments most together


def moments_of(rows: Rows) -> Blocks:
    x = np.array([[value] for value, _ in rows], dtype=np.float64).reshape(-1, 1)
    codes = np.array([code for _, code in rows], dtype=np.int64)
    counts, moments = class_moments(x, codes, 2, np.zeros(1), np.ones(1))
    return [counts.tolist(), moments.tolist()]


def moments_case(target: Guarantee, left: Rows, right: Rows) -> Case:
    mechanism = NoisyBlocks.calibrate(moment_blocks(2, 1, target.relation), target=target)
    return gaussian_case(mechanism, moments_of(left), moments_of(right))


@case("noisy_blocks/class_moments")
def one_more() -> Case:
    """Add a record at the end of its bounds: count, sum and square move as far as any record moves them."""
    return moments_case(GaussianDP(1, relation=ADD_REMOVE), [(0.2, 0), (1, 1)], [(0.2, 0)])


@case("noisy_blocks/class_moments_swapped")
def swapped() -> Case:
    """Replace a record by the one of its class that moves sum and square most together."""
    return moments_case(GaussianDP(1), [(0.2, 0), (1, 1)], [(0.2, 0), (CORNER, 1)])


# ── clusters: two centres of two columns, one round of Lloyd's, or parts of the rows
TWO_CENTRES = np.array([[-STEPS, -STEPS], [STEPS, STEPS]], dtype=np.float64)
FAR = np.full((1, 2), float(STEPS))  # a row at the corner of its bounds


@case("noisy_blocks/lloyd")
def lloyd() -> Case:
    """Add a row at a corner, in the first round: all blocks of the start and of the round move furthest."""
    target = GaussianDP(1, relation=ADD_REMOVE)
    mechanism = NoisyBlocks.calibrate(lloyd_blocks(2, 2, 1, ADD_REMOVE), target=target)
    return gaussian_case(mechanism, clusters_of(np.vstack([-FAR, FAR])), clusters_of(-FAR))


def clusters_of(q: NDArray[np.float64]) -> Blocks:
    return [part.tolist() for part in (*moments_of_all(q), *cluster_sums(q, TWO_CENTRES))]


@case("noisy_blocks/matched_centres")
def centres() -> Case:
    """Swap a part whose centres lie all at one corner for one whose centres lie at the other."""
    mechanism = NoisyBlocks.calibrate((matched_block(2, 2),), target=GaussianDP(1))
    return gaussian_case(mechanism, [[STEPS] * 4], [[-STEPS] * 4])


# ── second moments of rows in a ball of two columns
LENGTH = 64


@case("noisy_blocks/second_moments")
def second_moments() -> Case:
    """Add a row of full length along an axis: the count, a sum and a square move furthest."""
    target = GaussianDP(1, relation=ADD_REMOVE)
    mechanism = NoisyBlocks.calibrate(ball_blocks(2, LENGTH, ADD_REMOVE), target=target)
    return gaussian_case(mechanism, ball_of([[LENGTH / STEPS, 0.0]]), ball_of([]))


def ball_of(rows: Sequence[Sequence[float]]) -> Blocks:
    x = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return [part.tolist() for part in ball_moments(x, np.zeros(2), np.ones(2), LENGTH)]


# ── the minimum of a regularised hinge, one column, λ = 8
PLANE = GeneralizedLinear("y", ("x",), norm=1, intercept=False, loss=HuberHinge(1), design=(Feature("x"),))
STRENGTH = 8.0


@case("noisy_blocks/output_perturbation")
def output() -> Case:
    """Add a record whose slope stays near −1 at the minimum, λ being large."""
    target = GaussianDP(1, relation=ADD_REMOVE)
    block = minimum_block("weights", PLANE, STRENGTH, ADD_REMOVE)
    mechanism = NoisyBlocks.calibrate((block,), target=target)
    return gaussian_case(mechanism, [minimum_of([1.0])], [minimum_of([])])


def minimum_of(rows: Sequence[float]) -> list[int]:
    records = Records.of(PLANE, np.array(rows).reshape(-1, 1), np.ones(len(rows)))
    return list(map(int, minimum_cells(PLANE, records, STRENGTH, ADD_REMOVE)))


# ── coefficients of quadratic losses: one column, no intercept
ENDS = (np.zeros(1), np.ones(1))


@case("noisy_blocks/functional_squares")
def squares() -> Case:
    """Add (x, y) = (1, 1): all second moments move together by ‖(x, y)‖²."""
    target = GaussianDP(1, relation=ADD_REMOVE)
    block = square_block(1, STEPS, ADD_REMOVE, constant=False)
    return gaussian_case(NoisyBlocks.calibrate((block,), target=target), squares_of([1.0]), squares_of([]))


def squares_of(rows: Sequence[float]) -> Blocks:
    x = np.array(rows, dtype=np.float64)
    return [list(map(int, square_sums(x[:, None], x, ENDS, ENDS, STEPS, constant=False)))]


@case("noisy_blocks/functional_classes")
def by_class() -> Case:
    """Add a record of full length: the sum of its class and the second moment move furthest."""
    target = GaussianDP(1, relation=ADD_REMOVE)
    blocks = class_blocks(2, 1, STEPS, ADD_REMOVE, constant=False)
    return gaussian_case(NoisyBlocks.calibrate(blocks, target=target), classes_of([1.0]), classes_of([]))


def classes_of(rows: Sequence[float]) -> Blocks:
    x, codes = np.array(rows, dtype=np.float64)[:, None], np.ones(len(rows), np.int64)
    return [list(map(int, part)) for part in class_sums(x, codes, 2, ENDS, STEPS, constant=False)]
