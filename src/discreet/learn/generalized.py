"""Private regressions of counts, and by any loss with public constants, as scikit-learn regressors."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from discreet.learn.declared import Scale, refuse_texts
from discreet.learn.private import array
from discreet.learn.regression import PrivateRegression
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import ClippedPoisson, Floats, Logistic, MarginLoss
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee
from discreet.sampling.source import Source

if TYPE_CHECKING:
    from sklearn.utils import Tags


@dataclass(kw_only=True, eq=False, repr=False)
class LossRegressor(RegressorMixin, PrivateRegression):  # type: ignore[misc]
    """E over a private posterior of E[y | x·w]: one fit, free predictions."""

    @abstractmethod
    def _loss(self) -> MarginLoss:
        """φ(x·w, y), checked before anything is read."""

    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        refuse_texts(y)
        scale = Scale.of(self.bounds, x.shape[1])
        model = GeneralizedLinear(**self._declared(scale), loss=self._loss())

        def answers() -> list[Floats]:
            with np.errstate(over="ignore"):  # a warning would tell that some answer lies far out
                return [np.asarray(y, np.float64)]

        (self.posterior_,) = posteriors = self._posteriors([model], scale, x, answers, target, source)
        coefficients, constants = self._weights(posteriors)
        self.coef_, self.intercept_ = array(coefficients[0]), float(constants[0])

    def predict(self, X: ArrayLike) -> Floats:
        """E over the posterior of E[y | x], for rows scaled as in fit; free."""
        check_is_fitted(self)
        expected: Floats = self.posterior_.probability(self._scale(self._columns(X)))
        return expected


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PoissonRegression(LossRegressor):
    """The rate e^{x·w} of a count, averaged over a private posterior of w ~ N(0, (radius²/d)I) a priori.

    Public, and never read from the data: `upper`, the count that larger ones are clipped to (rates stop there
    too: Poisson itself bounds no record's influence); `norm`, the length that longer rows are scaled down to;
    `bounds`, (lower, upper) of the columns, which are then scaled to [−1, 1] (norm is √d unless given), or
    None to take columns as they are; `radius`, a guess of ‖w‖ for the scaled columns. Missing numbers count
    as the middle of their column, missing answers as 0.

    `ledger` (a Ledger, a path or a URL) is charged durably before a value is looked at. WITHOUT ONE NOTHING
    RECORDS WHAT WAS SPENT: every fit, also of each fold of a cross-validation, is a further release. A
    `random_state` other than None makes fits reproducible and NOT PRIVATE.
    """

    upper: Exact | None = None

    def _loss(self) -> MarginLoss:
        if self.upper is None:
            raise ValueError(
                "upper is missing: the count that larger ones are clipped to. It sets how much one record "
                "may matter, so it must be public knowledge, not read from the data"
            )
        return ClippedPoisson(self.upper)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@final
@dataclass(kw_only=True, eq=False, repr=False)
class GeneralizedLinearRegression(LossRegressor):
    """What x·w predicts under a convex loss φ(x·w, y) of declared constants, averaged over a posterior.

    Public, and never read from the data: `loss`, a `ClippedPoisson` or a `DeclaredLoss`, with the range that
    answers are clipped to and the bounds of its slope and curvature, on which the promise rests; under a
    declared loss predictions are E[x·w]. All else is as in `PoissonRegression`, the ledger too.
    """

    loss: MarginLoss | None = None

    def _loss(self) -> MarginLoss:
        if not isinstance(self.loss, MarginLoss) or isinstance(self.loss, Logistic):
            raise TypeError(
                f"loss must be a loss of numbers with public constants, dc.ClippedPoisson(upper) or "
                f"dc.DeclaredLoss(…), got {self.loss!r}; for labels use LogisticRegression"
            )
        for part in (self.loss.value, self.loss.slope, self.loss.bend):
            part(np.zeros(2), np.zeros(2))  # code that was declared fails before the charge, if at all
        return self.loss
