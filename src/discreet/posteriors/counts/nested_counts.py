"""Counts of classes and, within each, of the levels of several features, given noisy counts of the latter.

N and, for each feature d, n_{yd·} given N_y are Dirichlet–multinomial; Ĉ_{ydj} = n_{ydj} + noise. Every table
informs the same N_y: p(N | Ĉ) ∝ p(N) ∏_{y,d} p(Ĉ_{yd·} | N_y), each factor the mass of a sum (count_sums).
So N is drawn first, then the cells of each table given N: independent draws, no chain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, polygamma, psi

from discreet.families.family import Floats, Integers
from discreet.posteriors.counts.counts_given_sum import Masses, Summed, Tree, WeightedCounts
from discreet.posteriors.noise_law import NoiseLaw

FAR = 3.0  # standard deviations between a sum and where it is needed, beyond which it is centred there anew
RECENTRED = 8
WIDE = 2.0  # deviation of a sum below which one tilt may miss what other tables ask for
AROUND = 12  # records on either side of the likeliest n that are looked at one by one
STEPS = 60  # of a bracketed search, and how near it comes: in deviations or in records
NEAR = 0.1
FROZEN = 1e-6  # a variance of a sum below which its slope says nothing of the next count
BEYOND = 60.0  # nats of noise above all that is seen, where no private n is looked for


@final
@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Ĉ of one feature: (classes, levels), its noise, and the prior weights of its levels."""

    noisy: Floats
    law: NoiseLaw
    prior: float | Floats

    @property
    def levels(self) -> int:
        return int(self.noisy.shape[1])

    @cached_property
    def weights(self) -> Floats:
        return np.broadcast_to(np.asarray(self.prior, dtype=np.float64), (self.levels,)).copy()

    def log_room(self, total: Floats) -> Floats:
        """Log of N! Γ(A)/Γ(N+A), A = Σα: what the levels' weights are normalised by."""
        return np.asarray(-_urn(float(self.weights.sum()), total))


def _urn(alpha: float, x: Floats | Integers) -> Floats:
    return np.asarray(gammaln(alpha + x) - gammaln(x + 1))


def _urn_slopes(alpha: float, x: float) -> tuple[float, float]:
    """First and second derivative of the above."""
    return float(psi(alpha + x) - psi(x + 1)), float(polygamma(1, alpha + x) - polygamma(1, x + 1))


@final
@dataclass(frozen=True, eq=False)
class NestedProblem:
    """All tables, the prior weight of a class, and n where it is public.

    A private n has the log prior `size_prior`, flat if none is given. Tables count a record `each` times.
    """

    tables: tuple[NoisyTable, ...]
    prior: float
    n: int | None
    most: float = np.inf  # that a private n may be
    each: int = 1
    size_prior: Callable[[Integers], ArrayLike] | None = None

    @property
    def classes(self) -> int:
        return int(self.tables[0].noisy.shape[0])

    @cached_property
    def room(self) -> int:
        """The largest total that is thought possible."""
        if self.n is not None:
            return self.n * self.each
        seen = [
            np.maximum(t.noisy, 0).sum() + t.law.reach(BEYOND) * t.noisy.size**0.5 + 10 for t in self.tables
        ]
        return int(min(max(seen), self.most * self.each))

    @cached_property
    def cells(self) -> list[list[WeightedCounts]]:
        """[class][table]"""
        return [
            [
                WeightedCounts(t.weights, np.ascontiguousarray(t.noisy[y]), t.law, self.room)
                for t in self.tables
            ]
            for y in range(self.classes)
        ]


def draw(problem: NestedProblem, size: int, rng: np.random.Generator) -> tuple[Integers, list[Integers]]:
    """(N, n_1, …, n_D): `size` independent draws of (classes,) and (classes, levels) each."""
    centre = _guess(problem)
    for attempt in range(RECENTRED):
        tilts = [[c.tilt_to(x) for c in row] for row, x in zip(problem.cells, centre, strict=True)]
        if attempt == 0 and min(variance for row in tilts for _, variance in row) < WIDE**2:
            centre = centres(problem)
            tilts = [[c.tilt_to(x) for c in row] for row, x in zip(problem.cells, centre, strict=True)]
        if problem.n is None and problem.each > 1 and tilts[0][0][1] < problem.each**2:
            return _by_size(problem, centre, size, rng)
        sums = [
            [c.summed(tilt) for c, (tilt, _) in zip(row, found, strict=True)]
            for row, found in zip(problem.cells, tilts, strict=True)
        ]
        totals = _totals(problem, sums, centre, size, rng)
        here = totals.mean(axis=0)
        if all(_near(part.tree, here[y]) for y, row in enumerate(sums) for part in row):
            break
        centre = here if attempt else centres(problem)
    cells = [
        np.stack([sums[y][d].split(totals[:, y], rng) for y in range(problem.classes)], axis=1)
        for d in range(len(problem.tables))
    ]
    return totals, cells


def _near(tree: Tree, total: float) -> bool:
    mean, variance = _moments(tree)
    return bool(abs(total - mean) <= FAR * variance**0.5 + 1)


def _moments(tree: Tree) -> tuple[float, float]:
    share, x = tree.mass / tree.mass.sum(), np.arange(tree.mass.size)
    mean = float((share * x).sum())
    return tree.low + mean, float((share * (x - mean) ** 2).sum())


def _guess(problem: NestedProblem) -> Floats:
    """Σ_j Ĉ_{ydj} is unbiased for N_y: weigh the tables by its precision, share out what is missing to n."""
    sums = np.array([table.noisy.sum(axis=1) for table in problem.tables])
    precision = np.array([1 / (table.levels * table.law.variance) for table in problem.tables])
    centre = np.maximum(precision @ sums / precision.sum(), 0.0)
    if problem.n is None:
        return np.asarray(np.minimum(centre, problem.room))
    return np.asarray(np.clip(centre + (problem.room - centre.sum()) / problem.classes, 0, problem.room))


def _by_size(
    problem: NestedProblem, centre: Floats, size: int, rng: np.random.Generator
) -> tuple[Integers, list[Integers]]:
    """Draw a private n one by one of those near, and the counts of a single row given it."""
    ((cells,),), each = problem.cells, problem.each
    near = each * np.arange(max(0, int(centre[0] // each) - AROUND), int(centre[0] // each) + AROUND + 2)
    near = near[near <= max(problem.room, each)]
    logs = np.array([cells.log_mass(int(total)) for total in near])
    logs = logs - _urn(problem.prior, near) + _log_size_prior(problem, near)
    totals = np.sort(
        rng.choice(near, size=size, p=np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum())
    )
    parts = [
        cells.summed(cells.tilt_to(total)[0]).split(np.full(many, total), rng)
        for total, many in zip(*np.unique(totals, return_counts=True), strict=True)
    ]
    order = rng.permutation(size)
    return totals[order, None], [np.concatenate(parts)[order, None]]


def _log_size_prior(problem: NestedProblem, totals: Integers) -> Floats:
    if problem.size_prior is None:
        return np.zeros(totals.size)
    return np.asarray(problem.size_prior(totals // problem.each), dtype=np.float64)


# ── where the totals are ────────────────────────────────────────────────────────────────────────────


def centres(problem: NestedProblem) -> Floats:
    """About the likeliest N: where the slopes of ln p(Ĉ | N_y) and of its prior meet those of their sum."""
    tilts = [[0.0] * len(problem.tables) for _ in range(problem.classes)]
    last = [problem.room / problem.classes] * problem.classes
    whole = problem.classes * problem.prior

    def at(slope: float) -> Floats:
        for y in range(problem.classes):
            last[y] = _class_total(problem, y, slope, last[y], tilts[y])
        return np.array(last)

    def by_slope(slope: float) -> tuple[float, Floats]:
        found = at(slope)
        return float(found.sum()) - problem.room, found

    def by_total(total: float) -> tuple[float, Floats]:
        found = at(_urn_slopes(whole, total)[0])
        return float(found.sum()) - total, found

    if problem.n is None and by_total(problem.room)[0] < 0:
        return _meeting(by_total, 0.0, float(problem.room))
    return np.array([float(problem.room)]) if problem.classes == 1 else _meeting(by_slope, -1.0, 1.0)


def _meeting(function: Callable[[float], tuple[float, Floats]], low: float, high: float) -> Floats:
    """Return what comes with the 0 of a falling function: between what comes with its nearest values."""
    below, above = function(low), function(high)
    for _ in range(STEPS):
        if below[0] >= 0 and above[0] <= 0:
            break
        if below[0] < 0:
            low, high = low - 2 * (high - low), low
            below, above = function(low), below
        else:
            low, high = high, high + 2 * (high - low)
            below, above = above, function(high)
    for _ in range(STEPS):
        middle = (low + high) / 2
        if below[0] - above[0] <= NEAR or middle in {low, high}:
            break
        found = function(middle)
        low, high, below, above = (
            (middle, high, found, above) if found[0] >= 0 else (low, middle, below, found)
        )
    share = below[0] / (below[0] - above[0]) if below[0] > above[0] else 0.0
    return np.asarray(below[1] + share * (above[1] - below[1]))


def _class_total(problem: NestedProblem, y: int, slope: float, start: float, tilts: list[float]) -> float:
    """N_y at which ln p(Ĉ_y | N_y)p(N_y) has this slope, by Newton's rule within a bracket."""
    if len(problem.tables) == 1 and problem.prior == problem.tables[0].weights.sum():
        return problem.cells[y][0].mean(-slope)  # the prior of N_y is what normalises its levels
    low, high, total = 0.0, float(problem.room), min(max(start, 0.0), float(problem.room))
    for _ in range(STEPS):
        here, curve = _urn_slopes(problem.prior, total)
        for d, (cells, table) in enumerate(zip(problem.cells[y], problem.tables, strict=True)):
            tilts[d], variance = cells.tilt_to(total, tilts[d])
            first, second = _urn_slopes(float(table.weights.sum()), total)
            here, curve = here - tilts[d] - first, curve - second
            curve = curve - 1 / variance if variance > FROZEN else np.inf
        low, high = (total, high) if here > slope else (low, total)
        step = (slope - here) / curve if -np.inf < curve < 0 else np.inf
        if high - low <= NEAR or (np.isfinite(step) and abs(step) <= NEAR * (-curve) ** -0.5):
            break
        total = total + step if low < total + step < high else (low + high) / 2
    return total


# ── the law of the totals ───────────────────────────────────────────────────────────────────────────


def _totals(
    problem: NestedProblem, sums: list[list[Summed]], centre: Floats, size: int, rng: np.random.Generator
) -> Integers:
    """Draw N, of all tables together, and with Σ N_y = n where that is public."""
    masses = [class_mass(problem, row) for row in sums]
    total = float(centre.sum()) if problem.n is None else float(problem.room)
    slope = float(_meeting(lambda s: (_mean(masses, s) - total, np.array([s])), -1.0, 1.0)[0])
    tree = Tree.of(Masses.of(np.array([low for low, _ in masses]), [_tilted(*m, slope) for m in masses]))
    if problem.n is not None:
        return tree.split(np.full(size, problem.room), rng)
    n = tree.low + np.arange(tree.mass.size)
    with np.errstate(divide="ignore"):
        weight = np.log(tree.mass) + slope * n - _urn(problem.classes * problem.prior, n)
    weight[(n % problem.each > 0) | (n > problem.room)] = -np.inf
    weight = weight + _log_size_prior(problem, n)
    heights = np.cumsum(np.exp(weight - weight.max()))
    found = np.searchsorted(heights, rng.random(size) * heights[-1], side="right")
    return tree.split(n[np.minimum(found, n.size - 1)], rng)


def class_mass(problem: NestedProblem, row: list[Summed]) -> tuple[int, Floats]:
    """Log of Γ(α+N)/N! ∏_d p(Ĉ_{yd·} | N) from the first N that every table gives some mass."""
    low = max(part.tree.low for part in row)
    high = min(part.tree.low + part.tree.mass.size for part in row)
    total = np.arange(low, high, dtype=np.float64)
    logs = _urn(problem.prior, total)
    for part, table in zip(row, problem.tables, strict=True):
        start = low - part.tree.low
        with np.errstate(divide="ignore"):
            mass = np.log(part.tree.mass[start : start + total.size])
        logs = logs + mass - part.tilt * (total - low) + table.log_room(total)
    return low, logs


def _tilted(low: int, logs: Floats, slope: float) -> Floats:
    del low
    tilted = logs - slope * np.arange(logs.size)
    return np.asarray(np.exp(tilted - tilted.max()))


def _mean(masses: list[tuple[int, Floats]], slope: float) -> float:
    shares = [(low, _tilted(low, logs, slope)) for low, logs in masses]
    return sum(low + float((w * np.arange(w.size)).sum() / w.sum()) for low, w in shares)
