"""One picture: prior, true posterior, and each mechanism's posterior at the same budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import gaussian_kde

from discreet.experiments.adult import AdultQuestion, Answer
from discreet.families.family import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COLOURS = {
    "diffused": "#0072B2",
    "concentrated": "#D55E00",
    "one_posterior_sample": "#CC79A7",
    "noisy_statistics": "#009E73",
}
TRUTH, PRIOR = "#333333", "#999999"


def draw(both: list[tuple[AdultQuestion, list[Answer]]], path: Path) -> Path:
    """Draw densities of the one share on the left, 90 % intervals of the many on the right."""
    import matplotlib as mpl  # noqa: PLC0415 - heavy, on use

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.2), width_ratios=(1, 1.15))
    _densities(left, *both[0])
    _intervals(right, *both[1])
    figure.suptitle("Adult (n = 48 842): every mechanism at ε = 0.5, δ = 10⁻⁶", fontsize=13)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _densities(axes: Axes, question: AdultQuestion, found: list[Answer]) -> None:
    truth = question.model.update(question.statistic, question.n)
    spread = max(answer.draws.std() for answer in found)
    x = np.linspace(truth.mean() - 5 * spread, truth.mean() + 4 * spread, 600)
    axes.fill_between(x, np.exp(truth.log_density(x)), color=TRUTH, alpha=0.18, label="true posterior")
    axes.plot(x, np.exp(question.model.log_density(x)), color=PRIOR, ls=":", label="prior Beta(1, 3)")
    for answer in found:
        axes.plot(x, _density(answer, x), color=COLOURS[answer.name], label=f"{answer.name}, {answer.knob}")
        axes.plot(
            answer.released[0], 0, marker="v", ms=9, color=COLOURS[answer.name], clip_on=False, zorder=5
        )
    axes.set(title=question.text, xlabel="share   (▼ what was released)", ylabel="density", ylim=(0, None))
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")


def _density(answer: Answer, x: Floats) -> Floats:
    density: Floats = gaussian_kde(answer.draws[:, 0])(x)
    return density


def _intervals(axes: Axes, question: AdultQuestion, found: list[Answer]) -> None:
    truth = question.model.update(question.statistic, question.n)
    rows = np.arange(len(question.labels))
    laws = [
        ("prior", PRIOR, question.model.interval(0.9)),
        ("true posterior", TRUTH, truth.interval(0.9)),
    ]
    laws += [(a.name, COLOURS[a.name], np.quantile(a.draws, [0.05, 0.95], axis=0).T) for a in found]
    for k, (name, colour, interval) in enumerate(laws):
        y = rows + (k - (len(laws) - 1) / 2) * 0.13
        low = np.maximum(interval[:, 0], 1e-5)
        axes.hlines(
            y, low, interval[:, 1], color=colour, lw=2.4, ls=":" if name == "prior" else "-", label=name
        )
    axes.set(
        xscale="log", title=f"{question.text}: 90 % intervals", xlabel="share (log scale)", xlim=(1e-5, 1)
    )
    axes.set_yticks(rows, question.labels)
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=8.5, loc="upper left", bbox_to_anchor=(0, 0.78))
