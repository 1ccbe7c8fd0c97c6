"""DirectPosterior: one draw from the posterior as it is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import ClassVar, Self, final

from discreet.families.family import Family
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior
from discreet.mechanisms.posterior.draw import DOMINANCE, PosteriorDraw, by_model, meets, refuse_hopeless
from discreet.privacy.guarantee import Guarantee, Unreachable
from discreet.privacy.kinds import ApproxDP, RenyiDP


@final
@dataclass(frozen=True)
class DirectPosterior(PosteriorDraw):
    """θ ~ p(θ | η₀ + Σ(S(x), 1)), one draw [GSC17 Alg. 1]: Rényi-private for α < α* = 1 + min(prior)."""

    name: ClassVar[str] = "direct"
    theorem: ClassVar[str] = f"[GSC17 Alg. 1], {DOMINANCE}"

    @property
    def weight(self) -> Fraction:
        return Fraction(1)

    @classmethod
    @by_model
    def calibrate(cls, model: Family, *, target: Guarantee, n: int | None = None) -> Self:
        """Return the mechanism if it meets the target; there is no knob to turn."""
        mechanism = cls(model, n=n, relation=target.relation)
        refuse_hopeless(mechanism.worst, target)
        if not meets(target, mechanism.worst):
            m = Fraction(ConcentratedPosterior.calibrate(model, n=n, target=target).m)
            raise Unreachable(
                f"one direct draw misses {target}: {reached(target, mechanism.guarantee)}. DiffusedPosterior "
                f"would meet it, or ConcentratedPosterior with m = {float(m):.6g}; so would public records "
                f"folded into the prior, in its proportions and {float(1 / m - 1):.3g} times its weight"
            )
        return mechanism


@singledispatch
def reached(_target: Guarantee, guarantee: Guarantee) -> str:
    """Say what the guarantee reaches in the target's own terms."""
    return f"its Rényi order limit is α* = {guarantee.order_limit:.6g}"


@reached.register
def _reached_approx_dp(target: ApproxDP, guarantee: Guarantee) -> str:
    return f"it reaches ε = {guarantee.epsilon(target.slack):.6g} at δ = {float(target.slack):g}"


@reached.register
def _reached_renyi_dp(target: RenyiDP, guarantee: Guarantee) -> str:
    order = target.order_limit
    return (
        f"it reaches D_α = {guarantee.renyi(order):.6g} at order {order:g}, with the order limit "
        f"α* = {guarantee.order_limit:.6g}"
    )
