"""Shares of levels within groups: as cells of shade with their intervals, and in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import final

import numpy as np

from discreet.families.family import Floats
from discreet.report.drawn.svg import LINE, cut_to_room, pixels, responsive, several_lines, stacked, words
from discreet.report.markup import Html, element, joined, table
from discreet.report.numbers import decimals, places_for, shown, whole
from discreet.report.subject import quoted

LEVEL = 0.9
MOST_LEVELS, MOST_COLUMNS = 14, 12
PALE, DEEP = 0.05, 0.45  # shades of nothing and of the largest share
CELL = 40.0  # height of a row


@final
@dataclass(frozen=True)
class Shares:
    """One table: shares of the levels within each group."""

    name: str
    groups: tuple[str, ...]  # as a sentence has them: "ward = North", "state 1"
    levels: tuple[str, ...]
    mean: Floats  # (groups, levels)
    interval: Floats  # (groups, levels, 2); NaN where only a draw was released
    given: str = ""  # the columns that the groups are levels of
    heads: tuple[str, ...] = ()  # the groups where `given` stands above them: "North"
    compared: bool = True  # whether a headline may compare the groups

    @property
    def chosen(self) -> list[int]:
        """The largest levels, as many as are shown, in the order of the schema."""
        order = np.argsort(-self.mean.max(axis=0), kind="stable")
        return sorted(int(i) for i in order[:MOST_LEVELS])

    @property
    def columns(self) -> range:
        return range(min(len(self.groups), MOST_COLUMNS))

    @property
    def caption(self) -> str:
        rest = [
            f"{whole(count - most)} more {what}"
            for count, most, what in (
                (len(self.levels), MOST_LEVELS, "levels"),
                (len(self.groups), MOST_COLUMNS, "columns"),
            )
            if count > most
        ]
        return f"Not shown: {' and '.join(rest)}; they are in the release file." if rest else ""


def strips(name: str, one: Shares) -> Html:
    """Draw a row for each level and a column for each group, shaded by the share, the interval beneath it."""

    def draw(width: int) -> tuple[float, Html]:
        left, most = (190.0, 5) if width > 400 else (104.0, 3)
        parts, top = [], 0.0
        for columns in _panels(one.columns, most):
            drawn, height = _panel(one, columns, left, (width - left - 8) / len(columns))
            parts.append(element("g", drawn, transform=f"translate(0 {pixels(top)})"))
            top += height
        return top, joined(parts)

    story = "; ".join(
        f"{one.levels[i]}: {', '.join(f'{100 * one.mean[j, i]:.1f} %' for j in one.columns)}"
        for i in one.chosen
    )
    within = f" within each {one.given or 'column'}" if len(one.groups) > 1 else ""
    ends = ", 90 % intervals" if np.isfinite(one.interval).all() else ""
    title = f"Shares of {quoted(one.name)}{within}{ends}"
    caption = " ".join(filter(None, (f"{title}.", one.caption)))
    return element("figure", responsive(name, title, story, draw), element("figcaption", caption))


def _panels(columns: range, most: int) -> list[range]:
    """Divide columns into panels, one below the other, as even as can be."""
    each = ceil(len(columns) / ceil(len(columns) / most))
    return [columns[i : i + each] for i in range(0, len(columns), each)]


def _panel(one: Shares, columns: range, left: float, each: float) -> tuple[Html, float]:
    """Draw some columns with their headings; return the drawing and its height."""
    parts, start = [stacked(0, LINE, several_lines(one.name, left - 8), "label")], LINE + 10
    if len(one.groups) > 1:
        drawn, start = _headings(one, columns, left, each)
        parts.append(drawn)
    most = float(one.mean.max()) or 1.0
    for row, i in enumerate(one.chosen):
        top, lines = start + CELL * row, several_lines(one.levels[i], left - 8)
        parts.append(stacked(0, top + (23 if len(lines) == 1 else 15), lines, "label"))
        parts += [_cell(one, j, i, most, (left + each * k, top, each - 4)) for k, j in enumerate(columns)]
    return joined(parts), start + CELL * len(one.chosen) + 8


def _headings(one: Shares, columns: range, left: float, each: float) -> tuple[Html, float]:
    """Name the columns, and above them what they are levels of; return where the cells start."""
    heads, parts, top = one.heads or one.groups, [], LINE
    if one.given and one.heads:
        middle = left + each * len(columns) / 2
        parts.append(
            words(middle, LINE, cut_to_room(f"given {one.given}", each * len(columns)), "key", "middle")
        )
        top += LINE
    lines = [several_lines(heads[j], each - 6) for j in columns]
    parts += [stacked(left + each * (k + 0.5), top, said, "key", "middle") for k, said in enumerate(lines)]
    return joined(parts), top + LINE * (max(map(len, lines)) - 1) + 10


def _cell(one: Shares, group: int, level: int, most: float, where: tuple[float, float, float]) -> Html:
    x, top, width = where
    share, (low, high) = float(one.mean[group, level]), one.interval[group, level]
    shade = PALE + (DEEP - PALE) * share / most
    places = decimals(float(high - low))
    ends = " – ".join(f"{100 * v:.{max(0, places - 3)}f}" for v in (low, high))
    room = np.isfinite(low) and width >= 7.2 * len(ends)
    middle, said = x + width / 2, shown(share, max(2, places - 1), percent=True)
    return joined(
        [
            element(
                "rect", class_="fill", x=pixels(x), y=pixels(top), width=pixels(width), height="36", rx="4",
                fill_opacity=f"{shade:.3f}",
            ),
            words(middle, top + (15 if room else 23), said, "cell", "middle"),
            *([words(middle, top + 30, ends, "cell", "middle")] if room else []),
        ]
    )  # fmt: skip


def numbers(one: Shares) -> Html:
    """Write a small table for each group, as many beside each other as the page has room for."""
    read = bool(np.isfinite(one.interval).all())
    places = places_for(np.diff(one.interval, axis=-1).ravel())

    def say(value: float) -> str:
        return shown(float(value), places, percent=True)

    what = f"{'90 % intervals: ' if read else ''}shares of {quoted(one.name)}"
    heads = ("", "mean", "from", "to") if read else ("", "released")
    made = (
        table(
            f"{quoted(one.name)} given {one.groups[j]}" if one.groups[j] else what,
            heads,
            [
                (one.levels[i], *(say(v) for v in (one.mean[j, i], *(one.interval[j, i] if read else ()))))
                for i in one.chosen
            ],
        )
        for j in one.columns
    )
    return element("div", *made, class_="pairs" if len(one.columns) > 1 else None)
