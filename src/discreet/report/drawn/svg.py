"""Inline SVG by hand: a frame, axes, lines, areas, words. Colours are the page's, through classes."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import final

from discreet.report.markup import Html, element, joined
from discreet.report.numbers import tick

WIDE, NARROW = 680, 350  # one picture for each kind of screen: text keeps its size, and the style shows one
LINE = 15.0  # from one line of words to the next
Points = "Iterable[tuple[float, float]]"


@final
@dataclass(frozen=True)
class Axis:
    """A stretch of numbers on a stretch of pixels."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Pixels; what lies outside is held at the border."""
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, apart: float = 80) -> list[float]:
        """Round numbers, at least so many pixels apart, or half of that for at least three."""
        marks = self._ticks(apart)
        return marks if len(marks) > 2 else self._ticks(apart / 2)

    def _ticks(self, apart: float) -> list[float]:
        rough = (self.high - self.low) * apart / abs(self.end - self.start)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]


def pixels(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError("a picture needs finite coordinates")
    return f"{value:.1f}".removesuffix(".0")


def words(x: float, y: float, text: str, class_: str = "word", anchor: str = "start") -> Html:
    return element("text", text, x=pixels(x), y=pixels(y), class_=class_, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    return element("line", x1=pixels(x1), y1=pixels(y1), x2=pixels(x2), y2=pixels(y2), class_=class_)


def box(x: float, y: float, width: float, height: float, class_: str, *, corner: float = 0) -> Html:
    sides = {"x": x, "y": y, "width": max(width, 0.0), "height": max(height, 0.0), "rx": corner}
    return element("rect", class_=class_, **{name: pixels(side) for name, side in sides.items()})


def dot(x: float, y: float, radius: float, class_: str) -> Html:
    return element("circle", cx=pixels(x), cy=pixels(y), r=pixels(radius), class_=class_)


def diamond(x: float, y: float, radius: float, class_: str) -> Html:
    corners = ((x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y))
    return element("polygon", points=" ".join(f"{pixels(a)},{pixels(b)}" for a, b in corners), class_=class_)


def curve(points: Iterable[tuple[float, float]], class_: str) -> Html:
    return element("path", d="M" + "L".join(f"{pixels(x)} {pixels(y)}" for x, y in points), class_=class_)


def area(points: Sequence[tuple[float, float]], base: float, class_: str) -> Html:
    return curve([(points[0][0], base), *points, (points[-1][0], base)], class_)


def cut_to_room(text: str, room: float) -> str:
    """Cut a label to the room it has; far-eastern letters are twice as wide."""
    used = 0.0
    for i, letter in enumerate(text):
        used += 14 if unicodedata.east_asian_width(letter) in "WF" else 7.6
        if used > room:
            return text[: max(1, i - 1)] + "…"
    return text


def several_lines(text: str, room: float) -> list[str]:
    """Divide a label into two lines where it needs and can be divided; each is cut to the room."""
    if cut_to_room(text, room) == text:
        return [text]
    breaks = [i for i in range(1, len(text)) if text[i - 1] in " -/"]
    fitting = [i for i in breaks if len(cut_to_room(text[:i].rstrip(), room)) == len(text[:i].rstrip())]
    if not fitting:
        return [cut_to_room(text, room)]
    return [text[: fitting[-1]].rstrip(), cut_to_room(text[fitting[-1] :], room)]


def stacked(x: float, y: float, lines: Iterable[str], class_: str, anchor: str = "start") -> Html:
    """Write lines one below the other."""
    return joined(words(x, y + LINE * i, text, class_, anchor) for i, text in enumerate(lines))


def bottom_axis(axis: Axis, y: float, top: float, say: Callable[[float], str], name: str) -> Html:
    """Ticks with their numbers, faint lines up to the top, and what is measured."""
    marks = [
        joined(
            [
                line(axis.at(t), top, axis.at(t), y, "grid"),
                words(axis.at(t), y + 18, say(t), "tick", _anchor(axis, t)),
            ]
        )
        for t in axis.ticks()
    ]
    base, middle = line(axis.start, y, axis.end, y, "axis"), ((axis.start + axis.end) / 2, y + 38)
    return joined([*marks, base, words(*middle, cut_to_room(name, axis.end - axis.start), "name", "middle")])


def _anchor(axis: Axis, tick: float) -> str:
    """Numbers at the border grow inwards, so that none is cut off."""
    gap = 14
    if axis.at(tick) - axis.start < gap:
        return "start"
    return "end" if axis.end - axis.at(tick) < gap else "middle"


def legend(entries: Sequence[tuple[str, str, str]], x: float, y: float) -> Html:
    """Name what is drawn: (kind of sign, class, words), one beside the other."""
    parts: list[str] = []
    for sign, class_, text in entries:
        parts.extend((SIGNS[sign](x, y - 4, class_), words(x + 24, y, text, "key")))
        x += 24 + 7.4 * len(text) + 14
    return joined(parts)


SIGNS: dict[str, Callable[[float, float, str], Html]] = {
    "line": lambda x, y, c: line(x + 1, y, x + 17, y, c),
    "box": lambda x, y, c: box(x, y - 5, 18, 10, c),
    "tick": lambda x, y, c: line(x + 9, y - 6, x + 9, y + 6, c),
    "dot": lambda x, y, c: dot(x + 9, y, 4.5, c),
    "diamond": lambda x, y, c: diamond(x + 9, y, 6, c),
}


def responsive(name: str, title: str, story: str, draw: Callable[[int], tuple[float, Html]]) -> Html:
    """Draw the same picture for wide and narrow pages, with its story for those who do not see it."""
    made = ((kind, width, *draw(width)) for kind, width in _SIZES)
    return joined(
        _svg(f"{name}-{kind}", kind, (width, tall), (title, story), drawn)
        for kind, width, tall, drawn in made
    )


_SIZES = (("wide", WIDE), ("narrow", NARROW))


def _svg(name: str, kind: str, size: tuple[int, float], said: tuple[str, str], drawn: Html) -> Html:
    (width, height), (title, story) = size, said
    head = [element("title", title, id=f"{name}-title"), element("desc", story, id=f"{name}-desc")]
    return element(
        "svg",
        *head,
        drawn,
        class_=f"picture {kind}",
        viewBox=f"0 0 {width} {pixels(height)}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )


def tick_teller(axis: Axis, *, percent: bool = False) -> Callable[[float], str]:
    """Say an axis' ticks."""
    marks = axis.ticks()
    step = marks[1] - marks[0] if len(marks) > 1 else axis.high - axis.low
    return lambda value: tick(value, step, percent=percent)
