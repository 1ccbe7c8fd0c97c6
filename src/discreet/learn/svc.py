"""Private linear support vector machines, by a perturbed objective or by a perturbed minimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from discreet.families.family import Integers
from discreet.families.named_columns import Units
from discreet.learn.classes import Labels, declared_classes
from discreet.learn.declared import Scale, names_of, norm_of, target_of
from discreet.learn.estimates import Estimates
from discreet.learn.noisy import NoisyLearner
from discreet.learn.private import array
from discreet.learn.regression import answers, composed, shares
from discreet.line.calibrate import parameters
from discreet.mechanisms.learners.noisy_blocks import NoisyBlocks
from discreet.mechanisms.learners.output_perturbation import (
    grid_of,
    minimum_block,
    minimum_cells,
    usual_strength,
)
from discreet.mechanisms.mechanism import largest_budget
from discreet.mechanisms.regression.objective_perturbation import ObjectivePerturbation
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.hinge import HuberHinge
from discreet.models.margin_losses import Floats
from discreet.models.regression_records import Records, rows_of
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, NotProved, Unreachable
from discreet.privacy.kinds import GaussianDP, PureDP
from discreet.sampling.source import Source

METHODS = ("objective", "output")


@final
@dataclass(kw_only=True, eq=False, repr=False)
class LinearSVC(ClassifierMixin, NoisyLearner):  # type: ignore[misc]
    """The class of the side of a plane that x is on; free predictions. Of many classes, one against the rest.

    The hinge has its corner rounded over `width`, so that its bend is bounded. method="objective" tilts what
    is minimised by noise and needs δ > 0; method="output" adds noise to the minimum of the hinge and
    λ‖w‖²/2, λ = 1/C, or what `radius` and the target suggest, and promises pure ε too.

    Public, and never read from the data: `classes`, all labels that may occur (a row with another counts for
    nothing); `norm`, the length that longer rows are scaled down to; `bounds`, (lower, upper) of the columns,
    which are then scaled to [−1, 1] (norm is √d unless given), or None to take columns as they are; `radius`,
    a guess of ‖w‖ for the scaled columns. Missing numbers count as the middle of their column.

    `ledger` (a Ledger, a path or a URL) is charged durably before a value is looked at. WITHOUT ONE NOTHING
    RECORDS WHAT WAS SPENT: every fit, also of each fold of a cross-validation, is a further release. A
    `random_state` other than None makes fits reproducible and NOT PRIVATE.
    """

    audited: ClassVar[tuple[str, ...]] = ("objective_perturbation/smooth", "noisy_blocks/output_perturbation")

    classes: Sequence[Any] | None = None
    norm: Exact | None = None
    intercept: bool = True
    radius: Exact = 5
    width: Exact = 1
    method: str = "objective"
    C: Exact | None = None

    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        labels, scale = declared_classes(self.classes), Scale.of(self.bounds, x.shape[1])
        model, fits = self._model(scale), 1 if len(labels) == 2 else len(labels)

        def rows() -> list[Records]:
            scaled = scale(x)
            return [Records.of(model, scaled, answer) for answer in answers(y, labels)]

        by = self._by_objective if self.method == "objective" else self._by_output
        weights, covariances = by(model, fits, rows, len(x), target, source, labels)
        self.classes_, self._scale, self._known, self._scaled = labels, scale, model, array(weights)
        units, d = Units.of(model.design, float(model.constant)), x.shape[1]
        given = units.weights(weights)
        middle = given[:, d] if self.intercept else -given @ np.array(scale.centre)
        self.coef_, self.intercept_ = array(given[:, :d]), array(middle)
        self._sd = array([np.sqrt(np.diag(units.spread(one))) for one in covariances])

    def _model(self, scale: Scale) -> GeneralizedLinear:
        names = names_of(self)
        return GeneralizedLinear(
            target=target_of(names),
            features=names,
            norm=norm_of(self.norm, scale),
            radius=self.radius,
            intercept=bool(self.intercept),
            loss=HuberHinge(self.width),
            design=scale.design(names),
        )

    def _by_objective(  # noqa: PLR0917 - what a fit is made of
        self,
        model: GeneralizedLinear,
        fits: int,
        rows: Callable[[], list[Records]],
        n: int,
        target: Guarantee,
        source: Source,
        labels: Labels,
    ) -> tuple[Floats, Floats]:
        """Tilt the objective; the noisy Hessian beside the minimum says what the tilt did to it."""
        if self.C is not None:
            raise ValueError("C belongs to method='output': by a perturbed objective, privacy sets λ")
        private = target.relation is ADD_REMOVE
        ready = _calibrated(model, None if private else n, target, fits)
        count = {"count": n} if private else {}
        d = model.dimension

        def draw() -> Floats:
            drawn = [ready.release(records, source, **count) for records in rows()]
            return np.concatenate([np.append(fit.estimate, fit.hessian) for fit in drawn])

        own = composed(ready.guarantee, fits, target)
        given = {"classes": labels.tolist(), "method": self.method}
        sizes = (d + d * d,) * fits
        flat = self._kept(ready, own, parameters(ready), sizes, draw, n, target, source, **given)
        noise, strength = sqrt(ready.variance), ready.strength
        covariances = [_covariance(part[d:].reshape(d, d), strength, noise) for part in flat]
        return np.array([part[:d] for part in flat]), np.array(covariances)

    def _by_output(  # noqa: PLR0917 - as above
        self,
        model: GeneralizedLinear,
        fits: int,
        rows: Callable[[], list[Records]],
        n: int,
        target: Guarantee,
        source: Source,
        labels: Labels,
    ) -> tuple[Floats, Floats]:
        """Add noise to the minimum of each fit."""
        relation = target.relation
        usual = usual_strength(model, _usual_mu(target, fits, model.dimension), relation)
        strength = usual if self.C is None else 1 / float(self.C)
        if not 0 < strength < np.inf:
            raise ValueError(f"C must be finite and above 0, got {self.C!r}")
        block = minimum_block("weights", model, strength, relation)
        each = tuple(replace(block, name=f"weights {i}") for i in range(fits))
        ready, held = NoisyBlocks.calibrate(each, target=target), list[Records]()

        def ask(i: int, _: object) -> Integers:
            if not held:
                held.extend(rows())
            return minimum_cells(model, held[i], strength, relation)

        given = {"classes": labels.tolist(), "method": self.method, "strength": strength}
        grid = float(grid_of(model, strength, relation))
        weights = grid * np.array(self._noised(ready, ask, n, target, source, **given))
        one = (grid * ready.deviations[0]) ** 2 * np.eye(model.dimension)
        return weights, np.tile(one, (fits, 1, 1))

    # ── what is said ──
    def _estimates(self) -> Estimates:
        """Say the weights of every fit; deviations are the noise's alone."""
        names = (*names_of(self), *(("(intercept)",) if self.intercept else ()))
        several = [""] if len(self._sd) == 1 else [f" | {label}" for label in self.classes_.tolist()]
        each = np.column_stack([self.coef_, self.intercept_]) if self.intercept else self.coef_
        return Estimates(
            "Linear support vector machine",
            tuple(f"{name}{of}" for of in several for name in names),
            each.ravel(),
            self._sd.ravel(),
        )

    # ── predict ──
    def decision_function(self, X: ArrayLike) -> Floats:
        """x·w, of rows clipped and cut as in fit; a column for each class if there are more than two."""
        check_is_fitted(self)
        found = rows_of(self._known, self._scale(self._columns(X))) @ self._scaled.T
        return np.asarray(found[:, 0] if found.shape[1] == 1 else found)

    def predict(self, X: ArrayLike) -> Labels:
        """Return the class of the side that x is on; of many, the one that it is furthest inside of."""
        found = self.decision_function(X)
        place = (found > 0).astype(np.intp) if found.ndim == 1 else found.argmax(axis=1)
        return np.asarray(self.classes_[place])


def _calibrated(
    model: GeneralizedLinear, n: int | None, target: Guarantee, fits: int
) -> ObjectivePerturbation:
    """Find λ and the noise for the first of the shares of the target that can be met."""
    refusals = []
    for share in shares(target, fits, "objective_perturbation"):
        try:
            return ObjectivePerturbation.calibrate(model, n=n, target=share)
        except (Unreachable, NotProved) as error:
            refusals.append(error)
    raise refusals[-1]


def _usual_mu(target: Guarantee, fits: int, dimension: int) -> float:
    """Return the μ of one fit; of a pure target, the one of Gaussian noise as wide as its Laplace noise."""
    if isinstance(target, PureDP):
        return float(target.loss) / fits / sqrt(2 * dimension)
    relation = target.relation
    return largest_budget(lambda mu: GaussianDP(mu, relation=relation), target) / sqrt(fits)


def _covariance(hessian: Floats, strength: float, noise: float) -> Floats:
    """σ²(H + λ)⁻²: how the tilt moves the minimum, H without what noise makes negative."""
    values, vectors = np.linalg.eigh(hessian)
    inverse = noise / (np.maximum(values, 0) + strength)
    return np.asarray((vectors * inverse**2) @ vectors.T)
