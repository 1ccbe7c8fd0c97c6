"""Private Bayesian linear regression as a scikit-learn regressor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, Literal, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from discreet.families.family import root_above
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.named_columns import Feature, NamedColumns
from discreet.families.records import FAR
from discreet.learn.declared import Scale, names_of, norm_of, refuse_texts, target_of
from discreet.learn.functional import FunctionalLinear, adopted, functional_asked
from discreet.learn.modelled import ModelledEstimator
from discreet.learn.private import array
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.models.margin_losses import Floats
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import Source

CONSTANT = 0.5  # the intercept's column, beside features of length 1 and an answer in [−1, 1]
SHAPE, SCALE = 2, 0.05  # σ² ~ IG, of mean 1/20 for answers in [−1, 1]


@final
@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(RegressorMixin, ModelledEstimator):  # type: ignore[misc]
    """E[y | x] = x·w from noisy XᵀX, Xᵀy, yᵀy, read with their noise accounted for: free predictions.

    Public, and never read from the data: `answers`, (lower, upper) of y, which is clipped to it; `norm`, the
    length that longer rows are scaled down to; `bounds`, (lower, upper) of the columns, which are then scaled
    to [−1, 1] (norm is √d unless given), or None to take columns as they are; `radius`, a guess of ‖w‖ for
    features of length at most 1 and answers in [−1, 1], √d/2 unless given.

    `ledger` (a Ledger, a path or a URL) is charged durably before a value is looked at. WITHOUT ONE NOTHING
    RECORDS WHAT WAS SPENT: every fit, also of each fold of a cross-validation, is a further release. A
    `random_state` other than None makes fits reproducible and NOT PRIVATE.
    """

    answers: Sequence[float] | None = None
    radius: float | None = None
    noise: str | None = None
    method: str = "bayesian"

    # ── fit ──
    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        refuse_texts(y)
        self.functional_ = None
        if functional_asked(self.method):
            more = {} if self.radius is not None else {"radius": 1}
            inner = FunctionalLinear(**self._shared(FunctionalLinear, **more))
            self.functional_ = adopted(self, inner, x, y, target, source)
            return
        scale, answers = Scale.of(self.bounds, x.shape[1]), self._answers()
        length = float(norm_of(self.norm, scale))
        if not 0 < length < np.inf:
            raise ValueError(f"norm must be finite and above 0, got {self.norm!r}; it must be public")
        self._scale, self._answer, self._length = scale, answers, length
        model, private = self._model(x.shape[1]), target.relation is ADD_REMOVE
        noise = self.noise or ("discrete_laplace" if isinstance(target, PureDP) else "gaussian")
        ready = NoisyStatistics.calibrate(model, n=None if private else len(x), target=target, noise=noise)
        count = {"count": len(x)} if private else {}

        def encode() -> NDArray[np.int64]:
            with np.errstate(over="ignore"):
                numbers = np.asarray(y, np.float64)
            rows = np.column_stack([self._rows(x), answers(numbers[:, None])])
            return model.statistic(rows) if len(x) else np.zeros(model.units.size, np.int64)

        (self.released_,) = self._released(
            (ready.guarantee, target),
            ready,
            [model],
            encode,
            lambda value: [ready.release(value, source, **count)],
            bounds=asdict(scale),
            answers=asdict(answers),
            norm=length,
        )
        self.guarantee_, self.mechanism_, self.target_ = ready.guarantee, ready, target
        self.seeded_ = source.seeded
        self.posterior_ = self.released_.posterior
        means, d = self.posterior_.flat_mean(), self.n_features_in_
        self.coef_ = array(means[:d])
        self.intercept_ = float(means[d] if self.intercept else self._through())

    def _answers(self) -> Scale:
        if self.answers is None:
            raise ValueError(
                "answers=(lower, upper) is missing: the range that y is clipped to. It sets how much one "
                "record may matter, so it must be public knowledge, not read from the data"
            )
        return Scale.of(self.answers, 1)

    def _model(self, columns: int) -> BayesianLinearRegression:
        """σ² ~ IG(2, 1/20), w ~ N(0, σ²/P), P so that ‖w‖ is about radius at the mean of σ²."""
        d = columns + bool(self.intercept)
        guess = sqrt(columns) / 2 if self.radius is None else float(self.radius)
        if not 0 < guess < np.inf:
            raise ValueError(f"radius must be finite and above 0, got {self.radius!r}; it must be public")
        precision = SCALE / (SHAPE - 1) * d / guess**2
        square = Fraction(2) + (Fraction(CONSTANT) ** 2 if self.intercept else 0)
        return BayesianLinearRegression(
            [0] * d,
            (precision * np.eye(d)).tolist(),
            SHAPE,
            SCALE,
            root_above(square),
            named=self._named(),
        )

    def _named(self) -> NamedColumns:
        """Say what the columns of a row are, so that a posterior speaks in units of those given."""
        names, scale, answers = names_of(self), self._scale, self._answer
        each = zip(names, scale.centre, scale.half, strict=True)
        target = target_of(names)
        return NamedColumns(
            target,
            tuple(names),
            bool(self.intercept),
            Fraction(1),
            None,
            tuple(Feature(name, centre, half * self._length) for name, centre, half in each),
            Feature(target, answers.centre[0], answers.half[0]),
            short=True,
        )

    def _rows(self, x: Floats) -> Floats:
        """Features of length at most 1, the constant last; what is missing is the middle."""
        with np.errstate(over="ignore"):  # a warning would tell that some record lies far out
            scaled = np.clip(np.nan_to_num(self._scale(x), nan=0.0) / self._length, -FAR, FAR)
        short = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1.0)
        return np.column_stack([short, np.full((len(x), int(bool(self.intercept))), CONSTANT)])

    def _through(self) -> float:
        """Where a line without an intercept meets 0: it goes through the middle of all bounds."""
        return float(self._answer.centre[0] - self.posterior_.flat_mean()[:-1] @ np.array(self._scale.centre))

    # ── predict ──
    @overload
    def predict(self, X: ArrayLike, *, return_std: Literal[False] = False) -> Floats: ...
    @overload
    def predict(self, X: ArrayLike, *, return_std: Literal[True]) -> tuple[Floats, Floats]: ...
    def predict(self, X: ArrayLike, *, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """E[y | x] for rows scaled as in fit; with return_std also the deviation of y, w's included."""
        check_is_fitted(self)
        if isinstance(self.functional_, FunctionalLinear):
            if return_std:
                raise ValueError("method='functional' has no posterior, and so no deviation of y")
            return self.functional_.expected(self._columns(X))
        rows = self._rows(self._columns(X))
        mean: Floats = self.posterior_.middle(rows)
        return (mean, self.posterior_.deviation(rows)) if return_std else mean
