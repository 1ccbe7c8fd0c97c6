"""Shares of levels within groups: as strips of shade with their intervals, and in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.families.family import Floats
from discreet.report.drawn.svg import cut_to_room, pixels, responsive, words
from discreet.report.markup import Html, element, joined, table
from discreet.report.numbers import decimals, places_for, shown, whole
from discreet.report.subject import quoted

LEVEL = 0.9
MOST_ROWS, MOST_COLUMNS = 14, 6
PALE, DEEP = 0.05, 0.45  # shades of nothing and of the largest share


@final
@dataclass(frozen=True)
class Shares:
    """One table: shares of the levels (rows) within each group (columns)."""

    name: str
    groups: tuple[str, ...]
    levels: tuple[str, ...]
    mean: Floats  # (groups, levels)
    interval: Floats  # (groups, levels, 2); NaN where only a draw was released

    @property
    def chosen(self) -> list[int]:
        """The largest levels, as many as are shown, in the order of the schema."""
        order = np.argsort(-self.mean.max(axis=0), kind="stable")
        return sorted(int(i) for i in order[:MOST_ROWS])

    @property
    def caption(self) -> str:
        rest = [
            f"{whole(count - most)} more {what}"
            for count, most, what in (
                (len(self.levels), MOST_ROWS, "levels"),
                (len(self.groups), MOST_COLUMNS, "columns"),
            )
            if count > most
        ]
        return f"Not shown: {' and '.join(rest)}; they are in the release file." if rest else ""


def strips(name: str, one: Shares) -> Html:
    """Draw a row for each level and a column for each group, shaded by the share, the interval beneath it."""
    most = float(one.mean.max()) or 1.0
    columns = range(min(len(one.groups), MOST_COLUMNS))

    def draw(width: int) -> tuple[float, Html]:
        left = 190.0 if width > 400 else 104.0
        each = (width - left - 8) / len(columns)
        parts = [words(0, 16, cut_to_room(one.name, left - 8), "label")]
        if len(one.groups) > 1:
            parts += [
                words(left + each * (j + 0.5), 16, cut_to_room(one.groups[j], each - 4), "key", "middle")
                for j in columns
            ]
        for row, i in enumerate(one.chosen):
            top = 26.0 + 40 * row
            parts.append(words(0, top + 23, cut_to_room(one.levels[i], left - 8), "label"))
            parts += [_cell(one, j, i, most, (left + each * j, top, each - 4)) for j in columns]
        return 30.0 + 40 * len(one.chosen), joined(parts)

    story = "; ".join(
        f"{one.levels[i]}: {', '.join(f'{100 * one.mean[j, i]:.1f} %' for j in columns)}" for i in one.chosen
    )
    title = (
        f"Shares of {quoted(one.name)}{' within each column' if len(one.groups) > 1 else ''}, 90 % intervals"
    )
    caption = " ".join(filter(None, (f"{title}.", one.caption)))
    return element("figure", responsive(name, title, story, draw), element("figcaption", caption))


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
    columns = range(min(len(one.groups), MOST_COLUMNS))
    places = places_for(np.diff(one.interval, axis=-1).ravel())

    def say(value: float) -> str:
        return shown(float(value), places, percent=True)

    heads = ["", *(text for j in columns for text in (one.groups[j] or "mean", "from", "to"))]
    rows = [
        (one.levels[i], *(say(v) for j in columns for v in (one.mean[j, i], *one.interval[j, i])))
        for i in one.chosen
    ]
    return table(f"90 % intervals: shares of {quoted(one.name)}", heads, rows)
