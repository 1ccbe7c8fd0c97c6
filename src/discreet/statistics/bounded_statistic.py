"""(Table, model) → the model's exact integer statistic and its sensitivity.

Here and in the builders (totals, counts, cells, moments) Ibis aggregates are made, and nowhere else.
Values are quantised to a public grid and summed as integers: order-independent, and the same on every engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import singledispatch
from typing import TYPE_CHECKING, Any, final

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.dirichlet_multinomial import DirichletMultinomial
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.families.normal_mean import NormalMean
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.privacy.guarantee import SUBSTITUTE, Relation
from discreet.statistics.counts import code_counts
from discreet.statistics.exact_value import Counted, checked, of_rows
from discreet.statistics.moments import first_and_second, second
from discreet.statistics.totals import item_counts, total, two_totals
from discreet.tables.errors import blindly

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.families.family import Family, Sensitivity
    from discreet.tables.table import Table

    Query = Callable[[], Counted]
    Builder = Callable[[Table, Any, int | None], Query]
    Model = Family | CountModel | GeneralizedLinear


@final
@dataclass(frozen=True, eq=False)
class BoundedStatistic:
    """A statistic, unread. Only `read` touches values, and it is called after the charge."""

    table: Table
    model: Model
    relation: Relation
    n: int | None  # public, or None
    query: Query = field(repr=False)

    @property
    def rows_per_unit(self) -> int:
        return self.table.rows_per_unit or 1

    @property
    def sensitivity(self) -> Sensitivity:
        """Of one row; a unit has at most `rows_per_unit` of them."""
        return self.model.sensitivity(self.relation)

    @property
    def unit_sensitivity(self) -> Sensitivity:
        return of_rows(self.sensitivity, self.rows_per_unit)

    def read(self) -> Counted:
        """Return the exact integers. The one call that touches private values."""
        return checked(blindly("reading the statistic", self.query), self.n)


def bounded(
    table: Table, model: Model, relation: Relation = SUBSTITUTE, *, reads: str = "statistic"
) -> BoundedStatistic:
    """Prepare model.statistic of the table's selected columns, under a relation that the table supports.

    `reads` is what a mechanism says it reads; some read another thing than the model's own statistic.
    """
    table.relation_for(relation)
    table, model = fitted(model, table)
    own = next((BUILDERS[kind] for kind in type(model).__mro__ if kind in BUILDERS), None)
    builder = READERS.get(reads, own)
    if builder is None:
        known = ", ".join(family.__name__ for family in BUILDERS)
        raise TypeError(f"no statistic is registered for {type(model).__name__}; known: {known}")
    n = table.size() if relation is SUBSTITUTE else None
    return BoundedStatistic(table, model, relation, n, builder(table, model, n))


@singledispatch
def fitted(model: Any, table: Table) -> tuple[Table, Any]:  # noqa: ANN401 - a Family as it is
    """Return the table with the columns that the model reads, and the model knowing their sizes."""
    return table, model


@fitted.register(CountModel)
def _fitted_count_model(model: CountModel, table: Table) -> tuple[Table, CountModel]:
    from discreet.statistics.cells import bound  # noqa: PLC0415 - loads on first use

    return bound(table, model)


@fitted.register(GeneralizedLinear)
def _fitted_generalized_linear(model: GeneralizedLinear, table: Table) -> tuple[Table, GeneralizedLinear]:
    from discreet.statistics.design import bound  # noqa: PLC0415

    return bound(table, model)


def _records(table: Table, model: GeneralizedLinear, n: int | None) -> Query:
    from discreet.statistics.records import records  # noqa: PLC0415

    return records(table, model, n)


def _signed_moments(table: Table, model: GeneralizedLinear, n: int | None) -> Query:
    from discreet.statistics.signed_moments import signed  # noqa: PLC0415

    return signed(table, model, n)


def _cells(table: Table, model: CountModel, n: int | None) -> Query:  # noqa: ARG001 - a CountModel
    from discreet.statistics.cells import cells  # noqa: PLC0415

    return cells(table, model)


BUILDERS: dict[type[Model], Builder] = {
    BetaBernoulli: total,
    BetaBinomial: total,
    BetaGeometric: total,
    GammaPoisson: total,
    GammaExponential: total,
    NormalMean: total,
    NormalInverseGamma: two_totals,
    DirichletCategorical: code_counts,
    DirichletMultinomial: item_counts,
    NormalInverseWishart: first_and_second,
    BayesianLinearRegression: second,
    CountModel: _cells,
    GeneralizedLinear: _records,
}
READERS: dict[str, Builder] = {"moments": _signed_moments}
__all__ = ["BoundedStatistic", "Counted", "bounded"]
