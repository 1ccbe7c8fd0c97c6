"""λ and μ of objective perturbation: which theorem holds, by the loss; the best pair, by the target."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import singledispatch
from math import expm1, inf
from typing import Protocol, TypeVar

from discreet.families.family import double_above
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Logistic, MarginLoss
from discreet.numerics.search import bisect, ratios
from discreet.privacy.arithmetic.ball import Exact, largest, round_down
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation, Unreachable
from discreet.privacy.kinds import ApproxDP, GaussianDP
from discreet.privacy.worst_pairs.perturbed_objective import (
    LogisticObjective,
    PerturbedObjective,
    SmoothObjective,
)

KEPT = 0.95  # of the largest μ, where λ is bound by privacy
BITS = 24  # significant bits of μ²
FINER = 1.01  # λ is found to 1 %
SPLITS = 12  # of ε between noise and λ, for losses whose bend is only bounded
MOST = 2.0**40  # μ² beyond which nothing is private


class Profiled(Protocol):
    """What has a profile: the mechanism."""

    @property
    def profile(self) -> PerturbedObjective: ...


M = TypeVar("M", bound=Profiled)


@singledispatch
def analysed(  # noqa: PLR0917
    loss: MarginLoss,
    model: GeneralizedLinear,
    strength: Fraction,
    objective: Fraction,
    others: Fraction,
    relation: Relation,
) -> PerturbedObjective:
    """Any loss of bounded bend."""
    return SmoothObjective(objective, others, loss.curvature * model.bound_square / strength, relation)


@analysed.register(Logistic)
def _analysed_logistic(
    _loss: Logistic,
    model: GeneralizedLinear,
    strength: Fraction,
    objective: Fraction,
    others: Fraction,
    relation: Relation,
) -> PerturbedObjective:
    """φ'' = q(1−q), |φ'| = q."""
    return LogisticObjective(objective, others, model.bound_square / strength, relation)


@singledispatch
def calibrated(target: Guarantee, at: Callable[[Exact, float, Exact], M], model: GeneralizedLinear) -> M:
    """Targets beyond one (ε, δ): GaussianDP, with a λ that allows it."""
    mu_squared = largest(lambda m: m > 0 and _gaussian(m, target) <= target, MOST, bits=BITS)
    if not mu_squared > 0:
        raise Unreachable(
            f"the privacy loss of Gaussian noise is unbounded and never meets {target}: give δ > 0"
        )
    wanted = Fraction(8, 3) if target.relation is SUBSTITUTE else Fraction(2)
    least = wanted * model.bound_square / at(mu_squared, 1.0, 1.0).profile.objective
    found = at(mu_squared, max(double_above(least), prior(model)), 1.0)
    if not found.profile.gaussian:
        raise Unreachable(
            f"with the {model.loss.name} loss objective perturbation promises (ε, δ) only; its determinant "
            "stays at any λ; give an ApproxDP target"
        )
    return found


@calibrated.register(ApproxDP)
def _calibrated_approx_dp(
    target: ApproxDP, at: Callable[[Exact, float, Exact], M], model: GeneralizedLinear
) -> M:
    if not target.slack > 0:
        raise Unreachable(
            f"the privacy loss of Gaussian noise is unbounded and never meets {target}: give δ > 0"
        )
    return approximated(model.loss, at, model, target)


@singledispatch
def approximated(
    loss: MarginLoss, at: Callable[[Exact, float, Exact], M], model: GeneralizedLinear, target: ApproxDP
) -> M:
    """Split ε so that λ²R² + dσ², the square of bias and noise in the gradient, is least."""
    bent, settings = float(loss.curvature * model.bound_square), []
    steep = float(model.gradient_square(target.relation))
    for k in range(1, SPLITS):
        h = float(target.loss) * k / SPLITS
        strength = max(prior(model), bent / expm1(h)) if h < 700 else prior(model)
        mu = _largest(at, strength, target)
        cost = strength**2 * float(model.radius) ** 2 + model.dimension * steep / mu if mu > 0 else inf
        settings.append((cost, mu, strength))
    _, mu, strength = min(settings)
    return at(mu, strength, target.loss)


def _largest(at: Callable[[Exact, float, Exact], M], strength: float, target: ApproxDP) -> float:
    """Largest μ² that λ allows, to 24 bits."""

    def holds(m: float) -> bool:
        return m > 0 and at(m, strength, target.loss).profile.delta(target.loss) <= target.slack

    return largest(holds, MOST, bits=BITS)


@approximated.register(Logistic)
def _approximated_logistic(
    _loss: Logistic, at: Callable[[Exact, float, Exact], M], model: GeneralizedLinear, target: ApproxDP
) -> M:
    """λ = d/R² if the largest μ allows it; else 95 % of that μ, and the least λ that it then allows.

    Giving up 5 % of μ makes λ, and the bias with it, a third smaller.
    """
    floor = prior(model)

    def holds(m: M) -> bool:
        return m.profile.delta(target.loss) <= target.slack

    top = _largest_mu(target.loss, target.slack)
    best = at(top, floor, target.loss)
    if holds(best):
        return best
    mu = round_down(top * KEPT**2, BITS)
    most = double_above(4 * model.bound_square / at(mu, 1.0, target.loss).profile.objective)
    strength = bisect(lambda s: holds(at(mu, s, target.loss)), floor, most, ratios(FINER))
    return at(mu, max(strength, floor), target.loss)


def _largest_mu(epsilon: Exact, delta: Exact) -> float:
    """Largest μ² with δ_μ(ε) ≤ δ, to 24 bits."""

    def holds(m: float) -> bool:
        return m > 0 and GaussianDP.from_square(m).delta(epsilon) <= delta

    return largest(holds, MOST, bits=BITS)


def _gaussian(mu_squared: float, target: Guarantee) -> GaussianDP:
    return GaussianDP.from_square(mu_squared, relation=target.relation)


def prior(model: GeneralizedLinear) -> float:
    """d/R², rounded up"""
    return double_above(model.strength)
