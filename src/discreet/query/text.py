"""A query's text cut into words, numbers and signs; what is too long or has other letters is refused."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import final

from discreet.shown import visible

LONGEST = 1000  # characters of a query
PIECES = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?)(?![\w.])
      | (?P<word>[^\W\d]\w*)
      | (?P<quoted>"(?:[^"]|"")*")
      | (?P<sign>\*\*|<=|>=|==|!=|[-+*/^<>=()\[\]|,])
      | (?P<end>$)
    )""",
    re.VERBOSE,
)
RESERVED = ("and", "or", "not")


class QueryError(ValueError):
    """The text is not a query, or asks for what this model has not; the message says where and what to do."""


@final
@dataclass(frozen=True)
class Piece:
    """A word, a quoted name, a number, a sign or the end, and where it stands."""

    kind: str
    text: str  # of a quoted name what is between the quotes
    at: int

    @property
    def shown(self) -> str:
        return "the end" if self.kind == "end" else repr(visible(self.text))

    @property
    def is_name(self) -> bool:
        return self.kind == "quoted" or (self.kind == "word" and self.text not in RESERVED)


def pieces(text: str) -> tuple[Piece, ...]:
    """Cut a text into its pieces, the end last."""
    if not isinstance(text, str) or not 0 < len(text.strip()) <= LONGEST or len(text) > LONGEST:
        raise QueryError(f"a query is a text of 1 to {LONGEST} characters, e.g. p > 0.5")
    found: list[Piece] = []
    at = 0
    while not found or found[-1].kind != "end":
        match = PIECES.match(text, at)
        if match is None or match.lastgroup is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise QueryError(_unread(text, start))
        found.append(_piece(match.lastgroup, match))
        at = match.end()
    return tuple(found)


def _piece(kind: str, match: re.Match[str]) -> Piece:
    inside = match.group(kind)
    text = inside[1:-1].replace('""', '"') if kind == "quoted" else inside
    if kind == "number" and not math.isfinite(float(inside)):
        raise QueryError(
            f"the number {inside} at character {match.start(kind) + 1} is beyond what doubles hold"
        )
    return Piece(kind, text, match.start(kind))


def _unread(text: str, start: int) -> str:
    if text[start] == '"':
        return f'the quote at character {start + 1} is not closed; a quote within a name is written twice: ""'
    return (
        f"cannot read {visible(text[start : start + 12])!r} at character {start + 1}; a query has names, "
        'numbers, + - * / **, comparisons and brackets, and names that are not plain words in quotes: "a b"'
    )


def in_one_line(text: str) -> str:
    """Return the same query with single spaces outside of quotes, so that it fits a line of a log."""
    return re.sub(r'("(?:[^"]|"")*")|\s+', lambda found: found[1] or " ", text).strip()


def quoted(name: str) -> str:
    """Write a name or a level as a query has it: plain where it is a word, else in quotes."""
    plain = re.fullmatch(r"[^\W\d]\w*", name) is not None and name not in RESERVED
    return name if plain else '"' + name.replace('"', '""') + '"'
