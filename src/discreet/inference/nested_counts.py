"""Counts of classes and, within each, of the levels of several features, given noisy counts of the latter.

N and, for each feature d, n_{yd·} given N_y are Dirichlet–multinomial; Ĉ_{ydj} = n_{ydj} + noise. Every table
informs the same N_y: p(N | Ĉ) ∝ p(N) ∏_{y,d} p(Ĉ_{yd·} | N_y), each factor the mass of a sum (count_sums).
So N is drawn first, then the cells of each table given N: independent draws, no chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import gammaln

from discreet.inference.count_sums import Mass, Sum, centring, drawn, summed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.families.family import Floats, Integers
    from discreet.inference.noise_aware_noise import NoiseLaw

REACH = (
    100.0  # nats of noise on either side of a noisy count that a cell is followed to, and what a tilt may use
)
DEEP = 700.0  # nats that doubles hold: nothing within reach is cut off before it is tilted
STEEPEST = 0.5, 5.0  # tilts in 1/b for Laplace noise and in 1/σ for Gaussian noise, which REACH has room for
FAR = 3.0  # standard deviations between a sum and where it is needed, beyond which it is tilted there
RECENTRED = 5
LARGEST = 2**26  # weights of one table in memory


@final
@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Ĉ of one feature: (classes, levels), its noise, and the prior weight of a level."""

    noisy: Floats
    law: NoiseLaw
    prior: float

    @property
    def levels(self) -> int:
        return int(self.noisy.shape[1])

    @property
    def tilts(self) -> tuple[float, float]:
        """Steepest tilts down and up; down against the pull of the prior as well, for there 0 is the end."""
        steepest = STEEPEST[0 if self.law.laplacian else 1] / self.law.scale
        return -steepest - 4 * self.prior, steepest

    def cells(self, y: int, most: float) -> list[Mass]:
        """Γ(α+x)/x! · p(Ĉ − x) of each level, x from 0 to `most`."""
        reach = self.law.reach(REACH) + 3 * max(self.prior - 1, 0) * self.law.scale
        if min(2 * reach, most) * self.levels > LARGEST:
            raise ValueError(
                f"noise of scale {self.law.scale:g} on {self.levels} levels is too wide to be read exactly: "
                "ask for reading='naive', fewer levels, or a larger ε"
            )
        return [self._cell(float(z), reach, most) for z in self.noisy[y]]

    def _cell(self, z: float, reach: float, most: float) -> Mass:
        low = max(floor(min(z, most) - reach), 0)
        x = np.arange(low, min(ceil(max(z, 0) + reach), most) + 1, dtype=np.float64)
        logs = _urn(self.prior, x) + self.law.log_density(z - x)
        return Mass.of(low, logs, DEEP)

    def log_room(self, total: Floats) -> Floats:
        """Log of N! Γ(Jα)/Γ(N+Jα), what the levels' weights are normalised by."""
        return np.asarray(-_urn(self.levels * self.prior, total))


def _urn(alpha: float, x: Floats) -> Floats:
    return np.asarray(gammaln(alpha + x) - gammaln(x + 1))


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """All tables, the prior weight of a class, and n where it is public (else at most `most`, flat)."""

    tables: tuple[NoisyTable, ...]
    prior: float
    n: int | None
    most: float = np.inf

    @cached_property
    def cells(self) -> list[list[list[Mass]]]:
        """[class][table][level], untilted."""
        most = self.most if self.n is None else self.n
        return [[table.cells(y, most) for table in self.tables] for y in range(self.classes)]

    @property
    def classes(self) -> int:
        return int(self.tables[0].noisy.shape[0])


def draw(problem: Problem, size: int, rng: np.random.Generator) -> tuple[Integers, list[Integers]]:
    """(N, n_1, …, n_D): `size` independent draws of (classes,) and (classes, levels) each."""
    centre = _guess(problem)
    for _ in range(RECENTRED):
        sums = [
            [table_sum(problem, y, d, c) for d in range(len(problem.tables))] for y, c in enumerate(centre)
        ]
        totals = _totals(problem, sums, size, rng)
        here = totals.mean(axis=0)
        found = all(_near(part.mass, here[y]) for y, row in enumerate(sums) for part, _ in row)
        if found or (np.abs(here - centre) <= totals.std(axis=0) + 1).all():
            break
        centre = here
    cells = [
        np.stack([sums[y][d][0].split(totals[:, y], rng) for y in range(problem.classes)], axis=1)
        for d in range(len(problem.tables))
    ]
    return totals, cells


def _guess(problem: Problem) -> Floats:
    """Σ_j Ĉ_{ydj} is unbiased for N_y: weigh the tables by its precision, share out what is missing to n."""
    sums = np.array([table.noisy.sum(axis=1) for table in problem.tables])
    precision = np.array([1 / (table.levels * table.law.variance) for table in problem.tables])
    centre = np.maximum(precision @ sums / precision.sum(), 0.0)
    if problem.n is None:
        return np.asarray(np.minimum(centre, problem.most))
    return np.asarray(np.clip(centre + (problem.n - centre.sum()) / problem.classes, 0, problem.n))


def _near(mass: Mass, total: float) -> bool:
    mean, variance = mass.moments()
    return abs(total - mean) <= FAR * sqrt(variance) + 1


def table_sum(problem: Problem, y: int, d: int, total: float) -> tuple[Sum, float]:
    """Mass of N_y that one table gives, tilted by e^{τN} where it would be read far from its middle."""
    cells = problem.cells[y][d]
    mean, variance = np.sum([m.moments() for m in cells], axis=0)
    near = abs(total - mean) <= FAR * sqrt(variance) + 1
    slope = 0.0 if near else centring(cells, total, *problem.tables[d].tilts)
    return summed([mass.tilted(slope) for mass in cells]), slope


def _totals(
    problem: Problem, sums: Sequence[Sequence[tuple[Sum, float]]], size: int, rng: np.random.Generator
) -> Integers:
    """Draw N, of all tables together, and with Σ N_y = n where that is public."""
    masses = [class_mass(problem, row) for row in sums]
    if problem.n is None:
        root = summed(masses)
        n = root.mass.support
        logs = root.mass.logs() - _urn(problem.classes * problem.prior, n)
        whole = Mass.of(root.mass.low, np.where(n <= problem.most, logs, -np.inf))
        return root.split(drawn(whole, size, rng), rng)
    mean, variance = np.sum([m.moments() for m in masses], axis=0)
    if abs(problem.n - mean) > FAR * sqrt(variance) + 1:
        steepest = 20 / max(sqrt(min(m.moments()[1] for m in masses)), 0.1)
        slope = centring(masses, problem.n, -steepest, steepest)
        masses = [mass.tilted(slope) for mass in masses]
    return summed(masses).split(np.full(size, problem.n, dtype=np.int64), rng)


def class_mass(problem: Problem, row: Sequence[tuple[Sum, float]]) -> Mass:
    """Γ(α+N)/N! ∏_d p(Ĉ_{yd·} | N), where every table gives N some mass."""
    low = max(part.mass.low for part, _ in row)
    high = min(part.mass.high for part, _ in row)
    if low > high:
        raise ValueError(
            "the noisy tables contradict each other, or the public number of records, beyond what their "
            "noise allows"
        )
    total = np.arange(low, high + 1, dtype=np.float64)
    logs = _urn(problem.prior, total)
    for (part, slope), table in zip(row, problem.tables, strict=True):
        start = low - part.mass.low
        logs = logs + part.mass.logs()[start : start + total.size] - slope * total + table.log_room(total)
    return Mass.of(low, logs, DEEP)
