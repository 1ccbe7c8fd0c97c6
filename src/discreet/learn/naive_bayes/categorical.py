"""Private categorical naive Bayes: noisy counts by class, one charge, read with their noise accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.families.family import Integers
from discreet.learn.classes import Labels, codes_of, declared_classes
from discreet.learn.declared import array_of, names_of, refuse_shapes, target_of
from discreet.learn.modelled import ModelEstimator
from discreet.learn.private import array
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.margin_losses import Floats
from discreet.models.naive_bayes import NaiveBayes
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, NotProved, Relation, Unreachable
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import Source

UNKNOWN = "(unknown)"  # the level of whatever was not declared
Levels = Sequence[Any]


@final
@dataclass(kw_only=True, eq=False, repr=False)
class CategoricalNB(ClassifierMixin, ModelEstimator):  # type: ignore[misc]
    """P(class | x), columns independent given the class, averaged over the posterior given noisy counts.

    Public, and never read from the data: `classes`, all labels that may occur, and `categories`, the levels
    of each column: a list with one list per column, a dict of them by the columns of a data frame, or a
    number k for codes 0, …, k − 1 in every column. Whatever was not declared counts as a level, or a class,
    of its own, which is never predicted. `prior` is the Dirichlet parameter of every probability.

    `ledger` (a Ledger, a path or a URL) is charged durably before a value is looked at. WITHOUT ONE NOTHING
    RECORDS WHAT WAS SPENT: every fit, also of each fold of a cross-validation, is a further release. A
    `random_state` other than None makes fits reproducible and NOT PRIVATE.
    """

    classes: Sequence[Any] | None = None
    categories: int | Sequence[Levels] | dict[str, Levels] | None = None
    prior: Exact = 1
    noise: str | None = None

    # ── what is read ──
    def _read_rows(self, X: ArrayLike, _: Relation | None, *, reset: bool) -> NDArray[Any]:
        """Check shape and names and no value; columns may be of any type, as they are only compared."""
        refuse_shapes(X)
        return array_of(validate_data(self, X, reset=reset, skip_check_array=True), "X")

    def _fit(self, x: NDArray[Any], y: NDArray[Any], target: Guarantee, source: Source) -> None:
        labels, levels = declared_classes(self.classes), self._levels()
        model = self._model(labels, levels)
        private, n = target.relation is ADD_REMOVE, x.shape[0]
        ready = self._calibrated(model, None if private else n, target)
        count = {"count": n} if private else {}

        def encode() -> Integers:
            return counted(model, codes_of(y, labels), encoded(x, levels))

        def draw(value: Integers) -> list[Any]:
            return [ready.release(value, source, **count)]

        self.guarantee_, self.mechanism_, self.target_ = ready.guarantee, ready, target
        self.seeded_, self.classes_, self._known = source.seeded, labels, levels
        declared = {"classes": labels.tolist(), "categories": [list(level) for level in levels]}
        promised = (ready.guarantee, target)
        (self.released_,) = self._released(promised, ready, [model], encode, draw, **declared)
        self.posterior_ = self._release(self.released_).posterior
        shares = self.posterior_.flat_mean()[: len(labels)]
        self.class_prior_ = array(shares / shares.sum())

    def _levels(self) -> tuple[tuple[Any, ...], ...]:
        """Return the declared levels of each column."""
        given, names = self.categories, names_of(self)
        if isinstance(given, int) and not isinstance(given, bool) and given >= 1:
            return (tuple(range(given)),) * len(names)
        if isinstance(given, dict):
            missing = [name for name in names if name not in given]
            if missing:
                raise ValueError(f"categories lack the columns {', '.join(missing)}: declare their levels")
            each = [given[name] for name in names]
        elif given is None or isinstance(given, int | str) or len(given) != len(names):
            raise ValueError(
                f"categories must be declared, got {given!r}: one list of levels for each of {len(names)} "
                "columns, a dict of them by name, or k for codes 0 to k − 1. Which levels occur is a fact "
                "about the records, so they must be public knowledge, not read from the data"
            )
        else:
            each = list(given)
        levels = tuple(tuple(np.asarray(level).tolist()) for level in each)
        if any(not level or len(set(level)) != len(level) for level in levels):
            raise ValueError("categories must be at least one level for each column, each once")
        return levels

    def _model(self, labels: Labels, levels: tuple[tuple[Any, ...], ...]) -> NaiveBayes:
        names, target = names_of(self), target_of(names_of(self))
        sizes = {name: len(level) + 1 for name, level in zip(names, levels, strict=True)}
        return NaiveBayes(target, names, self.prior).bind({target: len(labels) + 1, **sizes})

    def _calibrated(self, model: NaiveBayes, n: int | None, target: Guarantee) -> ModelMechanism:
        """Take the noise that is asked for, else the one of the smaller deviation for this target."""
        usual = ("discrete_laplace",) if isinstance(target, PureDP) else ("discrete_laplace", "gaussian")
        found, refusals = [], []
        for noise in (self.noise,) if self.noise else usual:
            try:
                found.append(NoisyCounts.calibrate(model, n=n, target=target, noise=noise))
            except (Unreachable, NotProved) as error:
                refusals.append(error)
        if not found:
            raise refusals[-1]
        return min(found, key=lambda m: float(m.scales[0]) * (2**0.5 if "laplace" in m.noise else 1))

    def _schema(self) -> dict[str, Any]:
        """Return what was declared, as a schema says it; the class first."""
        names = names_of(self)
        known = {name: _declared("categories", level) for name, level in zip(names, self._known, strict=True)}
        return {target_of(names): _declared("label", self.classes_.tolist())} | known

    # ── predict ──
    def predict_joint_log_proba(self, X: ArrayLike) -> Floats:
        """Log p(class, x | release), a column for each of `classes_`; free."""
        check_is_fitted(self)
        codes = encoded(self._read_rows(X, None, reset=False), self._known)
        joint: Floats = self.posterior_.log_joint(codes)[:, : len(self.classes_)]
        return joint

    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(class | x, release), a column for each of `classes_`; free."""
        joint = self.predict_joint_log_proba(X)
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Log P(class | x, release)."""
        return np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))

    def predict(self, X: ArrayLike) -> Labels:
        """Return the label of the largest probability."""
        likeliest = self.predict_joint_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])


def _declared(kind: str, levels: Sequence[Any]) -> dict[str, Any]:
    return {"kind": kind, "levels": list(levels), "unknown": UNKNOWN}


def encoded(x: NDArray[Any], levels: tuple[tuple[Any, ...], ...]) -> Integers:
    """Return the code of each value, the last code of a column for whatever is none of its levels."""
    each = [codes_of(column, level) for column, level in zip(x.T, levels, strict=True)]
    return np.column_stack([np.where(code < 0, len(at), code) for code, at in zip(each, levels, strict=True)])


def counted(model: NaiveBayes, labels: Integers, codes: Integers) -> Integers:
    """Return the counts of every class × column table, flat; labels that were not declared come last."""
    classes = model.classes
    y = np.where(labels < 0, classes - 1, labels)
    sizes = [model.size_of[name] for name in model.features]
    tables = [
        np.bincount(y * size + code, minlength=classes * size)
        for code, size in zip(codes.T, sizes, strict=True)
    ]
    return np.concatenate(tables).astype(np.int64)
