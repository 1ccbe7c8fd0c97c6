"""Pictures of the hidden Markov case study; what the chains disagree on is drawn, never averaged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.datasets.event_log import FEATURES, EventLog
from discreet.experiments.hidden_markov.held_out import TITLES
from discreet.experiments.hidden_markov.states import EPSILON, SHOWN, STATES, FittedStates
from discreet.experiments.thesis.figure import COLOURS, finish, legend_beside, new_figure
from discreet.families.family import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


INKS = {
    "exact": COLOURS["exact posterior"],
    "noise_aware": COLOURS["diffused"],
    "naive": COLOURS["concentrated"],
    "ops": COLOURS["one posterior sample"],
}
STATE_COLOURS = ("#0072B2", "#E69F00", "#009E73")
DIFFER = "#222222"


def strips(log: EventLog, found: Sequence[FittedStates], path: Path) -> Path:
    """Regions × months, coloured by the likeliest chain's state; dark where other chains say otherwise."""
    from matplotlib.colors import ListedColormap  # noqa: PLC0415 - heavy
    from matplotlib.patches import Patch  # noqa: PLC0415

    figure = new_figure(5.2 * len(STATES), 2.3 * len(SHOWN))
    grid = figure.subplots(len(SHOWN), len(STATES), sharex=True, sharey=True)
    for one in found:
        axes = grid[list(SHOWN).index(one.method), STATES.index(one.states)]
        paths = one.posterior.paths()
        said = np.where((paths != paths[one.likeliest]).any(axis=0), len(STATE_COLOURS), paths[one.likeliest])
        axes.imshow(
            said,
            cmap=ListedColormap([*STATE_COLOURS, DIFFER]),
            vmin=-0.5,
            vmax=len(STATE_COLOURS) + 0.5,
            aspect="auto",
            interpolation="nearest",
        )
        axes.set_title(f"{one.states} states, {one.title}", fontsize=9)
        axes.set_yticks(range(len(log.levels["region"])), log.levels["region"], fontsize=6)
    for axes in grid[-1]:
        axes.set_xlabel("month")
    patches = [Patch(color=ink, label=f"state {k + 1}") for k, ink in enumerate(STATE_COLOURS)]
    figure.legend(
        handles=[*patches, Patch(color=DIFFER, label="chains differ")],
        loc="outside lower center",
        ncols=len(patches) + 1,
        frameon=False,
    )
    figure.suptitle(f"State of each region and month, total ε = {EPSILON:g} — {log.origin}", fontsize=11)
    return _saved(figure, path)


def tables(log: EventLog, found: Sequence[FittedStates], path: Path) -> Path:
    """Emission tables of the largest fit: one row a method, one column a feature, one line a state."""
    largest = [one for one in found if one.states == max(STATES)]
    figure = new_figure(13.5, 2.1 * len(largest) + 0.8)
    widths = [len(levels) + 0.8 for levels in FEATURES.values()]
    grid = figure.subplots(len(largest), len(FEATURES), gridspec_kw={"width_ratios": widths})
    for line, one in zip(grid, largest, strict=True):
        every = one.posterior.emissions()
        for axes, (feature, levels) in zip(line, FEATURES.items(), strict=True):
            _table(axes, every[feature][one.likeliest], levels)
            axes.set_title(feature, fontsize=8)
        apart = max(float(np.ptp(table, axis=0).max()) for table in every.values())
        chains = len(one.posterior.z)
        said = f"chains differ by\nup to {apart:.2f}" if chains > 1 else "1 chain"
        line[0].set_ylabel(f"{SHOWN[one.method]}\n{said}", fontsize=8)
    figure.suptitle(
        f"Events of each of {max(STATES)} states (likeliest chain), total ε = {EPSILON:g} — {log.origin}",
        fontsize=11,
    )
    return _saved(figure, path)


def _table(axes: Axes, table: Floats, levels: Sequence[str]) -> None:
    axes.imshow(table, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (k, j), share in np.ndenumerate(table):
        axes.text(
            j, k, f"{share:.2f}", ha="center", va="center", fontsize=7, color="white" if share > 0.6 else "k"
        )
    axes.set_xticks(range(len(levels)), levels, fontsize=6, rotation=20)
    axes.set_yticks(range(len(table)), [f"{k + 1}" for k in range(len(table))], fontsize=7)


def held_out(log: EventLog, rows: Sequence[Sequence[Any]], path: Path) -> Path:
    """Mean ± sd over splits against ε, and below it how far the chains of a fit agree."""
    figure = new_figure(9.4, 7.4)
    likelihood, agree = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.3))
    fits = [dict(zip(TITLES, row, strict=True)) for row in rows]
    most = max(int(fit["states"]) for fit in fits)
    for states, style in ((most, "-o"), (1, "--s")):
        name = f"{states} states" if states > 1 else "1 state (naive Bayes)"
        for method, ink in INKS.items():
            mine = [fit for fit in fits if fit["states"] == states and fit["method"] == method]
            _curve(likelihood, mine, ink, style, f"{SHOWN[method]}, {name}")
            if states == most and int(mine[0]["chains"]) > 1:
                _agreement(agree, mine, ink)
    splits = len({fit["split"] for fit in fits})
    likelihood.set_ylabel(f"log-likelihood of a record of cells held out\n(mean ± sd over {splits} splits)")
    likelihood.set_title(f"{log.origin}\nbars are splits, shaded is from worst to best chain", fontsize=9)
    agree.set(xscale="log", xlabel="total ε (pure DP, substitution)", ylim=(0, 1.05))
    agree.set_ylabel("least share of cells\non which two chains\nagree (each split)")
    legend_beside(figure, likelihood)
    return finish(figure, path)


def _curve(axes: Axes, fits: Sequence[dict[str, Any]], ink: str, style: str, label: str) -> None:
    epsilons = sorted({float(fit["epsilon"]) for fit in fits})
    scores = ("log_likelihood_per_record", "lowest_chain", "highest_chain")
    each = [
        np.array([[fit[name] for name in scores] for fit in fits if fit["epsilon"] == epsilon])
        for epsilon in epsilons
    ]
    mean = np.array([values[:, 0].mean() for values in each])
    sd = np.array([values[:, 0].std(ddof=min(1, len(values) - 1)) for values in each])
    if math.isinf(epsilons[0]):
        axes.axhline(mean[0], color=ink, lw=1.3, ls=style.rstrip("os"), label=label)
        return
    axes.errorbar(epsilons, mean, sd, fmt=style, color=ink, ms=4, lw=1.4, capsize=2.5, label=label)
    low, high = (np.array([values[:, i].mean() for values in each]) for i in (1, 2))
    axes.fill_between(epsilons, low, high, color=ink, alpha=0.15, lw=0)


def _agreement(axes: Axes, fits: Sequence[dict[str, Any]], ink: str) -> None:
    shares = [(float(fit["epsilon"]), float(fit["least_agreement"])) for fit in fits]
    if math.isinf(shares[0][0]):
        axes.axhline(float(np.mean([share for _, share in shares])), color=ink, lw=1.3)
        return
    axes.plot(*zip(*shares, strict=True), "o", color=ink, ms=4, alpha=0.5)
    epsilons = sorted({epsilon for epsilon, _ in shares})
    axes.plot(
        epsilons, [np.mean([s for e, s in shares if e == epsilon]) for epsilon in epsilons], color=ink, lw=1.2
    )


def _saved(figure: Figure, path: Path) -> Path:
    """Without the grid that `finish` draws: it would lie over the cells."""
    figure.savefig(path, dpi=110)
    return path
