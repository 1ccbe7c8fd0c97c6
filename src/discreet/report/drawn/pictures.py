"""The pictures of several numbers: a line each, with its interval, its draws, or its share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.families.family import Floats
from discreet.report.drawn.svg import (
    Axis,
    bottom_axis,
    box,
    cut_to_room,
    diamond,
    legend,
    line,
    responsive,
    tick_teller,
    words,
)
from discreet.report.markup import Html, joined
from discreet.report.numbers import places_for, shown
from discreet.report.subject import Group, Summary, shown_first

MOST_ROWS = 12
ROOM = 1.2  # shown of the priors on either side, in posteriors; more is cut, and the caption says so


# --- intervals and draws ------------
@final
@dataclass(frozen=True)
class Row:
    """One line of an interval picture."""

    label: str
    said: str
    prior: tuple[float, float] | None
    interval: tuple[float, float] | None
    marks: tuple[float, ...]


def forest(
    name: str, group: Group, prior: Summary, posterior: Summary, *, most: int = MOST_ROWS
) -> tuple[Html, bool]:
    """Draw an interval for each coordinate, the prior's beneath it; and say whether a prior was cut."""
    chosen = shown_first(group, posterior.mean, most)
    places = places_for(posterior.widths[chosen])
    rows = [
        Row(
            group.labels[i],
            " to ".join(shown(float(end), places, percent=group.percent) for end in posterior.interval[i]),
            _pair(prior.interval[i]),
            _pair(posterior.interval[i]),
            (float(posterior.mean[i]),),
        )
        for i in chosen
    ]
    keys = [("line", "bar", "90 % interval"), ("tick", "point", "mean"), ("line", "prior-bar", "prior")]
    limits = _limits(posterior.interval[chosen], prior.interval[chosen])
    cut = bool(prior.interval[chosen].min() < limits[0] or prior.interval[chosen].max() > limits[1])
    return _rows(name, group, rows, keys, limits), cut


def drawn_rows(name: str, group: Group, prior: Summary, draws: Floats, *, most: int = MOST_ROWS) -> Html:
    """Draw what was released for each coordinate, on the prior's interval."""
    part = draws[:, group.first : group.stop]
    chosen = shown_first(group, part.mean(axis=0), most)
    places = places_for(prior.widths[chosen])
    rows = [
        Row(
            group.labels[i],
            ", ".join(shown(float(t), places + 1, percent=group.percent) for t in part[:2, i])
            + (" …" if len(part) > 2 else ""),
            _pair(prior.interval[i]),
            None,
            tuple(map(float, part[:, i])),
        )
        for i in chosen
    ]
    keys = [("diamond", "draw", "released draw"), ("line", "prior-bar", "prior, 90 %")]
    seen = np.stack([part[:, chosen].min(axis=0), part[:, chosen].max(axis=0)], axis=-1)
    return _rows(name, group, rows, keys, _limits(np.concatenate([seen, prior.interval[chosen]]), None))


def _pair(ends: Floats) -> tuple[float, float]:
    return float(ends[0]), float(ends[1])


def _limits(must: Floats, may: Floats | None) -> tuple[float, float]:
    """Show all that must be seen, and of the prior as much as leaves it readable."""
    low, high = float(must.min()), float(must.max())
    room = (high - low or abs(high) or 1.0) * ROOM
    if may is not None:
        low = min(low, max(float(may.min()), low - room))
        high = max(high, min(float(may.max()), high + room))
    pad = 0.03 * (high - low or abs(high) or 1.0)
    start = 0.0 if 0 <= low < 0.25 * high else low - pad
    return start, high + pad


def _rows(
    name: str, group: Group, rows: list[Row], keys: list[tuple[str, str, str]], limits: tuple[float, float]
) -> Html:
    def draw(width: int) -> tuple[float, Html]:
        across, bottom = Axis(*limits, 8, width - 8), 34 + 40 * len(rows)
        parts = [
            bottom_axis(across, bottom, 30, tick_teller(across, percent=group.percent), group.axis),
            legend(keys, 8, 16),
            line(across.at(0), 30, across.at(0), bottom, "axis") if limits[0] < 0 < limits[1] else Html(""),
        ]
        parts += [_row(row, across, 34 + 40 * i, width) for i, row in enumerate(rows)]
        return bottom + 44, joined(parts)

    story = "; ".join(f"{row.label}: {row.said}" for row in rows)
    return responsive(name, f"{group.axis}, one line each", story, draw)


def _row(row: Row, across: Axis, top: float, width: int) -> Html:
    y = top + 28
    parts: list[Html] = []
    if row.prior is not None:
        parts.append(line(across.at(row.prior[0]), y + 6, across.at(row.prior[1]), y + 6, "prior-bar"))
    if row.interval is not None:
        parts.append(line(across.at(row.interval[0]), y, across.at(row.interval[1]), y, "bar"))
        parts += [
            line(across.at(mark), y - 6, across.at(mark), y + 6, "point")
            for mark in row.marks
            if math.isfinite(mark)
        ]
    else:
        parts += [diamond(across.at(mark), y, 6, "draw") for mark in row.marks]
    room = width - 16 - 7.4 * len(row.said) - 16
    label = [
        words(8, top + 17, cut_to_room(row.label, room), "label"),
        words(width - 8, top + 17, row.said, "value", "end"),
    ]
    return joined([*parts, *label])


# --- shares, one bar each ------------
def bars(name: str, title: str, rows: list[tuple[str, float]]) -> Html:
    """Draw a probability for each name."""
    longest = max(share for _, share in rows) or 1.0

    def draw(width: int) -> tuple[float, Html]:
        parts: list[Html] = []
        for i, (label, share) in enumerate(rows):
            top, said = 34.0 * i, f"{100 * share:.1f} %"
            parts += [
                words(8, top + 15, cut_to_room(label, width - 90), "label"),
                words(width - 8, top + 15, said, "value", "end"),
                box(8, top + 20, max(2.0, (width - 16) * share / longest), 8, "fill", corner=4),
            ]
        return 34.0 * len(rows) + 4, joined(parts)

    story = "; ".join(f"{label}: {100 * share:.1f} %" for label, share in rows)
    return responsive(name, title, story, draw)
