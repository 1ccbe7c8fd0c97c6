"""Whether a model takes all that its columns may hold: known from declarations alone, before any charge."""

from __future__ import annotations

from fractions import Fraction

from discreet.families.linear_regression import BayesianLinearRegression
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.model import Model
from discreet.tables.derived.demands import range_of
from discreet.tables.schema import Binary, Bounded, Count, Kind
from discreet.tables.table import Table

Limits = tuple[Fraction, Fraction] | None


ROUNDING = 2.0**-40  # of the range: the bounds of a scaled column are rounded outward


def refuse_narrow(table: Table, model: Model) -> None:
    """Refuse a model that takes less than its columns are declared to hold: it would cut them in silence."""
    who, limits, names = _taken(model, table.columns)
    if limits is None:
        return
    low, high = map(float, limits)
    slack = (high - low) * ROUNDING
    for name in names:
        kind = table.schema[name]
        ends = _ends(kind)
        if ends and not (low - slack <= ends[0] and ends[1] <= high + slack):
            raise ValueError(
                f"column {name!r} is declared in {_shown(ends)}, and {who} takes {_shown((low, high))}: "
                f"all beyond would be cut off in silence. {_scaling(name, kind, ends, (low, high))} "
                "the model a range that holds the column's, or declare narrower bounds, if public"
            )


def _taken(model: Model, columns: tuple[str, ...]) -> tuple[str, Limits, tuple[str, ...]]:
    """Say who takes numbers, within which limits, of which columns."""
    if isinstance(model, GeneralizedLinear):  # features are scaled by their bounds
        return f"the {model.loss.name} loss", model.loss.limits, (model.target,)
    scaled = isinstance(model, BayesianLinearRegression) and model.named is not None
    return type(model).__name__, None if scaled or isinstance(model, CountModel) else model.limits, columns


def _ends(kind: Kind) -> tuple[float, float] | None:
    if isinstance(kind, Binary):
        return 0.0, 1.0
    if not isinstance(kind, Bounded | Count):
        return None  # no number, and the model's own reader says what it needs
    low, high = range_of(kind)
    return float(low), float(high)


def _scaling(name: str, kind: Kind, ends: tuple[float, float], limits: tuple[float, float]) -> str:
    """Say how to map the column into the range; counts stay counts, and radii keep their zero."""
    if not isinstance(kind, Bounded):
        return "Give"
    (least, most), (low, high) = ends, limits
    if low == -high:
        text = f"dc.col({name!r}) / {_short(max(-least, most) / high)}"
    else:
        moved = f"(dc.col({name!r}){_added(-least)})" if least else f"dc.col({name!r})"
        text = f"{moved} / {_short((most - least) / (high - low))}{_added(low)}"
    return f"Scale it, table.derive(scaled={text}), and read 'scaled'; or give"


def _added(x: float) -> str:
    return f" {'+' if x > 0 else '-'} {_short(abs(x))}" if x else ""


def _shown(ends: tuple[float, float]) -> str:
    return f"[{_short(ends[0])}, {_short(ends[1])}]"


def _short(x: float) -> str:
    return repr(int(x) if x == int(x) and abs(x) < 2**53 else x)
