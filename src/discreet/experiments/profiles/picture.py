"""A picture of a profile graph: each profile as a bar chart, sensitive pairs joined by lines."""

from __future__ import annotations

import math
from pathlib import Path

from discreet.experiments.thesis.figure import new_figure
from discreet.privacy.profile_graph import ProfileGraph

WIDTH, HEIGHT, MARGIN = 0.2, 0.13, 0.035


def draw_graph(graph: ProfileGraph, path: Path) -> Path:
    """Place the profiles on a circle, which shows any graph that people draw by hand."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - heavy

    figure = new_figure(7.5, 6.4)
    ground = figure.add_axes((0, 0, 1, 1))
    ground.set(xlim=(0, 1), ylim=(0, 1))
    ground.axis("off")
    k = len(graph.profiles)
    turns = [math.pi / 2 - 2 * math.pi * i / k for i in range(k)]
    spots = [(0.5 + 0.34 * math.cos(t), 0.5 + 0.34 * math.sin(t)) for t in turns]
    for i, j in graph.edges:
        (a, b), (c, d) = spots[i], spots[j]
        ground.plot([a, c], [b, d], color="#D55E00", linewidth=2, zorder=1)
    top = 1.15 * max(float(p) for law in graph.profiles for p in law)
    for name, law, (x, y) in zip(graph.names, graph.profiles, spots, strict=True):
        card = (x - WIDTH / 2 - MARGIN / 2, y - HEIGHT / 2 - MARGIN), WIDTH + MARGIN, HEIGHT + 2 * MARGIN
        ground.add_patch(Rectangle(*card, facecolor="w", edgecolor="#999999", zorder=2))
        axes = figure.add_axes((x - WIDTH / 2, y - HEIGHT / 2, WIDTH, HEIGHT))
        axes.bar(range(len(law)), [float(p) for p in law], color="#0072B2")
        axes.set_xticks(range(len(law)), graph.labels, fontsize=7)
        axes.set_yticks([])
        axes.set_ylim(0, top)
        axes.set_title(name, fontsize=9, pad=2)
        axes.grid(visible=False)
        axes.spines[["top", "right", "left"]].set_visible(False)
    figure.set_layout_engine("none")
    figure.savefig(path, dpi=110)
    return path
