"""ConcentratedPosterior: one draw from a posterior whose prior is 1/m times as strong."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self, final

from discreet.families.family import Family
from discreet.mechanisms.posterior.draw import (
    DOMINANCE,
    KNOB_BITS,
    PosteriorDraw,
    by_model,
    fraction_of_one,
    largest_knob,
    verified,
)
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.privacy.worst_pairs.pairs import WorstCase


@final
@dataclass(frozen=True)
class ConcentratedPosterior(PosteriorDraw):
    """θ ~ p(θ | η₀/m + Σ(S(x), 1)), 0 < m ≤ 1, one draw [GSC17 Alg. 3]: α* = 1 + min(prior)/m."""

    name: ClassVar[str] = "concentrated"
    theorem: ClassVar[str] = f"[GSC17 Alg. 3], {DOMINANCE}"

    m: Exact = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", fraction_of_one(self.m, "m"))
        super().__post_init__()

    @cached_property
    def prior(self) -> Family:
        return self.model.scale_prior(1 / Fraction(self.m))

    @property
    def weight(self) -> Fraction:
        return Fraction(1)

    @property
    def knob(self) -> tuple[str, float]:
        return "m", float(self.m)

    @cached_property
    def worst(self) -> WorstCase:
        base = self.model.worst_case(self.n, relation=self.relation)
        return _concentrated(self.model, base, self.m, self.n, self.relation)

    @classmethod
    @by_model
    def calibrate(cls, model: Family, *, target: Guarantee, n: int | None = None) -> Self:
        """Find the largest m of 24 significant bits whose exact worst case meets the target."""
        m = largest_share(model, target=target, n=n)
        return verified(cls(model, n=n, m=m, relation=target.relation), target)


def largest_share(model: Family, *, target: Guarantee, n: int | None, bits: int = KNOB_BITS) -> float:
    """Largest m of `bits` significant bits that meets the target."""
    base = model.worst_case(n, relation=target.relation)
    return largest_knob(
        lambda m: _concentrated(model, base, m, n, target.relation), target, knob="m", bits=bits
    )


def _concentrated(model: Family, base: WorstCase, m: Exact, n: int | None, relation: Relation) -> WorstCase:
    """Rescale the worst pair alone where that is enough: not a million categories one by one."""
    factor = 1 / Fraction(m)
    scaled = base.reweighted(prior=factor, step=1)
    return model.scale_prior(factor).worst_case(n, relation=relation) if scaled is None else scaled
