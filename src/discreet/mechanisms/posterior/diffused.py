"""DiffusedPosterior: one draw from a posterior whose records each count r ≤ 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
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
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.worst_pairs.pairs import WorstCase


@final
@dataclass(frozen=True)
class DiffusedPosterior(PosteriorDraw):
    """θ ~ p(θ | η₀ + rΣ(S(x), 1)), 0 < r ≤ 1, one draw [GSC17 Alg. 2]: α* = 1 + min(prior)/r."""

    name: ClassVar[str] = "diffused"
    theorem: ClassVar[str] = f"[GSC17 Alg. 2], {DOMINANCE}"

    r: Exact = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "r", fraction_of_one(self.r, "r"))
        super().__post_init__()

    @property
    def weight(self) -> Fraction:
        return Fraction(self.r)

    @classmethod
    @by_model
    def calibrate(cls, model: Family, *, target: Guarantee, n: int | None = None) -> Self:
        """Find the largest r of 24 significant bits whose exact worst case meets the target."""
        r = largest_weight(model, target=target, n=n)
        return verified(cls(model, n=n, r=r, relation=target.relation), target)


def largest_weight(model: Family, *, target: Guarantee, n: int | None, bits: int = KNOB_BITS) -> float:
    """Largest r of `bits` significant bits that meets the target."""
    base = model.worst_case(n, relation=target.relation)

    def worst_at(r: float) -> WorstCase:
        scaled = base.reweighted(prior=1, step=r)
        return model.worst_case(n, step=r, relation=target.relation) if scaled is None else scaled

    return largest_knob(worst_at, target, knob="r", bits=bits)
