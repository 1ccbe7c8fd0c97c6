"""Private standardisation: columns less their noisy means, over their noisy deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.families.family import Integers
from discreet.learn.class_laws import class_laws
from discreet.learn.declared import bounds_needed, names_of
from discreet.learn.estimates import Estimates
from discreet.learn.noisy import NoisyLearner
from discreet.learn.private import array
from discreet.mechanisms.learners.class_moments import STEPS, moment_blocks, moments_of_all, quantised
from discreet.mechanisms.learners.noisy_blocks import NoisyBlocks
from discreet.models.margin_losses import Floats
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee
from discreet.sampling.source import Source


@final
@dataclass(kw_only=True, eq=False, repr=False)
class StandardScaler(OneToOneFeatureMixin, TransformerMixin, NoisyLearner):  # type: ignore[misc]
    """(x − mean)/deviation, both from noisy moments of columns within public bounds; free transformations.

    The learner behind it needs its own promise: what was paid here is for the means and deviations alone, and
    both promises add up. `bounds`, (lower, upper) of the columns, to which values are clipped when they are
    counted, are public. A missing number counts as the middle, and stays missing when it is transformed.

    `ledger` (a Ledger, a path or a URL) is charged durably before a value is looked at. WITHOUT ONE NOTHING
    RECORDS WHAT WAS SPENT: every fit, also of each fold of a cross-validation, is a further release. A
    `random_state` other than None makes fits reproducible and NOT PRIVATE.
    """

    supervised: ClassVar[bool] = False
    audited: ClassVar[tuple[str, ...]] = ("noisy_blocks/class_moments", "noisy_blocks/class_moments_swapped")

    with_mean: bool = True
    with_std: bool = True

    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        del y
        scale, d = bounds_needed(self.bounds, x.shape[1]), x.shape[1]
        half, centre = np.array(scale.half), np.array(scale.centre)
        held: list[Integers] = []

        def ask(i: int, _: object) -> Integers:
            if not held:
                held.extend(moments_of_all(quantised(x, centre, half)))
            return held[i]

        ready = NoisyBlocks.calibrate(moment_blocks(1, d, target.relation), target=target)
        counts, moments = self._noised(ready, ask, len(x), target, source)
        n = None if target.relation is ADD_REMOVE else len(x)
        if n is not None:
            counts = np.array([float(n)])  # public, and so known better than what was released
        of_count, of_moment = ready.deviations
        noise = of_count if n is None else 0.0
        found = class_laws(counts, moments.reshape(2, 1, d) / STEPS**2, noise, of_moment / STEPS**2, n)
        self.mean_, self._mean_sd = array(centre + half * found.mean[0]), array(half * found.mean_sd[0])
        self.var_, self._var_sd = (array(half**2 * part[0]) for part in (found.variance, found.variance_sd))
        self.scale_ = array(np.sqrt(self.var_))

    def _estimates(self) -> Estimates:
        """Say the means, then the variances."""
        names = names_of(self)
        return Estimates(
            "Means and variances",
            (*(f"mean of {name}" for name in names), *(f"variance of {name}" for name in names)),
            np.concatenate([self.mean_, self.var_]),
            np.concatenate([self._mean_sd, self._var_sd]),
        )

    def transform(self, X: ArrayLike) -> Floats:
        """Standardise rows; free."""
        check_is_fitted(self)
        x = self._columns(X)
        return (x - (self.mean_ if self.with_mean else 0.0)) / (self.scale_ if self.with_std else 1.0)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return standardised rows to the units of the columns."""
        check_is_fitted(self)
        x = np.asarray(X, np.float64)
        return x * (self.scale_ if self.with_std else 1.0) + (self.mean_ if self.with_mean else 0.0)
