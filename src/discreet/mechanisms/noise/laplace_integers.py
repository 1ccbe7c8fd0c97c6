"""Ideal Laplace draws rounded to integers, exactly: binary digits of an exponential are independent."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.sampling import exact
from discreet.sampling.source import Source

FIRST_DIGITS = 20  # how much finer than a cell the first look is: 1 draw in 2^20 is refined


def laplace_cells(source: Source, centers: Sequence[Fraction], scale: Fraction) -> list[int]:
    """⌊c_i + b·L_i + ½⌋ for independent standard Laplace L_i; scale and centers in units of the grid.

    L lies in (k, k+1)/t with probability ∝ exp(−m/t), m the lesser of |k|, |k+1|. Where that interval
    straddles a cell edge, further digits of L are drawn until it does not; nothing is ever redrawn.
    """
    t = 2 ** min(max(_log2_above(scale) + FIRST_DIGITS, 0), 39)
    width = scale / t
    cells = []
    for center, k in zip(centers, _intervals(source, t, len(centers)).tolist(), strict=True):
        # in plain integers, for this is the inner loop: low = center + ½ + k·width over one denominator
        unit = 2 * center.denominator * width.denominator
        size = 2 * center.denominator * width.numerator
        low = (2 * center.numerator + center.denominator) * width.denominator + k * size
        cell = low // unit
        inside = low + size <= (cell + 1) * unit
        cells.append(cell if inside else _refine(source, Fraction(low, unit), width, t, positive=k >= 0))
    return cells


def _log2_above(x: Fraction) -> int:
    return x.numerator.bit_length() - x.denominator.bit_length() + 1


def _intervals(source: Source, t: int, size: int) -> NDArray[np.int64]:
    """Signed index k of the interval (k, k+1)/t: m ≥ 0 for positive L, −m−1 for negative, P ∝ exp(−m/t).

    From the discrete Laplace law, whose 0 must count twice: all else is kept with probability ½.
    """
    kept: list[NDArray[np.int64]] = []
    while (missing := size - sum(part.size for part in kept)) > 0:
        draws = exact.discrete_laplace(source, t, 2 * missing + 16)
        coins = exact.uniform_integers(source, 2, draws.size)
        signed = np.where(draws < 0, draws - 1, np.where(draws == 0, -coins, draws))
        kept.append(signed[(draws == 0) | (coins == 1)][:missing])
    return np.concatenate([np.empty(0, dtype=np.int64), *kept])


def _refine(source: Source, low: Fraction, width: Fraction, t: int, *, positive: bool) -> int:
    """Halve by digits of |L|·t, P(digit_j = 1) = 1/(1 + exp(2^-j/t)), until all of it has one floor."""
    decay = Fraction(1, t)
    while (cell := low.__floor__()) + 1 < low + width:
        width, decay = width / 2, decay / 2
        if _far_half(source, decay) == positive:
            low += width
    return cell


def _far_half(source: Source, decay: Fraction) -> bool:
    """P = e^{−γ}/(1 + e^{−γ}): heads of a fair coin must be confirmed with probability e^{−γ}, else again."""
    while exact.uniform_integers(source, 2, 1)[0]:
        if exact.bernoulli_exp(source, decay, 1)[0]:
            return True
    return False
