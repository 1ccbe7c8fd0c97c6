"""Regressions that might be: weights from the prior, rows of a public design, answers of the model's law."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from discreet.models.design import Feature
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import ClippedPoisson, Floats, Logistic, MarginLoss
from discreet.models.regression_records import rows_of
from discreet.posteriors.regression.public_designs import spherical
from discreet.sampling.source import SeededSource

TESTED = 1000  # rows that are predicted in each world


@final
@dataclass(frozen=True, eq=False)
class World:
    """One imagined data set, what is true of it, and rows to predict."""

    weights: Floats
    features: Floats  # n × p, encoded
    answers: Floats
    tested: Floats  # rows to predict, encoded
    truth: Floats  # E[y | x] of them
    seed: int

    @property
    def source(self) -> SeededSource:
        """Public bits for a mechanism that is tried out here: nothing private is drawn."""
        return SeededSource(self.seed)


@final
@dataclass(frozen=True, eq=False)
class Worlds:
    """Imagined data sets for a bound model, from a seed; the same for every mechanism."""

    model: GeneralizedLinear
    n: int
    replicates: int
    seed: int
    truth: Floats | None
    rows: Floats | None  # a public sample of encoded rows

    @property
    def assumed(self) -> str:
        """Say what was imagined."""
        d, radius = self.model.dimension, float(self.model.radius)
        weights = f"w ~ N(0, ({radius:g}²/{d})I)" if self.truth is None else "w as given"
        rows = "x spherical Gaussian of half the norm" if self.rows is None else "x like the public sample"
        return f"{weights}, {rows}"

    def world(self, i: int) -> World:
        rng = np.random.default_rng([self.seed, i])
        d, deviation = self.model.dimension, float(self.model.strength) ** -0.5
        w = deviation * rng.standard_normal(d) if self.truth is None else self.truth
        features, tested = self._rows(rng, self.n), self._rows(rng, TESTED)
        margins = rows_of(self.model, features) @ w
        answers = answered(self.model.loss, margins, rng.random(self.n))
        expected = self.model.loss.expected(rows_of(self.model, tested) @ w)
        return World(w, features, answers, tested, expected, int(rng.integers(2**62)))

    def _rows(self, rng: np.random.Generator, size: int) -> Floats:
        if self.rows is not None:
            return np.asarray(self.rows[rng.integers(len(self.rows), size=size)])
        return spherical(self.model, size, rng)


def worlds(
    model: GeneralizedLinear,
    n: int,
    *,
    truth: ArrayLike | None,
    public_sample: ArrayLike | None,
    replicates: int,
    seed: int,
) -> Worlds:
    """Check what was given; a model that knows no table yet has one number for every feature."""
    known = model if model.design else model.bind([Feature(name) for name in model.features])
    _ = answered(known.loss, np.zeros(0), np.zeros(0))  # refuses what cannot be simulated
    w = None if truth is None else _vector(truth, known.dimension)
    rows = None if public_sample is None else _sample(public_sample, len(known.design))
    return Worlds(known, n, replicates, seed, w, rows)


def _vector(truth: ArrayLike, d: int) -> Floats:
    w = np.asarray(truth, dtype=np.float64)
    if w.shape != (d,) or not np.isfinite(w).all():
        raise ValueError(f"truth must be {d} finite weights, the intercept last, got shape {w.shape}")
    return w


def _sample(public_sample: ArrayLike, p: int) -> Floats:
    rows = np.asarray(public_sample, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != p or not len(rows) or not np.isfinite(rows).all():
        raise ValueError(f"public_sample must be rows of {p} finite encoded features, got shape {rows.shape}")
    return rows


# ── answers of the model's law ──────────────────────────────────────────────────────────────────────────
@singledispatch
def answered(loss: MarginLoss, margins: Floats, u: Floats) -> Floats:
    """Draw answers given margins, from uniforms."""
    del margins, u
    raise ValueError(
        f"a plan draws answers from the model's law, and the loss {loss.name!r} names none; simulate your "
        "own data and try the mechanisms on them: what is public costs nothing"
    )


@answered.register(Logistic)
def _answered_logistic(loss: Logistic, margins: Floats, u: Floats) -> Floats:
    return np.where(u < loss.expected(margins), 1.0, -1.0)


@answered.register(ClippedPoisson)
def _answered_clipped_poisson(loss: ClippedPoisson, margins: Floats, u: Floats) -> Floats:
    from scipy.stats import poisson  # noqa: PLC0415 - slow to load, and only for counts

    return np.asarray(loss.admissible(poisson.ppf(u, np.exp(np.minimum(margins, 50.0)))))


# ── what a prediction costs ─────────────────────────────────────────────────────────────────────────────
@singledispatch
def missed(_loss: MarginLoss, predicted: Floats, truth: Floats) -> tuple[float, float]:
    """(error, log loss) of predictions, expected over answers: root mean square error of a rate."""
    error = float(np.sqrt(np.mean((predicted - truth) ** 2)))
    return error, float(np.mean(predicted - truth * np.log(np.maximum(predicted, 1e-300))))


@missed.register(Logistic)
def _missed_logistic(_loss: Logistic, predicted: Floats, truth: Floats) -> tuple[float, float]:
    """How often the likelier label is wrong, and −E ln P(label)."""
    p = np.clip(predicted, 1e-300, 1 - 1e-16)
    wrong = np.where(predicted > 0.5, 1 - truth, truth)
    return float(wrong.mean()), float(-np.mean(truth * np.log(p) + (1 - truth) * np.log1p(-p)))


def error_name(model: GeneralizedLinear) -> str:
    """Name the error that `missed` gives first."""
    return "test error" if isinstance(model.loss, Logistic) else "rms error of rate"
