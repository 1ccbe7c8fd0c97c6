"""C: the proximal sampler on e^{−U}, U = ρΣφ(x_i·w, y_i) + (m/2)‖w‖²; public constants certify it.

y ~ N(w, ηI), then w ~ e^{−U(w) − ‖w−y‖²/(2η)}, K times from w = 0. The second law is again a regression's
posterior, with a stronger prior, m + 1/η, at a centre: sampler B draws it. So C pays for K draws of B, and in
return every one of them is easy: it is for dimensions where B itself would not end.

KL_K ≤ (d + p·ρn)/(2mη)·(1 + ηm)^{−2(K−1)} and TV ≤ √(KL/2), for every data set of n records:
- m·E‖w‖² = d − ρΣE[s_iφ'(s_i)] ≤ d + pρn, p = sup −sφ'(s) (`pull`; W(1/e) = .2785 for logistic losses), by
  E[w·∇U] = d.
- The first y is N(0, ηI), the stationary one ∫N(w, ηI)dp(w): KL ≤ E‖w‖²/(2η), as KL is convex in its
  second argument; drawing w from y does not raise it, so KL₁ ≤ (d + pρn)/(2mη).
- Each further step divides KL by (1 + ηm)² where p has a log-Sobolev constant m [CCSW22], as it has by Bakry
  and Émery.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from discreet.families.exact_fields import power_of_two_above
from discreet.mechanisms.regression.samplers.potential import Potential, Tilted, pull
from discreet.mechanisms.regression.samplers.radial import FINER, Proposal
from discreet.mechanisms.regression.samplers.rejection import Rounding, counted, spread
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import NotProved
from discreet.sampling import exact
from discreet.sampling.source import Source

HARDNESS = 0.08
EASY = 5.0  # steps are so short that about one proposal in e⁵ is accepted, or more
LEFT = 2.0**-42  # of total variation, when the chain stops


@final
@dataclass(frozen=True, repr=False)
class ProximalRun:
    """Steps of size η and their number K."""

    dimension: int
    total: float  # ρn, at most
    pulled: float  # p
    strength: float  # m
    root: Fraction  # √η, a power of two

    @property
    def steps(self) -> int:
        """Least K with TV ≤ 2^-42."""
        return 2 + math.ceil(max(math.log(self.divergence(1) / (2 * LEFT**2)), 0) / (2 * self._log_factor))

    def divergence(self, steps: int) -> float:
        """Bound KL after so many steps."""
        start = (self.dimension + self.pulled * self.total) / (2 * self.strength * float(self.root) ** 2)
        return 1.001 * start * math.exp(-2 * (steps - 1) * self._log_factor)

    @property
    def _log_factor(self) -> float:
        return math.log1p(self.strength * float(self.root) ** 2) * (1 - 1e-12)

    @property
    def more(self) -> float:
        """1/η: what a step adds to the prior's strength."""
        return float(self.root) ** -2

    def draw(self, potential: Potential, source: Source) -> Floats:
        """Run the chain from w = 0; the last w gets the noise of sampler B, on its grid."""
        y = exact.normal(source, 0, self.root**2, self.dimension, self.root / FINER)
        for _ in range(self.steps - 1):
            y = self._near(potential, y).smeared(1, self.root, source, self.root / FINER)[0]
        return np.asarray(self._near(potential, y).released(1, spread(potential.strength), source)[0])

    def _near(self, potential: Potential, y: Floats) -> Proposal:
        """e^{−U(w) − ‖w−y‖²/(2η)}: the prior's centre moves to y/(1 + ηm)."""
        centre = y / (1 + self.strength / self.more)
        return Proposal.of(Tilted(potential, self.strength + self.more, centre))


def draw(potential: Potential, source: Source) -> Floats:
    """One w, within total variation 2^-42 of e^{−U} but for rounding, on a public grid."""
    rows, total = potential.records.rows, float(potential.weight) * potential.n
    square = float(np.max(np.einsum("ij,ij->i", rows, rows), initial=0.0))
    root = largest_step(potential.dimension, total, square, float(potential.strength))
    pulled = float(pull(potential.loss))
    run = ProximalRun(potential.dimension, total, pulled, float(potential.strength), root)
    return run.draw(potential, source)


def largest_step(dimension: int, total: float, square: float, strength: float) -> Fraction:
    """√η ≤ 2/√m, the largest whose steps accept well.

    −ln(acceptance) is about .08·d_eff·σ√d, as measured, where directions share the curvature of ρΣφ evenly.
    A rule for time alone: though it looks at data, the certificate holds for every η that it may choose.
    """
    root = _top(strength)
    shared = total * square / (4 * dimension)

    def hard(root: Fraction) -> bool:
        inside = strength + float(root) ** -2 + shared
        return bool(HARDNESS * dimension**1.5 * shared / inside * math.sqrt(square / inside) > EASY)

    while hard(root):
        root /= 2
    return root


def _top(strength: float) -> Fraction:
    return power_of_two_above(1 / Fraction(math.sqrt(strength)))


def runs(model: GeneralizedLinear, n: int, weight: Exact, strength: Exact) -> list[ProximalRun]:
    """Every run that a data set of at most n records may lead to: h/(x + h)^{3/2} ≤ .385/√x for all h."""
    d, m, total = model.dimension, float(strength), float(weight) * n
    pulled, square = float(pull(model.loss)), float(model.bound_square)
    roots = [_top(m)]
    while HARDNESS * d**1.5 * 0.385 * math.sqrt(square / (m + float(roots[-1]) ** -2)) > EASY:
        roots.append(roots[-1] / 2)
    return [ProximalRun(d, total, pulled, m, root) for root in roots]


def total_variation(model: GeneralizedLinear, n: int | None, weight: Exact, strength: Exact) -> float:
    """Bound TV(computed law, ideal law) for EVERY data set of at most n records."""
    return max(
        LEFT + (run.steps - 1) * each.total_variation + last.total_variation
        for run, each, last in _roundings(model, n, weight, strength)
    )


def closeness(model: GeneralizedLinear, n: int | None, weight: Exact, strength: Exact) -> tuple[float, float]:
    """(ε₀, δ₀), as for sampler B: ratios of the steps multiply."""
    near = [
        (
            (run.steps - 1) * each.closeness[0] + last.closeness[0],
            1.1 * (LEFT + (run.steps + 2) * (each.closeness[1] + last.closeness[1])),
        )
        for run, each, last in _roundings(model, n, weight, strength)
    ]
    if not max(shift for shift, _ in near) < 0.09:
        raise NotProved("rounding adds up over the chain's steps; a larger strength is needed")
    return max(shift for shift, _ in near), max(lost for _, lost in near)


def _roundings(
    model: GeneralizedLinear, n: int | None, weight: Exact, strength: Exact
) -> list[tuple[ProximalRun, Rounding, Rounding]]:
    last = float(spread(strength))
    return [
        (
            run,
            Rounding.of(model, n, weight, strength, noise=float(run.root), more=run.more),
            Rounding.of(model, n, weight, strength, noise=last, more=run.more),
        )
        for run in runs(model, counted(n), weight, strength)
    ]
