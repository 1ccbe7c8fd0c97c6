"""What noise a model of counts would get, and what naive Bayes would predict. Reads and spends nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, final

import numpy as np

from discreet.families.family import Floats, Integers, public_size
from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.mechanisms.statistics.noisy_statistics import NOISES
from discreet.models.count_model import CountModel
from discreet.models.naive_bayes import NaiveBayes
from discreet.planning.marginals import deviation
from discreet.planning.ranked import Ranked, tried
from discreet.planning.table import LINE, aligned, refusals
from discreet.posteriors.counts.naive_bayes import exact, read
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee
from discreet.sampling.source import SeededSource

# ── Naive Bayes tried out: classes and features from the prior, counts, noise, predictions.
TESTED = 1000
DRAWS = 100  # of the counts, where a reading draws them


@final
@dataclass(frozen=True)
class Accuracy:
    """How often the likeliest class is right, over imagined data sets; `error` is the standard error."""

    private: float
    exact: float
    error: float
    replicates: int


def accuracy(mechanism: NoisyCounts, n: int, *, count: int, seed: int, reading: str) -> Accuracy:
    """Compare predictions from noisy and from exact counts on the same imagined data sets."""
    found = np.array([_trial(mechanism, n, [seed, i], reading) for i in range(count)])
    private, plain = found.mean(axis=0).tolist()
    error = float(found[:, 0].std(ddof=1)) / count**0.5 if count > 1 else float("nan")
    return Accuracy(private, plain, error, count)


def _trial(mechanism: NoisyCounts, n: int, seed: list[int], reading: str) -> tuple[float, float]:
    rng, model = np.random.default_rng(seed), mechanism.model
    assert not hasattr(model, "edges")  # noqa: S101 - naive Bayes, as the caller checked
    pi, thetas = _prior(model, rng)  # type: ignore[arg-type]
    counts = counted(model, *_records(pi, thetas, n, rng))  # type: ignore[arg-type]
    private = {"count": n} if mechanism.relation is ADD_REMOVE else {}
    released = mechanism.release(counts, SeededSource(int(rng.integers(2**62))), **private)
    labels, features = _records(pi, thetas, TESTED, rng)
    readings: list[Any] = [read(released, model, reading, draws=DRAWS), exact(model, counts)]  # type: ignore[arg-type]
    first, second = (float((each.predict(features, codes=True) == labels).mean()) for each in readings)
    return first, second


def _prior(model: NaiveBayes, rng: np.random.Generator) -> tuple[Floats, list[Floats]]:
    alpha, classes = float(model.prior), model.classes
    pi = rng.dirichlet([alpha] * classes)
    return pi, [rng.dirichlet([alpha] * model.size_of[name], size=classes) for name in model.features]


def _records(pi: Floats, thetas: list[Floats], n: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    labels = rng.choice(len(pi), size=n, p=pi)
    steps = [np.cumsum(theta, axis=1)[:, :-1] for theta in thetas]
    features = [(rng.random(n)[:, None] > step[labels]).sum(axis=1) for step in steps]
    return labels, np.column_stack(features)


def counted(model: NaiveBayes, labels: Integers, features: Integers) -> Integers:
    """Return the class × feature counts, flat, in the model's order."""
    sizes = [model.size_of[name] for name in model.features]
    tables = [
        np.bincount(labels * size + codes, minlength=model.classes * size)
        for codes, size in zip(features.T, sizes, strict=True)
    ]
    return np.concatenate(tables)


# ── plan
@final
@dataclass(frozen=True)
class CountPrediction:
    """Noise of each table's cells: its deviation, and that over the mean count of a cell, n/cells."""

    mechanism: NoisyCounts
    name: str
    deviations: tuple[float, ...]  # one for each table
    relative: tuple[float, ...]
    accuracy: Accuracy | None  # of naive Bayes, over imagined data sets

    @property
    def noise(self) -> float:
        """Root mean square over the tables."""
        return float(np.sqrt(np.mean(np.square(self.deviations))))

    @property
    def worst(self) -> float:
        """Relative noise of the worst table."""
        return max(self.relative)

    def to_json(self) -> dict[str, Any]:
        found = None if self.accuracy is None else vars(self.accuracy)
        return {
            "name": self.name,
            "scales": [float(scale) for scale in self.mechanism.scales],
            "deviations": list(self.deviations),
            "relative": list(self.relative),
            "accuracy": found,
        }


@final
@dataclass(frozen=True)
class CountPlan(Ranked[CountModel, CountPrediction]):
    """Every kind of noise that meets the target, the least first."""

    offered: ClassVar[str] = "noise"

    def table(self) -> str:
        """Aligned text."""
        head = ("mechanism", "noise a cell (deviation)", "of a mean cell, worst table")
        judged = any(row.accuracy for row in self.rows)
        cells = [self._cells(row, judged=judged) for row in self.rows]
        body = aligned([(*head, *(("accuracy", "without privacy") if judged else ())), *cells], apart=False)
        title = f"{self.model!r}, {self.model.size} cells, n = {self.n}, target {self.target}"
        lines = [*textwrap.wrap(title, LINE), "", *body, *refusals(self.refused)]
        return "\n".join(line.rstrip() for line in lines)

    def _cells(self, row: CountPrediction, *, judged: bool) -> tuple[str, ...]:
        spread = (min(row.deviations), max(row.deviations))
        noise = f"{spread[0]:.3g}" if spread[0] == spread[1] else f"{spread[0]:.3g} to {spread[1]:.3g}"
        plain = (row.name, noise, f"{row.worst:.1%}")
        if not judged or row.accuracy is None:
            return plain
        found = row.accuracy
        return (*plain, f"{found.private:.4g} ± {found.error:.1g}", f"{found.exact:.4g}")


def plan_counts(
    model: CountModel,
    n: int,
    target: Guarantee,
    *,
    replicates: int = 10,
    seed: int = 0,
    reading: str = "noise_aware",
) -> CountPlan:
    """Calibrate every kind of noise; naive Bayes is also tried on data sets from its prior.

    The model must know its columns' numbers of codes: model.bind({'column': codes, …}). With reading
    "naive" it is ten times as quick, and predicts what that reading would: a little less.
    """
    size = int(public_size(SUBSTITUTE, n) or 0)
    told = None if target.relation is ADD_REMOVE else size
    judge = partial(accuracy, count=replicates, seed=seed, reading=reading)

    def with_noise(noise: str) -> CountPrediction:
        ready = NoisyCounts.calibrate(model, n=told, target=target, noise=noise)
        return _predicted(ready, f"noisy_counts ({noise})", size, judge)

    offered = [(f"noisy_counts ({noise})", partial(with_noise, noise)) for noise in NOISES]
    rows, refused = tried(offered, "planning")
    return CountPlan(model, size, target, tuple(sorted(rows, key=lambda row: row.noise)), refused)


Judge = Callable[[NoisyCounts, int], Accuracy]


def _predicted(ready: NoisyCounts, name: str, n: int, judge: Judge) -> CountPrediction:
    noise = tuple(deviation(ready.noise, float(scale)) for scale in ready.scales)
    relative = tuple(d * cells.size / n for d, cells in zip(noise, ready.model.cells, strict=True))
    judged = judge(ready, n) if isinstance(ready.model, NaiveBayes) else None
    return CountPrediction(ready, name, noise, relative, judged)
