"""NoisyProjSGD: what one record's place in the order costs, when only the last iterate is released.

x ← Π(x − η(∇ℓ(x; zᵢ) + N(0, σ²I))) over records in a public order, ℓ convex, C-Lipschitz, β-smooth and
ρ-strongly convex in x [FMTT18 Alg. 1; BBGG19 Thm 6, corrected: ERRATA 16].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.privacy.certified import ball, precision
from discreet.privacy.divergence_bounds import GaussianDP, RenyiDP
from discreet.privacy.guarantee import Guarantee, NotProved
from discreet.privacy.iteration import BITS, Step, iterate, promised
from discreet.privacy.mixtures import GaussianMixtureCurve, GaussianMixtureProfile

if TYPE_CHECKING:
    from flint import arb

    from discreet.privacy.certified import Exact

MOST_GROUPS = 512  # positions of a random order are bounded in at most so many groups


@final
@dataclass(frozen=True, kw_only=True)
class NoisySGD:
    """The run as it is promised; SUBSTITUTE, since n and the order are public."""

    n: int
    step: Exact  # η
    sigma: Exact  # of the noise on each gradient
    lipschitz: Exact  # C: no gradient is longer
    smooth: Exact  # β
    strong: Exact = 0  # ρ
    passes: int = 1
    public_steps: int = 0  # steps on public records, appended: they only hide

    def __post_init__(self) -> None:
        if not (self.n >= 1 and self.passes >= 1 and self.public_steps >= 0):
            raise ValueError("need n ≥ 1 records, passes ≥ 1 and public_steps ≥ 0")
        for name in ("step", "sigma", "lipschitz", "smooth"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(
                    f"{name} must be positive and finite, got {getattr(self, name)}; it is public"
                )
        if not 0 <= self.strong <= self.smooth:
            raise ValueError(f"need 0 ≤ strong ≤ smooth, got {self.strong} and {self.smooth}")

    @property
    def contraction(self) -> Fraction:
        """L = max(|1 − ηρ|, |1 − ηβ|), exact for quadratics; above 1 when η > 2/β."""
        eta = Fraction(self.step)
        return max(abs(1 - eta * Fraction(self.strong)), abs(1 - eta * Fraction(self.smooth)))

    def at_index(self, i: int) -> GaussianDP:
        """μ² = (4C²/σ²)/Σ_{j=0}^{n−i+r} L^{−2j} for one pass and r public steps; else by absorption."""
        if not 1 <= i <= self.n:
            raise ValueError(f"the index runs from 1 to n = {self.n}, got {i}")
        if self.passes == 1:
            with precision(BITS):
                return GaussianDP.from_square(promised(self._square(self.n - i + self.public_steps)))
        return iterate(self._steps(i))

    @property
    def guarantee(self) -> GaussianDP:
        """Bound the worst index, the last of each pass: all others see the same, and then more steps."""
        return self.at_index(self.n)

    def random_order(self) -> Guarantee:
        """Average over a uniformly random order that is kept secret: joint convexity of both divergences."""
        if self.passes > 1:
            raise NotProved("a random order is covered for one pass only; take a public order, or passes=1")
        group = -(-self.n // MOST_GROUPS)
        ends = range(self.n, 0, -group)  # the last place of a group is its worst
        parts = tuple((min(group, end), self.at_index(end).mu_squared) for end in ends)
        return RenyiDP(GaussianMixtureCurve(parts), profile=GaussianMixtureProfile(parts))

    def without_amplification(self) -> GaussianDP:
        """μ = 2C√passes/σ: what releasing every iterate would cost, and DP-SGD accounting charges."""
        square = 4 * Fraction(self.lipschitz) ** 2 * self.passes / Fraction(self.sigma) ** 2
        return GaussianDP.from_square(square)

    def published(self, i: int, order: float) -> float:
        """Rényi bound at index i as printed [BBGG19 Thm 6], with its L and without the noise of step i."""
        eta, beta, rho = float(self.step), float(self.smooth), float(self.strong)
        left = self.n - i
        base = 2 * order * float(self.lipschitz) ** 2 / float(self.sigma) ** 2
        if left == 0:
            return base
        loose = math.sqrt(1 - 2 * eta * beta * rho / (beta + rho))
        return base * loose ** (left + 1) / left

    def _square(self, later: int) -> arb:
        if self.contraction == 0:  # every step forgets where it came from
            return ball(0) if later else 4 * (ball(self.lipschitz) / ball(self.sigma)) ** 2
        inverse = 1 / ball(self.contraction) ** 2
        total = later + 1 if self.contraction == 1 else (inverse ** (later + 1) - 1) / (inverse - 1)
        return 4 * (ball(self.lipschitz) / ball(self.sigma)) ** 2 / total

    def _steps(self, i: int) -> list[Step]:
        eta, factor = Fraction(self.step), self.contraction
        noise = float_above((eta * Fraction(self.sigma)) ** 2, up=False)
        apart = float_above(2 * eta * Fraction(self.lipschitz), up=True)
        plain, mine = (
            Step(float_above(factor, up=True), noise),
            Step(float_above(factor, up=True), noise, apart),
        )
        one = [plain] * (i - 1) + [mine] + [plain] * (self.n - i)
        return one * self.passes + [plain] * self.public_steps


def float_above(x: Fraction, *, up: bool) -> float:
    """Return the nearest double on the wanted side, so that a long run works on doubles."""
    near = float(x)
    while (Fraction(near) < x) if up else (Fraction(near) > x):
        near = math.nextafter(near, math.inf if up else -math.inf)
    return near
