"""A plan as one picture: errors on the left, intervals on the right, the posterior without privacy dashed."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.planning import Plan
from discreet.planning.prediction import Prediction
from discreet.planning.regression.prediction import RegressionPlan, RegressionPrediction, error_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"draw": "#0072B2", "noisy": "#009E73", "exact": "#333333", "naive": "#D55E00", "note": "#666666"}


def draw(plan: Plan, path: str | Path) -> Path:
    """Write the picture in the format that the path's ending names."""
    labels = [f"{row.name}\n{row.knob} = {row.value:.4g}" for row in plan.rows]
    figure, (left, right) = _sheet(plan, labels, type(plan.model).__name__, ())
    for y, row in enumerate(plan.rows):
        _bar(left, y, row, row.error)
        left.plot(row.absolute, y, marker="|", ms=14, mew=2, color="white")
        _bar(right, y, row, row.honest_width)
        if row.width is not None and row.coverage is not None:
            right.plot([row.width] * 2, [y - 0.36, y + 0.36], color=COLOURS["naive"], lw=2.5)
            words = f"{(row.reading or 'it').replace('_', '-')} covers {row.coverage:.0%}"
            _say(right, max(row.width, row.honest_width), y, words, color=COLOURS["naive"])
    _frame(left, plan.exact.error, None, "root mean square error of the released point")
    left.set_title("dashed: exact posterior mean\nwhite bar: mean absolute error", fontsize=9)
    longest = max(max(row.honest_width, row.width or 0) for row in (*plan.rows, plan.exact))
    _frame(right, plan.exact.honest_width, longest, f"width of a {plan.level:.0%} interval")
    right.set_title("bar: honest interval\norange: credible interval, as read", fontsize=9)
    return _saved(figure, path)


def draw_regression(plan: RegressionPlan, path: str | Path) -> Path:
    """Draw test errors, and widths of the weights' credible intervals."""
    title = f"{type(plan.model).__name__}, {plan.model.dimension} weights"
    labels = [f"{row.name}\n{row.knobs}" for row in plan.rows]
    figure, (left, right) = _sheet(plan, labels, title, plan.cautions)
    for y, row in enumerate(plan.rows):
        _bar(left, y, row, row.error, plan.excess(row)[1])
        if row.width is None or row.coverage is None:
            _say(right, 0, y, "one draw: no interval", color=COLOURS["note"])
            continue
        _bar(right, y, row, row.width)
        _say(right, row.width, y, f"covers {row.coverage:.0%}")
    _frame(left, plan.exact.error, None, error_name(plan.model))
    left.set_title("dashed: without privacy; whiskers: standard error of the difference from it", fontsize=9)
    longest = max(row.width or 0.0 for row in (*plan.rows, plan.exact))
    _frame(right, plan.exact.width or 0.0, longest, f"width of a {plan.level:.0%} interval of a weight")
    right.set_title("dashed: without privacy", fontsize=9)
    return _saved(figure, path)


def _sheet(
    plan: Plan | RegressionPlan, labels: Sequence[str], title: str, cautions: Sequence[str]
) -> tuple[Figure, tuple[Axes, Axes]]:
    """Return a figure of two panels that share their rows, with its words."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - heavy, on use
    except ImportError:
        raise ImportError("a picture needs matplotlib: pip install 'discreet[plots]'") from None
    figure = Figure(figsize=(11, 2.1 + 0.5 * max(len(labels), 2)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    left.set_yticks(range(len(labels)), labels)
    left.invert_yaxis()
    below = textwrap.shorten(f"expected over {plan.assumed}", 120, placeholder=" …")
    figure.suptitle(f"{title}, n = {plan.n:,}, target {plan.target}\n{below}", fontsize=11)
    refused = ", ".join(refusal.name for refusal in plan.refused)
    notes = ([f"cannot meet the target: {refused}"] if refused else []) + list(cautions)
    if notes:
        words = "\n".join(textwrap.fill(note, 130) for note in notes)
        figure.supxlabel(words, fontsize=8.5, color=COLOURS["note"])
    return figure, (left, right)


def _bar(
    axes: Axes, y: int, row: Prediction | RegressionPrediction, value: float, error: float | None = None
) -> None:
    axes.barh(
        y, value, height=0.55, color=COLOURS["draw" if row.width is None else "noisy"], alpha=0.85, xerr=error
    )


def _say(axes: Axes, x: float, y: int, words: str, color: str = "black") -> None:
    axes.annotate(
        words, (x, y), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8.5, color=color
    )


def _frame(axes: Axes, exact: float, longest: float | None, label: str) -> None:
    axes.axvline(exact, color=COLOURS["exact"], ls="--", lw=1.3)
    axes.set(xlabel=label, xlim=(0, None if longest is None else 1.3 * longest))
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)


def _saved(figure: Figure, path: str | Path) -> Path:
    figure.savefig(Path(path), dpi=130)
    return Path(path)
