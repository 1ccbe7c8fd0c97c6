"""Barker's acceptance: the private Metropolis."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.mcmc.kernel import Counts, State, check_temperature, mixed_range
from discreet.mcmc.random_walk import RandomWalk
from discreet.privacy.kinds import MixedRange
from discreet.sampling import exact
from discreet.sampling.source import Source


@final
@dataclass(frozen=True, kw_only=True)
class Barker(RandomWalk):
    """Accept with σ(u), u = log π(θ'|n) − log π(θ|n) [Barker 1965]: bounded range given θ'.

    The losses of an accept and of a reject are ln σ(u)/σ(v) and ln σ(−u)/σ(−v); they differ by u − v, since
    ln σ(u)/σ(−u) = u. Hence, given the proposal, an interval of length |u − v| holds the loss. The proposal
    sees no data, but a reject hides it and each has its own interval: MixedRange, not BoundedRange.
    """

    name: ClassVar[str] = "barker"
    theorem: ClassVar[str] = "logit σ(u) = u, so the loss has range |u − u'|; DDR20 for its composition"

    def __post_init__(self) -> None:
        check_temperature(self)

    @property
    def guarantee(self) -> MixedRange:
        return mixed_range(self.sensitivity, self.relation)

    def step(self, state: State, counts: Counts, source: Source) -> State:
        proposed = self.walk.propose(state, source)
        u = self.target.log_odds((state, proposed), counts, self.heat, self.walk.width)
        return proposed if u is not None and accepted(source, u, 1)[0] else state


def accepted(source: Source, log_odds: Fraction, size: int) -> NDArray[np.bool_]:
    """P(1) = σ(u), decided on the ideal uniform: no floating point stands between u and the bit."""
    return np.equal(exact.categorical(source, [Fraction(0), log_odds], size), 1)
