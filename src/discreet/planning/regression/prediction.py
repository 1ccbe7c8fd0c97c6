"""A plan of a regression, and its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.mechanisms.mechanism import Mechanism
from discreet.models.generalized_linear import Feature, GeneralizedLinear
from discreet.models.margin_losses import ClippedPoisson, Floats, Logistic, MarginLoss
from discreet.models.regression_records import rows_of
from discreet.planning.ranked import TRUSTED, Compared, json_row
from discreet.posteriors.regression.coverage import spherical
from discreet.privacy.guarantee import Guarantee
from discreet.sampling.source import SeededSource

# ── Regressions that might be: weights from the prior, rows of a public design, answers of the model's law.
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


# ── prediction
@final
@dataclass(frozen=True)
class RegressionPrediction:
    """What to expect of one mechanism, averaged over imagined data sets; `_se` are standard errors of that.

    `error` is how often the likelier label is wrong (of a count: the root mean square error of its rate),
    `log_loss` −E ln P(answer), `rms` the root mean square error of a weight. `width` and `coverage` are of
    credible intervals of the weights, None where one draw is all there is; `caution` is what most results
    would carry. `ask` is what `privatise` would be told for this row, `price` what its ledger would charge.
    """

    mechanism: Mechanism | None  # None: no privacy, for comparison
    name: str
    knobs: str
    error: float
    error_se: float
    log_loss: float
    rms: float
    width: float | None
    coverage: float | None
    coverage_se: float | None
    errors: tuple[float, ...]  # of each imagined data set
    caution: str | None = None
    rms_se: float = 0.0
    width_se: float | None = None
    ask: Mapping[str, Any] = field(default_factory=dict)
    price: Guarantee | None = None

    @property
    def replicates(self) -> int:
        return len(self.errors)

    def to_json(self) -> dict[str, Any]:
        return json_row(self, "errors") | {"replicates": self.replicates}


def standard_error(values: Floats) -> float:
    """Of a mean; NaN from one value alone."""
    return float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else math.nan


@final
@dataclass(frozen=True)
class RegressionPlan(Compared[GeneralizedLinear, RegressionPrediction]):
    """Predictions for every mechanism that meets the target; `exact` is a Laplace approximation."""

    simulated_n: int

    def excess(self, row: RegressionPrediction) -> tuple[float, float]:
        """Return what privacy adds to the error, and its standard error, from differences world by world."""
        gap = np.array(row.errors) - np.array(self.exact.errors)
        return float(gap.mean()), standard_error(gap)

    @property
    def close(self) -> tuple[RegressionPrediction, ...]:
        """Rows whose error is within two standard errors of the best row's, compared world by world."""
        best = np.array(self.best.errors)
        gaps = [(row, np.array(row.errors) - best) for row in self.rows]
        return tuple(row for row, gap in gaps if gap.mean() <= 2 * standard_error(gap) or not gap.any())

    @property
    def recommended(self) -> str:
        """Name what to ask `privatise` for: the best row or, of those as good, the first with intervals."""
        trusted = (row for row in self.close if row.coverage is not None and self._trusts(row))
        return next(trusted, self.best).name

    def _trusts(self, row: RegressionPrediction) -> bool:
        """Below by more than two standard errors of the simulation is too low."""
        if row.coverage is None:
            return True
        error = 0.0 if row.coverage_se is None else row.coverage_se
        return not row.coverage + 2 * error < self.level - TRUSTED

    @property
    def cautions(self) -> tuple[str, ...]:
        """Say what not to trust: intervals that cover too rarely, a smaller n than asked for."""
        low = [
            f"{row.name}: {self.level:.0%} intervals are predicted to cover {row.coverage:.0%} of the "
            f"weights (± {row.coverage_se:.0%}): do not rely on them at this n and target"
            for row in self.rows
            if not self._trusts(row)
        ]
        low += [f"{row.name}: its result would say: {row.caution}" for row in self.rows if row.caution]
        if self.simulated_n < self.n:
            low.append(
                f"simulated with n = {self.simulated_n:,}, to be quick: at n = {self.n:,} errors and widths "
                "are smaller than shown"
            )
        return tuple(low)

    def table(self, *, command: bool = False) -> str:
        """Aligned text; `command` spells what to ask for as options of the command."""
        from discreet.planning.table import regression_table  # noqa: PLC0415 - the picture's side, on use

        return regression_table(self, command=command)

    def picture(self, path: str | Path) -> Path:
        """Draw errors and interval widths beside those without privacy; needs matplotlib ([plots])."""
        from discreet.planning.picture import draw_regression  # noqa: PLC0415 - loads matplotlib on use

        return draw_regression(self, path)

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"simulated_n": self.simulated_n, "error_is": error_name(self.model)}
