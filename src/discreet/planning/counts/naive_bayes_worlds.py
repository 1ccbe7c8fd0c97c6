"""Naive Bayes tried out: classes and features from the prior, counts, noise, predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from discreet.families.family import Floats, Integers
from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.naive_bayes import NaiveBayes
from discreet.posteriors.counts.naive_bayes import exact, read
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.sampling.source import SeededSource

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
    first, second = (float((each.predict(features) == labels).mean()) for each in readings)
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
