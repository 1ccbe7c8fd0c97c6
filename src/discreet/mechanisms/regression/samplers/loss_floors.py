"""What the exact samplers know of a loss beyond its two constants: how flat it may get near a point.

A declared loss is refused here: its slope is clipped but its values are whatever the declaration says, and
these samplers look at values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import singledispatch
from typing import NoReturn

import numpy as np
from scipy.special import expit

from discreet.models.margin_losses import ClippedPoisson, Floats, Logistic, MarginLoss
from discreet.privacy.guarantee import NotProved

Rise = Callable[[Floats, slice], Floats]


_PULL = Fraction(27847, 100000)  # W(1/e) = 0.278464…


@singledispatch
def floor(loss: MarginLoss, s: Floats, y: Floats, h: Floats) -> Floats:
    """Lower bound of φ'' on [s − h, s + h], for each record."""
    del s, y, h
    _refuse(loss)


@floor.register(Logistic)
def _floor_logistic(_loss: Logistic, s: Floats, y: Floats, h: Floats) -> Floats:
    """σ'(|s| + h), as σ' falls with |s|; by self-concordance it is at least e^{−h}σ'(s)"""
    q = expit(-(np.abs(s) + h))
    return np.asarray(q * (1 - q) * (y != 0))


@floor.register(ClippedPoisson)
def _floor_clipped_poisson(loss: ClippedPoisson, s: Floats, y: Floats, h: Floats) -> Floats:
    """e^{s−h} while s + h stays below the knee ln(upper), beyond which the loss is a line"""
    knee = math.log(float(loss.upper))
    return np.asarray(np.where(s + h < knee, np.exp(np.minimum(s, knee) - h), 0.0) + 0 * y)


@singledispatch
def pull(loss: MarginLoss) -> Fraction:
    """Bound of −sφ'(s, y): how much a record may add to m·E‖w‖²."""
    _refuse(loss)


@pull.register(Logistic)
def _pull_logistic(_loss: Logistic) -> Fraction:
    """max_t t/(1 + e^t): the top is where e^{t−1}(t − 1) = 1/e, and the value there is t − 1 = W(1/e)"""
    return _PULL


@pull.register(ClippedPoisson)
def _pull_clipped_poisson(loss: ClippedPoisson) -> Fraction:
    """By convexity −sφ'(s) ≤ φ(0) − min φ; a line joins the loss at its knee with slope ≥ 0, so the least
    value is that of e^s − ys, y − y ln y, and φ(0) ≤ 1: at most max(1, B ln B − B + 1) for counts 0 … B
    """
    most = float(loss.upper)
    return Fraction(math.ceil(1024 * max(1.0, most * math.log(max(most, 1.0)) - most + 1) + 1), 1024)


@singledispatch
def rounded(loss: MarginLoss, reach: float) -> float:
    """How many u = 2^-53 one record of `rises` may err by for |s| ≤ reach, beside what its margin errs by."""
    del reach
    _refuse(loss)


@rounded.register(Logistic)
def _rounded_logistic(_loss: Logistic, reach: float) -> float:
    """80 of softplus_kernel.py, and 2 of a sum s + h of two margins and its positive part"""
    return 80.0 + 3 * reach


@rounded.register(ClippedPoisson)
def _rounded_clipped_poisson(loss: ClippedPoisson, reach: float) -> float:
    """16 of each term: NumPy's exponential and logarithm are trusted to 8 units in the last place"""
    most = float(loss.upper)
    return 16 * (1.0 + most * (2 * reach + math.log(max(most, 1.0)) + 2))


@singledispatch
def rises(loss: MarginLoss, s: Floats, y: Floats) -> Rise:
    """Return (h, part) ↦ Σ_{i ∈ part} φ(s_i + h_i) − φ(s_i), for every row of h."""
    del s, y
    _refuse(loss)


@rises.register(Logistic)
def _rises_logistic(_loss: Logistic, s: Floats, y: Floats) -> Rise:
    from discreet.mechanisms.regression.samplers.softplus_kernel import bases, increments  # noqa: PLC0415 - loads numba

    inverses, lines = np.empty_like(s), np.empty_like(s)
    bases(-y * s, inverses, lines)

    def rise(h: Floats, part: slice) -> Floats:
        totals, scratch = np.empty(len(h)), np.empty((2, h.shape[1]))
        increments(h, s[part], y[part], inverses[part], lines[part], *scratch, totals)
        return totals

    return rise


@rises.register(ClippedPoisson)
def _rises_clipped_poisson(loss: ClippedPoisson, s: Floats, y: Floats) -> Rise:
    base = loss.value(s, y)
    return lambda h, part: np.asarray((loss.value(s[part] + h, y[part]) - base[part]).sum(axis=1))


def _refuse(loss: MarginLoss) -> NoReturn:
    raise NotProved(
        f"nothing is known of how flat a {loss.name} loss gets, nor of its values, so it has no exact "
        "sampler; sampler='langevin' rests on the slope's bound alone"
    )
