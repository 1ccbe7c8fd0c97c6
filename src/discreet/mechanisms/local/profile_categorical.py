"""Categories of known profiles: keep or draw afresh, or a whole matrix for each profile [GC19 §4]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np

from discreet.mechanisms.local.profile_base import (
    GRID,
    ONE,
    Floats,
    Integers,
    Kernels,
    ProfileMechanism,
    blend,
    chosen,
    on_grid,
    settled,
    wanted,
)
from discreet.privacy.amplification.mixing import Row
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.profile_graph import ProfileGraph
from discreet.sampling.source import Source

Objective = Callable[[ProfileGraph, float], Kernels]


@final
@dataclass(frozen=True)
class KeepOrRedraw(Kernels):
    """A_i = sI + (1−s)·1·r_iᵀ: tell the truth with probability s, else draw from a law of the profile."""

    keep: Fraction
    redraw: tuple[Row, ...]

    def outputs(self, profiles: Sequence[Row]) -> tuple[Row, ...]:
        """Return sp + (1−s)r, in one fraction each: these are most of the work beside the program."""
        s, t, unit = self.keep.numerator, self.keep.denominator - self.keep.numerator, self.keep.denominator
        return tuple(
            tuple(
                Fraction(
                    s * p.numerator * r.denominator + t * r.numerator * p.denominator,
                    unit * p.denominator * r.denominator,
                )
                for p, r in zip(law, fresh, strict=True)
            )
            for law, fresh in zip(profiles, self.redraw, strict=True)
        )

    def matrix(self, place: int) -> Floats:
        fresh = np.array([float(r) for r in self.redraw[place]])
        return float(self.keep) * np.eye(len(fresh)) + (1 - float(self.keep)) * fresh

    def drawn(self, place: int, values: Integers, source: Source) -> Integers:
        """Draw both for every observation, so that the time tells nothing of which was told."""
        cut = int(self.keep * 2**64)
        truth = source.words(values.size) < np.uint64(cut) if cut < 2**64 else np.ones(values.size, bool)
        return np.where(truth, values, chosen(self.redraw[place], source.words(values.size)))

    def blended(self, constant: Row, share: Fraction) -> KeepOrRedraw:
        keep = Fraction(int((1 - share) * self.keep * GRID), GRID)
        if keep == ONE:
            return self
        old, new = (1 - share) * (1 - self.keep), share + (1 - share) * self.keep - keep
        mixed = [
            on_grid([(old * r + new * c) / (1 - keep) for r, c in zip(fresh, constant, strict=True)])
            for fresh in self.redraw
        ]
        return KeepOrRedraw(keep, tuple(mixed))


@final
@dataclass(frozen=True)
class Matrices(Kernels):
    """Any kernel for each profile."""

    rows: tuple[tuple[Row, ...], ...]

    @classmethod
    def of(cls, arrays: Sequence[Floats]) -> Matrices:
        return cls(tuple(tuple(on_grid(row.tolist()) for row in array) for array in arrays))

    def outputs(self, profiles: Sequence[Row]) -> tuple[Row, ...]:
        return tuple(
            tuple(
                sum((p * a for p, a in zip(law, column, strict=True)), Fraction(0))
                for column in zip(*matrix, strict=True)
            )
            for law, matrix in zip(profiles, self.rows, strict=True)
        )

    def matrix(self, place: int) -> Floats:
        return np.array([[float(a) for a in row] for row in self.rows[place]])

    def drawn(self, place: int, values: Integers, source: Source) -> Integers:
        words, released = source.words(values.size), np.empty_like(values)
        for x, row in enumerate(self.rows[place]):
            mine = values == x
            released[mine] = chosen(row, words[mine])
        return released

    def blended(self, constant: Row, share: Fraction) -> Matrices:
        return Matrices(tuple(tuple(blend(row, constant, share) for row in matrix) for matrix in self.rows))


# ── objectives: what to lose least of ───────────────────────────────────────────────────────────────


@final
@dataclass(frozen=True)
class KeepProbability:
    """The largest s for which every observation is told truly with probability s: kd + 1 variables."""

    def __call__(self, graph: ProfileGraph, ratio: float) -> Kernels:
        from discreet.mechanisms.local.profile_programs import most_kept  # noqa: PLC0415 - loads scipy.optimize

        return keep_or_redraw(graph, most_kept(graph, ratio))


@final
@dataclass(frozen=True)
class LargestError:
    """The paper's: least largest off-diagonal entry, then the least expected corruption: kd² variables."""

    def __call__(self, graph: ProfileGraph, ratio: float) -> Kernels:
        from discreet.mechanisms.local.profile_programs import least_largest_error  # noqa: PLC0415

        return Matrices.of(least_largest_error(graph, ratio))


@final
@dataclass(frozen=True)
class ExpectedCorruption:
    """Least Σ wᵢ TV(Pᵢ, qᵢ): kd variables; the kernel is the plan that moves as little as possible."""

    def __call__(self, graph: ProfileGraph, ratio: float) -> Kernels:
        from discreet.mechanisms.local.profile_programs import nearest_outputs  # noqa: PLC0415

        pairs = zip(graph.profiles, nearest_outputs(graph, ratio), strict=True)
        return Matrices(tuple(transport(law, on_grid(output.tolist())) for law, output in pairs))


@final
@dataclass(frozen=True)
class ExpectedCost:
    """Least Σ wᵢ Σ Pᵢ(x)Aᵢ(x, y)C(x, y) for a public cost matrix of yours: kd² variables."""

    cost: tuple[tuple[float, ...], ...]

    def __call__(self, graph: ProfileGraph, ratio: float) -> Kernels:
        from discreet.mechanisms.local.profile_programs import cheapest  # noqa: PLC0415

        return Matrices.of(cheapest(graph, ratio, np.array(self.cost, dtype=np.float64)))


KEEP, LARGEST_ERROR, EXPECTED_CORRUPTION = KeepProbability(), LargestError(), ExpectedCorruption()


def keep_or_redraw(graph: ProfileGraph, outputs: Floats) -> KeepOrRedraw:
    """Read s = min q/P off the laws, exactly, and what is drawn afresh as r = (q − sP)/(1 − s)."""
    laws = [on_grid(q.tolist()) for q in outputs]
    s = min(Fraction(int(_least_ratio(graph.profiles, laws) * GRID), GRID), ONE)
    if s == ONE:
        return KeepOrRedraw(ONE, tuple(on_grid(law) for law in graph.profiles))
    told, rest = int(s * GRID), int((1 - s) * GRID)
    fresh = [
        on_grid(
            [
                Fraction(int(q * GRID) * p.denominator - told * p.numerator, rest * p.denominator)
                for p, q in zip(law, out, strict=True)
            ]
        )
        for law, out in zip(graph.profiles, laws, strict=True)
    ]
    return KeepOrRedraw(s, tuple(fresh))


def _least_ratio(profiles: Sequence[Row], laws: Sequence[Row]) -> Fraction:
    """Return min q/p over p > 0, exactly: doubles, right to 3·2^-53, name the candidates."""
    pairs = [
        (p, q) for law, out in zip(profiles, laws, strict=True) for p, q in zip(law, out, strict=True) if p
    ]
    known = np.array([float(p) for p, _ in pairs])
    rough = np.array([float(q) for _, q in pairs]) / np.maximum(known, 1e-290)
    close = (rough <= rough.min() * (1 + 1e-12)) | (known < 1e-290)
    return min(pairs[i][1] / pairs[i][0] for i in np.flatnonzero(close))


def transport(law: Row, output: Row) -> tuple[Row, ...]:
    """A(x, ·): keep min(1, q/p), and move what is too much to where it lacks, in proportion."""
    lacks = [max(q - p, Fraction(0)) for p, q in zip(law, output, strict=True)]
    total = sum(lacks, Fraction(0))
    rows = []
    for x, (p, q) in enumerate(zip(law, output, strict=True)):
        moved = max(1 - q / p, Fraction(0)) if p and total else Fraction(0)
        row = [moved * lack / total if total else Fraction(0) for lack in lacks]
        row[x] += 1 - moved
        rows.append(on_grid(row))
    return tuple(rows)


@final
@dataclass(frozen=True)
class SmoothCategorical(ProfileMechanism):
    """A kernel for each profile, smooth along the graph; `objective` says what is lost least."""

    name: ClassVar[str] = "smooth_categorical"
    theorem: ClassVar[str] = (
        "GC19 Thm 5 (smooth categorical), by linear program; verified exactly on every edge"
    )

    @classmethod
    def solve(cls, graph: ProfileGraph, epsilon: Exact, *, objective: Objective = KEEP) -> Self:
        ratio = wanted(epsilon)
        if graph.loss(graph.profiles) <= epsilon:  # nothing needs hiding
            return cls(graph, KeepOrRedraw(ONE, tuple(on_grid(law) for law in graph.profiles)))
        return cls(graph, settled(graph, objective(graph, ratio), epsilon))

    @property
    def keep(self) -> float:
        """The least probability with which any observation is told as it is."""
        whole = [np.diag(self.kernels.matrix(i)) for i in range(len(self.graph.profiles))]
        return float(np.min(whole))
