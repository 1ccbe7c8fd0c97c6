"""The promise of discrete Gaussian noise: its exact profile, also of many counts together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Self, final

from discreet.privacy.accounting.conversions import chance_above, least_epsilon
from discreet.privacy.accounting.loss_laws import DominatingLaw, sum_of
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.arithmetic.curves import downward, upward
from discreet.privacy.arithmetic.discrete_normal import several_delta
from discreet.privacy.divergence_bounds import ZeroCDP
from discreet.privacy.guarantee import (
    SUBSTITUTE,
    Guarantee,
    Relation,
    group_size,
    nonnegative,
    of_neighbours,
    positive,
    probability,
)

NODES = 2**9  # of the grid of their losses
KINDS = 8  # of moves, whose laws are convolved; more are charged as zCDP
Moves = tuple[tuple[int, Exact, int], ...]  # (d, v, k): k counts move by d behind noise of variance v


@final
@dataclass(frozen=True, init=False, repr=False)
class DiscreteGaussianDP(Guarantee):
    """No easier to tell apart than Z from Z + d for every count that moves, P(Z = z) ∝ e^{−z²/2v}.

    Also Σd²/2v-zCDP [CKS20 Thm 4]. Of moves alike δ(ε) is exact [CKS20 Thm 7; theory §14]; others convolve.
    """

    moves: Moves

    def __init__(self, moves: Moves, *, relation: Relation = SUBSTITUTE) -> None:
        counts: Counter[tuple[int, Exact]] = Counter()
        for shift, variance, times in moves:
            counts[group_size(shift), positive("the variance", variance)] += group_size(times)
        if not counts:
            raise ValueError("a promise of discrete Gaussian noise needs at least one count that moves")
        object.__setattr__(self, "moves", tuple((d, v, k) for (d, v), k in sorted(counts.items())))
        object.__setattr__(self, "relation", of_neighbours(relation))

    @property
    def rho(self) -> Fraction:
        """ρ = Σ k·d²/2v"""
        return sum((k * Fraction(d) ** 2 / (2 * Fraction(v)) for d, v, k in self.moves), Fraction(0))

    def epsilon(self, delta: Exact) -> float:
        best = self._concentrated.epsilon(probability("delta", delta))
        return best if best == math.inf else min(best, least_epsilon(self.delta, delta, best))

    def delta(self, epsilon: Exact) -> float:
        asked = nonnegative("epsilon", epsilon)
        if len(self.moves) == 1 and asked < math.inf:
            return _delta(self.moves[0], asked)
        law = _law(self.moves) if len(self.moves) <= KINDS else None
        bound = self._concentrated.delta(asked)
        return bound if law is None else min(bound, law.delta(downward(asked)))

    @property
    def profile_to_convolve(self) -> Callable[[float], float]:
        return self.delta

    def renyi(self, order: Exact) -> float:
        return self._concentrated.renyi(order)

    @property
    def order_limit(self) -> float:
        return math.inf

    @property
    def zcdp_bound(self) -> float:
        return upward(self.rho)

    @property
    def _concentrated(self) -> ZeroCDP:
        return ZeroCDP(self.rho, relation=self.relation)

    def group(self, k: int) -> Guarantee:
        """Shifts of kd where all moves are alike [theory §14]; else k²ρ-zCDP."""
        size = group_size(k)
        if len(self.moves) > 1 and size > 1:
            return self._concentrated.group(size)
        return type(self)(tuple((size * d, v, times) for d, v, times in self.moves), relation=self.relation)

    def folded(self, times: int, onto: Guarantee | None) -> Self:
        """All moves together: dominating pairs compose [Zhu, Dong, Wang 2022 Thm 10]."""
        before = onto.moves if isinstance(onto, DiscreteGaussianDP) else ()
        return type(self)((*before, *((d, v, times * k) for d, v, k in self.moves)), relation=self.relation)

    def implied_by(self, other: Guarantee) -> bool:
        """Proved where every move of the other is one of these; wider noise may promise less [theory §14]."""
        if not isinstance(other, DiscreteGaussianDP):
            return False
        mine, theirs = (Counter({(d, v): k for d, v, k in one.moves}) for one in (self, other))
        return theirs <= mine


@lru_cache(maxsize=256)
def _law(moves: Moves) -> DominatingLaw | None:
    return sum_of([(partial(_delta, move), 1) for move in moves], NODES)


@lru_cache(maxsize=4096)
def _delta(move: tuple[int, Exact, int], epsilon: Exact) -> float:
    shift, variance, times = move
    bound = ZeroCDP(times * Fraction(shift) ** 2 / (2 * Fraction(variance))).delta(epsilon)
    exact = chance_above(lambda: several_delta(Fraction(variance), shift, times, epsilon))
    return min(bound, exact)


__all__ = ["DiscreteGaussianDP"]
