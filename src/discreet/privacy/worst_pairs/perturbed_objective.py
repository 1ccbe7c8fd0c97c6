"""Profile of objective perturbation followed by Gaussian mechanisms, certified.

θ̃ = argmin Σφ(x_i·w, y_i) + (λ/2)‖w‖² + b·w, b ~ N(0, σ²I), has the density N(∇F(θ); 0, σ²I)·det ∇²F(θ). One
record more, of slope |φ'| = q and bend φ'', moves the log density by at most

    qμN + q²μ²/2 + ln(1 + φ''c²/λ), N standard normal, μ = c/σ (a slope of at most 1),

and one record less by at most qμN + q²μ²/2 ≤ max(X, 0), where X = μN + μ²/2 is the Gaussian mechanism's loss
and φ' has one sign, as the logistic loss; else see SmoothObjective.
What is released after θ̃, given it, adds a Gaussian loss X₂; δ(ε) = E[δ*(ε − X₂)] if δ* bounds θ̃'s profile.
docs/objective-perturbation.md has the proofs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from flint import acb, arb

from discreet.privacy.accounting.conversions import above, gaussian_delta
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, Relation
from discreet.privacy.kinds import ApproxDP, GaussianDP

BITS = 128
CLOSE = 2.0**-12  # relative width of an integral that is good enough for a bound


@dataclass(frozen=True)
class PerturbedObjective(ABC):
    """μ² of the perturbation, μ₂² of all Gaussian releases after it, and what λ is compared with."""

    objective: Fraction  # μ² = Δ²/σ², Δ the gradient's sensitivity under the relation
    others: Fraction  # μ₂²
    ratio: Fraction  # c²/λ, times what a subclass says
    relation: Relation = ADD_REMOVE

    def __post_init__(self) -> None:
        if not (self.objective > 0 and self.others >= 0 and self.ratio > 0):
            raise ValueError(
                "μ² and c²/λ must be above 0 and μ₂² at least 0, got "
                f"{float(self.objective):g}, {float(self.ratio):g} and {float(self.others):g}"
            )

    @property
    def total(self) -> Fraction:
        """μ² + μ₂²"""
        return self.objective + self.others

    @property
    @abstractmethod
    def gaussian(self) -> bool:
        """Whether λ is large enough for √(μ² + μ₂²)-GDP."""

    @abstractmethod
    def delta(self, epsilon: Exact) -> float:
        """δ(ε), both directions, rounded up."""

    def _gaussian_delta(self, epsilon: Exact) -> arb:
        """δ_{√total}(ε)"""
        return gaussian_delta(ball(self.total).sqrt(), ball(epsilon))

    def guarantee(self, epsilon: Exact) -> Guarantee:
        """GaussianDP where λ allows it, else ApproxDP at ε."""
        if self.gaussian:
            return GaussianDP.from_square(self.total, relation=self.relation)
        return ApproxDP(epsilon, self.delta(epsilon), relation=self.relation)


@final
@dataclass(frozen=True)
class LogisticObjective(PerturbedObjective):
    """φ'' = q(1−q): the loss is at most ψ(X) = max_q qX + q(1−q)ε₀, ε₀ = c²/λ − s²/2, s the step's μ.

    ψ(X) = X from ε₀ on, so that δ*(e) = δ_s(e) for e ≥ ε₀; and for e ≤ 0, where the other direction counts.
    Between them δ* is in closed form, since e^{−ψ} is a Gaussian in X. A record replaced is one more (D to
    the union U), then one less (U to D'): δ_{2s}(e) = δ_s(e₁) + e^{e₁}δ_s(e₂), e₁,₂ = (e ∓ s²)/2, holds with
    equality for the normal law, so that only e₂ must be at least ε₀; for |e| ≤ s² go through D ∩ D', where
    nothing is asked of λ.
    """

    @property
    def step(self) -> Fraction:
        """s²: of one record more or less."""
        return self.objective / 4 if self.relation.replaces else self.objective

    @property
    def threshold(self) -> Fraction:
        """ε₀"""
        return self.ratio - self.step / 2

    @property
    def gaussian(self) -> bool:
        """λ ≥ 2c²/μ² (ADD_REMOVE), 8c²/(3μ²) (SUBSTITUTE)."""
        return self.threshold <= (self.step if self.relation.replaces else 0)

    def delta(self, epsilon: Exact) -> float:
        return min(1.0, above(lambda: self._gaussian_delta(epsilon) + ball(self.excess(epsilon))))

    def excess(self, epsilon: Exact) -> float:
        """∫(δ*(e) − δ_μ(e))·f(ε − e)de, f the density of X₂; e₂ = ε₀r² makes the integrand entire."""
        if self.gaussian:
            return 0.0
        with precision(BITS):
            if not self.others:
                return self._at(Fraction(epsilon))
            integral = acb.integral(
                lambda r, _: self._integrand(r, ball(epsilon)),
                self._lowest,
                1,
                rel_tol=CLOSE,
                abs_tol=2.0**-400,
            )
            return max(0.0, ceiling(integral.real))

    @property
    def _lowest(self) -> arb:
        """R where the window begins: e₂ = s² under SUBSTITUTE, else 0."""
        return (ball(self.step) / ball(self.threshold)).sqrt() if self.relation.replaces else arb(0)

    def _at(self, epsilon: Fraction) -> float:
        """Without X₂: at ε itself, where it lies in the window."""
        twice = self.relation.replaces
        inner = (epsilon + self.step) / 2 if twice else epsilon
        if not (self.step if twice else 0) < inner < self.threshold:
            return 0.0
        root = (ball(inner) / ball(self.threshold)).sqrt()
        weight = ball(inner - self.step).exp() if twice else arb(1)
        return max(0.0, ceiling((weight * self._dent(acb(root))).real))

    def _integrand(self, r: acb, epsilon: arb) -> acb:
        """Weighted by f(ε − e), and mirrored, e^{−e}f(ε + e): the same data sets the other way round."""
        inner, step = ball(self.threshold) * r * r, ball(self.step)
        twice = self.relation.replaces
        e = 2 * inner - step if twice else inner
        stretch = 2 * (inner - step).exp() if twice else acb(1)
        weight = self._density(epsilon - e) + (-e).exp() * self._density(epsilon + e)
        return stretch * self._dent(r) * weight * 2 * ball(self.threshold) * r

    def _density(self, x: acb) -> acb:
        v = ball(self.others)
        return (-((x - v / 2) ** 2) / (2 * v)).exp() / (2 * arb.pi() * v).sqrt()

    def _dent(self, r: acb) -> acb:
        """δ*(e₂) − δ_s(e₂) at e₂ = ε₀r²: ψ(X) > e₂ from X = ε₀(2r − 1) on."""
        e0, s2, root = ball(self.threshold), ball(self.step), ball(self.step).sqrt()
        e, x = e0 * r * r, e0 * (2 * r - 1)
        a, wide = ball(self.ratio), (e0 * s2 / ball(self.ratio)).sqrt()
        scale = (e0 / a).sqrt() * (-a / 4).exp()
        certain = _between((x - s2 / 2) / root, (e - s2 / 2) / root)
        bent = scale * _between(x / wide, acb(e0 / wide))
        straight = _between((e + s2 / 2) / root, acb((e0 + s2 / 2) / root))
        return certain - e.exp() * (bent - straight)


@final
@dataclass(frozen=True)
class SmoothObjective(PerturbedObjective):
    """φ'' ≤ κ and |φ'| ≤ 1 of either sign, ratio = κc²/λ, h = ln(1 + ratio).

    One record more: the slope falls as N grows, so that only one tail of N counts, and the loss is at most
    max(X, 0) + h: δ*(e) ≤ δ_s(e − h) for e ≥ h. One less: it rises, and both tails count: δ*(e) ≤ 2δ_s(e).
    Replaced, through the union: 2δ_s(e₁) + e^{e₁}δ_s(e₂ − h) ≤ 2δ_{2s}(e − h) for e ≥ h − s². Below, δ* ≤ 1.
    """

    @property
    def gaussian(self) -> bool:
        return False

    @cached_property
    def shift(self) -> float:
        """h, rounded up."""
        return above(lambda: ball(1 + self.ratio).log())

    def delta(self, epsilon: Exact) -> float:
        inner = Fraction(epsilon) - Fraction(self.shift)
        reach = inner + self.objective / 4 if self.relation.replaces else inner
        return min(1.0, above(lambda: self._both(epsilon, inner) + self._beyond(reach)))

    def _both(self, epsilon: Exact, inner: Fraction) -> arb:
        if self.relation.replaces:
            return 2 * self._gaussian_delta(inner)
        return self._gaussian_delta(inner).max(2 * self._gaussian_delta(epsilon))

    def _beyond(self, reach: Fraction) -> arb:
        """P(X₂ > reach)"""
        if not self.others:
            return arb(0 if reach >= 0 else 1)
        return (ball(reach - self.others / 2) / ball(2 * self.others).sqrt()).erfc() / 2


def _between(low: acb, high: acb) -> acb:
    """Φ(high) − Φ(low)"""
    root = arb(2).sqrt()
    return ((high / root).erf() - (low / root).erf()) / 2
