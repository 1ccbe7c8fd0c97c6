"""Dirichlet–Multinomial: how a fixed number of items per record spreads over d declared categories."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy

from discreet.families.exact_fields import Whole
from discreet.families.family import Floats, Integers
from discreet.families.laws.dirichlet import DirichletLaw
from discreet.families.records import numbers, refuse_overflow


@final
@dataclass(frozen=True, repr=False, eq=False)
class DirichletMultinomial(DirichletLaw):
    """p ~ Dirichlet(α), a record is d counts of total `trials`; others are refused without being shown."""

    name: ClassVar[str] = "dirichlet_multinomial"
    trials: Whole = Whole()  # noqa: RUF009 - a descriptor

    @property
    def total_per_record(self) -> int:
        return self.trials

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(self.trials)

    def statistic(self, data: ArrayLike) -> Integers:
        rows = numbers(data, columns=self.dimension)
        if rows.shape[1] != self.dimension:
            raise ValueError(f"a record has {self.dimension} counts, got rows of {rows.shape[1]}")
        if not np.all(self._declared(rows)):
            raise ValueError(f"every record must be whole counts ≥ 0 that add up to {self.trials} trials")
        refuse_overflow(rows.shape[0], self.trials)
        return rows.astype(np.int64).sum(axis=0)

    def draw_records(self, theta: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(rng.multinomial(self.trials, theta).astype(np.float64))

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        """m!/Πx_i! · Πp_i^{x_i}."""
        counts, p = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(theta, dtype=np.float64))
        inside = self._declared(counts)
        k = np.where(inside[..., None], counts, 0.0)
        return np.where(inside, self._ways(k) + xlogy(k, p).sum(axis=-1), -np.inf)

    def log_predictive(self, x: ArrayLike) -> Floats:
        """m!/Πx_i! · ΠΓ(α_i+x_i)/Γ(α_i) · Γ(Σα)/Γ(Σα+m): Dirichlet–multinomial."""
        counts = np.asarray(x, dtype=np.float64)
        inside, a = self._declared(counts), self.natural
        k = np.where(inside[..., None], counts, 0.0)
        rising = (gammaln(a + k) - gammaln(a)).sum(axis=-1)
        return np.where(
            inside, self._ways(k) + rising + gammaln(a.sum()) - gammaln(a.sum() + self.trials), -np.inf
        )

    def _declared(self, counts: Floats) -> NDArray[np.bool_]:
        whole = np.all((counts >= 0) & (counts == np.floor(counts)), axis=-1)
        return whole & (counts.sum(axis=-1) == self.trials)

    def _ways(self, k: Floats) -> Floats:
        return gammaln(self.trials + 1) - gammaln(k + 1).sum(axis=-1)
