"""What kernels that propose and then accept or reject share: a target, a walk, and how far u moves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.mcmc.kernel import Kernel, State
from discreet.mcmc.proposals import Walk
from discreet.mcmc.target import Target
from discreet.sampling.source import Source


@dataclass(frozen=True, kw_only=True)
class Targeted(Kernel):
    """A kernel of a declared target."""

    target: Target
    walk: Walk

    @property
    def columns(self) -> tuple[str, ...]:
        return self.target.columns

    @property
    def shape(self) -> tuple[int, ...]:
        return self.target.shape

    @property
    def labels(self) -> tuple[str, ...]:
        return self.target.labels


@dataclass(frozen=True, kw_only=True)
class RandomWalk(Targeted):
    """θ' from a proposal that sees no data; u = log π(θ'|n) − log π(θ|n) decides whether it is taken."""

    @property
    def sensitivity(self) -> Fraction:
        """|u − u'| at most, over neighbouring counts, exactly."""
        return self.target.sensitivity(self.walk.width, self.relation) / self.heat

    def init(self, source: Source) -> State:
        return self.target.start(source)
