"""What a released regression says of its weights w: a Normal posterior, or the draws that were paid for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
from scipy.special import ndtri

from discreet.families.family import credible
from discreet.models.design import encoded
from discreet.models.regression_records import rows_of
from discreet.posteriors.draws import OnlyDraws
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from discreet.models.generalized_linear import GeneralizedLinear
    from discreet.models.margin_losses import Floats
    from discreet.posteriors.draws import Draws
    from discreet.sampling.source import Source

CELLS = 2**20  # margins in memory at once
NODES = np.linspace(-8, 8, 257)  # of the trapezoidal rule, which is exact to e^{−2π²/(hσ)} for a σ(s)


class Coefficients(ABC):
    """The weights of a generalised linear model, by name, and what they predict. Public, and free to read."""

    model: GeneralizedLinear  # bound
    reading: str
    caution: str | None

    @property
    def cautions(self) -> tuple[str, ...]:
        """Where the reading is not to be trusted, and why; empty where there is nothing to say."""
        return (self.caution,) if self.caution else ()

    @property
    def names(self) -> tuple[str, ...]:
        """Name each weight; the intercept last."""
        return self.model.names

    @abstractmethod
    def mean(self) -> Floats:
        """E w"""

    @abstractmethod
    def variance(self) -> Floats:
        """Var w, weight by weight"""

    @abstractmethod
    def interval(self, level: float) -> Floats:
        """Equal-tailed credible intervals, d×2."""

    @abstractmethod
    def sample(self, size: int, source: Source | None = None) -> Floats:
        """`size` draws of w, size×d."""

    @abstractmethod
    def _expected(self, rows: Floats) -> Floats:
        """E over w of E[y | x·w], one per row."""

    def probability(self, features: ArrayLike) -> Floats:
        """E over the posterior of σ(x·w) (of the rate, for counts): a row of encoded features each.

        Rows are scaled to norm as the private ones were, and the constant is appended.
        """
        rows = rows_of(self.model, features)
        parts = np.array_split(rows, max(1, len(rows) * len(NODES) // CELLS))
        return np.concatenate([self._expected(part) for part in parts])

    def probability_of(self, columns: Mapping[str, ArrayLike]) -> Floats:
        """Return the same for public values by column, encoded as the schema said of the private ones."""
        return self.probability(encoded(self.model.design, columns))


@final
@dataclass(frozen=True, eq=False)
class NormalCoefficients(Coefficients):
    """w ~ N(location, covariance) given the release."""

    model: GeneralizedLinear
    location: Floats
    covariance: Floats
    caution: str | None = None  # where the reading is not to be trusted, and why
    reading: str = "noise_aware"
    predictor: NormalCoefficients | None = None  # what to predict with, where that is another reading

    def __post_init__(self) -> None:
        d = self.model.dimension
        for name, shape in (("location", (d,)), ("covariance", (d, d))):
            kept = np.array(getattr(self, name), dtype=np.float64)
            if kept.shape != shape or not np.isfinite(kept).all():
                raise ValueError(f"{name} must be {shape} finite numbers for the weights {self.names}")
            kept.flags.writeable = False
            object.__setattr__(self, name, kept)

    def mean(self) -> Floats:
        return self.location

    def variance(self) -> Floats:
        return np.asarray(np.maximum(np.diag(self.covariance), 0))

    def interval(self, level: float) -> Floats:
        spread = np.sqrt(self.variance())
        return np.asarray(self.location[:, None] + spread[:, None] * ndtri(credible(level)))

    def sample(self, size: int, source: Source | None = None) -> Floats:
        """Draw freely: what is released is public already."""
        normal = np.random.default_rng((source or SYSTEM).words(4).tolist())
        return np.asarray(self.location + normal.standard_normal((size, len(self.location))) @ self._root.T)

    @cached_property
    def _root(self) -> Floats:
        """Return A with AAᵀ = covariance, also where that is singular."""
        values, vectors = np.linalg.eigh(self.covariance)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))

    def _expected(self, rows: Floats) -> Floats:
        """∫ E[y | s] N(s; x·mean, xᵀCx) ds"""
        if self.predictor is not None:
            return self.predictor._expected(rows)  # noqa: SLF001
        weights = np.exp(-(NODES**2) / 2)
        spread = np.linalg.norm(rows @ self._root, axis=1)
        margins = (rows @ self.location)[:, None] + spread[:, None] * NODES
        values = self.model.loss.expected(margins)  # grows with the margin; rounding must not leave its range
        return np.asarray(np.clip(values @ (weights / weights.sum()), values[:, 0], values[:, -1]))


@final
@dataclass(frozen=True)
class CoefficientDraws(Coefficients):
    """w₁, …, w_q, each paid for; their posterior stays private."""

    draws: Draws
    caution: str | None = None
    reading: str = "draws"

    @property
    def model(self) -> GeneralizedLinear:  # type: ignore[override]  # of the draws
        found: GeneralizedLinear = self.draws.model
        return found

    @property
    def size(self) -> int:
        return self.draws.size

    def mean(self) -> Floats:
        """Average of what was released; an estimate of the posterior mean, exact for no data set."""
        return np.asarray(self.draws.mean())

    def variance(self) -> NoReturn:
        self._refuse("the variance")

    def interval(self, level: float) -> NoReturn:
        self._refuse(f"the {level:g} interval")

    def sample(self, size: int | None = None, source: Source | None = None) -> Floats:
        """Return the first `size` released draws, or all; a further draw would be a further release."""
        del source
        if size is not None and not 0 <= size <= self.size:
            self._refuse(f"a sample of {size}")
        return self.draws.sample(size)

    def _expected(self, rows: Floats) -> Floats:
        return np.asarray(self.model.loss.expected(rows @ self.draws.sample().T).mean(axis=1))

    def _refuse(self, what: str) -> NoReturn:
        held = "one draw" if self.size == 1 else f"{self.size} draws"
        raise OnlyDraws(
            f"{what} of the weights was not released, only {held}: the posterior itself is as private as the "
            "data, and a further draw costs again. mechanism='objective_perturbation' pays once and is then "
            "read freely, with intervals"
        )


def drawn(draws: Draws, model: Any) -> CoefficientDraws:  # noqa: ANN401 - a GeneralizedLinear
    """Read released draws as weights."""
    del model
    return CoefficientDraws(draws)
