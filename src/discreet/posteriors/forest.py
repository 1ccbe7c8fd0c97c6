"""A posterior as a picture: a point and an interval for each parameter, under its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.posteriors.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COLOUR = "#0a6b6b"
LETTERS = 48  # of a name
MANY = 1000  # released draws


def forest(posterior: Posterior, *, level: float, most: int, ax: Axes | None) -> Axes:
    """Draw the first `most` parameters, from the top down; released draws as points, without intervals."""
    names, axes = posterior.names[:most], ax or _axes(min(len(posterior.names), most))
    places = np.arange(len(names))
    if posterior.reading == "draws":
        for draw in posterior.by_chain(MANY)[0]:
            axes.plot(draw[:most], places, "o", color=COLOUR, alpha=0.6)
        axes.set_xlabel("released draws")
    else:
        ends, mean = posterior.flat_interval(level)[:most], posterior.flat_mean()[:most]
        axes.hlines(places, ends[:, 0], ends[:, 1], color=COLOUR, lw=3, alpha=0.45)
        axes.plot(mean, places, "o", color=COLOUR)
        axes.set_xlabel(f"mean and {level:.0%} interval")
    axes.set_yticks(places, [name if len(name) <= LETTERS else f"{name[:LETTERS]}…" for name in names])
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    left = len(posterior.names) - len(names)
    more = f", {left} more parameters" if left else ""
    axes.set_title(f"{posterior.reading.replace('_', '-')} reading{more}", fontsize=10)
    return axes


def _axes(rows: int) -> Axes:
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - heavy, on use
    except ImportError:
        raise ImportError("a picture needs matplotlib: pip install 'discreet[plots]'") from None
    axes: Axes = plt.subplots(figsize=(7, 1.1 + 0.3 * max(rows, 2)), layout="constrained")[1]
    return axes
