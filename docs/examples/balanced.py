"""BalancedPosterior: one draw from a posterior whose prior is 1/s times as strong; records count s ≤ 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self, final

from discreet.mechanisms.posterior.draw import (
    DOMINANCE,
    PosteriorDraw,
    by_model,
    fraction_of_one,
    largest_knob,
    verified,
)

if TYPE_CHECKING:
    from discreet.families.family import Family
    from discreet.privacy.arithmetic.ball import Exact
    from discreet.privacy.guarantee import Guarantee
    from discreet.privacy.worst_pairs.pairs import WorstCase


@final
@dataclass(frozen=True)
class BalancedPosterior(PosteriorDraw):
    """θ ~ p(θ | η₀/s + sΣ(S(x), 1)), 0 < s ≤ 1, one draw: α* = 1 + min(prior)/s².

    Proof: it is the diffused draw with r = s [GSC17 Alg. 2] from the prior that the concentrated draw has
    with m = s [Alg. 3], so its worst neighbours are the family's own, with that prior and that weight.
    """

    name: ClassVar[str] = "balanced"
    theorem: ClassVar[str] = f"[GSC17 Alg. 2] from the prior of [Alg. 3], {DOMINANCE}"

    s: Exact = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "s", fraction_of_one(self.s, "s"))
        super().__post_init__()

    @cached_property
    def prior(self) -> Family:
        return self.model.scale_prior(1 / Fraction(self.s))

    @property
    def weight(self) -> Fraction:
        return Fraction(self.s)

    @property
    def knob(self) -> tuple[str, float]:
        return "s", float(self.s)

    @classmethod
    @by_model
    def calibrate(cls, model: Family, *, target: Guarantee, n: int | None = None) -> Self:
        """Find the largest s of 24 significant bits whose exact worst case meets the target."""

        def worst_at(s: float) -> WorstCase:
            return model.scale_prior(1 / Fraction(s)).worst_case(n, step=s, relation=target.relation)

        s = largest_knob(worst_at, target, knob="s")
        return verified(cls(model, n=n, s=s, relation=target.relation), target)
