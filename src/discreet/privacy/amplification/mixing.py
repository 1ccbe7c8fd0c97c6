"""Amplification by mixing: post-processing with a finite Markov kernel that forgets [BBGG19 §3; G20 ch. 6].

How much a kernel forgets is measured from its matrix, exactly, in rationals; a float stands for the rational
number it is, and rows are normalised exactly. Laws of M(D) and M(D') are rows; K acts from the right.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from flint import arb

from discreet.privacy.accounting.conversions import above
from discreet.privacy.accounting.filters import ORDERS
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, floor, settle
from discreet.privacy.arithmetic.curves import lowered
from discreet.privacy.bounded_loss import ApproxDP
from discreet.privacy.guarantee import (
    SUBSTITUTE,
    Guarantee,
    NotProved,
    exact,
    nonnegative,
    positive,
    probability,
)
from discreet.privacy.kinds import PureDP, RenyiDP

Row = tuple[Fraction, ...]
CLOSE = Fraction(1, 2**30)  # by how much the sum of a row of floats may miss 1


@final
@dataclass(frozen=True)
class FiniteKernel:
    """A Markov kernel on finitely many states: K(x, y) = rows[x][y], normalised exactly."""

    rows: tuple[Row, ...]

    @classmethod
    def of(cls, matrix: Sequence[Sequence[Exact]]) -> FiniteKernel:
        rows = [[exact("a transition probability", entry) for entry in _plain(row)] for row in matrix]
        if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
            raise ValueError("a kernel needs at least one row, and rows of one length")
        return cls(tuple(_normalised(x, [Fraction(p) for p in row]) for x, row in enumerate(rows)))

    def then(self, after: FiniteKernel) -> FiniteKernel:
        """First this kernel, then another."""
        if len(self.rows[0]) != len(after.rows):
            raise ValueError(f"{len(self.rows[0])} states lead into a kernel with {len(after.rows)} rows")
        return FiniteKernel(tuple(push(row, after) for row in self.rows))


def _plain(row: Any) -> list[Any]:  # noqa: ANN401 - a list, a tuple or an array
    return list(row.tolist() if hasattr(row, "tolist") else row)


def _normalised(x: int, row: list[Fraction]) -> Row:
    if any(p < 0 for p in row):
        raise ValueError(f"row {x} of the kernel has a negative entry; entries are probabilities")
    total = sum(row, Fraction(0))
    if abs(total - 1) > CLOSE:
        raise ValueError(f"row {x} of the kernel sums to {float(total):.12g}, not to 1")
    return tuple(p / total for p in row)


def push(law: Sequence[Fraction], kernel: FiniteKernel) -> Row:
    """μK."""
    return tuple(
        sum((p * k for p, k in zip(law, column, strict=True)), Fraction(0)) for column in _columns(kernel)
    )


def _columns(kernel: FiniteKernel) -> list[tuple[Fraction, ...]]:
    return list(zip(*kernel.rows, strict=True))


def hockey_stick(first: Sequence[Fraction], second: Sequence[Fraction], ratio: Fraction) -> Fraction:
    """D_ratio(first‖second) = Σ max(0, first − ratio·second), ratio = e^ε given as a rational."""
    return sum((max(Fraction(0), p - ratio * q) for p, q in zip(first, second, strict=True)), Fraction(0))


# ── the coefficients ────────────────────────────────────────────────────────────────────────────────


def dobrushin(kernel: FiniteKernel) -> Fraction:
    """γ = max TV(K(x), K(x')) [BBGG19 Def. 1]."""
    return max(hockey_stick(a, b, Fraction(1)) for a in kernel.rows for b in kernel.rows)


def dobrushin_at(kernel: FiniteKernel, epsilon: Exact) -> float:
    """γ = max D_{e^ε}(K(x)‖K(x')), rounded up: K is (γ, ε)-Dobrushin just when it is (ε, γ)-local DP."""
    loss = nonnegative("epsilon", epsilon)
    if loss == math.inf:
        raise ValueError("epsilon must be finite")

    def worst() -> arb:
        ratio = ball(exact("epsilon", loss)).exp()
        sums = (
            sum(((ball(p) - ratio * ball(q)).max(ball(0)) for p, q in zip(a, b, strict=True)), ball(0))
            for a in kernel.rows
            for b in kernel.rows
        )
        best = ball(0)
        for each in sums:
            best = best.max(each)
        return best

    return min(ceiling(settle(worst)), 1.0)


def doeblin(kernel: FiniteKernel) -> tuple[Fraction, Row | None]:
    """Least γ with K(x) ≥ (1−γ)ω for one law ω, and that law; the law is None when γ = 1 [BBGG19 Def. 1]."""
    least = [min(column) for column in _columns(kernel)]
    common = sum(least, Fraction(0))
    return 1 - common, tuple(p / common for p in least) if common else None


def ultra_mixing(kernel: FiniteKernel) -> Fraction:
    """Least γ with K(x) ≥ (1−γ)K(x') for all x, x'; the same as ln(1/(1−γ))-local DP [BBGG19 Def. 1]."""
    ratios = [min(column) / max(column) for column in _columns(kernel) if max(column) > 0]
    return 1 - min(ratios)


def local_epsilon(kernel: FiniteKernel) -> float:
    """Least ε for which the kernel alone is ε-local DP, rounded up; ∞ where only one row has a zero."""
    gamma = ultra_mixing(kernel)
    return math.inf if gamma == 1 else ceiling(settle(lambda: -(ball(1 - gamma).log())))


# ── the rules: (ε, δ) before K, what holds after it ─────────────────────────────────────────────────


@dataclass(frozen=True)
class Mixing(ABC):
    """A proved way in which a kernel forgets."""

    gamma: Exact

    def __post_init__(self) -> None:
        if not 0 <= self.gamma <= 1:
            raise ValueError(f"gamma must lie in [0, 1], got {self.gamma}")

    @abstractmethod
    def amplify(self, before: ApproxDP) -> ApproxDP:
        """Return what K∘M promises when M promises `before`."""


def weakened(epsilon: Exact, gamma: Exact) -> arb:
    """ε' = ln(1 + γ(e^ε − 1))."""
    return (1 + ball(gamma) * ball(epsilon).expm1()).log()


def _after(before: ApproxDP, epsilon: arb, delta: arb) -> ApproxDP:
    loss = min(max(math.ulp(0.0), ceiling(epsilon)), ceiling(ball(before.loss)))  # 0 is no promise
    return ApproxDP(loss, min(max(0.0, ceiling(delta)), 1.0), relation=before.relation)


@final
@dataclass(frozen=True)
class Dobrushin(Mixing):
    """γ-Dobrushin: (ε, γδ) [BBGG19 Thm 1.1]."""

    def amplify(self, before: ApproxDP) -> ApproxDP:
        return _after(before, ball(before.loss), ball(self.gamma) * ball(before.slack))


@final
@dataclass(frozen=True)
class DobrushinAt(Mixing):
    """(γ, ε̃)-Dobrushin: (ε, γδ) when ε̃ ≤ ln(1 + (e^ε − 1)/δ) [BBGG19 Thm 1.2]."""

    epsilon: Exact

    @classmethod
    def of(cls, kernel: FiniteKernel, before: ApproxDP) -> DobrushinAt:
        """Measure the kernel at the largest double ε̃ that the rule allows for this promise."""
        at = cls.threshold(before)
        return cls(1, 0) if at == math.inf else cls(dobrushin_at(kernel, at), at)

    @staticmethod
    def threshold(before: ApproxDP) -> float:
        """ε̃ = ln(1 + (e^ε − 1)/δ), rounded down; ∞ at δ = 0, where the rule says nothing."""
        if before.slack == 0:
            return math.inf
        odds = settle(lambda: 1 + ball(before.loss).expm1() / ball(before.slack))
        return max(0.0, floor(odds.log()))

    def amplify(self, before: ApproxDP) -> ApproxDP:
        if before.slack and not exact("epsilon", self.epsilon) <= exact("threshold", self.threshold(before)):
            raise ValueError(
                f"the coefficient must be measured at an epsilon of at most {self.threshold(before):.6g} for "
                "this promise; use DobrushinAt.of(kernel, before)"
            )
        return _after(before, ball(before.loss), ball(self.gamma) * ball(before.slack))


@final
@dataclass(frozen=True)
class Doeblin(Mixing):
    """γ-Doeblin: (ε', γ(1 − e^{ε'−ε}(1−δ))), ε' = ln(1+γ(e^ε−1)) [BBGG19 Thm 1.3]."""

    def amplify(self, before: ApproxDP) -> ApproxDP:
        lower, slack, gamma = weakened(before.loss, self.gamma), ball(before.slack), ball(self.gamma)
        return _after(before, lower, gamma * (1 - (lower - ball(before.loss)).exp() * (1 - slack)))


@final
@dataclass(frozen=True)
class UltraMixing(Mixing):
    """γ-ultra-mixing: (ε', γδe^{ε'−ε}), ε' = ln(1+γ(e^ε−1)) [BBGG19 Thm 1.4]."""

    def amplify(self, before: ApproxDP) -> ApproxDP:
        lower = weakened(before.loss, self.gamma)
        shrunk = (lower - ball(before.loss)).exp()
        return _after(before, lower, ball(self.gamma) * ball(before.slack) * shrunk)


def amplify(before: ApproxDP, kernel: FiniteKernel) -> dict[str, ApproxDP]:
    """Every rule that the kernel allows, by name; each one holds, and none need be the best for all uses."""
    rules: dict[str, Mixing] = {
        "dobrushin": Dobrushin(dobrushin(kernel)),
        "dobrushin_at": DobrushinAt.of(kernel, before),
        "doeblin": Doeblin(doeblin(kernel)[0]),
        "ultra_mixing": UltraMixing(ultra_mixing(kernel)),
    }
    return {name: rule.amplify(before) for name, rule in rules.items()}


# ── What an update of Q among N records costs the one that differs: two rules, by what the release shows.
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


# ── What a promise becomes when the draws are only nearly from the law that it speaks of.
def approximate(guarantee: Guarantee, total_variation: Exact, *, epsilon: Exact | None = None) -> ApproxDP:
    """(ε, δ + (1 + e^ε)τ) for a sampler within total variation τ of the exact one on EVERY data set.

    P̃(S) ≤ P(S) + τ ≤ e^ε Q(S) + δ + τ ≤ e^ε (Q̃(S) + τ) + δ + τ [G20 Prop. 3, with the bracket that its
    print lost]. τ is half the L1 distance. It must be a proved bound for all data sets at once: one that a
    run's own diagnostics suggest is no proof. ε is the guarantee's pure part unless given.
    """
    tau = probability("total_variation", total_variation)
    loss = guarantee.disclosure()[1].epsilon(0) if epsilon is None else positive("epsilon", epsilon)
    if loss == math.inf:
        raise NotProved(
            f"{type(guarantee).__name__} has no pure part: say at which epsilon=… its δ is to be taken"
        )
    delta = above(lambda: ball(guarantee.delta(loss)) + (1 + ball(loss).exp()) * ball(tau))
    if not delta < 1:
        raise NotProved(
            f"δ + (1 + e^ε)τ reaches 1 at ε = {loss} and nothing is promised; a smaller τ or ε is needed"
        )
    return ApproxDP(loss, delta, relation=guarantee.relation)
