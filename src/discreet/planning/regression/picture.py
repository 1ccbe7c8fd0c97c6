"""A plan of a regression as one picture: errors on the left, intervals of the weights on the right."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.planning.picture import COLOURS, frame, new_figure
from discreet.planning.regression.worlds import error_name

if TYPE_CHECKING:
    from discreet.planning.regression.prediction import RegressionPlan, RegressionPrediction


def draw(plan: RegressionPlan, path: str | Path) -> Path:
    """Write the picture in the format that the path's ending names."""
    rows = plan.rows
    figure, (left, right) = new_figure(max(len(rows), 2))
    _errors(left, plan)
    _widths(right, plan)
    left.set_yticks(range(len(rows)), [f"{row.name}\n{row.knobs}" for row in rows])
    left.invert_yaxis()
    title = (
        f"{type(plan.model).__name__}, {plan.model.dimension} weights, n = {plan.n:,}, target {plan.target}"
    )
    below = textwrap.shorten(f"expected over {plan.assumed}", 120, placeholder=" …")
    figure.suptitle(f"{title}\n{below}", fontsize=11)
    notes = [f"cannot meet the target: {', '.join(r.name for r in plan.refused)}"] if plan.refused else []
    words = "\n".join(textwrap.fill(note, 130) for note in (*notes, *plan.cautions))
    if words:
        figure.supxlabel(words, fontsize=8.5, color="#666666")
    figure.savefig(Path(path), dpi=130)
    return Path(path)


def _colour(row: RegressionPrediction) -> str:
    return COLOURS["draw" if row.width is None else "noisy"]


def _errors(axes: Any, plan: RegressionPlan) -> None:  # noqa: ANN401 - matplotlib's
    for y, row in enumerate(plan.rows):
        axes.barh(y, row.error, height=0.55, color=_colour(row), alpha=0.85, xerr=plan.excess(row)[1])
    axes.axvline(plan.exact.error, color=COLOURS["exact"], ls="--", lw=1.3)
    axes.set(xlabel=error_name(plan.model), xlim=(0, None))
    axes.set_title("dashed: without privacy; whiskers: standard error of the difference from it", fontsize=9)
    frame(axes)


def _widths(axes: Any, plan: RegressionPlan) -> None:  # noqa: ANN401
    for y, row in enumerate(plan.rows):
        if row.width is None or row.coverage is None:
            axes.annotate(
                "one draw: no interval",
                (0, y),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                color="#666666",
            )
            continue
        axes.barh(y, row.width, height=0.55, color=_colour(row), alpha=0.85)
        axes.annotate(
            f"covers {row.coverage:.0%}",
            (row.width, y),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
        )
    axes.axvline(plan.exact.width, color=COLOURS["exact"], ls="--", lw=1.3)
    longest = max([row.width or 0.0 for row in plan.rows] + [plan.exact.width or 0.0])
    axes.set(xlabel=f"width of a {plan.level:.0%} interval of a weight", xlim=(0, 1.3 * longest))
    axes.set_title("dashed: without privacy", fontsize=9)
    frame(axes)
