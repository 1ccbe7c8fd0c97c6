"""A law above e^{−U} that is drawn exactly: a uniform direction, and a radius from strips.

For any anchor v and any invertible S put w = v + St, r = ‖t‖, σ_i = ‖Sᵀx_i‖. Then |x_i·(w − v)| ≤ σ_i r, so
wherever ‖t‖ ≤ r the curvature in t is at least

    Λ(r) = λmin(Sᵀ(mI + ρΣ b_i(r)x_i x_iᵀ)S),   b_i(r) = inf φ'' over |s − x_i·v| ≤ σ_i r,

which falls with r and never below m·λmin(SᵀS). Integrated twice, with γ ≥ ‖Sᵀ∇U(v)‖,

    U(w) − U(v) ≥ ψ(r) − γr,   ψ'' = Λ,  ψ(0) = ψ'(0) = 0.

Λ is taken from the outer end of each of a few cells, so ψ is convex and r^{d−1}e^{γr−ψ(r)} log-concave: its
tangents bound it by a constant on each of many strips of r. For logistic losses the bound that follows from
self-concordance alone, φ'' ≥ e^{−σ_i r}φ''(s_i), lies below this one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import xlogy

from discreet.mechanisms.regression.samplers.tilted_potential import Tilted
from discreet.models.margin_losses import Floats

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
