"""p ~ Dirichlet(α): the calculus shared by the families whose parameter is a probability vector."""

from __future__ import annotations

import heapq
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, gammaln, polygamma, psi, xlogy

from discreet.families.exact_fields import ExactField, exactly, rational
from discreet.families.family import (
    Family,
    Floats,
    Integers,
    Sensitivity,
    count_and_weight,
    credible,
    one_vector,
    records,
    table_size,
    to_project,
)
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, NotProved, Relation
from discreet.privacy.worst_pairs.pairs import WorstCase
from discreet.sampling.source import Source

# ── Dirichlet concentrations: a million exact rationals as one float64 array whenever doubles hold them all.
LARGEST_INTEGER = 2.0**53
TINY = 2.0**-900  # below this a product's error term could underflow and hide
HUGE = 2.0**900
SPLITTER = 2.0**27 + 1


@final
class Concentrations(ExactField[ArrayLike, NDArray[Any]]):
    """A field of at least 2 positive entries: read-only float64 when exact, else an array of Fractions."""

    def checked(self, value: ArrayLike) -> NDArray[Any]:
        given = np.asarray(value)
        if given.ndim != 1 or given.size < 2:
            raise ValueError(
                f"{self.name} must be a vector of at least 2 concentrations, got shape {given.shape}; a "
                "single category carries no information, and so has no posterior"
            )
        exact = compact(given, self.name)
        if exact.dtype == np.float64 and not np.all(exact > 0):  # `compact` has refused such Fractions
            raise ValueError(f"every entry of {self.name} must be above 0: the prior must be normalizable")
        exact.setflags(write=False)
        return exact


def compact(values: NDArray[Any], what: str) -> NDArray[Any]:
    """Copy to float64 if that loses nothing, else to Fractions; refuse NaN and infinity."""
    if values.dtype.kind in "fiub" and values.dtype.itemsize <= 8:
        floats = values.astype(np.float64)
        if not np.all(np.isfinite(floats)):
            raise ValueError(
                f"every entry of {what} must be a finite number above 0: the prior must be normalizable"
            )
        if values.dtype.kind == "f" or np.all(np.abs(floats) < LARGEST_INTEGER):
            return floats
    distinct, where = _distinct(values)
    fractions = [rational(x, what=f"every entry of {what}") for x in distinct.tolist()]
    try:
        floats = np.array([float(x) for x in fractions])
        if all(Fraction(f) == x for f, x in zip(floats.tolist(), fractions, strict=True)):
            return floats[where]
    except OverflowError:
        pass
    return _objects(fractions)[where]


def add_weighted(base: NDArray[Any], weight: Fraction, counts: NDArray[Any]) -> NDArray[Any]:
    """Return base + weight·counts exactly: float64 when error-free, Fractions otherwise."""
    if base.dtype == np.float64 and counts.dtype == np.float64:
        floats = _error_free(base, weight, counts)
        if floats is not None:
            return floats
    # few distinct (base, count) pairs are the rule, and Fractions are slow: make each once
    ranks = _distinct(base)[1] * counts.size + _distinct(counts)[1]
    _, first, where = np.unique(ranks, return_index=True, return_inverse=True)
    sums = [exactly(base[i]) + weight * exactly(counts[i]) for i in first.tolist()]
    return _objects(sums)[where]


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return distinct entries and where each goes; objects by identity, since comparing Fractions is slow."""
    keys = np.fromiter(map(id, values), np.int64, values.size) if values.dtype == object else values
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    return values[first], where.astype(np.int64)


def _objects(fractions: list[Fraction]) -> NDArray[Any]:
    array = np.empty(len(fractions), dtype=object)
    array[:] = fractions
    return array


def _error_free(base: Floats, weight: Fraction, counts: Floats) -> Floats | None:
    """Dekker's product and Knuth's sum: their error terms are the exact errors, so all zero means exact."""
    w = float(weight)
    if Fraction(w) != weight or not TINY < w < HUGE:
        return None
    product = w * counts
    safe = (counts == 0) | ((counts > TINY) & (counts < HUGE) & (product > TINY) & (product < HUGE))
    if not np.all(safe) or np.any(_product_error(w, counts, product)):
        return None
    total = base + product
    shifted = total - product
    error = (base - shifted) + (product - (total - shifted))
    return None if np.any(error) else total


def _product_error(w: float, x: Floats, product: Floats) -> Floats:
    w_high = SPLITTER * w - (SPLITTER * w - w)
    x_high = SPLITTER * x - (SPLITTER * x - x)
    w_low, x_low = w - w_high, x - x_high
    return ((w_high * x_high - product) + w_high * x_low + w_low * x_high) + w_low * x_low


# ── dirichlet
TOTAL_SLACK = 2.0**-30  # relative: a projected float statistic sums to n only up to rounding


@dataclass(frozen=True, repr=False, eq=False)
class DirichletLaw(Family):
    """η = α, T = ln p, C = ΣlnΓ(α_i) − lnΓ(Σα_i), base Πdp_i/p_i; the statistic is the d counts.

    [GSC17 A.1]; the total Σα moves with n, so it needs no coordinate of its own.
    """

    alpha: Concentrations = Concentrations()  # noqa: RUF009 - a descriptor

    @property
    @abstractmethod
    def total_per_record(self) -> int:
        """How many of the d counts one record adds."""

    @property
    def dimension(self) -> int:
        return self.alpha.size

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        # float64 whenever exact, so equal members have equal bytes
        exact = self.alpha.tobytes() if self.alpha.dtype == np.float64 else tuple(self.alpha)
        return type(self), self.total_per_record, exact

    # --- data side ------------
    @property
    def units(self) -> Floats:
        return np.ones(self.alpha.size)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """Exact, m counts a record: (2m, √2·m, m) for SUBSTITUTE, m in every norm for ADD_REMOVE."""
        m = self.total_per_record
        return Sensitivity.of(2 * m, 2 * m**2, m) if relation.replaces else Sensitivity.of(m, m**2, m)

    def check(self, statistic: ArrayLike, n: int) -> Integers:
        counts = self._counts(statistic)
        if counts.dtype != np.float64 or not np.array_equal(counts, np.floor(counts)):
            raise ValueError("counts must be whole numbers, as `statistic` returns them")
        whole = counts.astype(np.int64)
        if int(whole.sum()) != table_size(n) * self.total_per_record:
            raise ValueError("the counts do not add up to those of n records; give n of the same data")
        return whole

    def project(self, statistic: ArrayLike, n: float) -> Floats:
        """Nearest point of {s ≥ 0, Σs = n·m} in Euclidean distance, O(d log d)."""
        s, total = one_vector(statistic, self.dimension), float(to_project(n) * self.total_per_record)
        descending = np.sort(s)[::-1]
        excess = (np.cumsum(descending) - total) / np.arange(1, s.size + 1)
        return np.maximum(s - excess[np.flatnonzero(descending >= excess)[-1]], 0.0)

    def joint(self, statistic: ArrayLike, n: int) -> Integers:
        """Return the counts alone: their total is n·m."""
        return self.check(statistic, n)

    def joint_sensitivity(self) -> Sensitivity:
        return self.sensitivity(ADD_REMOVE)

    def split(self, joint: ArrayLike) -> tuple[Floats, float]:
        counts = one_vector(joint, self.dimension)
        return counts, float(counts.sum()) / self.total_per_record

    def _counts(self, statistic: ArrayLike) -> NDArray[Any]:
        """Return counts as float64 where exact, else as Fractions; refused without being shown."""
        given = np.asarray(statistic)
        if given.shape != self.alpha.shape:
            raise ValueError(
                f"expected {self.alpha.size} counts, one for each declared category, got {given.shape}"
            )
        floats = one_vector(given, self.dimension)
        if np.any(floats < 0):
            raise ValueError("counts must not be negative; project a noisy statistic first")
        if given.dtype.kind == "f" or (given.dtype.kind in "iub" and np.all(floats < LARGEST_INTEGER)):
            return floats
        return np.array([exactly(x) for x in given.tolist()], dtype=object)

    # --- prior and posterior ------------
    def update(self, statistic: ArrayLike, n: Exact, *, weight: Exact = 1) -> Self:
        count, r = count_and_weight(n, weight)
        counts = self._counts(statistic)
        total = float(count) * self.total_per_record
        if not abs(float(counts.sum()) - total) <= TOTAL_SLACK * (1 + total):
            raise ValueError("the counts do not add up to those of n records; give n of the same data")
        return self._with(alpha=add_weighted(self.alpha, r, counts))

    def scale_prior(self, factor: Exact) -> Self:
        zero = np.zeros(self.alpha.size)
        return self._with(alpha=add_weighted(zero, rational(factor, what="factor"), self.alpha))

    def worst_case(self, n: int | None, *, step: Exact = 1, relation: Relation) -> WorstCase:
        """Beta(a+r, b) against Beta(a, b+r), a and b the two smallest prior entries, both orders [theory §2].

        With d = 2 the other n−1 records must fall on the same two; ADD_REMOVE: Gamma(a+r) against Gamma(a).
        """
        from discreet.privacy.worst_pairs.pairs import BetaPairs, DirichletPairs, GammaShapePairs  # noqa: PLC0415

        if self.total_per_record > 1:
            raise NotProved(
                f"no worst neighbouring pair is proved for one posterior draw of {type(self).__name__} with "
                "more than one trial per record; NoisyStatistics covers it"
            )
        r, (a, b) = rational(step, what="step"), self._two_smallest()
        if not relation.replaces:
            return GammaShapePairs(a, r)
        others = r * (records(n) - 1)
        return DirichletPairs(a, b, r) if self.alpha.size > 2 else BetaPairs(a, b, r, others, r)

    def _two_smallest(self) -> tuple[Fraction, Fraction]:
        if self.alpha.dtype == np.float64:
            a, b = np.partition(self.alpha, 1)[:2].tolist()
        else:
            a, b = heapq.nsmallest(2, self.alpha.tolist())
        return exactly(a), exactly(b)

    # --- calculus ------------
    @property
    def natural(self) -> Floats:
        return self.alpha.astype(np.float64)

    def from_natural(self, eta: ArrayLike) -> Self:
        return self._with(alpha=eta)

    def log_partition(self) -> float:
        return float(gammaln(self.natural).sum() - gammaln(self.natural.sum()))

    def sufficient(self, theta: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            value: Floats = np.log(np.asarray(theta, dtype=np.float64))
        return value

    def log_base(self, theta: ArrayLike) -> Floats:
        return -self.sufficient(theta).sum(axis=-1)

    def mean_sufficient(self) -> Floats:
        return psi(self.natural) - psi(self.natural.sum())

    def covariance_sufficient(self) -> Floats:
        return np.diag(polygamma(1, self.natural)) - polygamma(1, self.natural.sum())

    def log_density(self, theta: ArrayLike) -> Floats:
        """Density with respect to Lebesgue measure on the first d−1 coordinates."""
        p = np.asarray(theta, dtype=np.float64)
        inside = np.all(p >= 0, axis=-1) & (np.abs(p.sum(axis=-1) - 1) < 1e-9)
        terms = xlogy(self.natural - 1, np.where(inside[..., None], p, 0.5)).sum(axis=-1)
        return np.where(inside, terms - self.log_partition(), -np.inf)

    def mean(self) -> Floats:
        return self.natural / self.natural.sum()

    def variance(self) -> Floats:
        mean = self.mean()
        return mean * (1 - mean) / (self.natural.sum() + 1)

    def interval(self, level: float) -> Floats:
        """Marginal intervals: p_i ~ Beta(α_i, Σα − α_i)."""
        tail, rest = credible(level)[0], self.natural.sum() - self.natural
        return np.stack(
            [betaincinv(self.natural, rest, tail), betainccinv(self.natural, rest, tail)], axis=-1
        )

    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        from discreet.sampling.exact import dirichlet  # noqa: PLC0415 - loads the exact samplers on first use
        from discreet.sampling.source import SYSTEM  # noqa: PLC0415

        return dirichlet(source or SYSTEM, self.alpha, size)
