"""A picture of what can be told: the number of answers against distances, and against the least error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.under_metric.distinguishing import Told, told_after
from discreet.privacy.under_metric.lipschitz import Lipschitz

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAILURE = 0.05
COLOURS = ("#0072B2", "#D55E00")
STEPS = 40


def told(lipschitz: Lipschitz, far: float, *, most: int = 1000, failure: float = FAILURE) -> list[Told]:
    """Say what can be told after 1, …, `most` answers of one mechanism, evenly in the logarithm."""
    counts = np.unique(np.round(np.geomspace(1, most, STEPS)).astype(int)).tolist()
    return [told_after(lipschitz.constant, lipschitz.one_draw, far, count, failure) for count in counts]


def draw_told(
    lipschitz: Lipschitz, path: str | Path, *, far: float, most: int = 1000, failure: float = FAILURE
) -> Path:
    """Draw queries against what can be told, and write it in the format that the path's ending names."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - heavy, on use
    except ImportError:
        raise ImportError("a picture needs matplotlib: pip install 'discreet[plots]'") from None
    rows = told(lipschitz, far, most=most, failure=failure)
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    counts = [row.draws for row in rows]
    left.loglog(counts, [row.frequencies for row in rows], color=COLOURS[0])
    left.axhline(far, color=COLOURS[1], ls="--", lw=1)
    left.annotate(
        f"distance {far:g}", (counts[0], far), xytext=(2, 4), textcoords="offset points", fontsize=9
    )
    _label(left, "distance told", f"frequencies tell nothing nearer, with probability {1 - failure:.0%}")
    right.semilogx(counts, [row.error for row in rows], color=COLOURS[0])
    right.set_ylim(0, 0.52)
    _label(right, "probability of error, at least", f"no test guesses better between tables {far:g} apart")
    figure.suptitle(f"{lipschitz.words}; {lipschitz.metric.words}; L = {lipschitz.constant:.4g}", fontsize=10)
    figure.savefig(Path(path), dpi=130)
    return Path(path)


def _label(axes: Axes, what: str, title: str) -> None:
    axes.set(xlabel="answers", ylabel=what)
    axes.set_title(title, fontsize=9)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
