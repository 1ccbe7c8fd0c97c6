"""Proposals from a radial envelope of e^{−U}, judged up to the rounding that rejection_rounding.py bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.regression.samplers.loss_floors import Rise, rises
from discreet.mechanisms.regression.samplers.potential import Potential
from discreet.mechanisms.regression.samplers.radial_envelope import (
    RadialEnvelope,
    growth,
    lengths,
    metric,
    strips,
    tilt,
)
from discreet.mechanisms.regression.samplers.tilted_potential import BLOCK, Tilted, blocks
from discreet.models.margin_losses import Floats
from discreet.numerics.search import bisect, bracket, doubles
from discreet.sampling import exact
from discreet.sampling.source import Source

BATCH = 64  # proposals judged together
TAIL = 32  # e^{−32} of the law is given up, twice
NORMAL_GRID = Fraction(1, 2**40)
FINER = 2**40  # the noise's own grid, below its spread


@final
@dataclass(frozen=True, repr=False)
class ProposalBall:
    """‖w‖ ≤ R. Inside, U ≥ U + (λ/2)(‖w‖² − R²): proposals come from a stronger prior, for any λ ≥ 0."""

    radius: float
    strength: float = 0.0  # λ

    @classmethod
    def of(cls, potential: Potential, radius: float) -> Self:
        """λ such that draws of the stronger prior are about as long as the radius."""
        if not 0 < radius < math.inf:
            raise ValueError(f"the radius must be positive and finite, got {radius}")

        def fits(more: float) -> bool:
            tilted = Tilted.plain(potential, more)
            spread = np.trace(np.linalg.inv(tilted.hessian(tilted.anchor)))
            return not float(tilted.anchor @ tilted.anchor + spread) > radius**2

        ends = bracket(fits, 0.0, 0.0, lambda x: max(4 * x, float(potential.strength)), math.isinf)
        return cls(radius, bisect(fits, *(ends or (0.0, 0.0)), doubles, turns=8))

    def exponent(self, w: Floats) -> Floats:
        """(λ/2)(R² − ‖w‖²) inside, ∞ outside."""
        room = self.radius**2 - np.einsum("ij,ij->i", w, w)
        return np.where(room >= 0, self.strength / 2 * room, np.inf)

    def slack(self, v: Floats) -> float:
        """How far U − min U may lie below ψ − γr, for an anchor v inside: (λ/2)(R² − ‖v‖²)"""
        return self.strength / 2 * max(self.radius**2 - float(v @ v), 0.0)


EVERYWHERE = ProposalBall(1e150)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Proposal:
    """w = v + r·Sz/‖z‖, accepted with probability e^{−exponent} ≤ 1."""

    tilted: Tilted
    envelope: RadialEnvelope
    rise: Rise
    ball: ProposalBall

    @classmethod
    def of(cls, tilted: Tilted, ball: ProposalBall = EVERYWHERE) -> Self:
        """Anchor at the minimum; the metric is I/√m should the fitted one leave the law too wide."""
        margins = tilted.rows @ tilted.anchor
        far = 2 * (tilted.dimension * math.log(2) + TAIL) + ball.slack(tilted.anchor)
        for root in (metric(tilted, margins), np.eye(tilted.dimension) / math.sqrt(tilted.strength)):
            psi, gamma = growth(tilted, margins, root), tilt(tilted, root)
            farthest = psi.beyond(far, gamma)
            if farthest <= largest_radius(tilted.dimension):
                break
        envelope = strips(root, psi, gamma, farthest)
        return cls(tilted, envelope, rises(tilted.loss, margins, tilted.answers), ball)

    def released(self, size: int, noise: Fraction, source: Source) -> Floats:
        """Add N(0, noise²I) and round to a grid of noise/16."""
        return self.smeared(size, noise, source, noise / 16)

    def smeared(self, size: int, deviation: Fraction, source: Source, grid: Fraction) -> Floats:
        """Add N(0, deviation²I) and round to the grid; both are powers of two."""
        d, fine = self.tilted.dimension, deviation / FINER
        added = exact.normal(source, 0, deviation**2, size * d, fine).reshape(size, d)
        out = [
            _on_grid(*self._exact(*point), noise, fine, grid)
            for point, noise in zip(self.accepted(size, source), added, strict=True)
        ]
        return np.array(out).reshape(size, d)

    def accepted(self, size: int, source: Source) -> list[tuple[float, Floats]]:
        """(r, z) of the first `size` proposals that pass."""
        kept: list[tuple[float, Floats]] = []
        batch = max(BATCH, 320 // self.tilted.dimension + 1)
        while len(kept) < size:
            r, z, exponent = self.proposals(batch, source)
            passed = np.flatnonzero(exponentials(source, batch) >= exponent)[: size - len(kept)]
            kept += [(float(r[i]), z[i]) for i in passed]
        return kept

    def proposals(self, size: int, source: Source) -> tuple[Floats, Floats, Floats]:
        """`size` of (r, z) and the exponent of each."""
        e, d = self.envelope, self.tilted.dimension
        ends = np.cumsum(e.shares)
        strip = np.searchsorted(ends, exact.uniform_integers(source, int(ends[-1]), size), side="right")
        r = e.edges[strip] + (e.edges[strip + 1] - e.edges[strip]) * uniforms(source, size)
        z = normals(source, size * d).reshape(size, d)
        moved = (z * (r / lengths(z))[:, None]) @ e.root.T
        log_density = (d - 1) * np.log(r) - self.risen(moved)
        return r, z, e.heights[strip] - log_density + self.ball.exponent(self.tilted.anchor + moved)

    def risen(self, moved: Floats) -> Floats:
        """U(v + δ) − U(v) for every row δ"""
        t = self.tilted
        parts = [self.rise(moved @ t.rows[part].T, part) for part in blocks(len(t.rows), BLOCK)]
        losses = np.sum(np.stack(parts, axis=1), axis=1) if parts else np.zeros(len(moved))
        prior = np.einsum("ij,ij->i", moved, moved) / 2 + moved @ (t.anchor - t.centre)
        return np.asarray(t.weight * losses + t.strength * prior)

    def _exact(self, r: float, z: Floats) -> tuple[list[int], int]:
        """Return v + St as whole numbers over a power of two, from t = rz/‖z‖ within 5 roundings."""
        t = z * (r / math.sqrt(math.fsum(z * z)))
        root, scale = _whole(self.envelope.root)
        steps, size = _whole(t)
        unit = scale * size
        anchor = (v.as_integer_ratio() for v in self.tilted.anchor.tolist())
        return [unit * a // b + k for (a, b), k in zip(anchor, root @ steps, strict=True)], unit


def _whole(x: Floats) -> tuple[NDArray[Any], int]:
    """x·2^p as Python integers, p ≥ 0 leaving 60 bits to the largest entry."""
    bits = max(60 - math.frexp(float(np.max(np.abs(x))))[1], 0)
    return np.rint(np.ldexp(x, bits)).astype(np.int64).astype(object), 2**bits


def _on_grid(w: list[int], unit: int, noise: Floats, fine: Fraction, grid: Fraction) -> list[float]:
    """Sum on the noise's fine grid, where it is the rounding of an ideal sum, then round to the grid."""
    over, coarser = unit * fine.numerator, int(grid / fine)
    cells = ((2 * x * fine.denominator + over) // (2 * over) for x in w)
    sums = (k + int(z / float(fine)) for k, z in zip(cells, noise, strict=True))
    return [(2 * k + coarser) // (2 * coarser) * grid.numerator / grid.denominator for k in sums]


def largest_radius(dimension: int) -> float:
    """r̄: eight times where ψ = r²/2 would end."""
    return 16 * math.sqrt(dimension * math.log(2) + TAIL)


# ── randomness ──────────────────────────────────────────────────────────────────────────────────────


def uniforms(source: Source, size: int) -> Floats:
    """Midpoints of 2^53 equal parts of (0, 1)"""
    return ((source.words(size) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def exponentials(source: Source, size: int) -> Floats:
    """−ln U with U right to 2^-52 relatively, however small: P(halvings = k) = 2^-k, then U·2^k in (1, 2)."""
    halvings, open_ = np.zeros(size), np.arange(size)
    while open_.size:
        heads, exponent = np.frexp((source.words(open_.size) >> np.uint64(11)).astype(np.float64))
        halvings[open_] += 54 - np.where(heads > 0, exponent, 1)
        open_ = open_[heads == 0]
    return np.asarray(halvings * math.log(2) - np.log1p(uniforms(source, size)))


def normals(source: Source, size: int) -> Floats:
    """Draw to 2^-40, then spread evenly over the cell: a short vector has its direction to 2^-52 too"""
    rounded = exact.normal(source, 0, 1, size, NORMAL_GRID)
    spread = (source.words(size) >> np.uint64(12)).astype(np.float64) - (2.0**51 - 0.5)  # never 0
    return np.asarray(rounded + spread * 2.0**-92)
