"""HTML, SVG and numbers from the inside out: every text is escaped unless this module made it."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import final

from discreet.privacy.words import upward

# ── HTML from the inside out: every text is escaped unless this module made it.
VOID = {"meta", "line", "path", "rect", "circle", "polygon"}
SHOWN_AS_BROKEN = "\ufffd"
REORDERING = {
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    0x200E,
    0x200F,
    0x061C,
}  # would move what follows


@final
class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def escaped(value: str) -> Html:
    """Make any text harmless: no tag, no attribute's end, no control or reordering character."""
    if isinstance(value, Html):
        return value
    return Html(html.escape("".join(map(_printable, value)), quote=True))


def _printable(character: str) -> str:
    kind = unicodedata.category(character)
    bad = (
        kind in {"Cs", "Cn", "Co"}
        or (kind == "Cc" and character not in "\n\t")
        or ord(character) in REORDERING
    )
    return SHOWN_AS_BROKEN if bad else character


def element(name: str, /, *children: str, **attributes: str | None) -> Html:
    """<name attributes>children</name>; class_ means class, and an underscore a hyphen."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Html(f"<{name}{said}>" if name == "meta" else f"<{name}{said}/>")
    return Html(f"<{name}{said}>{joined(children)}</{name}>")


def joined(parts: Iterable[str]) -> Html:
    return Html("".join(map(escaped, parts)))


def listed(items: Iterable[str]) -> Html:
    return element("ul", *(element("li", item) for item in items))


def paragraphs(*texts: str) -> Html:
    return joined(element("p", text) for text in texts)


def cautions(*texts: str) -> Html:
    """Sentences of what is not to be trusted."""
    said = (f"{text[0].upper()}{text[1:].rstrip('.')}." for text in texts)
    return joined(element("p", sentence, class_="caution") for sentence in said)


def facts(pairs: Iterable[tuple[str, str]], class_: str = "facts") -> Html:
    """Name and value, side by side."""
    inside = (element("div", element("dt", name), element("dd", value)) for name, value in pairs)
    return element("dl", *inside, class_=class_)


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], class_: str | None = None
) -> Html:
    """Make a table whose first column heads its rows and whose other columns are numbers."""
    head = element("tr", *(element("th", name, scope="col") for name in heads))
    body = (
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:]))
        for row in rows
    )
    made = element(
        "table", element("caption", caption), element("thead", head), element("tbody", *body), class_=class_
    )
    return element("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


# ── Inline SVG by hand: a frame, axes, lines, areas, words. Colours are the page's, through classes.
WIDE, NARROW = 680, 350  # one picture for each kind of screen: text keeps its size, and the style shows one
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
        """Round numbers, at least so many pixels apart."""
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


# ── Numbers for people: promises rounded up and never down, estimates to the digits their width supports.
NONE = "—"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
THIN_SPACE = "\u202f"  # a space that does not break


def certified(value: float | None) -> Html | str:
    """Show a promise at six digits, rounded up, with the very double beside it for programs."""
    if value is None:
        return NONE
    return element("data", upward(value), value=repr(value))


def share_upward(probability: float) -> Html:
    """Show a probability that was promised, in percent, rounded up at two decimals."""
    percent = (Decimal(probability) * 100).quantize(Decimal("0.01"), ROUND_CEILING)
    return element("data", f"{min(percent, Decimal(100)).normalize():f} %", value=repr(probability))


def decimals(width: float) -> int:
    """How many places show three digits of a width."""
    if not (0 < width < math.inf):
        return 3
    return min(12, max(0, 2 - math.floor(math.log10(width))))


def shown(value: float, places: int, *, percent: bool = False) -> str:
    """Show an estimate; large and tiny ones in powers of ten, undefined ones as a dash."""
    if not math.isfinite(value):
        return NONE
    if percent:
        return f"{100 * value:z.{max(0, places - 2)}f} %".replace("-", "−")
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.3e}".replace("-", "−")
    return f"{value:z,.{places}f}".replace(",", THIN_SPACE).replace("-", "−")


def places_for(widths: Iterable[float]) -> int:
    """One number of places for a column: that of its widest interval."""
    good = [width for width in widths if 0 < width < math.inf]
    return decimals(max(good)) if good else 3


def whole(count: int) -> str:
    return f"{count:,}".replace(",", THIN_SPACE)


def powers(text: str) -> str:
    """Write 1e-06 as 10⁻⁶, which does not break at its hyphen either."""
    return re.sub(
        r"\b1e(-?)0*(\d+)\b", lambda found: "10" + (found[1] + found[2]).translate(SUPERSCRIPT), text
    )


def teller(width: float, *, percent: bool) -> Callable[[float], str]:
    """Say numbers to the digits that a width supports."""
    places = decimals(float(width))
    return lambda value: shown(float(value), places, percent=percent)


def tick_teller(axis: Axis, *, percent: bool = False) -> Callable[[float], str]:
    """Say an axis' ticks."""
    marks = axis.ticks()
    step = marks[1] - marks[0] if len(marks) > 1 else axis.high - axis.low
    return lambda value: tick(value, step, percent=percent)


def tick(value: float, step: float, *, percent: bool = False) -> str:
    """Just the digits that tell neighbouring ticks apart."""
    unit, sign = (100.0, " %") if percent else (1.0, "")
    size = max(abs(value), abs(step)) * unit
    if size >= 1e6 or size < 1e-4:
        return f"{value * unit:.3g}{sign}".replace("-", "−")
    places = max(0, -math.floor(math.log10(step * unit) + 1e-9))
    return f"{value * unit:.{places}f}{sign}".replace("-", "−")
