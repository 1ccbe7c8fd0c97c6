"""Private Bayesian logistic regression as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from discreet.learn.classes import Labels, declared_classes
from discreet.learn.declared import Scale
from discreet.learn.functional import FunctionalLogistic, adopted, functional_asked
from discreet.learn.private import array
from discreet.learn.regression import PrivateRegression, answers, probabilities
from discreet.models.generalized_linear import BayesianLogisticRegression
from discreet.models.margin_losses import Floats
from discreet.privacy.guarantee import Guarantee
from discreet.sampling.source import Source


@final
@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(ClassifierMixin, PrivateRegression):  # type: ignore[misc]
    """P(class | x) averaged over a private posterior of the weights, w ~ N(0, (radius²/d)I) a priori.

    Public, and never read from the data: `classes`, all labels that may occur (a row with another counts for
    nothing); `norm`, the length that longer rows are scaled down to; `bounds`, (lower, upper) of the columns,
    which are then scaled to [−1, 1] (norm is √d unless given), or None to take columns as they are; `radius`,
    a guess of ‖w‖ for the scaled columns. Missing numbers count as the middle of their column. More than two
    classes are told apart one against the rest, and the target is met by all of these fits together.
    method="functional" noises the loss to second order instead, for a pure ε too: see FunctionalLogistic.

    `ledger` (a Ledger, a path or a URL) is charged durably before a value is looked at. WITHOUT ONE NOTHING
    RECORDS WHAT WAS SPENT: every fit, also of each fold of a cross-validation, is a further release. A
    `random_state` other than None makes fits reproducible and NOT PRIVATE.
    """

    classes: Sequence[Any] | None = None
    method: str = "bayesian"

    # ── fit ──
    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        self.functional_ = None
        if functional_asked(self.method):
            inner = FunctionalLogistic(**self._shared(FunctionalLogistic))
            self.functional_ = adopted(self, inner, x, y, target, source)
            self.classes_ = inner.classes_
            return
        classes, scale = declared_classes(self.classes), Scale.of(self.bounds, x.shape[1])
        models = self._models(classes, scale)
        posteriors = self._posteriors(models, scale, x, lambda: answers(y, classes), target, source)
        self.classes_ = classes
        self.posterior_ = posteriors[0] if len(posteriors) == 1 else posteriors
        self.coef_, self.intercept_ = map(array, self._weights(posteriors))

    def _models(self, classes: Labels, scale: Scale) -> list[BayesianLogisticRegression]:
        plain, declared = classes.tolist(), self._declared(scale)
        labels = [tuple(plain)] if len(plain) == 2 else [(f"not {label}", label) for label in plain]
        return [BayesianLogisticRegression(**declared, labels=pair) for pair in labels]

    # ── predict ──
    def predict_proba(self, X: ArrayLike) -> Floats:
        """E over the posterior of P(class | x), a column for each of `classes_`; free."""
        check_is_fitted(self)
        if isinstance(self.functional_, FunctionalLogistic):
            return probabilities(self.functional_.probabilities(self._columns(X)))
        scaled = self._scale(self._columns(X))
        several = self.posterior_ if isinstance(self.posterior_, tuple) else (self.posterior_,)
        return probabilities([p.probability(scaled) for p in several])

    def predict(self, X: ArrayLike) -> Labels:
        """Return the label of the largest probability."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])
