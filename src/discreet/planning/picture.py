"""A plan as one picture: errors on the left, intervals on the right, the exact posterior as the yardstick."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.planning import Plan
    from discreet.planning.prediction import Prediction

COLOURS = {"draw": "#0072B2", "noisy": "#009E73", "exact": "#333333", "naive": "#D55E00"}


def draw(plan: Plan, path: str | Path) -> Path:
    """Write the picture in the format that the path's ending names."""
    rows = plan.rows
    figure, (left, right) = new_figure(max(len(rows), 2))
    _errors(left, plan)
    _widths(right, plan)
    left.set_yticks(range(len(rows)), [_tick(row) for row in rows])
    left.invert_yaxis()
    figure.suptitle(
        f"{type(plan.model).__name__}, n = {plan.n:,}, target {plan.target}\n"
        + textwrap.shorten(f"expected over {plan.assumed}", 120, placeholder=" …"),
        fontsize=11,
    )
    if plan.refused:
        names = ", ".join(refusal.name for refusal in plan.refused)
        lines = textwrap.fill(f"cannot meet the target: {names}", 130)
        figure.supxlabel(lines, fontsize=8.5, color="#666666")
    figure.savefig(Path(path), dpi=130)
    return Path(path)


def new_figure(rows: int) -> tuple[Any, tuple[Any, Any]]:
    """Return a figure of two panels that share their rows."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - heavy, on use
    except ImportError:
        raise ImportError("a picture needs matplotlib: pip install 'discreet[plots]'") from None
    from matplotlib.figure import Figure  # noqa: PLC0415

    del mpl
    figure = Figure(figsize=(11, 2.1 + 0.5 * rows), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    return figure, (left, right)


def _tick(row: Prediction) -> str:
    return f"{row.name}\n{row.knob} = {row.value:.4g}"


def _colour(row: Prediction) -> str:
    return COLOURS["draw" if row.width is None else "noisy"]


def _errors(axes: Any, plan: Plan) -> None:  # noqa: ANN401 - matplotlib's
    for y, row in enumerate(plan.rows):
        axes.barh(y, row.error, height=0.55, color=_colour(row), alpha=0.85)
        axes.plot(row.absolute, y, marker="|", ms=14, mew=2, color="white")
    axes.axvline(plan.exact.error, color=COLOURS["exact"], ls="--", lw=1.3)
    axes.set(xlabel="root mean square error of the released point", xlim=(0, None))
    axes.set_title("dashed: exact posterior mean\nwhite bar: mean absolute error", fontsize=9)
    frame(axes)


def _widths(axes: Any, plan: Plan) -> None:  # noqa: ANN401
    for y, row in enumerate(plan.rows):
        axes.barh(y, row.honest_width, height=0.55, color=_colour(row), alpha=0.85)
        if row.width is not None and row.coverage is not None:
            axes.plot([row.width] * 2, [y - 0.36, y + 0.36], color=COLOURS["naive"], lw=2.5)
            axes.annotate(
                f"{(row.reading or 'it').replace('_', '-')} covers {row.coverage:.0%}",
                (max(row.width, row.honest_width), y),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                color=COLOURS["naive"],
            )
    axes.axvline(plan.exact.honest_width, color=COLOURS["exact"], ls="--", lw=1.3)
    longest = max(max(row.honest_width, row.width or 0) for row in (*plan.rows, plan.exact))
    axes.set(xlabel=f"width of a {plan.level:.0%} interval", xlim=(0, 1.3 * longest))
    axes.set_title("bar: honest interval\norange: credible interval, as read", fontsize=9)
    frame(axes)


def frame(axes: Any) -> None:  # noqa: ANN401
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
