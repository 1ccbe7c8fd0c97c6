"""A plan of a regression as aligned text."""

from __future__ import annotations

import textwrap
from math import isnan
from typing import TYPE_CHECKING

from discreet.planning.prediction import ONE_DRAW
from discreet.planning.regression.worlds import error_name
from discreet.planning.table import LINE, aligned, refusals

if TYPE_CHECKING:
    from discreet.planning.regression.prediction import RegressionPlan, RegressionPrediction


def table(plan: RegressionPlan) -> str:
    """Rows best first, then the posterior without privacy, what cannot meet the target, what not to trust."""
    head = ("mechanism", "knobs", error_name(plan.model), "excess", "log loss", "rms of w", "width", "covers")
    body = aligned([head, *(_cells(plan, row) for row in (*plan.rows, plan.exact))])
    lines = [
        *_title(plan),
        *body,
        *refusals(plan.refused, "cannot meet the target, or left out"),
        *_ending(plan),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _title(plan: RegressionPlan) -> list[str]:
    d = plan.model.dimension
    expected = (
        f"expected over {plan.exact.replicates} imagined data sets, {plan.assumed}; "
        f"{plan.level:.0%} intervals; ranked by {plan.ranked_by}"
    )
    return [
        *textwrap.wrap(f"{plan.model!r}, {d} weights, n = {plan.n}, target {plan.target}", LINE),
        *textwrap.wrap(expected, LINE),
        "",
    ]


def _cells(plan: RegressionPlan, row: RegressionPrediction) -> tuple[str, ...]:
    return (
        row.name,
        row.knobs,
        f"{row.error:.4g}",
        "" if row is plan.exact else _with_error(*plan.excess(row)),
        f"{row.log_loss:.4g}",
        f"{row.rms:.3g}",
        ONE_DRAW if row.width is None else f"{row.width:.3g}",
        "—" if row.coverage is None else f"{row.coverage:.0%}",
    )


def _with_error(value: float, error: float) -> str:
    return f"{value:.4f}" if isnan(error) else f"{value:.4f} ± {error:.4f}"


def _ending(plan: RegressionPlan) -> list[str]:
    lines = [""]
    if plan.rows:
        lines += textwrap.wrap(f"recommended: mechanism={plan.recommended!r}{_others(plan)}", LINE)
    for caution in plan.cautions:
        lines += textwrap.wrap(f"CAUTION {caution}", LINE, subsequent_indent="    ")
    return lines


def _others(plan: RegressionPlan) -> str:
    names = [row.name for row in plan.close if row.name != plan.recommended]
    return f" (as good within the simulation's error: {', '.join(names)})" if names else ""
