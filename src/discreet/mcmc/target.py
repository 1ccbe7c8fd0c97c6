"""Posteriors that a chain may look at: a public prior, and one bounded log-likelihood a record.

Log-likelihoods are public functions of the parameter; they are rounded to whole units of 2⁻³² before they
meet the counts, so that every sum over private counts is an exact integer and no rounding depends on data.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.mcmc.kernel import Counts, State
from discreet.mcmc.simplex import truncated_simplex
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.arithmetic.curves import upward
from discreet.privacy.guarantee import Relation
from discreet.sampling.source import Source

UNIT_BITS = 32
UNIT = Fraction(1, 2**UNIT_BITS)
LARGEST = 2.0**20  # of a log-likelihood: whole units stay within 53 bits
SLACK = 8 * UNIT  # four logarithms, each rounded to a unit after an error below a thousandth of one


def in_units(values: ArrayLike) -> list[int]:
    """Round public reals to whole units; Python's integers, which cannot overflow."""
    array = np.asarray(values, dtype=np.float64).reshape(-1)
    if not (np.abs(array) <= LARGEST).all():  # also refuses NaN
        raise ValueError("a log-likelihood was not a finite number within ±2²⁰; bound it, e.g. by truncation")
    return [int(x) for x in np.rint(np.ldexp(array, UNIT_BITS))]


def weighed(counts: Counts, units: list[int]) -> Fraction:
    """Σ_c n_c ℓ_c, exactly."""
    held = np.flatnonzero(counts)
    return sum((int(counts[c]) * units[c] for c in held), 0) * UNIT


@dataclass(frozen=True, kw_only=True)
class Target(ABC):
    """log π(θ | n) = log p₀(θ) + (1/T) Σ_c n_c ℓ(c, θ), ℓ(c, θ) within an interval of length `spread`."""

    columns: tuple[str, ...]  # whose joint values are counted
    shape: tuple[int, ...]  # how many codes each has
    labels: tuple[str, ...]  # one for each entry of θ

    @property
    @abstractmethod
    def spread(self) -> Fraction:
        """Δ ≥ |ℓ(c, θ) − ℓ(c', θ')|, enforced."""

    @abstractmethod
    def log_likelihoods(self, state: State) -> list[int]:
        """ℓ(c, θ) of every cell in units, inside the public bounds."""

    @abstractmethod
    def log_prior(self, state: State) -> Fraction | None:
        """Log p₀(θ) up to a constant, None where it is −∞."""

    @abstractmethod
    def start(self, source: Source) -> State:
        """Draw from the prior, to a public grid."""

    @abstractmethod
    def moves(self, state: State, proposed: State, reach: Exact) -> list[int]:
        """ℓ(c, θ') − ℓ(c, θ) of every cell in units, for a move no longer than `reach`."""

    @abstractmethod
    def sensitivity(self, reach: Exact, relation: Relation) -> Fraction:
        """How far one record can move Σ_c n_c (ℓ(c, θ') − ℓ(c, θ)) over moves no longer than `reach`."""

    def log_odds(
        self, move: tuple[State, State], counts: Counts, heat: Fraction, reach: Exact
    ) -> Fraction | None:
        """Log π(θ'|n) − log π(θ|n), exactly; None where the prior forbids θ', which is public."""
        state, proposed = move
        if not np.abs(proposed - state).max() <= reach:  # what the sensitivity rests on
            raise ValueError("the walk moved farther than its width, and the promise is for its width")
        after = self.log_prior(proposed)
        if after is None:
            return None
        before = self.log_prior(state)
        if before is None:
            raise ValueError("the chain stands where the prior is 0; start it inside the support")
        return after - before + weighed(counts, self.moves(state, proposed, reach)) / heat


@final
@dataclass(frozen=True, kw_only=True)
class SimplexTarget(Target):
    """One categorical column: ℓ(c, θ) = ln θ_c on {θ_c ≥ a₀}, prior Dirichlet(α) [F16 §3.1]."""

    columns: tuple[str, ...] = field(init=False, repr=False)
    shape: tuple[int, ...] = field(init=False, repr=False)
    labels: tuple[str, ...] = field(init=False, repr=False)
    column: str
    alpha: tuple[Exact, ...]
    truncation: Exact  # a₀

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", tuple(Fraction(a) for a in self.alpha))
        d = len(self.alpha)
        if d < 2 or not min(self.alpha) > 0:
            raise ValueError(f"alpha needs at least two entries, all above 0, got {self.alpha}")
        if not 0 < Fraction(self.truncation) < Fraction(1, d):
            raise ValueError(f"truncation must lie strictly between 0 and 1/{d}, got {self.truncation!r}")
        object.__setattr__(self, "columns", (self.column,))
        object.__setattr__(self, "shape", (d,))
        object.__setattr__(self, "labels", tuple(f"{self.column}[{c}]" for c in range(d)))

    @property
    def lower(self) -> Fraction:
        return Fraction(self.truncation)

    @property
    def spread(self) -> Fraction:
        """Δ = ln((1 − (d−1)a₀)/a₀), rounded up."""
        return _log_above((1 - (len(self.alpha) - 1) * self.lower) / self.lower)

    def log_likelihoods(self, state: State) -> list[int]:
        return in_units(np.log(state))

    def log_prior(self, state: State) -> Fraction | None:
        if not state.min() >= self._least or state.sum() != 1:  # sums of multiples of 2⁻³² are exact
            return None
        return Fraction(float(self._exponents @ np.log(state)))

    @cached_property
    def _least(self) -> float:
        return upward(self.lower)

    @cached_property
    def _exponents(self) -> State:
        return np.array([float(Fraction(a) - 1) for a in self.alpha])

    def start(self, source: Source) -> State:
        """Draw from the truncated prior; the last entry makes the sum exactly 1."""
        while True:
            draw = truncated_simplex([Fraction(a) for a in self.alpha], self.lower, source)
            draw[-1] = 1 - draw[:-1].sum()
            if self.log_prior(draw) is not None:
                return draw

    def moves(self, state: State, proposed: State, reach: Exact) -> list[int]:  # noqa: ARG002
        pairs = zip(self.log_likelihoods(state), self.log_likelihoods(proposed), strict=True)
        return [after - before for before, after in pairs]

    def sensitivity(self, reach: Exact, relation: Relation) -> Fraction:
        """One entry grows from a₀ by w, another falls to a₀ by w: ln((a₀+w)/a₀) each, no further than Δ.

        With two entries the other is at 1 − a₀: logit θ' − logit θ is largest at the end of the interval.
        """
        a, d = self.lower, len(self.alpha)
        w = min(Fraction(reach), 1 - d * a)  # no move within the simplex is longer
        if not relation.replaces:
            return _log_above((a + w) / a)
        if d == 2:
            return _log_above((a + w) / a * (1 - a) / (1 - a - w))
        return min(_log_above(((a + w) / a) ** 2), 2 * self.spread)


@final
@dataclass(frozen=True, kw_only=True)
class CellTarget(Target):
    """Any model of counted cells: log p(c | θ) clipped to [lower, upper], so that the bound is never wrong.

    `log_likelihood` maps θ to one number a cell, `log_prior_density` to one number (−∞ outside the support),
    `draw_prior` draws from that prior on the walk's grid; all three are public and see no data. With a
    Lipschitz constant L of θ ↦ ℓ(c, θ) for the walk's width, a move has |ℓ' − ℓ| ≤ L·width, enforced too.
    """

    log_likelihood: Callable[[State], Any]
    log_prior_density: Callable[[State], float]
    draw_prior: Callable[[Source], Any]
    lower: Exact
    upper: Exact
    lipschitz: Exact | None = None

    def __post_init__(self) -> None:
        if not self.spread > 2.0**-20:
            raise ValueError(
                f"log-likelihoods need public bounds lower < upper, at least 2⁻²⁰ apart, "
                f"got [{self.lower}, {self.upper}]"
            )
        if len(self.columns) != len(self.shape) or not self.shape or not self.labels:
            raise ValueError("give one size for each column, and one label for each entry of the parameter")
        if self.lipschitz is not None and not Fraction(self.lipschitz) > 0:
            raise ValueError(f"the Lipschitz constant must be above 0, got {self.lipschitz!r}")

    @property
    def spread(self) -> Fraction:
        return Fraction(self.upper) - Fraction(self.lower)

    def log_likelihoods(self, state: State) -> list[int]:
        low, high = math.ceil(Fraction(self.lower) / UNIT), math.floor(Fraction(self.upper) / UNIT)
        raw = np.clip(np.asarray(self.log_likelihood(state), dtype=np.float64), -LARGEST, LARGEST)
        units = in_units(raw)
        if len(units) != math.prod(self.shape):
            raise ValueError(f"log_likelihood must give {math.prod(self.shape)} numbers, one per cell")
        return [min(max(x, low), high) for x in units]

    def log_prior(self, state: State) -> Fraction | None:
        value = float(self.log_prior_density(state))
        if math.isnan(value) or value == math.inf:
            raise ValueError("log_prior_density must be a finite number, or −∞ outside the support")
        return None if value == -math.inf else Fraction(value)

    def start(self, source: Source) -> State:
        drawn = np.array(self.draw_prior(source), dtype=np.float64).reshape(-1)
        if drawn.size != len(self.labels) or self.log_prior(drawn) is None:
            raise ValueError("draw_prior must give one number for each label, where the prior is above 0")
        return drawn

    def moves(self, state: State, proposed: State, reach: Exact) -> list[int]:
        bound = math.floor(self._farthest(reach) / UNIT)
        pairs = zip(self.log_likelihoods(state), self.log_likelihoods(proposed), strict=True)
        return [min(max(after - before, -bound), bound) for before, after in pairs]

    def sensitivity(self, reach: Exact, relation: Relation) -> Fraction:
        """2M for a substitution, M for one record more, M the longest |ℓ' − ℓ|."""
        return self._farthest(reach) * (2 if relation.replaces else 1)

    def _farthest(self, reach: Exact) -> Fraction:
        if self.lipschitz is None:
            return self.spread
        return min(self.spread, Fraction(self.lipschitz) * Fraction(reach))


def _log_above(ratio: Fraction) -> Fraction:
    """Return ln(ratio) rounded up, with room for the rounding of the likelihoods to units."""
    with precision(128):
        return Fraction(ceiling(ball(ratio).log())) + SLACK
