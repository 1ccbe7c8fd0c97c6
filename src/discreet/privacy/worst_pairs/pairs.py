"""Worst neighbouring pairs of posterior draws: two laws, their Rényi divergence and exact privacy profile."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar, final

from flint import arb

from discreet.privacy.arithmetic.ball import Exact, ball, decide, precision
from discreet.privacy.arithmetic.ball import floor as round_below
from discreet.privacy.worst_pairs.divergences import (
    INFINITE,
    Search,
    beta_delta,
    beta_delta_at_most,
    beta_renyi,
    beta_renyi_bound,
    beta_side_renyi,
    gamma_rate_delta,
    gamma_rate_renyi,
    gamma_shape_delta,
    gamma_shape_renyi,
    normal_delta,
    sup_beta_delta,
)


@dataclass(frozen=True)
class WorstCase(ABC):
    """The supremum over neighbouring data sets in both directions, as balls; ∞ is not finite."""

    may_be_zero: ClassVar[tuple[str, ...]] = ()  # parameters; all others are above 0

    def __post_init__(self) -> None:
        """Validate and keep every parameter as the exact rational it is."""
        for name in (f.name for f in fields(self)):
            value = getattr(self, name)
            value = value.item() if hasattr(value, "item") else value  # a NumPy integer would wrap
            if not math.isfinite(value) or value < 0 or (name not in self.may_be_zero and value == 0):
                raise ValueError(f"{type(self).__name__}: {name} must be finite and above 0, got {value!r}")
            object.__setattr__(self, name, Fraction(value))

    @property
    @abstractmethod
    def order_limit(self) -> float:
        """α*, rounded down: the divergence is finite for orders below it."""

    @abstractmethod
    def renyi(self, order: Exact) -> arb:
        """Return sup D_α at the working precision, an enclosure or upper bound."""

    @abstractmethod
    def delta(self, epsilon: Exact) -> arb:
        """Return sup of the hockey-stick divergence δ(ε) at the working precision, or an upper bound."""

    def delta_at_most(self, epsilon: Exact, delta: Exact) -> bool:
        """Whether sup δ(ε) ≤ δ, proved."""
        return decide(lambda: self.delta(epsilon), delta)

    def reweighted(self, *, prior: Exact, step: Exact) -> WorstCase | None:
        """Scale the prior and a record's weight without asking the family again; None if that takes more."""
        del prior, step
        return None

    @property
    def gaussian(self) -> Fraction | None:
        """μ² where the pair is exactly N(0, 1) against N(μ, 1), so that the guarantee is μ-GDP."""
        return None


@final
@dataclass(frozen=True)
class BetaPairs(WorstCase):
    """Beta(a+r, b) against Beta(a, b+r), a = α₀+w, b = β₀+others−w, w ∈ {0, unit, …, others}, or any real w.

    Rényi is convex in w, so its worst is at an end (ψ₁ is convex); the profile is searched in blocks.
    A unit of 0 says that w is real.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("others", "unit")

    alpha: Exact
    beta: Exact
    step: Exact
    others: Exact
    unit: Exact

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit and Fraction(self.others) % Fraction(self.unit):
            raise ValueError(f"others must be a multiple of unit, got {self.others} and {self.unit}")

    @property
    def order_limit(self) -> float:
        return _limit(min(Fraction(self.alpha), Fraction(self.beta)), Fraction(self.step))

    def renyi(self, order: Exact) -> arb:
        return _largest_renyi(order, (beta_renyi, self._ends(), Fraction(self.step)))

    def renyi_bound(self, order: Exact) -> arb:
        """(αr²/2)[ψ₁(a) + ψ₁(b−(α−1)r)] at the ends: closed form, never below `renyi`."""
        return _largest_renyi(order, (beta_renyi_bound, self._ends(), Fraction(self.step)))

    def delta(self, epsilon: Exact) -> arb:
        return sup_beta_delta(self._search(epsilon))

    def delta_at_most(self, epsilon: Exact, delta: Exact) -> bool:
        return beta_delta_at_most(self._search(epsilon), delta)

    def _search(self, epsilon: Exact) -> Search:
        step, others, unit = Fraction(self.step), Fraction(self.others), Fraction(self.unit)
        return Search((Fraction(self.alpha), Fraction(self.beta)), step, others, unit, _epsilon(epsilon))

    def reweighted(self, *, prior: Exact, step: Exact) -> BetaPairs:
        f, g = Fraction(prior), Fraction(step)
        return BetaPairs(f * self.alpha, f * self.beta, g * self.step, g * self.others, g * self.unit)

    def _ends(self) -> Iterator[tuple[Fraction, Fraction]]:
        for w in {Fraction(0), Fraction(self.others)}:
            a, b = Fraction(self.alpha) + w, Fraction(self.beta) + Fraction(self.others) - w
            yield a, b
            yield b, a


@final
@dataclass(frozen=True)
class DirichletPairs(WorstCase):
    """d ≥ 3: Beta(a+r, b) against Beta(a, b+r), a and b the two smallest prior entries, both orders.

    The other records can all lie elsewhere, and every divergence falls in a and in b (data processing).
    """

    first: Exact
    second: Exact
    step: Exact

    @property
    def order_limit(self) -> float:
        return _limit(min(Fraction(self.first), Fraction(self.second)), Fraction(self.step))

    def renyi(self, order: Exact) -> arb:
        return _largest_renyi(order, (beta_renyi, self._orders(), Fraction(self.step)))

    def renyi_bound(self, order: Exact) -> arb:
        """(αr²/2)[ψ₁(a) + ψ₁(b−(α−1)r)]: closed form, never below `renyi`."""
        return _largest_renyi(order, (beta_renyi_bound, self._orders(), Fraction(self.step)))

    def delta(self, epsilon: Exact) -> arb:
        eps, r = _epsilon(epsilon), Fraction(self.step)
        return _maximum(beta_delta(a, b, r, eps) for a, b in self._orders())

    def reweighted(self, *, prior: Exact, step: Exact) -> DirichletPairs:
        f = Fraction(prior)
        return DirichletPairs(f * self.first, f * self.second, Fraction(step) * self.step)

    def _orders(self) -> Iterator[tuple[Fraction, Fraction]]:
        a, b = Fraction(self.first), Fraction(self.second)
        yield a, b
        if a != b:
            yield b, a


class _Apart(WorstCase):
    """Laws of one moving parameter, m against m + gap, in both directions."""

    gap: Exact

    @property
    @abstractmethod
    def _moving(self) -> Fraction: ...

    @abstractmethod
    def _one_renyi(self, moving: Fraction, gap: Fraction, order: Fraction) -> arb: ...

    @property
    def order_limit(self) -> float:
        return _limit(self._moving, Fraction(self.gap))

    def renyi(self, order: Exact) -> arb:
        if not _finite_order(order):
            return INFINITE
        m, g, alpha = self._moving, Fraction(self.gap), Fraction(order)
        return self._one_renyi(m, g, alpha).max(self._one_renyi(m + g, -g, alpha))


@final
@dataclass(frozen=True)
class GammaShapePairs(_Apart):
    """Gamma(s) against Gamma(s+g), both directions: falls in s (add a Gamma), rises in g (MLR)."""

    shape: Exact
    gap: Exact

    @property
    def _moving(self) -> Fraction:
        return Fraction(self.shape)

    def _one_renyi(self, moving: Fraction, gap: Fraction, order: Fraction) -> arb:
        return gamma_shape_renyi(moving, gap, order)

    def delta(self, epsilon: Exact) -> arb:
        s, g, eps = Fraction(self.shape), Fraction(self.gap), _epsilon(epsilon)
        return gamma_shape_delta(s, g, eps).max(gamma_shape_delta(s + g, -g, eps))

    def reweighted(self, *, prior: Exact, step: Exact) -> GammaShapePairs:
        return GammaShapePairs(Fraction(prior) * self.shape, Fraction(step) * self.gap)


@final
@dataclass(frozen=True)
class GammaRatePairs(_Apart):
    """Gamma(k, λ) against Gamma(k, λ+g), both directions: depends on g/λ alone, worst at the prior's rate."""

    rate: Exact
    gap: Exact
    shape: Exact

    @property
    def _moving(self) -> Fraction:
        return Fraction(self.rate)

    def _one_renyi(self, moving: Fraction, gap: Fraction, order: Fraction) -> arb:
        return gamma_rate_renyi(moving, gap, Fraction(self.shape), order)

    def delta(self, epsilon: Exact) -> arb:
        rate, g, k, eps = Fraction(self.rate), Fraction(self.gap), Fraction(self.shape), _epsilon(epsilon)
        return gamma_rate_delta(rate, g, k, eps).max(gamma_rate_delta(rate + g, -g, k, eps))


@final
@dataclass(frozen=True)
class BetaSidePairs(_Apart):
    """Beta(f, m) against Beta(f, m+g), both directions; the Rényi divergence falls in m since C'''(m) ≤ 0.

    Its profile is bounded, not attained: G_m/(G_m + G_f) carries the Gamma(m), Gamma(m+g) pair onto it.
    """

    fixed: Exact
    moving: Exact
    gap: Exact

    @property
    def _moving(self) -> Fraction:
        return Fraction(self.moving)

    def _one_renyi(self, moving: Fraction, gap: Fraction, order: Fraction) -> arb:
        return beta_side_renyi(Fraction(self.fixed), moving, gap, order)

    def delta(self, epsilon: Exact) -> arb:
        return GammaShapePairs(self.moving, self.gap).delta(epsilon)


@final
@dataclass(frozen=True)
class NormalPair(WorstCase):
    """N(0, 1) against N(μ, 1): exactly μ-Gaussian DP [DRS22]; D_α = αμ²/2."""

    mu_squared: Exact

    @property
    def order_limit(self) -> float:
        return math.inf

    def renyi(self, order: Exact) -> arb:
        return ball(Fraction(order) * Fraction(self.mu_squared) / 2) if _finite_order(order) else INFINITE

    def delta(self, epsilon: Exact) -> arb:
        return normal_delta(Fraction(self.mu_squared), _epsilon(epsilon))

    @property
    def gaussian(self) -> Fraction:
        return Fraction(self.mu_squared)


def _largest_renyi(
    order: Exact,
    candidates: tuple[Callable[..., arb], Iterator[tuple[Fraction, Fraction]], Fraction],
) -> arb:
    if not _finite_order(order):
        return INFINITE
    renyi, pairs, r = candidates
    return _maximum(renyi(a, b, r, Fraction(order)) for a, b in pairs)


def _maximum(values: Iterator[arb]) -> arb:
    largest = next(values)
    for value in values:
        largest = largest.max(value)
    return largest


def _limit(smallest: Fraction, step: Fraction) -> float:
    """α* = 1 + smallest/step, rounded down."""
    with precision(128):
        return round_below(ball(1 + smallest / step))


def _finite_order(order: Exact) -> bool:
    if not order > 1:
        raise ValueError(f"a Rényi order must be above 1, got {order!r}")
    return math.isfinite(order)


def _epsilon(epsilon: Exact) -> Fraction:
    if not math.isfinite(epsilon):
        raise ValueError(f"ε must be finite, got {epsilon!r}")
    return Fraction(epsilon)
