"""Centres of disjoint blocks of the rows, matched to common ones and summed: sample and aggregate."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from discreet.families.family import Integers
from discreet.mechanisms.learners.class_moments import STEPS
from discreet.mechanisms.learners.lloyd import assigned
from discreet.mechanisms.learners.noisy_blocks import Block, Floats
from discreet.sampling.source import Source

STEPS_WITHIN = 10  # of Lloyd's, within a block


def matched_block(clusters: int, columns: int) -> Block:
    """Return the sum of the parts' centres: a record is of one part, and moves each coordinate by 2K at most.

    Which part a record is of is drawn for itself, so that all others keep theirs [NRS07 Thm 4.2].
    """
    moved = clusters * columns
    return Block("centres", moved, 2 * STEPS * moved, 4 * STEPS**2 * moved)


def block_centres(q: Floats, start: Floats, blocks: int, source: Source) -> Integers:
    """Return Σ over blocks of the centres that Lloyd's steps reach from `start` on its rows, all in K-ths."""
    which = source.words(len(q)) % np.uint64(blocks)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(blocks + 1, dtype=np.uint64))
    total = np.zeros(start.shape)
    for low, high in pairwise(ends.tolist()):
        total += np.rint(matched(settled(q[order[low:high]], start), start))
    return total.astype(np.int64).ravel()


def settled(rows: Floats, start: Floats) -> Floats:
    """Lloyd's steps without noise; a centre without rows stays where it is."""
    centres = start
    for _ in range(STEPS_WITHIN):
        sums, counts = np.zeros_like(centres), np.zeros(len(centres))
        for part, nearest in assigned(rows, centres):
            member = (nearest == np.arange(len(centres))[:, None]).astype(np.float64)
            counts += member.sum(axis=1)
            sums += member @ part
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return np.clip(centres, -STEPS, STEPS)


def matched(centres: Floats, common: Floats) -> Floats:
    """Put centres in the order in which they are together nearest to the common ones."""
    apart = np.square(centres[None] - common[:, None]).sum(axis=2)
    return np.asarray(centres[linear_sum_assignment(apart)[1]])
