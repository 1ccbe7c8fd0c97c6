"""Plans as aligned text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from math import isnan

from discreet.mechanisms.regression.adassp import AdaSSP
from discreet.planning import Plan
from discreet.planning.prediction import ONE_DRAW, Prediction
from discreet.planning.ranked import Refusal
from discreet.planning.regression.prediction import RegressionPlan, RegressionPrediction, error_name

HEAD = (
    "mechanism",
    "knob",
    "rms error",
    "mean |error|",
    "honest width",
    "width",
    "covers",
    "read",
    "KL",
    "efficiency",
)
LINE = 100


def table(plan: Plan) -> str:
    """Rows best first, then the exact posterior, what cannot meet the target and why, what not to trust."""
    cells = [HEAD, *(_cells(row) for row in (*plan.rows, plan.exact))]
    body = aligned(cells if plan.exact.test_error is None else _with_test_error(cells, plan))
    ending = [*refusals(plan.refused), *warnings(plan.cautions)]
    return "\n".join(line.rstrip() for line in [*_title(plan), *body, *ending])


def _with_test_error(cells: list[tuple[str, ...]], plan: Plan) -> list[tuple[str, ...]]:
    values = ["test error", *(f"{row.test_error:.4g}" for row in (*plan.rows, plan.exact))]
    return [(*row[:2], value, *row[2:]) for row, value in zip(cells, values, strict=True)]


def aligned(cells: Sequence[tuple[str, ...]], *, apart: bool = True) -> list[str]:
    """Lay out a head and rows, the last of them apart; the first two columns to the left."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = [
        "  ".join(
            c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    rule = "─" * len(lines[0])
    return [lines[0], rule, *lines[1:-1], *([rule] if apart else []), *lines[1:][-1:]]


def _title(plan: Plan) -> list[str]:
    model = textwrap.shorten(repr(plan.model), 2 * LINE, placeholder=" …")
    return [
        f"{model}, n = {plan.n}, target {plan.target}",
        f"expected over {plan.assumed}; {plan.level:.0%} intervals; ranked by {plan.ranked_by}",
        "",
    ]


def _cells(row: Prediction) -> tuple[str, ...]:
    return (
        row.name,
        f"{row.knob} = {row.value:.4g}" if row.mechanism else "",
        *(_number(value) for value in (row.error, row.absolute, row.honest_width)),
        _without_interval(row) if row.width is None else f"{row.width:.4g}",
        "—" if row.coverage is None else f"{row.coverage:.1%}",
        (row.reading or "").replace("_", "-"),
        "—" if isnan(row.kl) else ("∞" if row.kl == float("inf") else f"{row.kl:.3g}"),
        "—" if isnan(row.efficiency) else f"{row.efficiency:.3g} → {row.limit:.3g}",
    )


def _without_interval(row: Prediction) -> str:
    return "none: a point" if isinstance(row.mechanism, AdaSSP) else ONE_DRAW


def _number(value: float) -> str:
    return "—" if isnan(value) else f"{value:.4g}"


def refusals(refused: Sequence[Refusal], head: str = "cannot meet the target") -> list[str]:
    lines = ["", f"{head}:"] if refused else []
    for refusal in refused:
        lines += textwrap.wrap(f"  {refusal.name}: {refusal.reason}", LINE, subsequent_indent="    ")
    return lines


def warnings(cautions: Sequence[str]) -> list[str]:
    lines = [""] if cautions else []
    for caution in cautions:
        lines += textwrap.wrap(f"CAUTION {caution}", LINE, subsequent_indent="    ")
    return lines


# ── of a regression ─────────────────────────────────────────────────────────────────────────────────────
def regression_table(plan: RegressionPlan) -> str:
    """Rows best first, then the posterior without privacy, what cannot meet the target, what not to trust."""
    head = ("mechanism", "knobs", error_name(plan.model), "excess", "log loss", "rms of w", "width", "covers")
    body = aligned([head, *(_regression_cells(plan, row) for row in (*plan.rows, plan.exact))])
    lines = [
        *_regression_title(plan),
        *body,
        *refusals(plan.refused, "cannot meet the target, or left out"),
        *_ending(plan),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _regression_title(plan: RegressionPlan) -> list[str]:
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


def _regression_cells(plan: RegressionPlan, row: RegressionPrediction) -> tuple[str, ...]:
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
    return [*lines, *warnings(plan.cautions)[1:]]


def _others(plan: RegressionPlan) -> str:
    names = [row.name for row in plan.close if row.name != plan.recommended]
    return f" (as good within the simulation's error: {', '.join(names)})" if names else ""
