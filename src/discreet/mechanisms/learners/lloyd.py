"""Lloyd's steps from noisy counts and sums of clusters: their budget, and what one record moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Integers
from discreet.mechanisms.learners.class_moments import STEPS, moment_blocks
from discreet.mechanisms.learners.noisy_blocks import Block, Floats
from discreet.privacy.guarantee import Relation

START = Fraction(1, 8)  # of the budget, for the mean and variance of all columns, from which centres start
TYPICAL = (
    0.225  # √E[m²] of a centre's coordinate in [−1, 1], by which the noise of a count moves it [SCLBJ16]
)
CHUNK = 2**12


def lloyd_blocks(clusters: int, columns: int, rounds: int, relation: Relation) -> tuple[Block, ...]:
    """Return the two blocks of the moments of all rows; then counts and sums of the clusters for each round.

    A record adds 1 to one count and at most K to each column of one sum; in another's place it moves two
    counts by one, and sums by 4dK² in all, squared (2K a column within a cluster). A centre is S/N: noise of
    σ_S and σ_N moves it by (σ_S² + m²σ_N²)/N² a column, least where counts get m/(m + √d) of a round.
    """
    moved = 2 if relation.replaces else 1
    of_counts = Fraction(TYPICAL / (TYPICAL + sqrt(columns)))
    each = (1 - START) / rounds
    start = (
        replace(block, share=START * Fraction(block.share)) for block in moment_blocks(1, columns, relation)
    )
    sums = clusters * columns
    return (
        *start,
        *(
            block
            for i in range(1, rounds + 1)
            for block in (
                Block(f"counts {i}", clusters, moved, moved, each * of_counts),
                Block(
                    f"sums {i}",
                    sums,
                    moved * columns * STEPS,
                    moved**2 * columns * STEPS**2,
                    each * (1 - of_counts),
                ),
            )
        ),
    )


def cluster_sums(q: Floats, centres: Floats) -> tuple[Integers, Integers]:
    """Return how many rows are nearest to each centre, and their sum; rows and centres in K-ths.

    Centres are rounded to whole numbers, with which distances are exact: of two nearly as near, the rounding
    of a product of matrices would choose by where among the others a row stands, and so by the others.
    """
    centres = np.rint(centres)
    k, d = centres.shape
    counts, sums = np.zeros(k, np.int64), np.zeros((k, d))
    for rows, nearest in assigned(q, centres):
        member = (nearest == np.arange(k)[:, None]).astype(np.float64)
        counts += np.bincount(nearest, minlength=k)
        sums += member @ rows  # whole numbers, exact below 2^53
    return counts, sums.astype(np.int64).ravel()


def assigned(q: Floats, centres: Floats) -> Iterator[tuple[Floats, NDArray[np.intp]]]:
    """Rows, and the centre nearest to each, some at a time."""
    turned, lengths = np.ascontiguousarray(centres.T), np.square(centres).sum(axis=1) / 2
    for start in range(0, len(q), CHUNK):
        rows = q[start : start + CHUNK]
        yield rows, np.argmax(rows @ turned - lengths, axis=1)
