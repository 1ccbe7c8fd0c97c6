"""B: one draw of e^{−U}, U = ρΣφ(x_i·w, y_i) + (m/2)‖w‖², by exact rejection from a radial envelope.

The law does not depend on where the envelope was anchored (radial_envelope.py). The running time depends on
the data: not for places where it can be observed.

Doubles are not reals: the computed law is near the ideal one, by numbers that are public and hold for every
data set (rejection_rounding.py). Released is w + N(0, s²I), rounded to a public grid of s/16 with
s ≈ 2^-12/√m: far below the spread of a private posterior, yet wide enough to hide where w was rounded.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.families.exact_fields import power_of_two_above
from discreet.mechanisms.regression.samplers.potential import Potential
from discreet.mechanisms.regression.samplers.radial_proposal import Proposal, ProposalBall
from discreet.mechanisms.regression.samplers.rejection_rounding import Rounding
from discreet.mechanisms.regression.samplers.tilted_potential import Tilted
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.privacy.accounting.conversions import above
from discreet.privacy.arithmetic.ball import Exact, ball
from discreet.privacy.arithmetic.curves import downward
from discreet.privacy.guarantee import Guarantee, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import Source


def draw(potential: Potential, source: Source) -> Floats:
    """One w ~ e^{−U}, on a public grid."""
    return np.asarray(draws(potential, 1, source)[0])


def draws(potential: Potential, size: int, source: Source) -> Floats:
    """`size` independent ones from one envelope: each is a release of its own."""
    return Proposal.of(Tilted.plain(potential)).released(size, spread(potential.strength), source)


def draws_within(potential: Potential, radius: Exact, size: int, source: Source) -> Floats:
    """`size` draws of e^{−U} given ‖w‖ ≤ radius; the noise of `spread` may carry them just outside."""
    inside = ProposalBall.of(potential, _double_below(radius))
    proposal = Proposal.of(Tilted.plain(potential, inside.strength), inside)
    return proposal.released(size, spread(potential.strength), source)


def _double_below(x: Exact) -> float:
    near = float(x)
    return near if Fraction(near) <= x else math.nextafter(near, 0.0)


HARDNESS = 0.15  # −ln(acceptance) is .4 to 1.6 times the guess on simulated rows and .8 to 1.2 times on Adult
PATIENCE = 100.0  # seconds
SECONDS = 3e-10  # that one number of one proposal takes, about


def difficulty(model: GeneralizedLinear, n: Exact, weight: Exact, strength: Exact) -> float:
    """Guess −ln(acceptance) for n long records: .15·d_eff·σ√d, σ = c/√(m + h).

    h = ρnc²/(4d) is the curvature of a direction and d_eff = dh/(m + h). With proposals from the prior alone
    it would be (d/2)ln(1 + h/m).
    """
    d, m, square = model.dimension, float(strength), float(model.bound_square)
    h = float(weight) * float(n) * square / (4 * d)
    fitted = HARDNESS * d * math.sqrt(d) * h / (m + h) * math.sqrt(square / (m + h))
    return min(fitted, d / 2 * math.log1p(h / m))


def refuse_endless(model: GeneralizedLinear, n: Exact, weight: Exact, strength: Exact) -> None:
    """Refuse by public numbers, before any charge: how long the data's own draw takes is private."""
    hard = difficulty(model, n, weight, strength)
    tried = math.exp(min(hard, 700.0)) * (float(n) + 1e3) * model.dimension
    if tried * SECONDS > PATIENCE:
        raise Unreachable(
            f"exact rejection would accept about one proposal in e^{hard:.0f} and not end in useful time for "
            f"{model.dimension} weights and so many records; this is judged by public numbers alone. "
            "sampler='langevin' always ends and sampler='proximal' draws nearly the same law in many easier "
            "steps; a larger ε, a smaller norm at the same radius or fewer columns make rejection easier"
        )


def spread(strength: Exact) -> Fraction:
    """s: a power of two in (2^-13, 2^-12]/√m"""
    return 1 / power_of_two_above(Fraction(math.sqrt(float(strength)) * 2**12))


def total_variation(
    model: GeneralizedLinear,
    n: int | None,
    weight: Exact,
    strength: Exact,
    *,
    radius: Exact = math.inf,
) -> float:
    """Bound TV(computed law, ideal law) for EVERY data set of at most n records."""
    return rounding(model, n, weight, strength, radius=radius).total_variation


def closeness(
    model: GeneralizedLinear,
    n: int | None,
    weight: Exact,
    strength: Exact,
    *,
    radius: Exact = math.inf,
) -> tuple[float, float]:
    """(ε₀, δ₀): P̃ ≤ e^{ε₀}P + δ₀ and P ≤ e^{ε₀}P̃ + δ₀ for EVERY data set of at most n records."""
    return rounding(model, n, weight, strength, radius=radius).closeness


def rounding(
    model: GeneralizedLinear, n: int | None, weight: Exact, strength: Exact, *, radius: Exact = math.inf
) -> Rounding:
    noise = float(spread(strength))
    return Rounding.of(model, n, weight, strength, noise=noise, radius=float(radius))


def nearly(guarantee: Guarantee, near: tuple[float, float], epsilon: Exact) -> ApproxDP:
    """(ε, e^{ε₀}δ(ε − 2ε₀) + (1 + e^ε)δ₀): what a law promises that is (ε₀, δ₀)-close to the guarantee's.

    P̃ ≤ e^{ε₀}P + δ₀ ≤ e^{ε₀}(e^{ε−2ε₀}Q + δ) + δ₀ ≤ e^{ε−ε₀}(e^{ε₀}Q̃ + δ₀) + e^{ε₀}δ + δ₀. Where ε is large
    this is far less than the total variation costs, whose factor is e^ε.
    """
    shift, lost = near
    pure = guarantee.epsilon(0)  # all of the law's own promise is had there; a larger ε only costs e^ε δ₀
    point = min(downward(epsilon), pure + 4 * shift + 2.0**-40)
    loss = math.nextafter(point - 2 * shift * (1 + 2.0**-50), -math.inf)
    if not loss >= 0:
        raise NotProved(
            f"rounding alone is worth more than ε = {float(epsilon):g}; a larger strength is needed"
        )
    delta = above(
        lambda: ball(shift).exp() * ball(guarantee.delta(loss)) + (1 + ball(point).exp()) * ball(lost)
    )
    if not delta < 1:
        raise NotProved(f"at ε = {float(epsilon):g} nothing is left of the promise; ask for another ε")
    return ApproxDP(epsilon, delta, relation=guarantee.relation)
