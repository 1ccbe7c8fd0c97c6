"""Linear regression by name, in the units of its columns: coefficients, intercept, variance, predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.encoding.answers import by_row, spoken_columns
from discreet.families.family import Floats, credible
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.named_columns import NamedColumns, references
from discreet.posteriors.conjugate import ConjugatePosterior
from discreet.posteriors.normal.latent_model import SampledPosterior
from discreet.posteriors.posterior import Diagnostics, FamilyPosterior, generator
from discreet.posteriors.variables import Variable, in_a_row
from discreet.sampling.source import SeededSource, Source

if TYPE_CHECKING:
    import xarray as xr

    from discreet.encoding.encoder import EncodedRows

DRAWS, FIXED = 2000, 20250101  # of predictions: what is public needs no secret bits
Encoded = SampledPosterior | ConjugatePosterior  # of encoded columns


@final
@dataclass(frozen=True, eq=False, repr=False)
class LinearPosterior(FamilyPosterior):
    """(β, variance): coefficients per unit of their columns, the intercept last, the variance of y about it.

    `encoded` is the same of columns as the model encodes them, such as its chains have it.
    """

    prior: BayesianLinearRegression
    encoded: Encoded

    @property
    def named(self) -> NamedColumns:
        found = self.prior.named
        assert found is not None  # noqa: S101 - `in_units` sees to it
        return found

    @property
    def reading(self) -> str:
        return self.encoded.reading

    @property
    def diagnostics(self) -> Diagnostics:
        return self.encoded.diagnostics

    @property
    def cautions(self) -> tuple[str, ...]:
        return self.encoded.cautions

    @property
    def size(self) -> NDArray[Any] | None:
        """Draws of n, (chains, draws); None where n is public."""
        return getattr(self.encoded, "size", None)

    @property
    def references(self) -> dict[str, str]:
        """Name the level that the indicators of a column are measured against."""
        return references(self.named.design)

    def own_names(self) -> tuple[str, ...]:
        return *self.named.names, "variance"

    def arrangement(self) -> tuple[Variable, ...]:
        d = len(self.named.names)
        variance = Variable("variance", (), np.array(d))
        return *in_a_row("weights", ("weight", self.names[:d])), variance

    def prior_sample(self, size: int, source: Source) -> Floats:
        return np.asarray(self.prior.in_units().sample(size, source), dtype=np.float64)

    def rewritten(self, theta: Floats) -> Floats:
        """Rewrite draws of encoded columns' (w, σ²)."""
        scale = self.named.answer.half**2
        weights = self.named.units.weights(theta[..., :-1])
        return np.concatenate([weights, scale * theta[..., -1:]], axis=-1)

    # ── the contract ──
    @cached_property
    def _law(self) -> BayesianLinearRegression:
        law = getattr(self.encoded, "law", None)
        assert isinstance(law, BayesianLinearRegression)  # noqa: S101 - only of a reading without chains
        return law.in_units()

    @cached_property
    def _draws(self) -> Floats | None:
        held = self.encoded.chains()
        return None if held is None else self.rewritten(np.asarray(held, dtype=np.float64))

    def chains(self) -> Floats | None:
        return self._draws

    @property
    def _flat(self) -> Floats | None:
        return None if self._draws is None else self._draws.reshape(-1, self._draws.shape[-1])

    def flat_mean(self) -> Floats:
        return self._law.mean() if self._flat is None else np.asarray(self._flat.mean(axis=0))

    def flat_variance(self) -> Floats:
        return self._law.variance() if self._flat is None else np.asarray(self._flat.var(axis=0))

    def flat_interval(self, level: float) -> Floats:
        if self._flat is None:
            return self._law.interval(level)
        return np.asarray(np.quantile(self._flat, credible(level), axis=0).T)

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        if self._flat is None:
            return np.asarray(self._law.sample(size, source), dtype=np.float64)
        return np.asarray(self._flat[generator(source).integers(len(self._flat), size=size)])

    # ── predictions ──
    def log_predictive(self, rows: object) -> xr.DataArray | Floats:
        """Log density, per unit of y, of the answer of each labelled row, given its features: (row).

        A plain array holds encoded records (x, y), as `statistic` takes them.
        """
        if isinstance(rows, np.ndarray):
            return self._log_density(rows)
        answer = self.named.answer
        held = self._held(rows, (*self.named.features, answer.column))
        y = (np.asarray(held.columns[answer.column], dtype=np.float64) - answer.centre) / answer.half
        return by_row(self._log_density(np.column_stack([self.named.rows(held.columns), y])), held)

    def _log_density(self, records: ArrayLike) -> Floats:
        return np.asarray(self.encoded.log_predictive(records) - np.log(self.named.answer.half))

    def _held(self, rows: object, columns: Sequence[str]) -> EncodedRows:
        coded = {feature.column for feature in self.named.design if feature.level is not None}
        return spoken_columns(rows, self.encoder, columns, coded)

    def predict(self, rows: object, *, codes: bool = False) -> NDArray[Any]:
        """E[y] of labelled rows, in the units of the answer; `codes`: of encoded rows, the constant last."""
        if codes:
            return self.middle(np.asarray(rows, dtype=np.float64))
        return self.expected_of(self._held(rows, self.named.features).columns)

    def predict_proba(self, rows: object, *, codes: bool = False) -> NoReturn:
        del rows, codes
        raise TypeError("the answers of a linear regression are numbers: predict gives their expectation")

    def expected_of(self, columns: Mapping[str, ArrayLike]) -> Floats:
        """E[y] of public rows by column, numbers and levels as in the table."""
        return self.middle(self.named.rows(columns))

    def deviation_of(self, columns: Mapping[str, ArrayLike]) -> Floats:
        """Give the standard deviation of y about `expected_of`; what is unknown of β is included."""
        return self.deviation(self.named.rows(columns))

    def middle(self, rows: Floats) -> Floats:
        """E[y] of encoded rows, the constant last."""
        answer = self.named.answer
        return np.asarray(answer.centre + answer.half * (rows @ self.encoded.flat_mean()[:-1]))

    def deviation(self, rows: Floats) -> Floats:
        """√(E σ² + Var x·w) for encoded rows."""
        theta = self.encoded.flat_sample(DRAWS, SeededSource(FIXED))
        spread = np.einsum("ij,jk,ik->i", rows, np.atleast_2d(np.cov(theta[:, :-1].T)), rows)
        return np.asarray(self.named.answer.half * np.sqrt(theta[:, -1].mean() + spread))


def in_units(found: Encoded) -> Encoded | LinearPosterior:
    """Return a reading of linear regression in units of its columns, where the model names them."""
    prior = found.prior
    if not isinstance(prior, BayesianLinearRegression) or prior.named is None:
        return found
    return LinearPosterior(prior, found)
