"""Tempered Metropolis, only where its (ε, δ) can be certified beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

from discreet.mcmc.kernel import BITS, Counts, State, bounded_range, check_temperature
from discreet.mcmc.random_walk import RandomWalk
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import NotProved
from discreet.privacy.kinds import ApproxDP
from discreet.sampling import exact
from discreet.sampling.source import Source


@final
@dataclass(frozen=True, kw_only=True)
class Metropolis(RandomWalk):
    """Accept with min(1, e^u): (s, 1 − e^{−s})-DP, s = sup |u − u'|, and no better [F16 suppl. Thm C.1].

    Accepts differ by e^s at most. A reject may be impossible next door: u' = 0 never rejects, u = −s does
    with 1 − e^{−s}, whatever ε is. C.1 asks that the reject probability be ≤ δ for every data set, which n
    records that move u by M/T each can promise only if nM/T ≤ −ln(1 − δ). Only the DIFFERENCE between
    neighbours matters, so s ≤ −ln(1 − δ) suffices, for every n. Both ask for heat of order 1/δ a step: use
    Barker, which is pure at s.
    """

    name: ClassVar[str] = "metropolis"
    theorem: ClassVar[str] = "F16 suppl. Thm C.1; the reject event costs exactly 1 − e^{−s} beyond every ε"

    delta: Exact  # what a step may spend at most; public

    def __post_init__(self) -> None:
        check_temperature(self)
        if not 0 < Fraction(self.delta) < 1:
            raise ValueError(f"delta must lie strictly between 0 and 1, got {self.delta!r}")
        if not self.guarantee.slack <= Fraction(self.delta):
            raise NotProved(
                f"a Metropolis reject tells neighbours apart with chance {float(self.guarantee.slack):.3g}, "
                f"above delta = {self.delta!r}: a temperature of {self._hot_enough():.4g} would hold it, and "
                "Barker needs no δ at all"
            )

    @property
    def guarantee(self) -> ApproxDP:
        loss = bounded_range(self.sensitivity, self.relation).loss
        with precision(BITS):
            return ApproxDP(loss, ceiling(-(-ball(loss)).expm1()), relation=self.relation)

    def _hot_enough(self) -> float:
        with precision(BITS):
            return ceiling(ball(self.sensitivity * self.heat) / -ball(1 - Fraction(self.delta)).log())

    def step(self, state: State, counts: Counts, source: Source) -> State:
        proposed = self.walk.propose(state, source)
        u = self.target.log_odds((state, proposed), counts, self.heat, self.walk.width)
        if u is None:
            return state
        return proposed if exact.bernoulli_exp(source, max(-u, Fraction(0)), 1)[0] else state
