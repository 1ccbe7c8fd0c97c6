"""Dirichlet–Categorical: how often each of d declared categories occurs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import Floats, Integers
from discreet.families.laws.dirichlet import DirichletLaw
from discreet.families.records import numbers


@final
@dataclass(frozen=True, repr=False, eq=False)
class DirichletCategorical(DirichletLaw):
    """p ~ Dirichlet(α), x ∈ {0, …, d−1}: integer codes of the d declared categories.

    Codes outside the declaration are refused without being shown; map them to a declared category first.
    """

    name: ClassVar[str] = "dirichlet_categorical"

    @property
    def total_per_record(self) -> int:
        return 1

    def statistic(self, data: ArrayLike) -> Integers:
        x = numbers(data)
        if not np.array_equal(x, np.floor(x)):  # also refuses NaN
            raise ValueError(
                "categories must be integer codes, and some record has a fraction or is missing: encode the "
                "column first, and give missing values a declared category of their own"
            )
        if not (np.all(x >= 0) and np.all(x < self.dimension)):
            raise ValueError(
                f"some record lies outside the {self.dimension} declared categories (codes 0 to "
                f"{self.dimension - 1}); declare every category, or map the others to a declared one"
            )
        return np.bincount(x.astype(np.int64), minlength=self.dimension).astype(np.int64)

    def each(self, data: ArrayLike) -> Integers:
        self.statistic(data)  # refuses what is no category
        return np.eye(self.dimension, dtype=np.int64)[np.asarray(data, dtype=np.int64)]

    def draw_records(self, theta: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(np.argmax(rng.multinomial(1, theta), axis=1)[:, None].astype(np.float64))

    def log_likelihood(self, x: ArrayLike, theta: ArrayLike) -> Floats:
        """Return ln p_x; x broadcasts against the leading axes of θ."""
        p = np.asarray(theta, dtype=np.float64)
        code = np.broadcast_to(
            np.asarray(x, dtype=np.float64), np.broadcast_shapes(np.shape(x), p.shape[:-1])
        )
        mass = np.take_along_axis(
            np.broadcast_to(p, (*code.shape, p.shape[-1])), self._index(code)[..., None], -1
        )
        with np.errstate(divide="ignore"):
            return np.where(self._declared(code), np.log(mass[..., 0]), -np.inf)

    def log_predictive(self, x: ArrayLike) -> Floats:
        """ln(α_x/Σα)."""
        code = np.asarray(x, dtype=np.float64)
        return np.where(self._declared(code), np.log(self.mean()[self._index(code)]), -np.inf)

    def _declared(self, code: Floats) -> NDArray[np.bool_]:
        return (code == np.floor(code)) & (code >= 0) & (code < self.dimension)

    def _index(self, code: Floats) -> Integers:
        return np.where(self._declared(code), code, 0).astype(np.int64)
