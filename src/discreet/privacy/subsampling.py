"""Amplification by subsampling: one release by closed form, certified; many Gaussian ones by dp-accounting.

Poisson sampling (each record with probability q) is for ADD_REMOVE; a fixed number m of n without
replacement, q = m/n, for SUBSTITUTE. The sample must stay secret.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

from discreet.privacy.certified import ball, ceiling, floor, precision
from discreet.privacy.curves import Unbounded, downward
from discreet.privacy.divergence_bounds import GaussianDP, RenyiDP
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, NotProved, exact, positive

if TYPE_CHECKING:
    from discreet.privacy.certified import Exact

BITS = 128
ORDERS = tuple(1 + k / 8 for k in range(1, 80)) + tuple(range(11, 256)) + (512, 1024)


@final
@dataclass(frozen=True)
class SubsampledProfile:
    """δ'(ln(1 + q(e^ε − 1))) = q·δ(ε), read backwards [BBG18 Thm 8, Poisson; Thm 9, m of n]."""

    base: Guarantee
    rate: Exact

    def __post_init__(self) -> None:
        _rate(self.rate)
        _ = self.base.relation.replaces  # the theorems are about records

    def __call__(self, epsilon: float) -> float:
        with precision(BITS):
            before = floor((1 + ball(epsilon).expm1() / ball(self.rate)).log())
            least = max(before, downward(epsilon))  # ln(1 + (e^ε − 1)/q) ≥ ε, should e^ε be too large
            return min(1.0, ceiling(ball(self.rate) * ball(self.base.delta(least))))


def subsampled(base: Guarantee, rate: Exact) -> RenyiDP:
    """Promise of one release of a base mechanism on a secret subsample: Poisson, or m of n with rate m/n."""
    return RenyiDP(Unbounded(), profile=SubsampledProfile(base, _rate(rate)), relation=base.relation)


def _rate(rate: Exact) -> Exact:
    if not 0 < exact("the sampling rate", rate) <= 1:
        raise ValueError(f"the sampling rate must lie in (0, 1], got {rate}")
    return rate


@final
@dataclass(frozen=True)
class SampledGaussianCurve:
    """Order ↦ Rényi bound of `steps` subsampled Gaussian releases, by dp-accounting's RDP accountant."""

    mu_squared: Exact
    rate: Exact
    steps: int
    poisson: bool

    def __post_init__(self) -> None:
        _refuse_steps(self.mu_squared, self.rate, self.steps)

    def __call__(self, order: float) -> float:
        known = _orders(_above(self.mu_squared), Fraction(self.rate), self.steps, self.poisson)
        above = [bound for a, bound in known if a >= order]  # the divergence grows with its order
        return above[0] if above else math.inf


@final
@dataclass(frozen=True)
class SampledGaussianProfile:
    """ε ↦ δ of Poisson-sampled Gaussian releases, by dp-accounting's privacy-loss distributions, upward."""

    mu_squared: Exact
    rate: Exact
    steps: int

    def __post_init__(self) -> None:
        _refuse_steps(self.mu_squared, self.rate, self.steps)

    def __call__(self, epsilon: float) -> float:
        found = _loss(_above(self.mu_squared), _above(self.rate), self.steps).get_delta(epsilon)
        return min(1.0, float(found))


def subsampled_gaussian(one: GaussianDP, rate: Exact, steps: int = 1) -> RenyiDP:
    """Promise of `steps` releases of a Gaussian mechanism, each on a fresh secret subsample; adaptive.

    The numbers are dp-accounting's: pessimistic, in doubles, not certified as those of this library are.
    """
    poisson, square = one.relation is ADD_REMOVE, one.mu_squared
    curve = SampledGaussianCurve(square, _rate(rate), steps, poisson)
    profile = SampledGaussianProfile(square, rate, steps) if poisson else None
    return RenyiDP(curve, order_limit=float(ORDERS[-1]), profile=profile, relation=one.relation)


def _refuse_steps(mu_squared: Exact, rate: Exact, steps: int) -> None:
    positive("mu_squared", mu_squared)
    _rate(rate)
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ValueError(f"need at least one step, got {steps}")


def _accounting() -> Any:  # noqa: ANN401 - a module
    try:
        import dp_accounting  # noqa: PLC0415 - heavy, and an extra
    except ImportError as missing:
        raise NotProved(
            "many subsampled releases are accounted for by dp-accounting: pip install 'discreet[oracles]'"
        ) from missing
    return dp_accounting


@lru_cache(maxsize=32)
def _loss(mu_squared: float, rate: float, steps: int) -> Any:  # noqa: ANN401
    from dp_accounting import pld  # noqa: PLC0415

    dp = _accounting()
    accountant = pld.PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE)
    event = dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(_sigma_below(mu_squared)))
    return accountant.compose(dp.SelfComposedDpEvent(event, steps))


@lru_cache(maxsize=32)
def _orders(mu_squared: float, rate: Fraction, steps: int, poisson: bool) -> tuple[tuple[float, float], ...]:  # noqa: FBT001
    from dp_accounting import rdp  # noqa: PLC0415

    dp, gauss = _accounting(), _sigma_below(mu_squared)
    if poisson:
        relation, event = (
            dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
            dp.PoissonSampledDpEvent(_above(rate), dp.GaussianDpEvent(gauss)),
        )
    else:
        relation, event = (
            dp.NeighboringRelation.REPLACE_ONE,
            dp.SampledWithoutReplacementDpEvent(rate.denominator, rate.numerator, dp.GaussianDpEvent(gauss)),
        )
    orders = [a for a in ORDERS if poisson or a == int(a)]
    accountant = rdp.RdpAccountant(orders, relation)
    accountant.compose(dp.SelfComposedDpEvent(event, steps))
    return tuple((float(a), float(b)) for a, b in zip(orders, accountant._rdp, strict=True))  # noqa: SLF001


def _sigma_below(mu_squared: float) -> float:
    """1/μ, rounded down: less noise than there is, two roundings' worth."""
    return (1 - 2.0**-50) / math.sqrt(mu_squared)


def _above(x: Exact) -> float:
    """Return a double at or above x, at most 1 for a rate: more is sampled, or told, than there is."""
    near = float(x)
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)
