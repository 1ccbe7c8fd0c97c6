"""Find the knob: the least noise, or the largest budget, whose own certified guarantee meets the target."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from discreet.mechanisms.mechanism import ModelMechanism
from discreet.numerics.search import bisect, bracket, doubles
from discreet.privacy.accounting.composition import repeat
from discreet.privacy.arithmetic.ball import PrecisionError, largest
from discreet.privacy.group_privacy import per_draw
from discreet.privacy.guarantee import Guarantee, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP, GaussianDP
from discreet.sampling.noise import LARGEST_SCALE

WIDEST = 2.0**400  # noise beyond this is no release
HAIR = 2.0**-10  # of the noise, that ε at δ = 0 is worth
WIDEST_DISCRETE = float(LARGEST_SCALE)  # integer noise must fit 64 bits


def least_noise(
    guarantee: Callable[[float], Guarantee], target: Guarantee, *, widest: float = WIDEST
) -> float:
    """Least double s ≤ widest with guarantee(s) ≤ target, for guarantees that strengthen as s grows."""

    def meets(s: float) -> bool:
        return guarantee(s) <= target

    found = bracket(meets, 0.0, min(1.0, widest), lambda s: min(s * s * 4, widest), lambda s: s >= widest)
    if found is None:
        raise Unreachable(
            f"no noise up to scale {widest:g} meets {target}; a target with δ > 0, another noise, or a "
            "coarser grid of the statistic would"
        )
    met = found[1]
    while met > 2.0**-400 and meets(met / 2):
        met /= 2
    return _without_delta(guarantee, target, bisect(meets, met / 2, met, doubles), widest)


def _without_delta(
    guarantee: Callable[[float], Guarantee], target: Guarantee, least: float, widest: float
) -> float:
    """Spend no δ where it buys next to nothing: keep the target's ε itself if that takes a hair more noise.

    A pure promise of 0.25000018 meets (0.25, 1e-7) too, and would not fit a quarter of an ε of 1.
    """
    if not isinstance(target, ApproxDP):
        return least
    pure, most = target.pure_part, min(least * (1 + HAIR), widest)

    def keeps(s: float) -> bool:
        return guarantee(s) <= pure

    if keeps(least) or not keeps(most):
        return least
    return bisect(keeps, least, most, doubles)


def largest_budget(
    guarantee: Callable[[float], Guarantee], target: Guarantee, *, upper: float = 1024.0
) -> float:
    """Largest double ε ≤ upper with guarantee(ε) ≤ target, for guarantees that weaken as ε grows."""
    budget = largest(lambda e: e > 0 and guarantee(e) <= target, upper)
    if not budget > 0:
        raise Unreachable(f"no ε above 0 meets {target}")
    return budget


# ── several releases ────────────────────────────────────────────────────────────────────────────────


def gaussian_share(target: ApproxDP, q: int) -> GaussianDP:
    """μ/√q for the largest μ, to one double, with μ-GDP ≤ target [DRS22 Cor. 3.3]; verified."""
    whole = largest_budget(lambda mu: GaussianDP(mu, relation=target.relation), target)
    share = per_draw(GaussianDP(whole, relation=target.relation), q)
    if not isinstance(share, GaussianDP) or not repeat(share, q) <= target:
        raise Unreachable(f"the promise for one of {q} releases could not be proved to give {target}")
    return share


def shared(calibrate: Callable[[Guarantee], ModelMechanism], target: Guarantee, q: int) -> ModelMechanism:
    """Return q draws that meet the target: μ/√q each where one is Gaussian DP, else by basic composition."""
    if isinstance(target, ApproxDP):
        with suppress(Unreachable, NotProved, PrecisionError):
            one = calibrate(gaussian_share(target, q))
            if isinstance(one.guarantee, GaussianDP):
                return one.draws(q)
    return calibrate(per_draw(target, q)).draws(q)
