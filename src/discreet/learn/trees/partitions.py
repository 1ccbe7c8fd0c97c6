"""Random partitions of the space that public bounds span: drawn from a public seed, without a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.learn.trees.columns import Codes, Columns
from discreet.models.margin_losses import Floats

ROWS = 1 << 16  # that are sent down a tree at once: what a processor's cache holds


@final
@dataclass(frozen=True)
class Partitions:
    """Trees of one depth, node i with the children 2i + 1 and 2i + 2; codes go left where `left` says so."""

    columns: Columns
    column: NDArray[np.int64]  # (trees, nodes)
    threshold: Floats  # (trees, nodes); numbers below go left
    left: NDArray[np.bool_]  # (trees, nodes, codes)
    depth: int

    @property
    def trees(self) -> int:
        return len(self.column)

    @property
    def leaves(self) -> int:
        return 1 << self.depth

    def leaf(self, kept: Floats, tree: int) -> Codes:
        """Return the leaf of each row, which columns() has clipped."""
        whole = [self._leaf(kept[i : i + ROWS], tree) for i in range(0, len(kept), ROWS)]
        return np.concatenate(whole) if whole else np.zeros(0, np.int64)

    def _leaf(self, kept: Floats, tree: int) -> Codes:
        node, rows = np.zeros(len(kept), np.int64), np.arange(len(kept))
        coded = np.array(self.columns.categorical)
        for _ in range(self.depth):
            column = self.column[tree][node]
            value = kept[rows, column]
            left = value < self.threshold[tree][node]
            code = coded[column]
            if code.any():
                left[code] = self.left[tree][node[code], value[code].astype(np.int64)]
            node = 2 * node + np.where(left, 1, 2)
        return node - (self.leaves - 1)


def drawn(columns: Columns, trees: int, depth: int, seed: int) -> Partitions:
    """Split every node by a column at random: a number at a uniform point of its cell, codes by coins.

    A cell whose codes are all told apart, and has no numbers, sends everything left.
    """
    rng, levels = np.random.default_rng(seed), columns.levels
    coded, most = np.array(columns.categorical), max(1, int(levels.max()))
    nodes = 2**depth - 1
    column, threshold = np.zeros((trees, nodes), np.int64), np.full((trees, nodes), np.inf)
    left = np.ones((trees, nodes, most), dtype=bool)
    low = np.tile(columns.lower, (trees, 1, 1)).astype(np.float64)
    high = np.tile(columns.upper, (trees, 1, 1)).astype(np.float64)
    held = np.tile(np.arange(most) < levels[:, None], (trees, 1, 1, 1))  # trees, nodes, columns, codes
    for level in range(depth):
        here = slice(2**level - 1, 2 ** (level + 1) - 1)
        chosen, at, goes = _split(rng, low, high, held, coded)
        column[:, here], threshold[:, here], left[:, here] = chosen, at, goes
        low, high, held = _children(low, high, held, coded, (chosen, at, goes))
    return Partitions(columns, column, threshold, left, depth)


def _split(
    rng: np.random.Generator, low: Floats, high: Floats, held: NDArray[np.bool_], coded: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Floats, NDArray[np.bool_]]:
    able = ~coded | (held.sum(axis=3) > 1)
    chosen = np.where(able, rng.random(able.shape), -1.0).argmax(axis=2)
    here = chosen[:, :, None]
    start, end = (np.take_along_axis(x, here, axis=2)[:, :, 0] for x in (low, high))
    at = start + (end - start) * rng.random(start.shape)
    codes = np.take_along_axis(held, here[..., None], axis=2)[:, :, 0]
    key = np.where(codes, rng.random(codes.shape), np.nan)
    coin = rng.random(codes.shape) < 1 / 2
    with np.errstate(invalid="ignore"):
        top = key == np.fmax.reduce(key, axis=2, keepdims=True)  # one of the codes always goes left,
        bottom = key == np.fmin.reduce(key, axis=2, keepdims=True)  # and another right
    goes = (coin | top) & ~(bottom & ~top)
    number = ~coded[chosen]
    stuck = coded[chosen] & ~np.take_along_axis(able, here, axis=2)[:, :, 0]
    return chosen, np.where(number, at, np.inf), np.where((number | stuck)[..., None], True, goes)  # noqa: FBT003


def _children(
    low: Floats,
    high: Floats,
    held: NDArray[np.bool_],
    coded: NDArray[np.bool_],
    split: tuple[NDArray[np.int64], Floats, NDArray[np.bool_]],
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Cells of the children, left and right beside each other."""
    chosen, at, goes = split
    mine = np.arange(low.shape[2]) == chosen[:, :, None]
    number = mine & ~coded
    ends = np.stack((np.where(number, at[..., None], high), high), axis=2)
    starts = np.stack((low, np.where(number, at[..., None], low)), axis=2)
    code = (mine & coded)[..., None]
    sides = np.stack((held & (goes[:, :, None] | ~code), held & (~goes[:, :, None] | ~code)), axis=2)
    shape = (low.shape[0], -1, low.shape[2])
    return starts.reshape(shape), ends.reshape(shape), sides.reshape(*shape, held.shape[3])
