"""Broken twins of noisy moments: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

from fractions import Fraction

from discreet.audit.case import Case
from discreet.audit.cases.moments import LINE, MODEL, adassp_case, largest, polynomial_case
from discreet.audit.twins.twin import Twins
from discreet.mechanisms.regression.adassp import AdaSSP
from discreet.mechanisms.regression.polynomial_statistics import PolynomialStatistics
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import GaussianDP

twin = Twins()

CLAIM = GaussianDP(1, relation=ADD_REMOVE)


@twin("polynomial_statistics/second_block_forgotten", "only one of two moments is paid for")
def second_block_forgotten() -> Case:
    """Noise for the sensitivity of Σyx alone: Σxxᵀ is released beside it, and nobody paid."""
    right = PolynomialStatistics.calibrate(MODEL, target=CLAIM, balance=1)
    alone = Fraction(1)  # σ₁ = C = 1 would be enough for Σyx
    ratio = Fraction(right.second_scale) / Fraction(right.first_scale)
    broken = PolynomialStatistics(MODEL, first_scale=alone, second_scale=alone * ratio, relation=ADD_REMOVE)
    return polynomial_case(broken, CLAIM)


@twin("polynomial_statistics/not_clipped", "rows are not brought to the ball")
def not_clipped() -> Case:
    """Keep the length of a row of twice the norm: Σyx moves twice as far, Σxxᵀ four times."""
    right = PolynomialStatistics.calibrate(MODEL, target=CLAIM, balance=0.3)
    long = [2 * largest(), 4 * largest() ** 2]
    return polynomial_case(right, CLAIM, long)


@twin("adassp/composition_forgotten", "three releases at the price of one")
def composition_forgotten() -> Case:
    """Each of the three releases takes the whole μ."""
    third = AdaSSP.calibrate(LINE, target=CLAIM)
    whole = tuple(Fraction(scale) * Fraction(577, 1000) for scale in third.scales)  # 1/√3
    broken = AdaSSP(LINE, scales=whole, relation=ADD_REMOVE)  # type: ignore[arg-type]
    return adassp_case(broken, CLAIM)
