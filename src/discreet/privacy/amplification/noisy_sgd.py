"""NoisyProjSGD: what one record's place in the order costs, when only the last iterate is released.

x ← Π(x − η(∇ℓ(x; zᵢ) + N(0, σ²I))) over records in a public order, ℓ convex, C-Lipschitz, β-smooth and
ρ-strongly convex in x [FMTT18 Alg. 1; BBGG19 Thm 6, corrected: docs/errata.md 16].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import final

from flint import arb

from discreet.privacy.accounting.conversions import gaussian_delta
from discreet.privacy.amplification.iteration import BITS, Step, iterate, promised
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.divergence_bounds import GaussianDP, RenyiDP
from discreet.privacy.guarantee import Guarantee, NotProved, group_size, nonnegative

# ── A secret, uniformly chosen place in a run: the average of Gaussian guarantees.
Parts = tuple[tuple[int, Exact], ...]  # (how many places, μ²)


SECRET_BITS = 128


def refuse_parts(parts: Parts) -> None:
    """Refuse what is no average of Gaussian promises, from JSON too."""
    if not parts:
        raise ValueError("an average needs at least one part")
    for count, square in parts:
        group_size(count)
        nonnegative("mu_squared", square)


def _average(parts: Parts, each: dict[int, arb]) -> arb:
    total = sum(count for count, _ in parts)
    return sum((count * each[k] for k, (count, _) in enumerate(parts)), ball(0)) / total


@final
@dataclass(frozen=True)
class GaussianMixtureCurve:
    """D_α ≤ ln(mean of e^{(α−1)αμ²/2})/(α−1): e^{(α−1)D_α} is jointly convex [EH14 Thm 13]."""

    parts: Parts

    def __post_init__(self) -> None:
        refuse_parts(self.parts)

    def __call__(self, order: float) -> float:
        with precision(SECRET_BITS):
            a = ball(order)
            each = {k: ((a - 1) * a * ball(square) / 2).exp() for k, (_, square) in enumerate(self.parts)}
            return ceiling(_average(self.parts, each).log() / (a - 1))


@final
@dataclass(frozen=True)
class GaussianMixtureProfile:
    """δ(ε) ≤ mean of δ_μ(ε): the hockey-stick divergence is jointly convex [BBG18 §2]."""

    parts: Parts

    def __post_init__(self) -> None:
        refuse_parts(self.parts)

    def __call__(self, epsilon: float) -> float:
        with precision(SECRET_BITS):
            each = {
                k: gaussian_delta(ball(square).sqrt(), ball(epsilon)) if square else ball(0)
                for k, (_, square) in enumerate(self.parts)
            }
            return min(1.0, ceiling(_average(self.parts, each)))


# ── noisy sgd
FINENESS = 32  # places of a secret order are grouped at 1/32 of their distance from the end


@final
@dataclass(frozen=True, kw_only=True)
class NoisySGD:
    """The run as it is promised; SUBSTITUTE, since n is public."""

    n: int
    step: Exact  # η
    sigma: Exact  # of the noise on each gradient
    lipschitz: Exact  # C: no gradient is longer
    smooth: Exact  # β
    strong: Exact = 0  # ρ
    passes: int = 1
    public_steps: int = 0  # steps on public records, appended: they only hide
    secret_order: bool = False  # drawn afresh from private bits and told to nobody; else public
    rounding: Exact = 0  # how far one computed step may be from the ideal one, on each of two runs

    def __post_init__(self) -> None:
        if not (self.n >= 1 and self.passes >= 1 and self.public_steps >= 0):
            raise ValueError("need n ≥ 1 records, passes ≥ 1 and public_steps ≥ 0")
        if self.secret_order and self.passes > 1:
            raise NotProved("a secret order is covered for one pass only; take passes=1, or a public order")
        for name in ("step", "sigma", "lipschitz", "smooth"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(
                    f"{name} must be positive and finite, got {getattr(self, name)}; it is public"
                )
        if not 0 <= self.rounding < math.inf:
            raise ValueError(f"rounding must be finite and at least 0, got {self.rounding}")
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
        with precision(BITS):
            if self.passes == 1:
                square = self._square(self.n - i + self.public_steps)
            else:
                factor = float_above(self.contraction)
                unit = unit_square(factor, self.n, i, self.passes, self.public_steps)
                square = (2 * ball(self.lipschitz) / ball(self.sigma)) ** 2 * ball(unit)
            return GaussianDP.from_square(promised((square.sqrt() + self._rough()) ** 2))

    @property
    def guarantee(self) -> Guarantee:
        """Bound the worst index of a public order, the last one; or the average over a secret order."""
        return self._secretly() if self.secret_order else self.at_index(self.n)

    def rounded(self, rounding: Exact) -> NoisySGD:
        """Return the same run, paying for steps that are computed up to this error."""
        return replace(self, rounding=rounding)

    def _secretly(self) -> RenyiDP:
        """Average over a uniformly random order that nobody learns: both divergences are jointly convex."""
        parts, last = [], self.n
        while last >= 1:  # the last places one by one, earlier ones in groups with the promise of their last
            size = min(max(1, (self.n - last) // FINENESS), last)
            parts.append((size, self.at_index(last).mu_squared))
            last -= size
        return RenyiDP(GaussianMixtureCurve(tuple(parts)), profile=GaussianMixtureProfile(tuple(parts)))

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

    def _rough(self) -> arb:
        """Let each step's noise absorb its own rounding, 2r/(ησ); the two schedules add up by Minkowski."""
        steps = ball(self.n * self.passes + self.public_steps)
        return steps.sqrt() * 2 * ball(self.rounding) / (ball(self.step) * ball(self.sigma))

    def _square(self, later: int) -> arb:
        if self.contraction == 0:  # every step forgets where it came from
            return ball(0) if later else 4 * (ball(self.lipschitz) / ball(self.sigma)) ** 2
        inverse = 1 / ball(self.contraction) ** 2
        total = later + 1 if self.contraction == 1 else (inverse ** (later + 1) - 1) / (inverse - 1)
        return 4 * (ball(self.lipschitz) / ball(self.sigma)) ** 2 / total


@lru_cache(maxsize=64)
def unit_square(lipschitz: float, n: int, i: int, passes: int, public_steps: int) -> float:
    """μ² for steps of unit noise and unit shifts: that of a run is (2C/σ)² times this."""
    plain, mine = Step(lipschitz, 1), Step(lipschitz, 1, 1)
    one = [plain] * (i - 1) + [mine] + [plain] * (n - i)
    return float(iterate(one * passes + [plain] * public_steps).mu_squared)


def float_above(x: Fraction) -> float:
    """Return a double at or above x: a larger Lipschitz constant holds, too."""
    near = float(x)
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)
