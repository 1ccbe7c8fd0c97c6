"""Continuous laws in bulk: kernels first, and every cell they leave open settled on the same bits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.privacy.arithmetic.ball import ball, precision
from discreet.sampling import ideal, singles, truncated
from discreet.sampling.ideal import ExactNormalInverseGamma
from discreet.sampling.in_bulk.batches import (
    CHUNK,
    Gammas,
    Normals,
    Shapes,
    double,
    errors,
    kernels,
    sieve,
    uniforms,
)
from discreet.sampling.source import Lazy, Real, Source, Uniform, Words, nearest, shortened


# ── Truncated Dirichlet in bulk: held coordinates first, the free ones for those that passed.
@final
@dataclass(frozen=True)
class Held:
    """Accepted overshoots x ± error and the room they leave; `known` where ball arithmetic had to decide."""

    words: Words
    over: NDArray[np.float64]
    error: NDArray[np.float64]
    room: NDArray[np.float64]
    known: dict[int, list[Real]]

    def reals(self, v: int, source: Source, s: truncated.Simplex) -> list[Real]:
        if v in self.known:
            return self.known[v]
        return truncated.overshoots(uniforms(source, self.words[v]), s)


def truncated_dirichlet(source: Source, s: truncated.Simplex, size: int, bits: int) -> NDArray[np.int64]:
    """Cells of size·d coordinates, all ideal ones at least `lower`"""
    parts: list[NDArray[np.int64]] = []
    have, seen, d = 0, 0, len(s.alpha)
    most = max(1, CHUNK // d)
    while have < size:
        guess = (size - have) * (1.1 if not have else 1.02 * seen / have) + 16
        rows = min(most, int(guess))
        held = _held(source, s, rows)
        parts.append(_free(source, s, held, bits))
        have, seen = have + parts[-1].shape[0], seen + rows
    cells = np.concatenate([np.empty((0, d), dtype=np.int64), *parts])[:size]
    order = np.argsort(np.array(s.held + s.free))
    return cells[:, order].ravel()


def _held(source: Source, s: truncated.Simplex, rows: int) -> Held:
    count = len(s.held)
    words = source.words(rows * (count + 1)).reshape(rows, count + 1)
    over, error, room = np.zeros((rows, count)), np.zeros((rows, count + 1)), np.ones(rows)
    decisions = np.ones(rows, dtype=np.int8)
    if count:
        rates, powers = (
            np.array([double(x) for x in xs]) for xs in (s.rates, [s.alpha[i] - 1 for i in s.held])
        )
        simplex = np.array([double(x) for x in (s.lower, s.room, s.power, len(s.free) * s.lower)])
        held = kernels("simplex_kernels").held
        held(words, rates, powers, simplex, over, error, room, decisions, *errors())
    known: dict[int, list[Real]] = {}
    for v in np.flatnonzero(decisions == 2):
        reals = truncated.held_attempt(uniforms(source, words[v]), s)
        decisions[v] = reals is not None
        if reals is not None:
            known[int(v)] = reals
    kept = np.flatnonzero(decisions == 1)
    at = {int(v): k for k, v in enumerate(kept)} if known else {}
    return Held(words[kept], over[kept], error[kept], room[kept], {at[v]: x for v, x in known.items()})


def _free(source: Source, s: truncated.Simplex, held: Held, bits: int) -> NDArray[np.int64]:
    count, rows = len(s.free), held.room.size
    gammas = Gammas(source, Shapes.of([s.alpha[i] for i in s.free], "alpha"), rows * count)
    cells, decisions = np.zeros((rows, len(s.alpha)), dtype=np.int64), np.empty(rows, dtype=np.int8)
    kernels("simplex_kernels").free(
        gammas.g, gammas.n, gammas.e, count, held.over, held.error, held.room, double(s.lower), bits, cells,
        decisions, errors()[0]
    )  # fmt: skip
    for v in np.flatnonzero(decisions == 2):
        shares = [gammas.real(int(v) * count + f) for f in range(count)]
        theta = truncated.free_attempt(held.reals(int(v), source, s), shares, s)
        decisions[v] = theta is not None
        if theta is not None:
            cells[v] = [_cell(theta[i], bits) for i in s.held + s.free]
    kept: NDArray[np.int64] = cells[decisions == 1]
    return kept


def _cell(x: Real, bits: int) -> int:
    return nearest(lambda: x() * 2**bits)


# ── continuous
Cells = NDArray[np.int64]


def chunks(size: int, width: int) -> Iterator[int]:
    """Split `size` vectors so that about CHUNK coordinates are in memory at once."""
    step = max(1, CHUNK // width)
    edges = [*range(0, size, step), size]
    return (after - before for before, after in pairwise(edges))


def joined(parts: Sequence[Cells]) -> Cells:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def dirichlet(source: Source, shapes: Shapes, size: int, bits: int) -> Cells:
    """Cells of size·d coordinates, vector by vector"""
    d = shapes.doubles.size
    return joined([_dirichlet(Gammas(source, shapes, count * d), d, bits) for count in chunks(size, d)])


def _dirichlet(gammas: Gammas, d: int, bits: int) -> Cells:
    cells, sure = np.empty(gammas.g.size, dtype=np.int64), np.empty(gammas.g.size, dtype=np.bool_)
    kernels().dirichlets(gammas.g, gammas.n, gammas.e, d, bits, cells, sure, errors()[0])
    for v in np.flatnonzero(~sure.reshape(-1, d).all(axis=1)):
        members = range(int(v) * d, (int(v) + 1) * d)
        open_ones = [i for i in members if not sure[i]]
        cells[open_ones] = _settle(gammas, members, open_ones, bits)
    return cells


def _settle(gammas: Gammas, members: range, open_ones: list[int], bits: int) -> list[int]:
    """Cells of some coordinates of one vector"""
    reals = {i: gammas.real(i) for i in members}
    total = Lazy(lambda: sum((g() for g in reals.values()), arb(0)))
    return [nearest(_share(reals[i], total, bits)) for i in open_ones]


def _share(g: Real, total: Real, bits: int) -> Real:
    return Lazy(lambda: g() / total() * 2**bits)


def gamma(source: Source, shapes: Shapes, size: int, rate: Fraction) -> NDArray[np.float64]:
    """G/rate to 24 significant bits, vector by vector"""
    d = shapes.doubles.size
    parts = [_gamma(Gammas(source, shapes, count * d), rate) for count in chunks(size, d)]
    return np.concatenate([np.empty(0), *parts])


def _gamma(gammas: Gammas, rate: Fraction) -> NDArray[np.float64]:
    factor, shift = _scaled(1 / rate)
    draws, sure = np.empty(gammas.g.size), np.empty(gammas.g.size, dtype=np.bool_)
    kernels().shorten(gammas.g, gammas.n, gammas.e, factor, shift, draws, sure, errors()[0])
    for i in np.flatnonzero(~sure):
        draws[i] = shortened(singles.quotient(gammas.real(int(i)), rate), 24)
    return draws


def _scaled(x: Fraction) -> tuple[float, int]:
    """Return x as m·2ⁿ with m near 1, whatever the range of doubles."""
    n = x.numerator.bit_length() - x.denominator.bit_length()
    return double(x / 2**n if n >= 0 else x * 2**-n), n


def normal(source: Source, mean: Fraction, variance: Fraction, size: int) -> NDArray[Any]:
    """Nearest integers to m + σz; the integer part of m is kept apart from the float"""
    parts = [_normal(Normals(source, count), mean, variance) for count in chunks(size, 1)]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _normal(z: Normals, mean: Fraction, variance: Fraction) -> NDArray[Any]:
    whole, u = math.floor(mean), errors()[0]
    part, noise = mean - whole, root(variance) * z.z
    y = double(part) + noise
    near, sure = nearest_cells(y, 1.01 * (np.abs(noise) * (z.e + 6 * u) + 3 * u * (np.abs(y) + 1)))
    settled = {int(i): nearest(singles.affine(z.real(int(i)), mean, variance)) for i in np.flatnonzero(~sure)}
    return _offset(near, np.array([whole], dtype=object), settled)


def _offset(near: Cells, whole: NDArray[Any], settled: dict[int, int]) -> NDArray[Any]:
    """Near + whole with the settled ones in place; in Python's integers only where int64 is too small"""
    small = all(abs(int(k)) < 2**62 for k in [*whole, *settled.values()])
    cells: NDArray[Any] = near + whole.astype(np.int64) if small else near.astype(object) + whole
    flat = cells.reshape(-1)
    for i, k in settled.items():
        flat[i] = k
    return flat


def nearest_cells(y: NDArray[np.float64], margin: NDArray[np.float64]) -> tuple[Cells, NDArray[np.bool_]]:
    """⌊y + ½⌋ and whether it is certain"""
    k = np.floor(y + 0.5)
    sure = (y - margin >= k - 0.5) & (y + margin <= k + 0.5) & (np.abs(y) < 2.0**52)
    return np.where(sure, k, 0).astype(np.int64), sure


def root(x: Fraction) -> float:
    """√x, erring by at most 2u"""
    with precision(128):
        return float(ball(x).sqrt())


def normal_inverse_gamma(
    source: Source, law: ExactNormalInverseGamma, size: int
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Cells of size·d locations, and variances to 24 significant bits, of the same ideal draws"""
    cells: list[NDArray[Any]] = [np.empty(0, dtype=np.int64)]
    variances = [np.empty(0)]
    for count in chunks(size, 1 + len(law.mean)):
        gammas = Gammas(source, Shapes.of([law.shape], "shape"), count)
        part, spread = _jointly(gammas, Normals(source, count * len(law.mean)), law)
        cells.append(part)
        variances.append(spread)
    return np.concatenate(cells), np.concatenate(variances)


def _jointly(g: Gammas, z: Normals, law: ExactNormalInverseGamma) -> tuple[NDArray[Any], NDArray[np.float64]]:
    d, u = len(law.mean), errors()[0]
    factor, shift = _scaled(law.scale)
    spread, sure = np.empty(g.g.size), np.empty(g.g.size, dtype=np.bool_)
    kernels().shorten(1 / g.g, -g.n, g.e + u, factor, shift, spread, sure, u)
    wholes = [math.floor(m / law.grid) for m in law.mean]
    parts = np.array([double(m / law.grid - k) for m, k in zip(law.mean, wholes, strict=True)])
    step, error = _spread_out(z, law)
    with np.errstate(over="ignore", invalid="ignore"):  # what leaves the range of doubles is left open below
        sigma = np.sqrt(np.ldexp(factor / g.g, np.clip(shift - g.n, -2000, 2000)))[:, None]
        y = parts + sigma * step
        margin = 1.01 * (sigma * (error + np.abs(step) * (g.e[:, None] + 6 * u)) + 3 * u * (np.abs(y) + 1))
        near, certain = nearest_cells(y, margin)
    settled: dict[int, int] = {}
    for i in np.flatnonzero(~(sure & certain.all(axis=1))).tolist():
        location, spread[i] = law.rounded(g.real(i), [z.real(i * d + j) for j in range(d)])
        settled.update(enumerate(location, i * d))
    return _offset(near, np.array(wholes, dtype=object), settled), spread


def _spread_out(z: Normals, law: ExactNormalInverseGamma) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """L⁻ᵀz/grid and its absolute error, row by row"""
    d, u = len(law.mean), errors()[0]
    factor = np.array(law.transposed_inverse()) / float(law.grid)
    rows = z.z.reshape(-1, d)
    terms = np.abs(factor)[None] * np.abs(rows)[:, None]
    error = np.einsum("rij,rj->ri", terms, z.e.reshape(-1, d) + (d + 4) * u)
    return np.einsum("ij,rj->ri", factor, rows), 1.01 * error


def beta(source: Source, shapes: Shapes, size: int, bits: int) -> Cells:
    """Cells of x ~ Beta(a, b)"""
    everything = truncated.Window(shapes[0], shapes[1], Fraction(0), Fraction(1))
    return joined([_inside(Gammas(source, shapes, 2 * n), everything, bits) for n in chunks(size, 2)])


def truncated_beta(source: Source, w: truncated.Window, size: int, bits: int) -> Cells:
    """Cells of x ~ Beta(a, b) inside the window: from the whole Beta, or under a line where that is rare"""
    line = truncated.envelope(w)
    if w.share() > truncated.FRIENDLY:
        return _from_beta(source, w, size, bits)
    if line is not None:
        return _from_line(source, w, line, size, bits)
    return singles.truncated_beta(source, w, size, bits)


def _from_beta(source: Source, w: truncated.Window, size: int, bits: int) -> Cells:
    shapes = Shapes.of([w.a, w.b], "shapes")
    share = max(w.share(), 0.01)
    parts: list[Cells] = []
    while (missing := size - sum(part.size for part in parts)) > 0:
        rows = min(CHUNK // 2, int(1.02 * missing / share) + 16)
        parts.append(_inside(Gammas(source, shapes, 2 * rows), w, bits)[:missing])
    return joined(parts)


def _inside(gammas: Gammas, w: truncated.Window, bits: int) -> Cells:
    rows = gammas.g.size // 2
    cells, decisions = np.zeros(rows, dtype=np.int64), np.empty(rows, dtype=np.int8)
    edges = _bounds(w)
    kernels().betas(gammas.g, gammas.n, gammas.e, *edges, bits, cells, decisions, errors()[0])
    for v in np.flatnonzero(decisions == 2):
        x = ideal.normalised([gammas.real(2 * int(v)), gammas.real(2 * int(v) + 1)])[0]
        decisions[v] = truncated.inside(x, w)
        cells[v] = _cell(x, bits) if decisions[v] else 0
    kept: Cells = cells[decisions == 1]
    return kept


def _bounds(w: truncated.Window) -> tuple[float, float]:
    """Doubles that are 0 and 1 only where the window has no bound."""
    lower, upper = double(w.lower), double(w.upper)
    return max(lower, 2.0**-1000) if w.lower else 0.0, min(upper, 1 - 2.0**-53) if w.upper < 1 else 1.0


def _from_line(source: Source, w: truncated.Window, e: truncated.Envelope, size: int, bits: int) -> Cells:
    height = -1.0 if truncated.tilts(w, e) else double(truncated.height(w, e))
    line = np.array([double(x) for x in (w.a - 1, w.b - 1, e.anchor, 1 - e.anchor, e.slope)])
    window = np.array([*_bounds(w), double(w.upper - w.lower), double(w.lower - e.anchor), height])
    kernel, (u, width) = kernels().tilted, errors()

    def judge(words: Words, cells: Cells, decisions: NDArray[np.int8]) -> None:
        kernel(words, line, window, bits, cells, decisions, u, width)

    def settle(row: list[int]) -> int | None:
        x = truncated.line_attempt(Uniform(source, row[0]), Uniform(source, row[1]), w, e)
        return None if x is None else _cell(x, bits)

    return sieve(source, size, 2, judge, settle)


__all__ = [
    "beta",
    "dirichlet",
    "gamma",
    "normal",
    "normal_inverse_gamma",
    "truncated_beta",
    "truncated_dirichlet",
]
