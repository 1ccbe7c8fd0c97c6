"""Continuous laws in bulk: kernels first, and every cell they leave open settled on the same bits."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from discreet.privacy.certified import ball, precision
from discreet.sampling import ideal, singles, truncated
from discreet.sampling.batches import CHUNK, Gammas, Normals, Shapes, double, errors, kernels, sieve
from discreet.sampling.lazy import Real, Uniform, cell, nearest, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.sampling.source import Source, Words

    Cells = NDArray[np.int64]

_MANY = 4096  # coordinates whose reals are better not all kept


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
    """Cells of some coordinates of one vector; a long one is first tried on the bits already drawn."""
    if len(members) > _MANY:
        with precision(64):
            total = sum((gammas.glance(i)() for i in members), arb(0))
            tried = [cell(gammas.glance(i)() / total * 2**bits) for i in open_ones]
        known = [k for k in tried if k is not None]
        if len(known) == len(tried):
            return known
    shares = dict(zip(members, ideal.normalised([gammas.real(i) for i in members]), strict=True))
    return [_cell(shares[i], bits) for i in open_ones]


def _cell(x: Real, bits: int) -> int:
    return nearest(lambda: x() * 2**bits)


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


def normal(source: Source, mean: Fraction, variance: Fraction, size: int) -> list[int]:
    """Nearest integers to m + σz; the integer part of m is kept apart from the float"""
    whole = math.floor(mean)
    part, spread = mean - whole, root(variance)
    cells: list[int] = []
    for count in chunks(size, 1):
        z = Normals(source, count)
        y = double(part) + spread * z.z
        u = errors()[0]
        margin = 1.01 * (np.abs(spread * z.z) * (z.e + 6 * u) + 3 * u * (np.abs(y) + 1))
        near, sure = nearest_cells(y, margin)
        for i in np.flatnonzero(~sure):
            near[i] = nearest(singles.affine(z.real(int(i)), part, variance))
        cells.extend(whole + int(k) for k in near)
    return cells


def nearest_cells(y: NDArray[np.float64], margin: NDArray[np.float64]) -> tuple[Cells, NDArray[np.bool_]]:
    """⌊y + ½⌋ and whether it is certain"""
    k = np.floor(y + 0.5)
    sure = (y - margin >= k - 0.5) & (y + margin <= k + 0.5) & (np.abs(y) < 2.0**52)
    return np.where(sure, k, 0).astype(np.int64), sure


def root(x: Fraction) -> float:
    """√x, erring by at most 2u"""
    with precision(128):
        return float(ball(x).sqrt())


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
    edges = double(w.lower), double(w.upper)
    kernels().betas(gammas.g, gammas.n, gammas.e, *edges, bits, cells, decisions, errors()[0])
    for v in np.flatnonzero(decisions == 2):
        x = ideal.normalised([gammas.real(2 * int(v)), gammas.real(2 * int(v) + 1)])[0]
        decisions[v] = truncated.inside(x, w)
        cells[v] = _cell(x, bits) if decisions[v] else 0
    kept: Cells = cells[decisions == 1]
    return kept


def _from_line(source: Source, w: truncated.Window, e: truncated.Envelope, size: int, bits: int) -> Cells:
    height = -1.0 if truncated.tilts(w, e) else double(truncated.height(w, e))
    line = np.array([double(x) for x in (w.a - 1, w.b - 1, e.anchor, 1 - e.anchor, e.slope)])
    window = np.array(
        [double(x) for x in (w.lower, w.upper, w.upper - w.lower, w.lower - e.anchor)] + [height]
    )
    kernel, (u, width) = kernels().tilted, errors()

    def judge(words: Words, cells: Cells, decisions: NDArray[np.int8]) -> None:
        kernel(words, line, window, bits, cells, decisions, u, width)

    def settle(row: list[int]) -> int | None:
        x = truncated.line_attempt(Uniform(source, row[0]), Uniform(source, row[1]), w, e)
        return None if x is None else _cell(x, bits)

    return sieve(source, size, 2, judge, settle)
