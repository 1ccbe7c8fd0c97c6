"""Public rules for ρ and m of a regression draw, and the search for the knob that meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.mechanisms.calibration import largest_budget
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.posterior.draw import KNOB_BITS
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.numerics.search import bisect, integers
from discreet.privacy.arithmetic.ball import round_down
from discreet.privacy.guarantee import Guarantee, NotProved, Relation, Unreachable
from discreet.privacy.kinds import GaussianDP

FEWEST = 60  # a knob below 2^-60 uses nothing of the data


def allowed(target: Guarantee) -> GaussianDP:
    """Largest μ whose Gaussian DP is proved to imply the target."""
    mu = largest_budget(lambda x: GaussianDP(x, relation=target.relation), target)
    return GaussianDP(mu, relation=target.relation)


def ruled(model: GeneralizedLinear, n: Fraction, relation: Relation, mu: float) -> tuple[Fraction, bool]:
    """Return m by the public rule, and whether ρ ≤ 1 goes with it: a choice for utility alone."""
    c2, delta2 = float(model.bound_square), float(model.gradient_square(relation))
    radius = float(model.radius)
    by_dimension = math.sqrt(model.dimension * delta2) / (mu * radius)
    by_records = (0.1 * float(n) * c2 * delta2 / (2 * mu**2 * radius**2)) ** (1 / 3)
    ratio = max(by_dimension, by_records)
    m = max(Fraction(round_down((ratio * mu) ** 2 / delta2, KNOB_BITS)), model.strength)
    return m, float(m) / ratio <= 1


def largest_knob(at: Callable[[float], Mechanism], target: Guarantee) -> float:
    """Largest knob of 24 bits in (0, 1] that meets the target, near enough: μ falls with it but for ⌈K⌉."""

    def holds(value: float) -> bool:
        try:
            return at(value).guarantee <= target
        except NotProved:
            return False

    exponents = range(FEWEST + 1)
    power = next((k for k in exponents if holds(math.ldexp(1.0, -k))), None)
    if power is None:
        raise Unreachable(f"records would count less than 2^-{FEWEST}, and {target} is still not met")
    if not power:
        return 1.0
    unit = -KNOB_BITS - power
    found = bisect(lambda k: holds(math.ldexp(k, unit)), 2 ** (KNOB_BITS + 1), 2**KNOB_BITS, integers)
    return math.ldexp(found, unit)


def least_strength(
    at: Callable[[Fraction], Mechanism], model: GeneralizedLinear, target: Guarantee
) -> Fraction:
    """Least m ≥ d/R², as (d/R²)/share with a share of 24 bits."""
    share = largest_knob(lambda s: at(model.strength / Fraction(s)), target)
    return model.strength / Fraction(share)
