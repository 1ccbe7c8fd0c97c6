"""Pictures of shapes, and names of their bins; needs matplotlib: pip install 'discreet[plots]'."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.learn.trees.columns import Columns
from discreet.models.margin_losses import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Shape: TypeAlias = tuple[str, Floats, Floats, Columns, int]  # name, means, deviations, and which column it is
BESIDE = 3  # pictures in a row
FAR = 1.645  # deviations of a 90 % band


def shape_names(columns: Columns, names: Sequence[str], bins: int, outputs: Sequence[str]) -> tuple[str, ...]:
    """Name every bin by its column and ends, or its code, and by the class where there are several."""
    said = []
    for j, name in enumerate(names):
        if columns.categorical[j]:
            places = [f"{name} = {columns.lower[j] + k:g}" for k in range(int(columns.levels[j]))]
        else:
            ends = columns.edges(j, bins)
            places = [f"{name} in [{a:.6g}, {b:.6g}]" for a, b in pairwise(ends.tolist())]
        said += [f"{place}{f', {output}' if output else ''}" for place in places for output in outputs]
    return tuple(said)


def picture(shapes: Sequence[Shape], bins: int, outputs: Sequence[str]) -> Figure:
    """Draw one small picture for each shape, with a 90 % band."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and heavy

    rows = ceil(len(shapes) / BESIDE)
    figure = Figure(figsize=(3.6 * BESIDE, 2.6 * rows), layout="constrained")
    axes = figure.subplots(rows, BESIDE, squeeze=False).reshape(-1)
    for place, (name, means, deviations, columns, j) in zip(axes, shapes, strict=False):
        coded = columns.categorical[j]
        edges = columns.edges(j, bins)
        x = columns.lower[j] + np.arange(len(means)) if coded else (edges[:-1] + edges[1:]) / 2
        for k, output in enumerate(outputs):
            mean, far = means[:, k], FAR * deviations[:, k]
            if coded:
                place.errorbar(x, mean, yerr=far, fmt="o", label=output)
            else:
                place.plot(x, mean, label=output)
                place.fill_between(x, mean - far, mean + far, alpha=0.2)
        place.axhline(0, linewidth=0.5, color="grey")
        place.set_title(name)
    for place in axes[len(shapes) :]:
        place.set_visible(False)
    if len(outputs) > 1:
        axes[0].legend()
    return figure
