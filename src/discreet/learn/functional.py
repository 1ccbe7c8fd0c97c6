"""Regressions by the functional mechanism: noise on the coefficients of a quadratic loss, then its least."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discreet.families.family import Integers
from discreet.learn.classes import codes_of, declared_classes
from discreet.learn.declared import Scale, bounds_needed, names_of, norm_of
from discreet.learn.estimates import Estimates
from discreet.learn.noisy import NoisyLearner
from discreet.learn.private import PrivateEstimator, array
from discreet.mechanisms.learners.class_moments import STEPS
from discreet.mechanisms.learners.functional import (
    CONSTANT,
    class_blocks,
    class_sums,
    rows_in_ball,
    square_block,
    square_sums,
)
from discreet.mechanisms.learners.noisy_blocks import NoisyBlocks
from discreet.mechanisms.learners.second_moments import DIAGONAL, matrix
from discreet.models.margin_losses import Floats
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee
from discreet.sampling.source import Source


@dataclass(kw_only=True, eq=False, repr=False)
class FunctionalRegression(NoisyLearner):
    """Weights w = (A + λ)⁻¹b of a noisy quadratic ½wᵀAw − b·w, A without its negative eigenvalues.

    λ is the prior's d/R², or what the noise of A may hide in a direction, if that is more.
    """

    norm: Exact | None = None
    intercept: bool = True
    radius: Exact = 1

    @abstractmethod
    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None: ...

    def learn(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        """Fit to rows that another estimator has checked."""
        self._fit(x, y, target, source)

    def _length(self, columns: int) -> tuple[Scale, int]:
        """Return the bounds, and the length of rows in K-ths."""
        scale = bounds_needed(self.bounds, columns)
        length = int(STEPS * float(norm_of(self.norm, scale)))
        if not 1 <= length <= STEPS * columns:
            raise ValueError(f"norm must lie above 0 and up to the columns' number, got {self.norm!r}")
        return scale, length

    def _ends(self, scale: Scale) -> tuple[Floats, Floats]:
        return np.array(scale.centre), np.array(scale.half)

    def _weights(
        self, quadratic: Floats, linear: Floats, noise: Floats, prior: float
    ) -> tuple[Floats, Floats]:
        """Minimise, for each row of `linear`; deviations are those of the noise of b and A, to first order.

        `noise` are the deviations of A's diagonal and of b.
        """
        values, vectors = np.linalg.eigh(quadratic)
        strength = max(prior, float(noise[0]) * np.sqrt(len(values)))
        inverse = (vectors / (np.maximum(values, 0.0) + strength)) @ vectors.T
        w = linear @ inverse
        spread = np.sqrt(noise[1] ** 2 + noise[0] ** 2 * np.square(w).sum(axis=1, keepdims=True))
        return w, spread * np.sqrt(np.square(inverse).sum(axis=1))

    def _in_units(self, w: Floats, sd: Floats, scale: Scale) -> tuple[Floats, Floats, Floats]:
        """Rewrite weights and deviations in units of the columns as given, with the intercept."""
        d, half, centre = len(scale.half), np.array(scale.half), np.array(scale.centre)
        coefficients = w[:, :d] / half
        last = w[:, d] * CONSTANT / STEPS if self.intercept else 0.0
        return coefficients, last - coefficients @ centre, sd[:, :d] / half

    def _rows(self, x: Floats) -> Floats:
        """Rows as in fit, in [−1, 1], the constant last."""
        scale, length = self._length(x.shape[1])
        return rows_in_ball(x, *self._ends(scale), length, constant=bool(self.intercept)) / STEPS


@final
@dataclass(kw_only=True, eq=False, repr=False)
class FunctionalLinear(FunctionalRegression):
    """Least squares: the loss is a polynomial of degree two as it is."""

    audited: ClassVar[tuple[str, ...]] = ("noisy_blocks/functional_squares",)
    answers: Sequence[float] | None = None

    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        scale, length = self._length(x.shape[1])
        if self.answers is None:
            raise ValueError(
                "answers=(lower, upper) is missing: the range that y is clipped to; it is public"
            )
        answer, constant = Scale.of(self.answers, 1), bool(self.intercept)
        ready = NoisyBlocks.calibrate(
            (square_block(x.shape[1], length, target.relation, constant=constant),), target=target
        )

        def ask(_: int, __: object) -> Integers:
            with np.errstate(over="ignore"):
                numbers = np.asarray(y, np.float64)
            return square_sums(x, numbers, self._ends(scale), self._ends(answer), length, constant=constant)

        (flat,) = self._noised(ready, ask, len(x), target, source, norm=length / STEPS, answers=self.answers)
        d = x.shape[1] + constant
        moments = matrix(flat, d + 1) / STEPS**2
        noise = ready.deviations[0] / (DIAGONAL * STEPS**2)
        prior = d / float(self.radius) ** 2
        both = np.array([noise, noise / np.sqrt(2)])
        w, sd = self._weights(moments[:d, :d], moments[d:, :d], both, prior)
        high, middle = answer.half[0], answer.centre[0]
        coefficients, constants, deviations = self._in_units(w, sd, scale)
        self._w, self._sd = array(w[0]), array(high * deviations[0])
        self.coef_, self.intercept_ = array(high * coefficients[0]), float(middle + high * constants[0])
        self._answer = (middle, high)

    def expected(self, x: Floats) -> Floats:
        """E[y | x], for rows clipped and cut as in fit."""
        middle, high = self._answer
        return np.asarray(middle + high * (self._rows(x) @ self._w))

    def _estimates(self) -> Estimates:
        return Estimates("Linear regression", names_of(self), self.coef_, self._sd)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class FunctionalLogistic(FunctionalRegression):
    """ln(1 + e^{−s}) ≈ ln 2 − s/2 + s²/8, s = yx·w: to second order at w = 0, one against the rest."""

    audited: ClassVar[tuple[str, ...]] = ("noisy_blocks/functional_classes",)
    classes: Sequence[Any] | None = None

    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        labels = declared_classes(self.classes)
        (scale, length), k, constant = self._length(x.shape[1]), len(labels), bool(self.intercept)
        blocks = class_blocks(k, x.shape[1], length, target.relation, constant=constant)
        ready = NoisyBlocks.calibrate(blocks, target=target)
        held: list[Integers] = []

        def ask(i: int, _: object) -> Integers:
            if not held:
                ends = self._ends(scale)
                held.extend(class_sums(x, codes_of(y, labels), k, ends, length, constant=constant))
            return held[i]

        sums, second = self._noised(
            ready, ask, len(x), target, source, norm=length / STEPS, classes=labels.tolist()
        )
        d = x.shape[1] + constant
        each = sums.reshape(k, d) / STEPS
        signed = 2 * each - each.sum(axis=0)  # Σyx for each class, y = ±1
        of_sums, of_second = ready.deviations
        noise = np.array([of_second / (4 * DIAGONAL * STEPS**2), of_sums * np.sqrt(k) / (2 * STEPS)])
        chosen = signed[1:] if k == 2 else signed
        prior = d / float(self.radius) ** 2
        w, sd = self._weights(matrix(second, d) / (4 * STEPS**2), chosen / 2, noise, prior)
        self.classes_, self._w = labels, array(w)
        self.coef_, self.intercept_, self._sd = map(array, self._in_units(w, sd, scale))

    def probabilities(self, x: Floats) -> list[Floats]:
        """Return σ(x·w) of each fit, for rows clipped and cut as in fit."""
        return [np.asarray(expit(part)) for part in (self._rows(x) @ self._w.T).T]

    def _estimates(self) -> Estimates:
        several = [""] if len(self.coef_) == 1 else [f" | {label}" for label in self.classes_.tolist()]
        names = tuple(f"{name}{of}" for of in several for name in names_of(self))
        return Estimates("Logistic regression", names, self.coef_.ravel(), self._sd.ravel())


def functional_asked(method: str) -> bool:
    """Whether a regression is to be fitted by its coefficients; refuses a method that there is not."""
    if method not in {"bayesian", "functional"}:
        raise ValueError(f"method must be bayesian or functional, got {method!r}")
    return method == "functional"


Adopted = TypeVar("Adopted", bound=FunctionalRegression)
KNOWN = ("_charge_id", "n_features_in_", "feature_names_in_")
SAID = (
    *("coef_", "intercept_", "guarantee_", "target_", "mechanism_"),
    *("seeded_", "receipt_", "released_"),
)


def adopted(  # noqa: PLR0917 - what _fit takes
    outer: PrivateEstimator,
    inner: Adopted,
    x: Floats,
    y: NDArray[Any],
    target: Guarantee,
    source: Source,
) -> Adopted:
    """Fit by the inner learner, with the charge of the outer one, which then says what was found."""
    for name in KNOWN:
        if name in vars(outer):
            setattr(inner, name, vars(outer)[name])
    inner.learn(x, y, target, source)
    for name in SAID:
        setattr(outer, name, vars(inner)[name])
    return inner
