"""Continuous laws one draw at a time in ball arithmetic: for few draws, fine grids and extreme shapes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.arithmetic.ball import ball
from discreet.sampling import bounded_simplex, ideal, reference, truncated, truncated_gamma
from discreet.sampling.checked_arguments import integers
from discreet.sampling.ideal import ExactNormalInverseGamma
from discreet.sampling.in_bulk.batches import Shapes
from discreet.sampling.source import Lazy, Real, Source, Tape, nearest, shortened
from discreet.sampling.truncated_gamma import GammaWindow


def dirichlet(source: Source, shapes: Shapes, size: int, bits: int) -> NDArray[np.int64]:
    """Cells of size·d coordinates, vector by vector"""
    tape, alpha = Tape(source), [shapes[i] for i in range(shapes.doubles.size)]
    draws = [_cell(x, bits) for _ in range(size) for x in ideal.dirichlet(tape, alpha)]
    return np.array(draws, dtype=np.int64)


def beta(source: Source, shapes: Shapes, size: int, bits: int) -> NDArray[np.int64]:
    """Cells of x ~ Beta(a, b)"""
    return dirichlet(source, shapes, size, bits)[::2]


def gamma(source: Source, shapes: Shapes, size: int, rate: Fraction) -> NDArray[np.float64]:
    """G/rate to 24 significant bits, vector by vector"""
    tape, alpha = Tape(source), [shapes[i] for i in range(shapes.doubles.size)]
    draws = [shortened(quotient(ideal.gamma(tape, a), rate), 24) for _ in range(size) for a in alpha]
    return np.array(draws, dtype=np.float64)


def below(source: Source, window: GammaWindow, size: int) -> NDArray[np.float64]:
    """Gamma draws below a bound to 24 significant bits; the last cell may reach beyond it"""
    tape = Tape(source)
    draws = [shortened(truncated_gamma.draw(tape, window), truncated_gamma.DIGITS) for _ in range(size)]
    return np.array(draws, dtype=np.float64)


def normal(source: Source, mean: Fraction, variance: Fraction, size: int) -> NDArray[Any]:
    """Nearest integers to m + σz"""
    tape = Tape(source)
    return integers([nearest(affine(ideal.normal(tape), mean, variance)) for _ in range(size)])


def truncated_beta(source: Source, w: truncated.Window, size: int, bits: int) -> NDArray[np.int64]:
    """Cells of x ~ Beta(a, b) inside the window; by inversion where neither proposal is any good"""
    tape, line = Tape(source), truncated.envelope(w)
    if w.share() > truncated.FRIENDLY:
        draws = [_cell(truncated.from_beta(tape, w), bits) for _ in range(size)]
    elif line is not None:
        draws = [_cell(truncated.from_line(tape, w, line), bits) for _ in range(size)]
    else:
        draws = [reference.truncated_beta_cell(tape.uniform(), w, bits) for _ in range(size)]
    return np.array(draws, dtype=np.int64)


def truncated_dirichlet(
    source: Source, simplex: truncated.Simplex, size: int, bits: int
) -> NDArray[np.int64]:
    """Cells of size·d coordinates, all ideal ones at least `lower`"""
    tape, (_, propose, _) = Tape(source), _proposals(simplex)
    draws = [_cell(x, bits) for _ in range(size) for x in propose(tape)]
    return np.array(draws, dtype=np.int64)


def hopeless(simplex: truncated.Simplex) -> bool:
    """Whether kernels proposing from the simplex would be slower than ball arithmetic proposing better."""
    own, _, best = _proposals(simplex)
    return 0.02 * best > own * len(simplex.alpha)  # about 2·10⁴/d attempts per second against 10⁶


def _proposals(simplex: truncated.Simplex) -> tuple[float, Callable[[Tape], list[Real]], float]:
    """Guess the simplex's acceptance, and return the best of three proposals with its own; one law."""
    level = bounded_simplex.flat(simplex.alpha, simplex.lower)
    spread = bounded_simplex.independent(simplex.alpha, simplex.lower)
    own, other = simplex.chance(), level.chance()
    if spread is not None and (third := spread.chance()) > max(own, other):
        return own, lambda tape: bounded_simplex.from_independent(tape, spread), third
    if other > own:
        return own, lambda tape: bounded_simplex.from_flat(tape, level), other
    return own, lambda tape: truncated.from_simplex(tape, simplex), own


def normal_inverse_gamma(
    source: Source, law: ExactNormalInverseGamma, size: int
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Cells of size·d locations, and variances"""
    tape = Tape(source)
    pairs = [law.draw(tape) for _ in range(size)]
    cells = integers([k for location, _ in pairs for k in location])
    return cells, np.array([v for _, v in pairs], dtype=np.float64)


def _cell(x: Real, bits: int) -> int:
    return nearest(lambda: x() * 2**bits)


def affine(z: Real, mean: Fraction, variance: Fraction) -> Real:
    return Lazy(lambda: ball(mean) + ball(variance).sqrt() * z())


def quotient(g: Real, rate: Fraction) -> Real:
    return Lazy(lambda: g() / ball(rate))
