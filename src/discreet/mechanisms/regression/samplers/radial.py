"""A law above e^{−U} with a uniform direction, and proposals drawn from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import xlogy

from discreet.mechanisms.regression.samplers.potential import BLOCK, Potential, Rise, Tilted, blocks, rises
from discreet.models.margin_losses import Floats
from discreet.numerics.search import bisect, bracket, doubles
from discreet.sampling import exact
from discreet.sampling.source import Source

# ── A law above e^{−U} that is drawn exactly: a uniform direction, and a radius from strips.
# For any anchor v and any invertible S put w = v + St, r = ‖t‖, σ_i = ‖Sᵀx_i‖. Then |x_i·(w − v)| ≤ σ_i r, so
# wherever ‖t‖ ≤ r the curvature in t is at least
#     Λ(r) = λmin(Sᵀ(mI + ρΣ b_i(r)x_i x_iᵀ)S),   b_i(r) = inf φ'' over |s − x_i·v| ≤ σ_i r,
# which falls with r and never below m·λmin(SᵀS). Integrated twice, with γ ≥ ‖Sᵀ∇U(v)‖,
#     U(w) − U(v) ≥ ψ(r) − γr,   ψ'' = Λ,  ψ(0) = ψ'(0) = 0.
# Λ is taken from the outer end of each of a few cells, so ψ is convex and r^{d−1}e^{γr−ψ(r)} log-concave: its
# tangents bound it by a constant on each of many strips of r. For logistic losses the bound that follows from
# self-concordance alone, φ'' ≥ e^{−σ_i r}φ''(s_i), lies below this one.
ROUNDOFF = 2.0**-53
STRIPS = 400
SHARES = 2.0**52  # strips are chosen by whole numbers out of about so many
_CELLS = 18
_OUT = 0.4  # of the typical radius: where the metric is taken; the best of a few tried
_SAFE = 1e-9  # far above any rounding of a logarithm here; costs as much of the acceptance


@final
@dataclass(frozen=True, eq=False, repr=False)
class RadialEnvelope:
    """Strips [edge_j, edge_{j+1}) of r with whole shares N_j and heights ln h_j ≥ (d−1)ln r + γr − ψ(r)."""

    root: Floats  # S
    edges: Floats
    shares: NDArray[np.int64]
    heights: Floats  # ln h_j, h_j ∝ N_j / width_j exactly


def metric(tilted: Tilted, margins: Floats) -> Floats:
    """S with (SSᵀ)⁻¹ = mI + ρΣ(φ'' some way out)xxᵀ: flatter than U at v, as the envelope will be."""
    d = tilted.rows.shape[1]
    bends = tilted.loss.bend(margins, tilted.answers)
    near = _root(tilted, tilted.curved(bends, tilted.rows))
    out = lengths(tilted.rows @ near) * math.sqrt(d) * _OUT
    return _root(tilted, tilted.curved(tilted.flattest(margins, out), tilted.rows))


def _root(tilted: Tilted, curved: Floats) -> Floats:
    d = len(curved)
    factor = np.linalg.cholesky(curved + tilted.strength * np.eye(d))
    return np.asarray(solve_triangular(factor, np.eye(d), lower=True).T)


def lengths(rows: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Growth:
    """ψ, from Λ_k on (cell_{k−1}, cell_k] and the last one beyond."""

    cells: Floats  # 0 = cell_0 < cell_1 < …
    curvatures: Floats  # one more than there are cells between

    def __call__(self, r: Floats) -> tuple[Floats, Floats]:
        """ψ(r), ψ'(r)"""
        widths = np.diff(self.cells)
        slopes = np.concatenate([[0.0], np.cumsum(self.curvatures[:-1] * widths)])
        falls = slopes[:-1] * widths + self.curvatures[:-1] * widths**2 / 2
        levels = np.concatenate([[0.0], np.cumsum(falls)])
        k = np.searchsorted(self.cells, r, side="right") - 1
        over = r - self.cells[k]
        value = levels[k] + slopes[k] * over + self.curvatures[k] * over**2 / 2
        return value * (1 - _SAFE / 1e3), slopes[k] + self.curvatures[k] * over

    def beyond(self, rise: float, gamma: float) -> float:
        """Return an r above which ψ(r) − γr > rise."""
        r = 1.0
        while not self(np.array([r]))[0][0] - gamma * r > rise:
            r *= 1.25
        return r


def growth(tilted: Tilted, margins: Floats, root: Floats) -> Growth:
    """Λ at the cells' outer ends, less what the arithmetic may have added to an eigenvalue."""
    n, d = tilted.rows.shape
    z = tilted.rows @ root
    blur = ROUNDOFF * 4 * d * tilted.longest * float(np.linalg.norm(root))
    sigma = lengths(z) * (1 + 1e-12) + blur
    bare = tilted.strength * root.T @ root
    span = math.sqrt(d)
    cells = np.concatenate([np.linspace(0, 1.5 * span + 3, _CELLS), span * np.array([2.0, 3.0, 5.0]) + 8])
    last = 0.999 * tilted.strength / float(np.linalg.norm(np.linalg.inv(root), 2)) ** 2  # to κ^½d² roundings
    curvatures = []
    for r in cells[1:]:
        curved = tilted.curved(tilted.flattest(margins, sigma * r), z)
        moved = (
            2
            * blur
            * math.sqrt(n * tilted.weight * float(tilted.loss.curvature) * max(float(np.trace(curved)), 0.0))
        )
        curvatures.append(max(least_eigenvalue(bare + curved, n, moved), last))
    return Growth(cells, np.minimum.accumulate(np.array([*curvatures, last])))


def least_eigenvalue(matrix: Floats, n: int, moved: float) -> float:
    """λmin, less n + 8d² + 64 roundings of the trace and what moved entries add."""
    d = len(matrix)
    slack = 2 * ROUNDOFF * (n + 8 * d * d + 64) * float(np.trace(matrix)) + moved
    least = float(np.linalg.eigvalsh(matrix)[0])
    return least - slack


def tilt(tilted: Tilted, root: Floats) -> float:
    """γ: ‖Sᵀ∇U(v)‖ and what the arithmetic may hide of it."""
    n, d = tilted.rows.shape
    v = tilted.anchor
    size: float = tilted.weight * n * float(tilted.loss.lipschitz) * tilted.longest
    size += tilted.strength * float(np.linalg.norm(v - tilted.centre))
    hidden: float = 2 * ROUNDOFF * (n + 4 * d + 64) * size * float(np.linalg.norm(root))
    seen = float(np.linalg.norm(root.T @ tilted.gradient(v)))
    return seen * (1 + 1e-9) + hidden


def strips(root: Floats, psi: Growth, gamma: float, farthest: float) -> RadialEnvelope:
    """Cover [0, farthest] and weigh each strip by a bound of ∫ r^{d−1}e^{γr−ψ}."""
    d = len(root)
    edges = _edges(d, psi, gamma, farthest)
    level, rise = psi(edges)
    f = xlogy(d - 1, edges) + gamma * edges - level
    slope = np.concatenate([[math.inf if d > 1 else 0.0], (d - 1) / edges[1:]]) + gamma - rise
    tops = _tops(edges, f, slope) + _SAFE
    widths = np.diff(edges)
    masses = tops + np.log(widths)
    scale = float(np.logaddexp.reduce(masses))
    shares = np.maximum(np.ceil(np.exp(masses - scale) * SHARES), 1).astype(np.int64)
    heights = np.log(shares) - np.log(widths) - math.log(SHARES) + scale + _SAFE
    return RadialEnvelope(root, edges, shares, heights)


def _edges(d: int, psi: Growth, gamma: float, farthest: float) -> Floats:
    """Fine where r^{d−1}e^{γr−ψ} is within e^{−40} of its top, coarse elsewhere."""
    r = np.linspace(0, farthest, 4001)[1:]
    f = xlogy(d - 1, r) + gamma * r - psi(r)[0]
    inside = r[f > f.max() - 40]
    low, high = (0.0 if d == 1 else float(inside[0]) / 2), float(inside[-1])
    fine = np.linspace(low, high, STRIPS)
    edges = np.concatenate([[0.0], fine, np.geomspace(high, farthest, 12)[1:] if high < farthest else []])
    return np.unique(edges)


def _tops(edges: Floats, f: Floats, slope: Floats) -> Floats:
    """Bound a concave function on each strip: by the end it falls from, or where the tangents meet."""
    a, b, fa, fb, da, db = edges[:-1], edges[1:], f[:-1], f[1:], slope[:-1], slope[1:]
    tops = np.where(da <= 0, fa, fb)
    bent = (da > 0) & (db < 0)
    first = bent & ~np.isfinite(da)  # the first strip, r^{d−1} from 0: the tangent at its end
    tops[first] = (fb - db * (b - a))[first]
    bent &= ~first
    run = (fb[bent] - fa[bent] - db[bent] * (b - a)[bent]) / (da[bent] - db[bent])
    tops[bent] = fa[bent] + da[bent] * run
    return np.asarray(tops)


# ── Proposals from a radial envelope of e^{−U}, judged up to the rounding that rejection.py bounds.
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
