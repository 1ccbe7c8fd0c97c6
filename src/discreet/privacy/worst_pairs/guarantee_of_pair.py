"""From a worst neighbouring pair to the guarantee it proves: curves and profiles rounded up, picklable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

from discreet.privacy.accounting.conversions import above
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.privacy.kinds import GaussianDP, RenyiDP
from discreet.privacy.worst_pairs.pairs import WorstCase


@final
@dataclass(frozen=True)
class RenyiCurve:
    """α ↦ sup D_α of a worst case, rounded up; ∞ from α* on."""

    worst: WorstCase

    def __post_init__(self) -> None:
        _pair(self.worst)

    def __call__(self, order: Exact) -> float:
        return _renyi(self.worst, order)


@final
@dataclass(frozen=True)
class PrivacyProfile:
    """ε ↦ sup δ(ε) of a worst case, rounded up."""

    worst: WorstCase

    def __post_init__(self) -> None:
        _pair(self.worst)

    def __call__(self, epsilon: Exact) -> float:
        return _delta(self.worst, epsilon)


def _pair(worst: WorstCase) -> None:
    if not isinstance(worst, WorstCase):
        raise TypeError(f"a worst neighbouring pair is needed, got {type(worst).__name__}")


@lru_cache(maxsize=4096)
def _renyi(worst: WorstCase, order: Exact) -> float:
    return above(lambda: worst.renyi(order))  # exact at α* too, which need not be a double


@lru_cache(maxsize=4096)
def _delta(worst: WorstCase, epsilon: Exact) -> float:
    return min(1.0, above(lambda: worst.delta(epsilon))) if epsilon < math.inf else 0.0


def guarantee_of(worst: WorstCase, relation: Relation) -> Guarantee:
    """Return the exact Rényi curve and profile of the worst pair; μ-GDP where the pair is Gaussian."""
    if worst.gaussian is not None:
        return GaussianDP.from_square(worst.gaussian, relation=relation)
    return RenyiDP(RenyiCurve(worst), worst.order_limit, PrivacyProfile(worst), relation=relation)
