"""HTML from the inside out: every text is escaped unless this module made it."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence
from typing import final

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
