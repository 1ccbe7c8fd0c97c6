"""Models from declarations: bounds and categories of a table's columns, and weak priors by public rules."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from discreet.catalogue import FAMILY, REGRESSION, ROWS, names
from discreet.families.family import Family
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.tables.derived.joint import labels_of
from discreet.tables.schema import Binary, Categorical, Count, Kind, Schema
from discreet.tables.table import Table

Model = Family | CountModel | GeneralizedLinear
Given = Mapping[str, Any]


@final
@dataclass(frozen=True)
class Declared:
    """What a schema says of the columns that a family reads."""

    kinds: tuple[Kind, ...]
    columns: tuple[str, ...]

    @property
    def lower(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(getattr(kind, "lower", 0)) for kind in self.kinds)

    @property
    def upper(self) -> tuple[Fraction, ...]:
        ends = (getattr(kind, "upper", getattr(kind, "max", 1)) for kind in self.kinds)
        return tuple(map(Fraction, ends))

    @property
    def middle(self) -> tuple[Fraction, ...]:
        return tuple((low + high) / 2 for low, high in zip(self.lower, self.upper, strict=True))

    @property
    def quarter(self) -> tuple[Fraction, ...]:
        """A quarter of each range: what a deviation is first taken for."""
        return tuple((high - low) / 4 for low, high in zip(self.lower, self.upper, strict=True))

    @property
    def cells(self) -> int:
        """Return how many categories there are, of all columns together."""
        return math.prod(
            len(labels_of(kind, name)) for kind, name in zip(self.kinds, self.columns, strict=True)
        )


def model_for(table: Table, model: str, **given: Any) -> Model:  # noqa: ANN401 - the model's own arguments
    """Return a model by name, with bounds, categories and a weak prior from the table's schema.

    What is given wins. `model_for(table["age"], "normal_inverse_gamma")` has the column's bounds, its middle
    as the mean that one record would say, and a quarter of its range as the deviation that six would.
    """
    return from_declarations(model, table.schema, table.columns, given)


def from_declarations(model: str, schema: Schema, columns: Sequence[str], given: Given) -> Model:
    """Build a model of columns of a schema; what is given wins."""
    if model not in names():
        raise ValueError(f"no model is called {model!r}; there are {', '.join(names())}")
    row = ROWS[model]
    kind: type[Any] = row.load("model")
    if row.kind == FAMILY:
        return family_for(kind, Declared(tuple(schema[name] for name in columns), tuple(columns)), given)
    usual = for_regression(kind, schema, given) if row.kind == REGRESSION else {}
    built: Model = kind(**{**usual, **given})
    return built


def family_for(kind: type[Family], declared: Declared, given: Given) -> Family:
    """Build a prior: the weak one of the catalogue's rule but for what is given."""
    rule = ROWS[kind.name].load("weak_prior")
    if rule is None:
        return kind(**given)
    takes = inspect.signature(kind).parameters
    usual = {name: value for name, value in rule(declared).items() if name in takes}
    prior = {**usual, **given}
    alpha = prior.get("alpha")
    if isinstance(usual.get("alpha"), list) and not isinstance(alpha, list | tuple):
        prior["alpha"] = [alpha] * len(usual["alpha"])
    return kind(**prior)


def for_regression(kind: type[Any], schema: Schema, given: Given) -> dict[str, Any]:
    """Return a norm that no row exceeds, since each feature adds at most 1 to its square; two labels."""
    features = given.get("features", ())
    count = 1 if isinstance(features, str) else max(1, len(features))
    usual: dict[str, Any] = {"norm": Fraction(math.ceil(1000 * math.sqrt(count)), 1000)}
    target = given.get("target")
    declared = schema[target] if isinstance(target, str) and target in schema else None
    if isinstance(declared, Categorical) and len(declared.levels) == 2:
        usual["labels"] = declared.levels
    takes = inspect.signature(kind).parameters
    return {name: value for name, value in usual.items() if name in takes}


# ── weak priors, by the name that the catalogue has for them ──────────────────────────────────────────
def even_odds(declared: Declared) -> dict[str, Any]:
    """Uniform on [0, 1]; trials and bounds are the column's."""
    return {"alpha": 1, "beta": 1, **_ends(declared)}


def even_cells(declared: Declared) -> dict[str, Any]:
    """One record in each category."""
    return {"alpha": [1] * declared.cells}


def even_items(declared: Declared) -> dict[str, Any]:
    """One item of each column; as many trials as a column may hold."""
    return {"alpha": [1] * len(declared.kinds), "trials": int(max(declared.upper))}


def middling_rate(declared: Declared) -> dict[str, Any]:
    """One record with half the bound: rate ~ Exponential with that mean."""
    return {"shape": 1, "rate": 2 / declared.upper[0], **_ends(declared)}


def middling_wait(declared: Declared) -> dict[str, Any]:
    """One record that waits for half the bound."""
    return {"shape": 1, "rate": declared.upper[0] / 2, **_ends(declared)}


def middling_mean(declared: Declared) -> dict[str, Any]:
    """One record in the middle; the records' deviation, which this family knows, a quarter of the range."""
    (middle,), (quarter,) = declared.middle, declared.quarter
    return {"mean": middle, "strength": 1, "variance": quarter**2, **_ends(declared)}


def middling_mean_and_variance(declared: Declared) -> dict[str, Any]:
    """One record in the middle; E σ² = (a quarter of the range)², as six records would say it."""
    (middle,), (quarter,) = declared.middle, declared.quarter
    return {"mean": middle, "strength": 1, "shape": 3, "scale": 2 * quarter**2, **_ends(declared)}


def middling_vector(declared: Declared) -> dict[str, Any]:
    """One record in the middle of every column; E Σ diagonal, a quarter of each range its deviation."""
    d = len(declared.kinds)
    reach = sum(
        max(abs(low), abs(high)) ** 2 for low, high in zip(declared.lower, declared.upper, strict=True)
    )
    scale = [[2 * q**2 if i == j else 0 for j in range(d)] for i, q in enumerate(declared.quarter)]
    return {
        "mean": list(declared.middle),
        "strength": 1,
        "degrees": d + 3,
        "scale": scale,
        "radius": Fraction(math.ceil(1000 * math.sqrt(reach)), 1000),
    }


def _ends(declared: Declared) -> dict[str, Any]:
    """Return a column's bounds by all names that families have for them."""
    kind = declared.kinds[0]
    if isinstance(kind, Binary):
        return {}
    (lower, *_), (upper, *_) = declared.lower, declared.upper
    most = int(upper) if isinstance(kind, Count) else upper
    return {"lower": lower, "upper": most, "trials": most}
