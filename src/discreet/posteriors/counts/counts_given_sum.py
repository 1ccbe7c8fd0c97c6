"""Whole numbers x_j ≥ 0 given their sum, p(x | Σx = s) ∝ ∏ g_j(x_j), by a tree of convolutions.

No chain: the mass of Σx is computed, and x is split off level by level, each draw independent of the others.
Weights e^{τΣx} cancel in every such law, and a τ that centres Σx where it is asked for keeps doubles accurate
there [exponential tilting; Butler 2007 §1.1].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np
from scipy.fft import irfft, rfft

from discreet.families.family import Floats, Integers
from discreet.posteriors.noise_law import NoiseLaw

FLOOR = 1e-14  # of the peak: below it a convolution by FFT is rounding
AT_ONCE = 2**21  # numbers transformed together
BLOCK = 2**22  # weights that are added up in one tree
NATS, LARGEST = 36.0, 2**26  # of noise that one cell is followed to on either side; and weights at most
CLOSE = 0.05  # standard deviations between a sum's mean and where it was asked for


@final
@dataclass(frozen=True, eq=False)
class Masses:
    """Masses on consecutive whole numbers, one after the other, the largest of each 1."""

    low: Integers
    start: Integers  # of each in `values`, and the end
    values: Floats

    @property
    def sizes(self) -> Integers:
        return np.diff(self.start)

    def one(self, k: int) -> Floats:
        return self.values[self.start[k] : self.start[k + 1]]

    @classmethod
    def of(cls, low: Integers, masses: list[Floats]) -> Masses:
        """Scale each to a largest of 1."""
        start = np.concatenate([[0], np.cumsum([mass.size for mass in masses])])
        return cls(np.asarray(low), start, np.concatenate([mass / mass.max() for mass in masses]))


def paired(masses: Masses) -> Masses:
    """Masses of the sums of neighbours; the last of an odd number stays."""
    pairs, sizes = masses.low.size // 2, masses.sizes
    length = sizes[: 2 * pairs : 2] + sizes[1 : 2 * pairs : 2] - 1
    padded = 2 ** np.ceil(np.log2(length)).astype(np.int64)
    low, found = masses.low[: 2 * pairs : 2] + masses.low[1 : 2 * pairs : 2], [np.empty(0)] * pairs
    for size in np.unique(padded).tolist():
        rows = np.flatnonzero(padded == size)
        for some in np.array_split(rows, -(-rows.size * size // AT_ONCE)):
            sums = irfft(rfft(_rows(masses, 2 * some, size)) * rfft(_rows(masses, 2 * some + 1, size)), size)
            kept = sums >= FLOOR * sums.max(axis=1, keepdims=True)
            first, last = kept.argmax(axis=1), size - kept[:, ::-1].argmax(axis=1)
            for k, row, a, b in zip(some.tolist(), sums * kept, first, last, strict=True):
                found[k], low[k] = row[a:b], low[k] + a
    if masses.low.size % 2:
        return Masses.of(np.append(low, masses.low[-1]), [*found, masses.one(masses.low.size - 1)])
    return Masses.of(low, found)


def _rows(masses: Masses, which: Integers, size: int) -> Floats:
    """Write masses as rows, filled up with zeros."""
    inside = np.arange(size) < masses.sizes[which][:, None]
    return np.where(
        inside,
        masses.values[np.minimum(masses.start[which][:, None] + np.arange(size), masses.values.size - 1)],
        0.0,
    )


@final
@dataclass(frozen=True, eq=False)
class Tree:
    """Masses, of their sums by pairs, of those by pairs, … to the mass of all."""

    levels: tuple[Masses, ...]

    @classmethod
    def of(cls, masses: Masses) -> Tree:
        levels = [masses]
        while levels[-1].low.size > 1:
            levels.append(paired(levels[-1]))
        return cls(tuple(levels))

    @property
    def low(self) -> int:
        return int(self.levels[-1].low[0])

    @property
    def mass(self) -> Floats:
        return self.levels[-1].one(0)

    def split(self, totals: Integers, rng: np.random.Generator) -> Integers:
        """Draw the leaves given their sum, one row for each of `totals`."""
        from discreet.posteriors.counts.kernel import split  # noqa: PLC0415 - loads numba

        parts = np.ascontiguousarray(totals, dtype=np.int64)[None]
        for level in self.levels[-2::-1]:
            whole, parts = parts, np.empty((level.low.size, len(totals)), dtype=np.int64)
            if not split(rng, level.low, level.start, level.values, whole, parts):
                raise ValueError("the sum is beyond what its parts can add up to")
        return parts.T


# ── counts behind noise ─────────────────────────────────────────────────────────────────────────────


@final
@dataclass(frozen=True, eq=False)
class WeightedCounts:
    """Counts x_j with weights Γ(α_j+x)/x! · p(noise = ŷ_j − x) on 0 … most."""

    alpha: Floats
    noisy: Floats
    law: NoiseLaw
    most: int

    def __post_init__(self) -> None:
        if min(2 * self.law.reach(NATS), self.most) > LARGEST:
            raise ValueError(
                f"noise of scale {self.law.scale:g} is too wide for counts to be read exactly: ask for "
                "reading='naive', or a larger ε"
            )

    def _setting(self) -> tuple[Any, ...]:
        return self.alpha, self.noisy, self.law.scale, self.law.laplacian

    def _room(self) -> tuple[Integers, Integers, Integers]:
        top, low, high = np.empty((3, self.alpha.size), dtype=np.int64)
        return top, low, high

    def mean(self, tilt: float) -> float:
        """E Σx under weights times e^{tilt·x}."""
        from discreet.posteriors.counts.kernel import outlined  # noqa: PLC0415

        return float(outlined(*self._setting(), tilt, self.most, *self._room())[0])

    def log_mass(self, total: int) -> float:
        """Ln of the mass of Σx at one total, from a tilt of its own: however far from what is likely."""
        from discreet.posteriors.counts.kernel import outlined  # noqa: PLC0415

        tilt, _ = self.tilt_to(total)
        _, _, log = outlined(*self._setting(), tilt, self.most, *self._room())
        tree = self.summed(tilt).tree
        return float(log - tilt * total + np.log(tree.mass[total - tree.low] / tree.mass.sum()))

    def tilt_to(self, total: float, start: float = 0.0) -> tuple[float, float]:
        """τ at which Σx has this mean, and its variance there."""
        from discreet.posteriors.counts.kernel import tilted_to  # noqa: PLC0415

        down, up = self._steepest
        inside = min(max(start, down), up)
        tilt, variance = tilted_to(
            float(total), CLOSE, inside, down, up, *self._setting(), self.most, *self._room()
        )
        return float(tilt), float(variance)

    @property
    def _steepest(self) -> tuple[float, float]:
        """Tilts at which all counts are 0, and all are `most`."""
        s, logs = self.law.scale, np.log(np.append(self.alpha, 1.0))
        if self.law.laplacian:
            first, last = 1 / s, -1 / s
        else:
            first, last = (self.noisy.max() - 0.5) / s**2, (self.noisy.min() - self.most + 0.5) / s**2
        return float(-first - logs.max() - 50), float(-last - logs.min() + 50)

    def masses(self, tilt: float, cells: slice = slice(None)) -> Masses:
        """Weights times e^{tilt·x} of some of the counts."""
        from discreet.posteriors.counts.kernel import outlined, tabulated  # noqa: PLC0415

        some = WeightedCounts(self.alpha[cells], self.noisy[cells], self.law, self.most)
        setting, (top, low, high) = some._setting(), some._room()
        outlined(*setting, tilt, self.most, top, low, high)
        start = np.concatenate([[0], np.cumsum(high - low + 1)])
        values = np.empty(int(start[-1]))
        tabulated(*setting, tilt, top, low, high, start, values)
        return Masses(low, start, values)

    def summed(self, tilt: float) -> Summed:
        """Add up in blocks of cells that memory holds; a block of several is made again when it is split."""
        from discreet.posteriors.counts.kernel import outlined  # noqa: PLC0415

        top, low, high = self._room()
        outlined(*self._setting(), tilt, self.most, top, low, high)
        block = np.cumsum(high - low + 1) // BLOCK
        ends = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), self.alpha.size]
        blocks = [slice(a, b) for a, b in pairwise(ends)]
        if len(blocks) == 1:
            return Summed(self, tilt, blocks, Tree.of(self.masses(tilt)))
        trees = (Tree.of(self.masses(tilt, block)) for block in blocks)
        roots = [(tree.low, tree.mass) for tree in trees]
        over = Tree.of(Masses.of(np.array([low for low, _ in roots]), [mass for _, mass in roots]))
        return Summed(self, tilt, blocks, over)


@final
@dataclass(frozen=True, eq=False)
class Summed:
    """A sum of counts under a tilt: its tree, or the tree of the sums of its blocks."""

    cells: WeightedCounts
    tilt: float
    blocks: list[slice]
    tree: Tree

    def split(self, totals: Integers, rng: np.random.Generator) -> Integers:
        """Draw the counts given their sum, one row for each of `totals`."""
        sums = self.tree.split(totals, rng)
        return sums if len(self.blocks) == 1 else np.hstack(list(self._by_block(sums, rng)))

    def _by_block(self, sums: Integers, rng: np.random.Generator) -> Iterator[Integers]:
        for block, totals in zip(self.blocks, sums.T, strict=True):
            yield Tree.of(self.cells.masses(self.tilt, block)).split(totals, rng)
