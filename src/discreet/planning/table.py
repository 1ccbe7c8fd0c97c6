"""Plans as aligned text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

from discreet.mechanisms.regression.adassp import AdaSSP
from discreet.planning.offers import in_python, on_the_command_line
from discreet.planning.prediction import ONE_DRAW, Prediction
from discreet.planning.ranked import Refusal
from discreet.planning.regression.prediction import RegressionPlan, RegressionPrediction, error_name
from discreet.privacy.words import in_words

if TYPE_CHECKING:
    from discreet.planning import Plan
    from discreet.planning.counts.plan import CountPrediction
    from discreet.planning.plain import PlainPrediction

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


def table(plan: Plan, *, command: bool = False) -> str:
    """Rows best first, then the exact posterior, what cannot meet the target and why, what not to trust."""
    cells = [HEAD, *(_cells(row) for row in (*plan.rows, plan.exact))]
    body = aligned(cells if plan.exact.test_error is None else _with_test_error(cells, plan))
    fit = to_fit(plan.rows[0], command=command) if plan.rows else []
    ending = [*refusals(plan.refused), *fit, *warnings(plan.cautions)]
    return "\n".join(line.rstrip() for line in [*_title(plan), *body, *ending])


def estimate(value: float, error: float | None, *, percent: bool = False) -> str:
    """Write a number with its standard error, if it has one."""
    if isnan(value):
        return "—"
    plain = f"{value:.1%}" if percent else f"{value:.4g}"
    if error is None or isnan(error) or error == 0:
        return plain
    return f"{plain} ± {100 * error:.1g} %" if percent else f"{plain} ± {error:.1g}"


def to_fit(
    row: Prediction | RegressionPrediction | CountPrediction | PlainPrediction, *, command: bool
) -> list[str]:
    """Say what a fit of this row would be told, and what it would charge."""
    price = "" if row.price is None else f", which charges {in_words(row.price)}"
    told = on_the_command_line(row.ask) if command else in_python(row.ask)
    said = f"to fit the first row: {told}{price}"
    return ["", *textwrap.wrap(said, LINE, subsequent_indent="    ", break_on_hyphens=False)]


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
        estimate(row.error, row.error_se),
        *(_number(value) for value in (row.absolute, row.honest_width)),
        _without_interval(row) if row.width is None else estimate(row.width, row.width_se),
        "—" if row.coverage is None else estimate(row.coverage, row.coverage_se, percent=True),
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
def regression_table(plan: RegressionPlan, *, command: bool = False) -> str:
    """Rows best first, then the posterior without privacy, what cannot meet the target, what not to trust."""
    head = ("mechanism", "knobs", error_name(plan.model), "excess", "log loss", "rms of w", "width", "covers")
    body = aligned([head, *(_regression_cells(plan, row) for row in (*plan.rows, plan.exact))])
    lines = [
        *_regression_title(plan),
        *body,
        *refusals(plan.refused, "cannot meet the target, or left out"),
        *_ending(plan, command=command),
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
        estimate(row.error, row.error_se),
        "" if row is plan.exact else _with_error(*plan.excess(row)),
        f"{row.log_loss:.4g}",
        estimate(row.rms, row.rms_se),
        ONE_DRAW if row.width is None else estimate(row.width, row.width_se),
        "—" if row.coverage is None else estimate(row.coverage, row.coverage_se, percent=True),
    )


def _with_error(value: float, error: float) -> str:
    return f"{value:.4f}" if isnan(error) else f"{value:.4f} ± {error:.4f}"


def _ending(plan: RegressionPlan, *, command: bool) -> list[str]:
    lines = [""]
    if plan.rows:
        spelled = f"--mechanism {plan.recommended}" if command else f"mechanism={plan.recommended!r}"
        lines += textwrap.wrap(f"recommended: {spelled}{_others(plan)}", LINE)
        lines += to_fit(plan.rows[0], command=command)
    return [*lines, *warnings(plan.cautions)[1:]]


def _others(plan: RegressionPlan) -> str:
    names = [row.name for row in plan.close if row.name != plan.recommended]
    return f" (as good within the simulation's error: {', '.join(names)})" if names else ""
