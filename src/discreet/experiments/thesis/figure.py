"""How every reproduced figure looks, and how its numbers are written beside it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from discreet.families.family import Floats
from discreet.mechanisms.posterior.tempered_laws import TruncatedPosterior
from discreet.privacy.arithmetic.ball import precision
from discreet.privacy.worst_pairs.tempered_posterior import log_normaliser

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Okabe and Ito's colours, told apart by every kind of colour vision; a mechanism keeps its own everywhere
COLOURS = {
    "exact posterior": "#333333",
    "diffused": "#0072B2",
    "concentrated": "#D55E00",
    "one posterior sample": "#CC79A7",
    "noisy statistics": "#009E73",
    "bound": "#999999",
}
LADDER = ("#440154", "#414487", "#2A788E", "#22A884", "#7AD151", "#D4A800")  # a knob from weak to full


@cache
def legendre(nodes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gauss–Legendre nodes and weights on [−1, 1]; finding them takes longer than using them."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    return x, w


def write_numbers(path: Path, titles: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    """Write a CSV of full doubles: what the picture shows, and what the tests read back."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(titles)
        writer.writerows(rows)
    return path


def new_figure(width: float, height: float) -> Figure:
    """Return a figure that touches no global state: no pyplot, no display."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - heavy, and an extra
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "pictures need matplotlib, which is not installed; run: pip install 'discreet[plots]'"
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def finish(figure: Figure, path: Path) -> Path:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(visible=True, which="major", color="#DDDDDD", linewidth=0.6)
        axes.set_axisbelow(True)
    figure.savefig(path, dpi=110)
    return path


def legend_beside(figure: Figure, axes: Axes, title: str | None = None) -> None:
    """Put the legend right of the axes, where no data can be."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside right upper", frameon=False, fontsize=9, title=title, title_fontsize=9
    )


# ── Moments and densities of a truncated Beta law, from certified normalisers.
def moments(law: TruncatedPosterior) -> tuple[float, float]:
    """Mean and variance of θ."""
    (a, b), low, high = law.entries, law.lower, 1 - law.lower
    with precision(128):
        whole = log_normaliser(a, b, low, high)
        first, second = ((log_normaliser(a + k, b, low, high) - whole).exp() for k in (1, 2))
        return float(first), float(second - first * first)


def absolute_error(law: TruncatedPosterior, p: Fraction) -> float:
    """E|θ − p| = 2(p·P(θ<p) − E[θ; θ<p]) + E θ − p."""
    (a, b), low, high = law.entries, law.lower, 1 - law.lower
    with precision(128):
        whole = log_normaliser(a, b, low, high)
        below, partial = ((log_normaliser(a + k, b, low, p) - whole).exp() for k in (0, 1))
        mean = (log_normaliser(a + 1, b, low, high) - whole).exp()
        return float(2 * (float(p) * below - partial) + mean - float(p))


def density(law: TruncatedPosterior, theta: Floats) -> Floats:
    """Density on [a₀, 1−a₀], 0 outside."""
    a, b = law.entries
    inside = (theta >= float(law.lower)) & (theta <= 1 - float(law.lower))
    with precision(128):
        whole = float(log_normaliser(a, b, law.lower, 1 - law.lower))
    return np.where(inside, np.exp(xlogy(float(a) - 1, theta) + xlog1py(float(b) - 1, -theta) - whole), 0.0)
