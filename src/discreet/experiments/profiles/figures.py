"""What hiding the source costs, beside hiding the value: pictures of our own, with profiles of our own.

The thesis' figures as it captions them stand in `captions.py`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.experiments.thesis.figure import LADDER, finish, new_figure, write_numbers
from discreet.mechanisms.local.profile_bits import OneBitCluster, SmoothOneBit, TwoProfileBit
from discreet.mechanisms.local.profile_categorical import (
    EXPECTED_CORRUPTION,
    KEEP,
    LARGEST_ERROR,
    Objective,
    SmoothCategorical,
)
from discreet.privacy.profile_graph import ProfileGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COUPLETS = ((0.1, 0.2), (0.1, 0.5), (0.1, 0.9), (0.4, 0.6))
VALUES = ("idle", "light", "heavy", "burst")
USAGE = ProfileGraph.of(
    {
        "reception": [0.50, 0.40, 0.08, 0.02],
        "accounting": [0.35, 0.45, 0.17, 0.03],
        "analysis": [0.25, 0.30, 0.35, 0.10],
        "engineering": [0.20, 0.25, 0.30, 0.25],
        "rendering": [0.30, 0.05, 0.15, 0.50],
    },
    [
        ("reception", "accounting"),
        ("accounting", "analysis"),
        ("analysis", "engineering"),
        ("engineering", "rendering"),
    ],
    labels=VALUES,
)
OBJECTIVES: dict[str, Objective] = {
    "keep": KEEP,
    "expected corruption": EXPECTED_CORRUPTION,
    "largest error": LARGEST_ERROR,
}

METHODS = (*OBJECTIVES, "k-ary randomised response")
COLOURS = ("#0072B2", "#009E73", "#D55E00", "#333333")


def epsilons(quick: bool) -> list[float]:  # noqa: FBT001
    return [0.2, 0.5, 1.0, 2.0] if quick else np.round(np.geomspace(0.05, 3, 25), 4).tolist()


def warner(epsilon: float) -> float:
    return 1 / (1 + math.exp(epsilon))


def figures(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001 - no randomness here
    """Draw all of them."""
    return (
        *couplet(out, epsilons(quick)),
        *chain(out, "chain-6", 6, epsilons(quick)),
        *chain(out, "chain-21", 21, epsilons(quick)),
        *outputs(out),
        *usage(out, epsilons(quick)),
        *kernels(out),
        *graph_picture(out),
    )


def couplet(out: Path, grid: list[float]) -> tuple[Path, ...]:
    """Draw the flip that two Bernoulli profiles need, against ε."""
    rows = [
        (low, high, e, TwoProfileBit.solve(ProfileGraph.chain([low, high]), e).flip[0], warner(e))
        for low, high in COUPLETS
        for e in grid
    ]
    figure = new_figure(6.4, 4.2)
    axes = figure.subplots()
    for colour, (low, high) in zip(LADDER, COUPLETS, strict=False):
        mine = [r for r in rows if r[:2] == (low, high)]
        axes.plot([r[2] for r in mine], [r[3] for r in mine], color=colour, label=f"{low} and {high}")
    axes.plot(grid, [warner(e) for e in grid], "--", color="#333333", label="randomised response")
    _labelled(axes, "Two Bernoulli profiles", "flip probability α")
    numbers = write_numbers(
        out / "couplet.csv", ("p_i", "p_j", "epsilon", "flip", "randomised_response"), rows
    )
    return finish(figure, out / "couplet.png"), numbers


def chain(out: Path, name: str, k: int, grid: list[float]) -> tuple[Path, ...]:
    """Draw the flips of k evenly spaced profiles, each sensitive against the next."""
    graph = ProfileGraph.chain([Fraction(i, k - 1) for i in range(k)])
    rows = []
    for e in grid:
        smooth, cluster = SmoothOneBit.solve(graph, e).flip, OneBitCluster.solve(graph, e).flip
        rows.append((e, max(smooth), float(np.mean(smooth)), max(cluster), warner(e)))
    figure = new_figure(6.4, 4.2)
    axes = figure.subplots()
    titles = ("smooth, largest", "smooth, mean", "cluster", "randomised response")
    for column, (title, colour, style) in enumerate(
        zip(titles, ("#0072B2", "#56B4E9", "#D55E00", "#333333"), ("-", ":", "-", "--"), strict=True), start=1
    ):
        axes.plot([r[0] for r in rows], [r[column] for r in rows], style, color=colour, label=title)
    _labelled(axes, f"A chain of {k} Bernoulli profiles", "flip probability α")
    titles_csv = ("epsilon", "smooth_max", "smooth_mean", "cluster", "randomised_response")
    return finish(figure, out / f"{name}.png"), write_numbers(out / f"{name}.csv", titles_csv, rows)


def outputs(out: Path, epsilon: float = 0.5) -> tuple[Path, ...]:
    """Draw what an onlooker sees of each profile of the chain of 21."""
    graph = ProfileGraph.chain([Fraction(i, 20) for i in range(21)])
    known = [float(law[1]) for law in graph.profiles]
    made = {"smooth": SmoothOneBit.solve(graph, epsilon), "cluster": OneBitCluster.solve(graph, epsilon)}
    seen = {name: [float(q[1]) for q in m.outputs] for name, m in made.items()}
    seen["randomised response"] = [p + warner(epsilon) * (1 - 2 * p) for p in known]
    figure = new_figure(6.4, 4.2)
    axes = figure.subplots()
    for (name, values), colour in zip(seen.items(), ("#0072B2", "#D55E00", "#333333"), strict=True):
        axes.plot(known, values, "o-", markersize=3, color=colour, label=name)
    axes.plot([0, 1], [0, 1], color="#BBBBBB", linewidth=0.8, label="the truth")
    axes.set(xlabel="P(1) of the profile", ylabel="P(1) of what is released")
    axes.set_title(f"What is left to see, ε = {epsilon}")
    axes.legend(frameon=False, fontsize=9)
    rows = list(zip(known, *seen.values(), strict=True))
    numbers = write_numbers(out / "outputs.csv", ("profile", *seen), rows)
    return finish(figure, out / "outputs.png"), numbers


def kary(epsilon: float) -> float:
    """Return the share of observations that k-ary randomised response changes."""
    return 1 - math.exp(epsilon) / (math.exp(epsilon) + len(VALUES) - 1)


def usage(out: Path, grid: list[float]) -> tuple[Path, ...]:
    """Draw how many observations of resource usage are changed, and how often at worst."""
    rows = []
    for e in grid:
        for name, objective in OBJECTIVES.items():
            made = SmoothCategorical.solve(USAGE, e, objective=objective)
            rows.append((e, name, float(made.corruption().mean()), 1 - made.keep))
        rows.append((e, "k-ary randomised response", kary(e), kary(e)))
    written: list[Path] = []
    for name, column, title, label in (
        ("usage-changed", 2, "Changed observations", "share changed, mean over profiles"),
        ("usage-most-changed", 3, "The most changed observation", "largest P(changed | observed)"),
    ):
        figure = new_figure(6.4, 4.2)
        axes = figure.subplots()
        for method, colour in zip(METHODS, COLOURS, strict=True):
            mine = [r for r in rows if r[1] == method]
            style = "--" if method.startswith("k-ary") else "-"
            axes.plot([r[0] for r in mine], [r[column] for r in mine], style, color=colour, label=method)
        _labelled(axes, title, label)
        written.append(finish(figure, out / f"{name}.png"))
    titles = ("epsilon", "objective", "mean_changed", "most_changed")
    return (*written, write_numbers(out / "usage.csv", titles, rows))


def kernels(out: Path, epsilon: float = 0.2) -> tuple[Path, ...]:
    """Draw the kernel of every profile, for each objective."""
    made = {name: SmoothCategorical.solve(USAGE, epsilon, objective=o) for name, o in OBJECTIVES.items()}
    figure = new_figure(11, 6.4)
    panels = figure.subplots(len(made), len(USAGE.names))
    for j, (name, mechanism) in enumerate(made.items()):
        for i, axes in enumerate(panels[j]):
            matrix = mechanism.kernels.matrix(i)
            shown = axes.imshow(matrix, vmin=0, vmax=1, cmap="cividis")
            axes.set_xticks(range(4), VALUES if j == len(made) - 1 else [""] * 4, rotation=60, fontsize=7)
            axes.set_yticks(range(4), VALUES if i == 0 else [""] * 4, fontsize=7)
            axes.set_title(USAGE.names[i] if j == 0 else "", fontsize=9)
            if i == 0:
                axes.set_ylabel(name, fontsize=9)
            for (y, x), value in np.ndenumerate(matrix):
                ink = "w" if value < 0.6 else "k"
                axes.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=6, color=ink)
    figure.colorbar(shown, ax=panels, shrink=0.6, label="P(released | observed)")
    figure.suptitle(f"Kernels at ε = {epsilon}: rows observed, columns released")
    path = out / "kernels.png"
    figure.savefig(path, dpi=110)
    rows = [
        (name, USAGE.names[i], VALUES[x], *matrix_row)
        for name, mechanism in made.items()
        for i in range(len(USAGE.names))
        for x, matrix_row in enumerate(mechanism.kernels.matrix(i).tolist())
    ]
    return path, write_numbers(out / "kernels.csv", ("objective", "profile", "observed", *VALUES), rows)


def graph_picture(out: Path) -> tuple[Path, ...]:
    """Draw the graph itself: profiles as bars, sensitive pairs as lines."""
    from discreet.experiments.profiles.picture import draw_graph  # noqa: PLC0415 - one picture of its own

    return (draw_graph(USAGE, out / "profile-graph.png"),)


def _labelled(axes: Axes, title: str, label: str) -> None:
    axes.set(xlabel="ε", ylabel=label, xscale="log")
    axes.set_ylim(bottom=0)
    axes.set_title(title)
    axes.legend(frameon=False, fontsize=9)
