"""What an update of Q among N records costs the one that differs: two rules, by what the release shows."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from discreet.privacy.accounting.conversions import above
from discreet.privacy.accounting.filters import ORDERS
from discreet.privacy.arithmetic.ball import ball
from discreet.privacy.arithmetic.curves import lowered
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, NotProved
from discreet.privacy.kinds import PureDP, RenyiDP


def secret_scan(guarantee: Guarantee, chosen: int, records: int) -> PureDP:
    """ε' = ln(1 + (Q/N)(e^ε − 1)), exactly, for Q of N records drawn afresh and NEVER shown [F16 §4.1].

    P = γP₁ + (1−γ)P₀ against γP₁' + (1−γ)P₀ needs both P₁ ≤ e^ε P₁' and P₁ ≤ e^ε P₀: the law must be as close
    to that without the record as to that with another in its place. An update that reads Q records alike has
    it. One that rewrites a released latent variable of each chosen record has not: see visible_scan. The
    printed 4ΔQ/N, for ε = 2Δ, is true only while e^ε − 1 ≤ 2ε, that is ε ≤ 1.256.
    """
    share = _share(guarantee, chosen, records)
    loss = guarantee.epsilon(0)
    if loss == math.inf:
        raise NotProved("the rule for a secret scan starts from a pure promise: PureDP or BoundedRange")

    def amplified() -> arb:
        return (ball(share) * ball(loss).expm1()).log1p()

    return PureDP(above(amplified), relation=guarantee.relation)


def visible_scan(guarantee: Guarantee, chosen: int, records: int) -> RenyiDP:
    """e^{(α−1)D_α} ≤ 1 + (Q/N)(e^{(α−1)R(α)} − 1), even where the release shows who was chosen.

    With probability 1 − Q/N the record is not read; Σ P^α Q^{1−α} is jointly convex [van Erven, Harremoës
    2014 Thm 13]. The pure ε does not fall: what was chosen and changed still tells e^ε. Stated at the orders
    that budgets are kept at.
    """
    share = _share(guarantee, chosen, records)
    facts = {a: _mixed(a, guarantee.renyi(a), share) for a in ORDERS}
    return RenyiDP.points(lowered(facts), relation=guarantee.relation)


def _mixed(order: float, divergence: float, share: Fraction) -> float:
    def bound() -> arb:
        a = ball(order) - 1
        return (ball(share) * (a * ball(divergence)).expm1()).log1p() / a

    return above(bound)


def _share(guarantee: Guarantee, chosen: int, records: int) -> Fraction:
    if guarantee.relation is not SUBSTITUTE:
        raise NotProved("Q of N records are chosen where N is public: under SUBSTITUTE")
    if not 1 <= chosen <= records:
        raise ValueError(f"a scan chooses between 1 and all of {records} records, got {chosen}")
    return Fraction(chosen, records)
