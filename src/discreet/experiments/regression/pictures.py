"""Pictures of the regression experiment: mean over seeds ± two standard errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.experiments.regression.methods import NOT_PRIVATE, STYLES
from discreet.experiments.thesis.figure import finish, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MEASURES = ((7, "test error"), (8, "negative log-likelihood\na record (nats)"))
MOST = 1.6  # what is far worse than guessing leaves the panel
CHANCE = {7: 0.5, 8: float(np.log(2))}
Rows = Any  # rows as glm_run.TITLES names them


def renyi(rows: Rows, measure: int, wholes: dict[str, int], path: Path) -> Path:
    """One draw at each Rényi order: a row of panels a task, a column an order."""
    tasks, orders = _distinct(rows, 0), [order for order in _distinct(rows, 4) if order]
    figure = new_figure(3.4 * len(orders) + 0.6, 2.5 * len(tasks) + 0.9)
    grid = figure.subplots(len(tasks), len(orders), sharey="row", squeeze=False)
    column, name = MEASURES[measure]
    for task, line in zip(tasks, grid, strict=True):
        for axes, order in zip(line, orders, strict=True):
            _panel(axes, [row for row in rows if row[0] == task and row[4] in {order, 0.0}], column)
        line[0].set_ylabel(f"{task}\n{name}")
        line[1].set_title(_named(rows, task, wholes), fontsize=9)
    for axes, order in zip(grid[-1], orders, strict=True):
        limit = ", the KL divergence" if order == 1 else ""
        axes.set_xlabel(f"ε of Rényi order {order:g}{limit}")
    return _finished(figure, grid, _said(rows), path)


def approximate(rows: Rows, delta: float, wholes: dict[str, int], path: Path) -> Path:
    """Every mechanism at (ε, δ): a column a task."""
    tasks = _distinct(rows, 0)
    figure = new_figure(max(8.4, 3.7 * len(tasks) + 0.6), 6.2)
    grid = figure.subplots(2, len(tasks), sharex=True, squeeze=False)
    for t, task in enumerate(tasks):
        for (column, name), axes in zip(MEASURES, grid[:, t], strict=True):
            _panel(axes, [row for row in rows if row[0] == task], column)
            if t == 0:
                axes.set_ylabel(name)
        grid[0, t].set_title(_named(rows, task, wholes), fontsize=10)
        grid[1, t].set_xlabel(f"ε at δ = {delta:g}")
    return _finished(figure, grid, _said(rows), path)


def _said(rows: Rows) -> str:
    seeds = len(_distinct(rows, 6))
    return f"mean over {seeds} seeds ± 2 standard errors; one record replaced, n public"


def _panel(axes: Axes, rows: Rows, column: int) -> None:
    """Every method's curve, and what guessing gets."""
    for method, style in STYLES.items():
        mine = [row for row in rows if row[3] == method]
        if not mine:
            continue
        if method == NOT_PRIVATE:
            axes.axhline(
                np.mean([row[column] for row in mine]), color=style.ink, lw=1.2, ls="--", label=style.title
            )
            continue
        epsilons = sorted(_distinct(mine, 5))
        each = [np.array([row[column] for row in mine if row[5] == epsilon]) for epsilon in epsilons]
        mean = np.array([values.mean() for values in each])
        error = np.array([values.std(ddof=min(1, len(values) - 1)) / np.sqrt(len(values)) for values in each])
        axes.errorbar(
            epsilons,
            mean,
            2 * error,
            fmt=f"-{style.mark}",
            color=style.ink,
            ms=4,
            lw=1.3,
            capsize=2,
            label=style.title,
        )
    drawn = [row[5] for row in rows if row[3] != NOT_PRIVATE]
    axes.set(xscale="log", xlim=(min(drawn) / 1.6, max(drawn) * 1.6))
    axes.axhline(CHANCE[column], color="#999999", lw=0.8, ls=":")


def _named(rows: Rows, task: str, wholes: dict[str, int]) -> str:
    """Say how many of the records to train on were taken, where not all."""
    n, d = next((row[1], row[2]) for row in rows if row[0] == task)
    of = f" of {wholes[task]}" if n < wholes[task] else ""
    return f"{task} (n = {n}{of}, d = {d})"


def _distinct(rows: Rows, column: int) -> list[Any]:
    return list(dict.fromkeys(row[column] for row in rows))


def _finished(figure: Figure, grid: NDArray[Any], title: str, path: Path) -> Path:
    figure.suptitle(title, fontsize=10)
    every: dict[str, Any] = {}
    for axes in grid.flat:
        axes.set_ylim(top=min(axes.get_ylim()[1], MOST))
        handles, labels = axes.get_legend_handles_labels()
        every |= dict(zip(labels, handles, strict=True))
    figure.legend(
        every.values(), every.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=9
    )
    return finish(figure, path)
