"""Private additive models: a shape for each column, boosted from noisy histograms of residuals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from discreet.families.family import Integers
from discreet.learn.classes import codes_of, declared_classes
from discreet.learn.declared import names_of, refuse_texts
from discreet.learn.estimates import Estimates
from discreet.learn.noisy import NoisyLearner
from discreet.learn.trees.boosting import BoostedShapes, LogisticResiduals, ResidualLoss, SquaredResiduals
from discreet.learn.trees.columns import Codes, Columns
from discreet.learn.trees.labels import softmax
from discreet.learn.trees.pictures import picture, shape_names
from discreet.learn.trees.residuals import Histograms, Residuals
from discreet.mechanisms.learners.noisy_blocks import Block, NoisyBlocks
from discreet.mechanisms.learners.tree_counts import UNIT, answer_totals, class_totals, histograms
from discreet.mechanisms.mechanism import positive, whole
from discreet.models.margin_losses import Floats
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import Source

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDS, PURE_ROUNDS = 8, 2  # a pure promise costs so many times the noise of one round
MOST_BINS = 256
BINS, FEW_BINS, FEW_RECORDS = 16, 8, 1000


@dataclass(kw_only=True, eq=False, repr=False)
class AdditiveModel(NoisyLearner):
    """What the classifier and the regressor share: columns in bins, rounds, shapes and their pictures."""

    audited: ClassVar[tuple[str, ...]] = ("noisy_blocks/boosting",)

    categorical_features: Sequence[int | str] | None = None
    rounds: int | None = None
    bins: int | None = None
    records: int | None = None

    @abstractmethod
    def _answers(self, y: NDArray[Any]) -> tuple[Integers, NDArray[np.bool_], Residuals]:
        """Look at the answers: totals, which records count, and the residuals of those given their scores."""

    @abstractmethod
    def _totals(self, relation: Relation) -> tuple[Block, ResidualLoss]:
        """Say what is counted of the answers before any residual, and the loss that they are of."""

    @abstractmethod
    def _outputs(self) -> tuple[str, ...]:
        """Name what is scored: nothing of one score, else the classes."""

    def _boosted(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source, **given: Any) -> None:  # noqa: ANN401
        columns = Columns.of(self.bounds, self.categorical_features, names_of(self))
        rounds = (
            (PURE_ROUNDS if isinstance(target, PureDP) else ROUNDS) if self.rounds is None else self.rounds
        )
        bins = self._usual(len(x), target) if self.bins is None else whole(self.bins, "bins")
        if not 2 <= bins <= MOST_BINS:
            raise ValueError(f"bins must be from 2 to {MOST_BINS}, got {bins}")
        sizes, outputs = columns.sizes(bins), len(self._outputs())
        totals, loss = self._totals(target.relation)
        blocks = histograms(totals, sizes, outputs, whole(rounds, "rounds"), target.relation)
        ready = NoisyBlocks.calibrate(blocks, target=target)

        def walk() -> BoostedShapes:
            public = float(len(x)) if target.relation.replaces else None
            return BoostedShapes(sizes, columns.categorical, outputs, loss, ready.deviations, public)

        def prepare() -> tuple[Integers, Codes, Residuals]:
            sums, counts, residuals = self._answers(y)
            return sums, columns.bins(x[counts], bins), residuals

        told = {"categorical": list(columns.categorical), "bins": bins, "rounds": rounds, **given}
        released = self._noised(ready, Histograms(prepare, walk()), len(x), target, source, **told)
        self._described, self._cut, self._walk = columns, bins, walk()
        for block, noisy in enumerate(released):
            self._walk.observe(block, noisy)
        self.intercept_ = self._units(self._walk.level) + self._middle()
        self.shapes_ = tuple(self._units(shape) for shape in self._walk.shapes)

    def _usual(self, n: int, target: Guarantee) -> int:
        """Return the usual number of bins, from what is public alone."""
        guess = n if target.relation.replaces else self.records
        return FEW_BINS if guess is not None and whole(guess, "records") < FEW_RECORDS else BINS

    def _units(self, scores: Floats) -> Floats:
        """Scores in units of the answers; log-odds as they are."""
        return np.array(scores)

    def _middle(self) -> float:
        return 0.0

    def _scores(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        return self._walk.score(self._described.bins(self._columns(X), self._cut))

    def _deviations(self) -> list[Floats]:
        """Of every shape's bins, as believed: noise, sampling and prior; other columns taken as they are."""
        return [
            self._units(np.sqrt(np.maximum(np.diagonal(c, axis1=1, axis2=2).T, 0)))
            for c in self._walk.covariances
        ]

    def _estimates(self) -> Estimates:
        names = shape_names(self._described, names_of(self), self._cut, self._outputs())
        deviations = [d.reshape(-1) for d in self._deviations()]
        means = [shape.reshape(-1) for shape in self.shapes_]
        return Estimates("shapes of the columns", names, np.concatenate(means), np.concatenate(deviations))

    def plot(self, columns: Sequence[int | str] | None = None) -> Figure:
        """Draw the shape of every column, or of those named, with 90 % bands; free."""
        check_is_fitted(self)
        names = names_of(self)
        chosen = (
            range(len(names))
            if columns is None
            else [names.index(c) if isinstance(c, str) else int(c) for c in columns]
        )
        return picture(
            [(names[j], self.shapes_[j], self._deviations()[j], self._described, j) for j in chosen],
            self._cut,
            self._outputs(),
        )


@final
@dataclass(kw_only=True, eq=False, repr=False)
class AdditiveClassifier(ClassifierMixin, AdditiveModel):  # type: ignore[misc]  # scikit-learn has no types
    """log-odds = level + Σ shape_j(x_j): a curve for each column, boosted in turn (several classes: softmax).

    Columns are cut into `bins` of equal length between public bounds, and codes are bins of their own. Counts
    of the bins are noised once; then, round after round, the residuals in the bins of one column. Each noisy
    histogram sharpens a Gaussian belief about that column's shape, so that steps are as long as the signal
    over the noise allows. `plot()` shows the shapes.

    Public, and never read from the data: `bounds`, (lower, upper) of the columns, to which records are
    clipped; `classes`, all labels that may occur (a row with another counts for nothing);
    `categorical_features`, columns of codes, which are whole numbers between their bounds. Missing numbers
    count as the middle of their column. `rounds` are 8, or 2 where the promise is pure, and
    `bins` 16, or 8 of fewer than 1000 records, unless given; where n is private, `records` is a public guess.

    `ledger` (a Ledger, a path or a URL) is charged durably before a value is looked at. WITHOUT ONE NOTHING
    RECORDS WHAT WAS SPENT: every fit, also of each fold of a cross-validation, is a further release. A
    `random_state` other than None makes fits reproducible and NOT PRIVATE.
    """

    classes: Sequence[Any] | None = None

    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        labels = declared_classes(self.classes)
        self._boosted(x, y, target, source, classes=labels.tolist())
        self.classes_ = labels

    def _outputs(self) -> tuple[str, ...]:
        labels = declared_classes(self.classes).tolist()
        return ("",) if len(labels) == 2 else tuple(str(label) for label in labels)

    def _totals(self, relation: Relation) -> tuple[Block, ResidualLoss]:
        return class_totals(len(declared_classes(self.classes)), relation), LogisticResiduals()

    def _answers(self, y: NDArray[Any]) -> tuple[Integers, NDArray[np.bool_], Residuals]:
        labels = declared_classes(self.classes)
        places = codes_of(y, labels)
        known, each = places >= 0, np.eye(len(labels))[places[places >= 0]]
        totals = each.sum(axis=0).astype(np.int64)
        if len(labels) == 2:
            return totals, known, lambda scores: each[:, 1:] - 1 / (1 + np.exp(-scores))
        return totals, known, lambda scores: each - softmax(scores)

    # ── predict ──
    def decision_function(self, X: ArrayLike) -> Floats:
        """Log-odds of the second of two classes, or a score for each of several."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(class | x), a column for each of `classes_`; free."""
        scores = self._scores(X)
        return softmax(np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the likeliest label."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])


@final
@dataclass(kw_only=True, eq=False, repr=False)
class AdditiveRegressor(RegressorMixin, AdditiveModel):  # type: ignore[misc]  # scikit-learn has no types
    """E y = level + Σ shape_j(x_j): a curve for each column, boosted in turn, as AdditiveClassifier does.

    `answers`, (lower, upper) of y, must be public; answers are clipped to it. Residuals beyond `clip` times
    that range, either way, count as so far: one record may not pull further. The rest is as there.
    """

    answers: tuple[float, float] | None = None
    clip: float = 0.1

    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        refuse_texts(y)
        lower, upper = self._range()
        if not 0 < float(positive(self.clip, "clip")) <= 1:
            raise ValueError(f"clip is a share of the range of answers, at most 1, got {self.clip}")
        self._boosted(x, y, target, source, answers=[lower, upper], clip=float(self.clip))

    def _range(self) -> tuple[float, float]:
        try:
            lower, upper = map(float, self.answers or ())
        except (TypeError, ValueError):
            raise ValueError(
                f"answers must be (lower, upper), what y is clipped to, got {self.answers!r}; they must "
                "be public knowledge, not read from the data"
            ) from None
        if not (np.isfinite(upper - lower) and lower < upper):
            raise ValueError(f"answers need finite lower < upper, got {self.answers!r}; they must be public")
        return lower, upper

    def _outputs(self) -> tuple[str, ...]:
        return ("",)

    @property
    def _step(self) -> float:
        lower, upper = self._range()
        return self.clip * (upper - lower)

    def _middle(self) -> float:
        lower, upper = self._range()
        return lower + (upper - lower) / 2

    def _units(self, scores: Floats) -> Floats:
        return np.array(scores) * self._step

    def _totals(self, relation: Relation) -> tuple[Block, ResidualLoss]:
        return answer_totals(relation), SquaredResiduals(1 / (2 * self.clip))

    def _answers(self, y: NDArray[Any]) -> tuple[Integers, NDArray[np.bool_], Residuals]:
        (lower, upper), middle = self._range(), self._middle()
        given = np.asarray(y, dtype=np.float64)
        apart = np.clip(np.where(np.isnan(given), middle, given), lower, upper) - middle
        steps = np.trunc(np.clip(apart / (upper - lower) * 2, -1.0, 1.0) * UNIT).astype(np.int64)
        scaled = (apart / self._step)[:, None]
        totals = np.array([len(given) * UNIT, steps.sum()], dtype=np.int64)
        return totals, np.ones(len(given), dtype=bool), lambda scores: np.clip(scaled - scores, -1.0, 1.0)

    def predict(self, X: ArrayLike) -> Floats:
        """E(y | x), within the declared range."""
        lower, upper = self._range()
        return np.clip(self._units(self._scores(X)[:, 0]) + self._middle(), lower, upper)
