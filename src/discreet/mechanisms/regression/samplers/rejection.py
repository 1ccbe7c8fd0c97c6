"""B: one draw of e^{−U}, U = ρΣφ(x_i·w, y_i) + (m/2)‖w‖², by exact rejection from a radial envelope.

The law does not depend on where the envelope was anchored (radial.py). The running time depends on
the data: not for places where it can be observed.

Doubles are not reals: the computed law is near the ideal one, by numbers that are public and hold for every
data set (see the top). Released is w + N(0, s²I), rounded to a public grid of s/16 with
s ≈ 2^-12/√m: far below the spread of a private posterior, yet wide enough to hide where w was rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

import numpy as np

from discreet.families.exact_fields import power_of_two_above
from discreet.mechanisms.regression.samplers.potential import Potential, Tilted, pull, rounded
from discreet.mechanisms.regression.samplers.radial import (
    FINER,
    ROUNDOFF,
    TAIL,
    Proposal,
    ProposalBall,
    largest_radius,
)
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.privacy.accounting.conversions import above
from discreet.privacy.arithmetic.ball import Exact, ball
from discreet.privacy.arithmetic.curves import downward
from discreet.privacy.guarantee import Guarantee, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import Source

# ── How near the computed law of a rejection draw is to the ideal one, from public numbers alone.
# u = 2^-53, D = (√d + 9)/√m. Couple the ideal run and the computed one on the same random bits; what they
# see of a proposal is a cell of reals and its midpoint. 1. ‖w − w*‖ ≤ (√d + 8)/√m but for e^{−32} (an
# m-strongly log-concave law), the anchor is within 1/√m of w*,    and U − min U ≤ 2(d ln 2 + 32) but for
# e^{−32}, as E e^{(U − min U)/2} ≤ 2^d for every log-concave law: by    convexity ∫e^{−U/2} ≤ ∫e^{−U(x/2)}dx
# = 2^d∫e^{−U}, with the minimum at 0. Strips end there, at r ≤ r̄. 2. Where it is computed, the exponent of
# acceptance errs by ξ₁ at most (`exponent`). 3. That point is not quite v + St: each z_j errs by u|z_j| +
# 2^-92, ‖z‖ by (d + 2)u and r by 4u relatively, St    by (d + 2)u‖S‖_F·r. The ideal exponent moves by ξ₂ ≤
# ‖∇U‖·`proposed`; ‖∇U‖ ≤ βD, and E‖∇U‖² = E ΔU ≤ βd. 4. The point that is released comes from S and t in
# whole numbers: displaced by `kept`, and by half a step of    the noise's fine grid, it gets noise N(0,
# s²I). TV(N(a, s²I), N(b, s²I)) ≤ ‖a − b‖/(s√(2π)). 5. Normals are rounded to 2^-40 and spread evenly again:
# their density is off by |z|2^-41 in each coordinate. 6. In a proximal chain y was rounded to a grid of
# √η·2^-40, and the centre y/(1 + ηm) errs by 4u: the prior's    pull is off by `centre`, the exponent by D
# times that. Strips are chosen by whole numbers and their heights are defined by those: no error.
# A law ∝ p·e^{ξ} is within 2E|ξ| of p in total variation, and within e^{±2 sup|ξ|} of it everywhere.
WORST = 2.0**30  # of β/m: beyond it doubles leave too little room


@final
@dataclass(frozen=True)
class Rounding:
    """Public numbers that rounding is measured by, for every data set of at most n records."""

    dimension: int
    total: float  # ρn
    slope: float  # Lc
    pulled: float  # sup −sφ'
    values: float  # what one φ errs by, in u
    strength: float  # m
    smoothness: float  # β
    noise: float  # s
    radius: float = math.inf  # of the ball that draws are restricted to
    centre: float = 0.0  # error of (m + 1/η)·centre

    @classmethod
    def of(
        cls,
        model: GeneralizedLinear,
        n: int | None,
        weight: Exact,
        strength: Exact,
        *,
        noise: float,
        more: float = 0.0,
        radius: float = math.inf,
    ) -> Self:
        """For proposals of strength m + more, at points no longer than twice those of strength m.

        m‖w*‖² = −ρΣs_iφ'(s_i) ≤ ρn·pull; a proximal chain from 0 strays no further than its stationary twin
        moves, as drawing w from y does not spread them apart.
        """
        n, d, m = counted(n), model.dimension, float(strength)
        total = float(weight) * n
        c, pulled = math.sqrt(float(model.bound_square)), float(pull(model.loss))
        beta = m + float(weight) * float(model.smoothness(n))
        if not beta / m <= WORST:
            raise NotProved(
                "smoothness over strength, β/m, is above 2^30 and leaves doubles too little room; a larger "
                "strength, a smaller weight or a smaller norm is needed"
            )
        longest = 2 * (math.sqrt((d + pulled * total) / m) + _far(d, m))
        slope, values = float(model.loss.lipschitz) * c, rounded(model.loss, c * longest)
        centre = math.sqrt(more * d) / (2 * FINER) + (5 * ROUNDOFF * (m + more) * longest if more else 0.0)
        return cls(d, total, slope, pulled, values, m + more, beta + more, noise, radius, centre)

    @property
    def far(self) -> float:
        """D; in a ball the anchor need not be near w*, but both are inside."""
        ideal = _far(self.dimension, self.strength)
        return ideal if self.radius == math.inf else max(ideal, 2 * self.radius)

    @property
    def exponent(self) -> float:
        """ξ₁: a margin is a sum of d products, a loss errs by `rounded`, sums of increments by 72u;
        m‖v − centre‖ ≤ 2ρnLc, as U(v) ≤ U(centre). In a ball 4.5λR² ≤ 7ρnLcR + 10d + mR² comes on top.
        """
        d = self.dimension
        records = self.total * (self.slope * self.far * (3 * d + 160) + self.values)
        prior = (d + 8) * self.strength * self.far**2 + 64 * (8 * d + 100)
        if self.radius < math.inf:
            held = 7 * self.total * self.slope * self.radius + 10 * d + self.strength * self.radius**2
            prior += (d + 8) * held
        return ROUNDOFF * (records + prior) + self.centre * self.far

    @property
    def proposed(self) -> float:
        """Displacement of the point where a proposal is judged; ‖S‖² ≤ 1.01/m."""
        return 1.01 * (13 + (self.dimension + 2) * (math.sqrt(self.dimension) + 1)) * self._radius

    @property
    def kept(self) -> float:
        """Displacement of the point that is released, before the noise, with the fine grid's."""
        return 1.01 * 13 * self._radius + self.noise / FINER * math.sqrt(self.dimension) / 2

    @property
    def _radius(self) -> float:
        """u‖S‖r: r ends at r̄, or in a ball where (m + λ)‖w − v‖² would be what is cut off there."""
        longest = largest_radius(self.dimension) / math.sqrt(self.strength)
        return ROUNDOFF * (longest if self.radius == math.inf else longest + 2 * self.radius)

    @property
    def total_variation(self) -> float:
        judged = 2 * (self.exponent + self._steepness * self.proposed)
        released = self.kept / (self.noise * math.sqrt(2 * math.pi))
        return 1.01 * (judged + released + self.dimension * 2.0**-41 + self._lost)

    @property
    def closeness(self) -> tuple[float, float]:
        """(ε₀, δ₀) with P̃ ≤ e^{ε₀}P + δ₀ and P ≤ e^{ε₀}P̃ + δ₀: what is left when ratios are kept as ratios.

        Normals of length ≤ √d + 8 have densities within √d(√d + 8)2^-41, and noise of spread s hides a
        displacement e within e^{±9e/s} but for Φ(−8).
        """
        d = self.dimension
        steep = self.smoothness * self.far
        if self.radius < math.inf:
            steep = self.total * self.slope + self.strength * self.radius
        ratio = self.exponent + steep * self.proposed + math.sqrt(d) * (math.sqrt(d) + 8) * 2.0**-41
        return 1.01 * (2 * ratio + 9 * self.kept / self.noise), 1.01 * self._lost

    @property
    def _steepness(self) -> float:
        """√E‖∇U‖². Given ‖w‖ ≤ R the surface holds p ≤ (d + ρn·pull)/R and adds ρn·pull/R of it
        [the divergence theorem for pw and p∇U].
        """
        surface = self.total * self.pulled * self._held / self.radius**2
        return math.sqrt(self.smoothness * self.dimension + surface)

    @property
    def _lost(self) -> float:
        """What tails, and the surface of the ball under a displacement, may hold.

        Tails: of ‖w − w*‖, U − min U, ‖z‖ and the noise, and r below 10^-4 of the first strip, where a
        displaced r shows in (d − 1)ln r; twice, as laws are restricted and renormalised.
        """
        return 10 * math.exp(-TAIL) + 2.1 * self.proposed * self._held / self.radius

    @property
    def _held(self) -> float:
        return self.dimension + self.total * self.pulled


def counted(n: int | None) -> int:
    if n is None:
        raise NotProved(
            "sums over records are rounded, more so with more records: the number of records must "
            "be public or capped by a public bound: give most=…"
        )
    return n


def _far(dimension: int, strength: float) -> float:
    return (math.sqrt(dimension) + math.sqrt(2 * TAIL) + 1) / math.sqrt(strength)


# ── rejection
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
