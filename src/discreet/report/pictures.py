"""The pictures of θ: a density for one number, intervals for several, draws where only they were released."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.report.markup import Html, joined
from discreet.report.numbers import places_for, shown
from discreet.report.summary import LEVEL, Summary, shown_first
from discreet.report.svg import (
    Axis,
    area,
    bottom_axis,
    box,
    curve,
    diamond,
    legend,
    line,
    responsive,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.families.family import Family, Floats
    from discreet.report.subject import Group

MOST_ROWS = 12
ROOM = 1.2  # shown of the prior on either side, in posteriors; more is cut, and the caption says so
POINTS = 240


# --- one number ------------
def density(prior: Family, posterior: Family, group: Group) -> tuple[Html, bool]:
    """Draw both laws, the interval marked; and say whether the prior reaches beyond the picture."""
    low, high, cut = span(prior, posterior)
    x = np.linspace(low, high, POINTS + 2)[1:-1]
    before, after = (np.exp(np.clip(law.log_density(x), -700, 700)) for law in (prior, posterior))
    ends, mean = np.ravel(posterior.interval(LEVEL)), float(posterior.mean())
    top = 1.08 * float(after.max())
    say = _teller(group, ends[1] - ends[0])

    def draw(width: int) -> tuple[float, Html]:
        across, up = Axis(low, high, 8, width - 8), Axis(0, top, 250, 34)
        inside = (x >= ends[0]) & (x <= ends[1])
        path = [(across.at(a), up.at(b)) for a, b in zip(x, after, strict=True)]
        parts = [
            bottom_axis(across, 250, 34, _tick_teller(across, group), group.axis),
            area([p for p, keep in zip(path, inside, strict=True) if keep] or path, 250, "interval"),
            curve([(across.at(a), up.at(b)) for a, b in zip(x, before, strict=True)], "prior"),
            curve(path, "posterior"),
            line(across.at(mean), 34, across.at(mean), 250, "mean"),
            line(across.at(ends[0]), 250, across.at(ends[1]), 250, "bar"),
            legend(
                [("line", "posterior", "posterior"), ("line", "prior", "prior"), ("box", "interval", "90 %")],
                8,
                16,
            ),
        ]
        return 294, joined(parts)

    story = (
        f"The posterior has its mean at {say(mean)}; 90 % of it lies between {say(ends[0])} and "
        f"{say(ends[1])}. The prior has its mean at {say(float(prior.mean()))}."
    )
    return responsive("density", f"Prior and posterior: {group.axis}", story, draw), cut


def span(prior: Family, posterior: Family) -> tuple[float, float, bool]:
    """Choose what to show: the posterior, and the prior as far as that leaves it readable."""
    inner, outer = (np.ravel(law.interval(p)) for law, p in ((posterior, 0.9995), (prior, 0.98)))
    room = (inner[1] - inner[0]) * ROOM
    low, high = min(inner[0], max(outer[0], inner[0] - room)), max(inner[1], min(outer[1], inner[1] + room))
    pad = 0.04 * (high - low)
    ends = [end for law in (prior, posterior) for end in np.ravel(law.interval(0.999999))]
    return (
        max(low - pad, min(ends)),
        min(high + pad, max(ends)),
        bool(outer[0] < low - pad or outer[1] > high + pad),
    )


def drawn_on_prior(prior: Family, draws: Floats, group: Group) -> Html:
    """Draw the prior, and what was released upon it."""
    ends = np.ravel(prior.interval(0.998))
    low, high = min(ends[0], draws.min()), max(ends[1], draws.max())
    x = np.linspace(low, high, POINTS + 2)[1:-1]
    before = np.exp(np.clip(prior.log_density(x), -700, 700))
    top = 1.15 * float(np.quantile(before, 0.99))
    say = _teller(group, ends[1] - ends[0])

    def draw(width: int) -> tuple[float, Html]:
        across, up = Axis(low, high, 8, width - 8), Axis(0, top, 210, 34)
        parts = [
            bottom_axis(across, 210, 34, _tick_teller(across, group), group.axis),
            curve([(across.at(a), up.at(b)) for a, b in zip(x, before, strict=True)], "prior"),
            *(line(across.at(t), 60, across.at(t), 210, "draw-stem") for t in draws.ravel()),
            *(diamond(across.at(t), 60, 7, "draw") for t in draws.ravel()),
            legend([("diamond", "draw", "released draw"), ("line", "prior", "prior")], 8, 16),
        ]
        return 254, joined(parts)

    said = ", ".join(say(float(t)) for t in draws.ravel()[:20])
    story = f"Released: {said}. The prior has its mean at {say(float(prior.mean()))}."
    return responsive("draws", f"What was drawn, on the prior: {group.axis}", story, draw)


# --- several numbers ------------
@final
@dataclass(frozen=True)
class Row:
    """One line of an interval picture."""

    label: str
    said: str
    prior: tuple[float, float] | None
    interval: tuple[float, float] | None
    marks: tuple[float, ...]


def forest(name: str, group: Group, prior: Summary, posterior: Summary) -> tuple[Html, bool]:
    """Draw an interval for each coordinate, the prior's beneath it; and say whether a prior was cut."""
    chosen = shown_first(group, posterior.mean, MOST_ROWS)
    places = places_for(posterior.widths[chosen])
    rows = [
        Row(
            group.labels[i],
            " – ".join(shown(float(end), places, percent=group.percent) for end in posterior.interval[i]),
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


def drawn_rows(name: str, group: Group, prior: Summary, draws: Floats) -> Html:
    """Draw what was released for each coordinate, on the prior's interval."""
    part = draws[:, group.first : group.stop]
    chosen = shown_first(group, part.mean(axis=0), MOST_ROWS)
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
            bottom_axis(across, bottom, 30, _tick_teller(across, group), group.axis),
            legend(keys, 8, 16),
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
        words(8, top + 17, fitted(row.label, room), "label"),
        words(width - 8, top + 17, row.said, "value", "end"),
    ]
    return joined([*parts, *label])


def fitted(text: str, room: float) -> str:
    """Cut a label to the room it has; far-eastern letters are twice as wide."""
    used = 0.0
    for i, letter in enumerate(text):
        used += 14 if unicodedata.east_asian_width(letter) in "WF" else 7.6
        if used > room:
            return text[: max(1, i - 1)] + "…"
    return text


# --- shares, one bar each ------------
def bars(name: str, title: str, rows: list[tuple[str, float]]) -> Html:
    """Draw a probability for each name."""
    longest = max(share for _, share in rows) or 1.0

    def draw(width: int) -> tuple[float, Html]:
        parts: list[Html] = []
        for i, (label, share) in enumerate(rows):
            top, said = 34.0 * i, f"{100 * share:.1f} %"
            parts += [
                words(8, top + 15, fitted(label, width - 90), "label"),
                words(width - 8, top + 15, said, "value", "end"),
                box(8, top + 20, max(2.0, (width - 16) * share / longest), 8, "fill", corner=4),
            ]
        return 34.0 * len(rows) + 4, joined(parts)

    story = "; ".join(f"{label}: {100 * share:.1f} %" for label, share in rows)
    return responsive(name, title, story, draw)


# --- how numbers are said ------------
def _teller(group: Group, width: float) -> Callable[[float], str]:
    places = places_for([width])
    return lambda value: shown(float(value), places, percent=group.percent)


def _tick_teller(axis: Axis, group: Group) -> Callable[[float], str]:
    marks = axis.ticks()
    step = marks[1] - marks[0] if len(marks) > 1 else axis.high - axis.low
    return lambda value: tick(value, step, percent=group.percent)


def tick(value: float, step: float, *, percent: bool = False) -> str:
    """Just the digits that tell neighbouring ticks apart."""
    unit, sign = (100.0, " %") if percent else (1.0, "")
    size = max(abs(value), abs(step)) * unit
    if size >= 1e6 or size < 1e-4:
        return f"{value * unit:.3g}{sign}".replace("-", "−")
    places = max(0, -math.floor(math.log10(step * unit) + 1e-9))
    return f"{value * unit:.{places}f}{sign}".replace("-", "−")
