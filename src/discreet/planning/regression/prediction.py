"""A plan of a regression, and its rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from discreet.families.family import Floats
from discreet.mechanisms.mechanism import Mechanism
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.planning.ranked import TRUSTED, Compared, json_row
from discreet.planning.regression.worlds import error_name


@final
@dataclass(frozen=True)
class RegressionPrediction:
    """What to expect of one mechanism, averaged over imagined data sets; `_se` are standard errors of that.

    `error` is how often the likelier label is wrong (of a count: the root mean square error of its rate),
    `log_loss` −E ln P(answer), `rms` the root mean square error of a weight. `width` and `coverage` are of
    credible intervals of the weights, None where one draw is all there is; `caution` is what most results
    would carry.
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

    def table(self) -> str:
        """Aligned text."""
        from discreet.planning.table import regression_table  # noqa: PLC0415 - the picture's side, on use

        return regression_table(self)

    def picture(self, path: str | Path) -> Path:
        """Draw errors and interval widths beside those without privacy; needs matplotlib ([plots])."""
        from discreet.planning.picture import draw_regression  # noqa: PLC0415 - loads matplotlib on use

        return draw_regression(self, path)

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"simulated_n": self.simulated_n, "error_is": error_name(self.model)}
