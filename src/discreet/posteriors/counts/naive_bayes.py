"""Noisy class × feature counts → the posterior of naive Bayes: noise-aware, naive, or of exact counts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, logsumexp

from discreet.encoding.answers import by_label, by_row, drawn_codes, labelled_records
from discreet.families.family import Floats, Integers, credible
from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.naive_bayes import NaiveBayes
from discreet.posteriors.counts.dirichlet import dirichlet_draws
from discreet.posteriors.counts.nested_counts import NestedProblem, NoisyTable, draw
from discreet.posteriors.noise_law import NoiseLaw, rows_near_empty
from discreet.posteriors.posterior import Diagnostics, generator
from discreet.posteriors.read import known_reading, refitted
from discreet.posteriors.tables import ProbabilityTable, TableAxis, TablePosterior
from discreet.sampling.source import SYSTEM, SeededSource, Source

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

DRAWS = 1000
DENSE = 4000  # draws of θ that intervals are read from
CHUNK = 2**22  # numbers in memory at once

Named = dict[str, Any]


@final
@dataclass(frozen=True, eq=False, repr=False)
class NaiveBayesPosterior(TablePosterior):
    """Mixture over draws of the counts: given them, π and every θ_{y,d} are Dirichlet, independently.

    Tables are by name: the label's for π, of shape (classes,), and each feature's for θ, (classes, levels).
    """

    model: NaiveBayes  # bound
    reading: str
    classes: Floats  # (draws, classes): N_y
    features: tuple[Floats, ...]  # (draws, classes, levels) each, of the model's features in order
    notes: tuple[str, ...] = ()

    @property
    def cautions(self) -> tuple[str, ...]:
        return (*self.notes, *super().cautions)

    @property
    def diagnostics(self) -> Diagnostics:
        if self.reading != "noise_aware":
            return Diagnostics("closed form")
        size = len(self.classes)
        return Diagnostics("independent draws of the counts", draws=size, ess=float(size))

    def layout(self) -> tuple[ProbabilityTable, ...]:
        axes = {name: TableAxis.of(self.labels, name, size) for name, size in self.model.size_of.items()}
        label = axes[self.model.label]
        within = (ProbabilityTable(name, (label, axes[name])) for name in self.model.features)
        return (ProbabilityTable(label.name, (label,)), *within)

    def prior(self) -> NaiveBayesPosterior:
        """Return the same without data."""
        nothing = [np.zeros((1, *counts.shape[1:])) for counts in (self.classes, *self.features)]
        return NaiveBayesPosterior(self.model, "prior", nothing[0], tuple(nothing[1:]))

    # ── the law of π and θ ──────────────────────────────────────────────────────────────────────────

    def _shapes(self) -> dict[str, Floats]:
        """Dirichlet parameters, the last axis the simplex, the first the draw."""
        alpha = float(self.model.prior)
        names = (self.model.label, *self.model.features)
        return {
            name: alpha + counts for name, counts in zip(names, (self.classes, *self.features), strict=True)
        }

    def flat_mean(self) -> Floats:
        """E θ, the Dirichlet means averaged over the draws of the counts."""
        return np.concatenate([_means(a).mean(axis=0).ravel() for a in self._shapes().values()])

    def flat_variance(self) -> Floats:
        """Var θ: the mean of the variances and the variance of the means."""
        return np.concatenate([_variance(a).ravel() for a in self._shapes().values()])

    def flat_interval(self, level: float) -> Floats:
        tails = credible(level)
        return np.concatenate([_interval(a, tails).reshape(-1, 2) for a in self._shapes().values()])

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        each = self._drawn(size, source).values()
        return np.concatenate([theta.reshape(size, -1) for theta in each], axis=1)

    def _drawn(self, size: int, source: Source | None) -> dict[str, Floats]:
        """Draws of (π, θ), table by table."""
        rng = generator(source)
        which = rng.integers(len(self.classes), size=size) if len(self.classes) > 1 else np.zeros(size, int)
        return {name: dirichlet_draws(a[which], rng) for name, a in self._shapes().items()}

    def empty(self) -> Named:
        """P(no record is in the cell), by feature: such cells are allowed, and the prior fills them."""
        return {
            name: (counts < 0.5).mean(axis=0)
            for name, counts in zip(self.model.features, self.features, strict=True)
        }

    def information(self, level: float) -> dict[str, Floats]:
        """I(y; x_d) = Σ p(y, x) log₂ p(x|y)/p(x) in bits, by feature: mean and both ends of its interval."""
        thetas = self._drawn(DENSE // 4, SeededSource(len(self.classes)))
        pi = thetas[self.model.label][:, :, None]
        said = {}
        for name in self.model.features:
            theta = np.maximum(thetas[name], 1e-300)
            bits = (pi * theta * np.log2(theta / (pi * theta).sum(axis=1, keepdims=True))).sum(axis=(1, 2))
            said[name] = np.array([bits.mean(), *np.quantile(bits, credible(level))])
        return said

    # ── records ─────────────────────────────────────────────────────────────────────────────────────

    def log_joint(self, features: ArrayLike) -> Floats:
        """Log p(y, x | release) for every class: codes (rows, features) ↦ (rows, classes)."""
        rows, inverse = np.unique(self._codes(features, self.model.features), axis=0, return_inverse=True)
        logs = {name: np.log(_means(a)) for name, a in self._shapes().items()}
        step = max(1, CHUNK // max(1, self.classes.size))
        parts = [self._log_mixture(logs, rows[i : i + step]) for i in range(0, max(1, len(rows)), step)]
        joint: Floats = np.concatenate(parts)[inverse.reshape(-1)]
        return joint

    def _log_mixture(self, logs: dict[str, Floats], rows: Integers) -> Floats:
        """Given the counts entries are independent, so that E ∏ = ∏ E; then the mean over the draws."""
        total = np.repeat(logs[self.model.label][:, :, None], len(rows), axis=2)  # (draws, classes, rows)
        for code, name in zip(rows.T, self.model.features, strict=True):
            total += logs[name].take(code, axis=2)
        peak = total.max(axis=0)
        return np.asarray((np.log(np.exp(total - peak).mean(axis=0)) + peak).T)

    def log_predictive(self, records: object, *, codes: bool = False) -> xr.DataArray | Floats:
        """Log p(y, x | release) of each labelled record, or of codes in the order of model.columns."""
        if codes:
            return self._log_records(self._codes(records, self.model.columns))
        rows = self.encoder.encode(records, self.model.columns)
        return by_row(self._log_records(rows.stacked(self.model.columns)), rows)

    def _log_records(self, codes: Integers) -> Floats:
        return np.asarray(self.log_joint(codes[:, 1:])[np.arange(len(codes)), codes[:, 0]])

    def log_proba(self, features: ArrayLike) -> Floats:
        """Log p(y | x, release) for codes of the features."""
        joint = self.log_joint(features)
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def predict_proba(self, rows: object, *, codes: bool = False) -> xr.DataArray | Floats:
        """p(y | x, release), averaged over the posterior: (row, label); without labels for `codes`."""
        if codes:
            return np.exp(self.log_proba(self._codes(rows, self.model.features)))
        given, label = self.encoder.encode(rows, self.model.features), self.model.label
        shares = np.exp(self.log_proba(given.stacked(self.model.features)))
        return by_label(shares, given, label, self.encoder.labels(label))

    def predict(self, rows: object, *, codes: bool = False) -> NDArray[Any]:
        """Likeliest label of each row; for codes of the features the likeliest code."""
        if codes:
            return np.asarray(self.log_joint(self._codes(rows, self.model.features)).argmax(axis=1))
        given = self.encoder.encode(rows, self.model.features).stacked(self.model.features)
        return self.encoder.decode(self.model.label, self.log_joint(given).argmax(axis=1))

    def held_out(self, records: object, *, codes: bool = False) -> float:
        """Mean log p(y, x | release) over records that the release has not seen."""
        return float(np.mean(self.log_predictive(records, codes=codes)))

    def synthetic(
        self, size: int, source: Source | None = None, *, codes: bool = False
    ) -> pd.DataFrame | dict[str, Integers]:
        """Draw π and θ, then `size` records from them: a data set from the posterior predictive, free."""
        bits = source or SYSTEM
        tables, rng = self._drawn(1, bits), generator(bits)
        label = self.model.label
        drawn = {label: drawn_codes(np.repeat(tables[label], size, axis=0), rng)}
        for name in self.model.features:
            drawn[name] = drawn_codes(tables[name][0][drawn[label]], rng)
        return drawn if codes else labelled_records(drawn, self.encoder)

    def _codes(self, records: object, columns: tuple[str, ...]) -> Integers:
        codes = np.atleast_2d(np.asarray(records))
        if codes.ndim != 2 or codes.shape[1] != len(columns) or codes.dtype.kind not in "iu":
            raise ValueError(f"records must be rows of integer codes of {', '.join(columns)}")
        for code, column in zip(codes.T, columns, strict=True):
            if not ((code >= 0) & (code < self.model.size_of[column])).all():
                raise ValueError(f"codes of {column!r} must be 0 to {self.model.size_of[column] - 1}")
        return codes.astype(np.int64)

    def __repr__(self) -> str:
        return f"NaiveBayesPosterior(reading={self.reading!r}, {self.model!r}, {self.diagnostics!r})"


# ── readings ────────────────────────────────────────────────────────────────────────────────────────


def read(cells: NoisyCells, model: NaiveBayes, reading: str, *, draws: int = DRAWS) -> NaiveBayesPosterior:
    """Read noisy counts; asked twice, the numbers are the same, for the randomness is a hash of them."""
    return READINGS[known_reading(reading)](cells, model, draws)


def noise_aware(cells: NoisyCells, model: NaiveBayes, draws: int) -> NaiveBayesPosterior:
    """p(θ | Ĉ) = Σ_C p(θ | C) p(C | Ĉ), C drawn exactly (nested_counts). A negative Ĉ says what it says.

    All tables hold the same class totals, and inform them together. A private n has a flat prior.
    """
    model = refitted(model, cells)
    alpha = float(model.prior)
    noisy = zip(cells.tables().values(), cells.scales, strict=True)
    laws = [(table, NoiseLaw(cells.noise, float(scale))) for table, scale in noisy]
    tables = tuple(NoisyTable(np.asarray(table, dtype=np.float64), law, alpha) for table, law in laws)
    totals, counts = draw(NestedProblem(tables, alpha, cells.n), draws, _generator(cells, model))
    return NaiveBayesPosterior(
        model,
        "noise_aware",
        totals.astype(np.float64),
        tuple(c.astype(np.float64) for c in counts),
        rows_near_empty(cells),
    )


def naive(cells: NoisyCells, model: NaiveBayes, draws: int = 1) -> NaiveBayesPosterior:
    """max(Ĉ, 0) read as if it were C, as is common; its intervals under-cover where noise matters."""
    del draws
    counts = {name: np.maximum(table, 0.0) for name, table in cells.tables().items()}
    found = _closed(refitted(model, cells), "naive", counts, cells.n)
    return replace(found, notes=rows_near_empty(cells))


def exact(model: NaiveBayes, counts: ArrayLike) -> NaiveBayesPosterior:
    """Posterior of exact counts, for comparison: as private as they are."""
    return _closed(model, "exact", model.split(np.asarray(counts, dtype=np.float64)), None)


def _closed(
    model: NaiveBayes, reading: str, tables: dict[str, NDArray[Any]], n: int | None
) -> NaiveBayesPosterior:
    totals = np.mean([table.sum(axis=1) for table in tables.values()], axis=0)
    shrunk = totals * (n / totals.sum()) if n is not None and totals.sum() > 0 else totals
    return NaiveBayesPosterior(model, reading, shrunk[None], tuple(table[None] for table in tables.values()))


READINGS: dict[str, Callable[[NoisyCells, NaiveBayes, int], NaiveBayesPosterior]] = {
    "noise_aware": noise_aware,
    "naive": naive,
}


def _generator(cells: NoisyCells, model: NaiveBayes) -> np.random.Generator:
    """Bits fixed by what is public anyway."""
    text = repr((cells.noisy.tolist(), cells.n, cells.noise, cells.scales, model))
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big"))


# ── Dirichlet mixtures ──────────────────────────────────────────────────────────────────────────────


def _means(a: Floats) -> Floats:
    return np.asarray(a / a.sum(axis=-1, keepdims=True))


def _variance(a: Floats) -> Floats:
    m = _means(a)
    return np.asarray((m * (1 - m) / (a.sum(axis=-1, keepdims=True) + 1)).mean(axis=0) + m.var(axis=0))


def _interval(a: Floats, tails: Floats) -> Floats:
    """Quantiles of Beta(a, a₀ − a) where there is one; else of draws of the mixture."""
    if len(a) == 1:
        rest = np.maximum(a.sum(axis=-1, keepdims=True) - a, 1e-300)
        return np.stack([betaincinv(a[0], rest[0], t) for t in tails], axis=-1)
    rng = np.random.default_rng(len(a))
    thetas = np.concatenate([dirichlet_draws(a, rng) for _ in range(-(-DENSE // len(a)))])
    return np.moveaxis(np.quantile(thetas, tails, axis=0), 0, -1)
