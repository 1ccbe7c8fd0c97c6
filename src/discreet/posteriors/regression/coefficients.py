"""What a released regression says of its weights w: a Normal posterior, or the draws that were paid for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from discreet.encoding.answers import Scalar, by_label, by_row, spoken_columns
from discreet.families.family import credible
from discreet.families.named_columns import Units, encoded
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats, Logistic
from discreet.models.regression_records import rows_of
from discreet.posteriors.posterior import Diagnostics, Posterior, generator
from discreet.posteriors.read import DrawnPosterior, Draws
from discreet.posteriors.variables import Variable, in_a_row
from discreet.sampling.source import Source

if TYPE_CHECKING:
    import xarray as xr

    from discreet.encoding.encoder import EncodedRows

CELLS = 2**20  # margins in memory at once
NODES = np.linspace(-8, 8, 257)  # of the trapezoidal rule, which is exact to e^{−2π²/(hσ)} for a σ(s)


class Coefficients(Posterior):
    """The weights of a generalised linear model, by name, and what they predict. Public, and free to read.

    Weights, intervals and draws are per unit of the columns as the table has them, and the intercept is the
    margin where they are 0; `encoded_…` are those of columns in [−1, 1] and of the constant norm/2.
    """

    if TYPE_CHECKING:  # fields, of some kinds or of all

        @property
        def model(self) -> GeneralizedLinear: ...

        @property
        def caution(self) -> str | None:
            """Where the reading is not to be trusted, and why."""

    def own_names(self) -> tuple[str, ...]:
        """Name each weight; the intercept last."""
        return self.model.names

    @property
    def units(self) -> Units:
        return Units.of(self.model.design, float(self.model.constant))

    @abstractmethod
    def encoded_mean(self) -> Floats:
        """E w of encoded columns."""

    @abstractmethod
    def encoded_interval(self, level: float) -> Floats:
        """Equal-tailed intervals of encoded columns' weights, (weights, 2)."""

    def arrangement(self) -> tuple[Variable, ...]:
        return in_a_row("weights", ("weight", self.names))

    def prior_sample(self, size: int, source: Source) -> Floats | None:
        d = self.model.dimension
        before = NormalCoefficients(self.model, np.zeros(d), np.eye(d) / float(self.model.strength))
        return before.flat_sample(size, source)

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

    def predict_proba(self, rows: object, *, codes: bool = False) -> xr.DataArray | Floats:
        """P(answer | features) for each labelled row, averaged over the posterior: (row, label).

        With `codes`, for rows that are encoded already: the probability of each of the two answers.
        """
        if not isinstance(self.model.loss, Logistic):
            raise TypeError(
                f"the answers of a model with the {self.model.loss.name} loss are numbers: predict gives "
                "their expectation, and there are no labels to have probabilities"
            )
        if codes:
            return _both(self.probability(np.asarray(rows)))
        held = self._held(rows)
        return by_label(
            _both(self.probability_of(held.columns)), held, self.model.target, self._pair().tolist()
        )

    def predict(self, rows: object, *, codes: bool = False) -> NDArray[Any]:
        """Likeliest label for each row, or the expected answer where answers are numbers."""
        if isinstance(self.model.loss, Logistic):
            likeliest = np.asarray(self.predict_proba(rows, codes=codes)).argmax(axis=1)
            return likeliest if codes else np.asarray(self._pair()[likeliest])
        return self.probability(np.asarray(rows)) if codes else self.probability_of(self._held(rows).columns)

    def log_predictive(self, rows: object) -> xr.DataArray:
        """Log P(answer | features) of each labelled row; NaN where the answer is neither label: (row)."""
        target, shares = self.model.target, np.asarray(self.predict_proba(rows))
        held = self.encoder.encode(rows, (target,))
        pair = [self.encoder.value(target, label) for label in self._labels]
        each = [np.where(held.columns[target] == x, shares[:, i], 0.0) for i, x in enumerate(pair)]
        total = np.sum(each, axis=0)
        return by_row(np.log(np.where(total > 0, total, np.nan)), held)

    @property
    def _labels(self) -> tuple[Scalar, Scalar]:
        found: tuple[Scalar, Scalar] = getattr(self.model, "labels", (False, True))
        return found

    def _pair(self) -> NDArray[Any]:
        """Return both answers in the schema's own words."""
        return self.encoder.words(self.model.target, self._labels)

    def _held(self, rows: object) -> EncodedRows:
        coded = {feature.column for feature in self.model.design if feature.level is not None}
        return spoken_columns(rows, self.encoder, self.model.features, coded)


def _both(share: Floats) -> Floats:
    return np.stack([1 - share, share], axis=1)


class TriedIntervals(ABC):
    """What imagined fits tell of intervals, found when it is first asked for: it takes longer than a fit."""

    @property
    @abstractmethod
    def widening(self) -> float:
        """What standard deviations are multiplied by."""

    @property
    @abstractmethod
    def caution(self) -> str | None:
        """Words for intervals that still hold too rarely."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class NormalCoefficients(Coefficients):
    """w ~ N(location, covariance) given the release."""

    model: GeneralizedLinear
    location: Floats
    spread: Floats  # the covariance, before what a trial widens it to
    said: str | None = None  # where the reading is not to be trusted, and why
    reading: str = "noise_aware"
    predictor: NormalCoefficients | None = None  # what to predict with, where that is another reading
    trial: TriedIntervals | None = None  # of the intervals, by simulation: run when one of them is asked for

    def __post_init__(self) -> None:
        d = self.model.dimension
        for name, shape in (("location", (d,)), ("spread", (d, d))):
            kept = np.array(getattr(self, name), dtype=np.float64)
            if kept.shape != shape or not np.isfinite(kept).all():
                raise ValueError(f"{name} must be {shape} finite numbers for the weights {self.model.names}")
            kept.flags.writeable = False
            object.__setattr__(self, name, kept)

    @cached_property
    def covariance(self) -> Floats:
        """The spread, widened as the trial of the intervals says."""
        return self.spread if self.trial is None else self.trial.widening**2 * self.spread

    @property
    def caution(self) -> str | None:
        """Where the reading is not to be trusted, and why; simulated where nothing cheaper tells."""
        return self.trial.caution if self.said is None and self.trial is not None else self.said

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics("normal approximation")

    @property
    def cautions(self) -> tuple[str, ...]:
        return (self.caution,) if self.caution else super().cautions

    def encoded_mean(self) -> Floats:
        return self.location

    def encoded_interval(self, level: float) -> Floats:
        return _normal(self.location, self.covariance, level)

    def flat_mean(self) -> Floats:
        return self.units.weights(self.location)

    def flat_variance(self) -> Floats:
        return np.asarray(np.maximum(np.diag(self.units.spread(self.covariance)), 0))

    def flat_interval(self, level: float) -> Floats:
        return _normal(self.flat_mean(), self.units.spread(self.covariance), level)

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        normal = generator(source)
        drawn = self.location + normal.standard_normal((size, len(self.location))) @ self._root.T
        return self.units.weights(drawn)

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
class CoefficientDraws(Coefficients, DrawnPosterior):
    """w₁, …, w_q, each paid for; their posterior stays private."""

    caution: ClassVar[None] = None
    REFUSED: ClassVar[str] = (
        "{what} of the weights was not released, only {held}: the posterior itself is as private as the "
        "data, and a further draw costs again. mechanism='objective_perturbation' pays once and is then "
        "read freely, with intervals"
    )

    @property
    def encoded(self) -> Floats:
        """What was released, (draws, weights of encoded columns)."""
        return self.draws.sample().reshape(self.size, -1)

    @property
    def held(self) -> Floats:
        """What was released, per unit of the columns."""
        return self.units.weights(self.encoded)

    def encoded_mean(self) -> Floats:
        return np.asarray(self.encoded.mean(axis=0))

    def encoded_interval(self, level: float) -> NoReturn:
        self.flat_interval(level)

    def _expected(self, rows: Floats) -> Floats:
        return np.asarray(self.model.loss.expected(rows @ self.encoded.T).mean(axis=1))


def _normal(mean: Floats, covariance: Floats, level: float) -> Floats:
    spread = np.sqrt(np.maximum(np.diag(covariance), 0))
    return np.asarray(mean[:, None] + spread[:, None] * ndtri(credible(level)))


def drawn(draws: Draws, model: GeneralizedLinear) -> CoefficientDraws:
    """Read released draws as weights."""
    del model
    return CoefficientDraws(draws)
