"""How words that others chose are shown: addresses without secrets, control characters escaped, cells safe.

Column names, levels, notes and paths come from files that somebody else may have written. A terminal obeys
escape sequences, a spreadsheet runs what starts with =, and a database's address holds a password.
"""

from __future__ import annotations

import json
import re
from typing import Any
from unicodedata import category

HIDDEN = "***"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:(?=/|[^\\]*@)|(?=//[^/]*@)")
_URL = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.\-]+:(?:/+|[^\s'\"/@]*@)|(?<![\w:/])//(?=[^\s/]*@))"
    r"(?:[^\s'\"@]*['\"][^\s'\"]*['\"]@)?[^\s'\"]*[^\s'\".,:;)]"
)
_NAMED = re.compile(
    r"(?i)((?:pass(?:word|wd|phrase|file|code)?|pwd|\w*token|\w*secret|\w*credentials?|\w*signature|sig"
    r"|(?:access|account|api|private|shared)[_-]?key)\s*=\s*)"
    r"('(?:[^'\\]|\\+.)*'|\"(?:[^\"\\]|\\+.)*\"|[^\s;&,'\")]+)"
)
# at the start of a cell, or where a reader with another separator would see one start
_FORMULA = re.compile(r"(?:^|(?<=;))(?=\s*[=+\-@＝＋－＠])")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_JOINERS = "\u200c\u200d"  # Persian and emoji need them, and they move nothing


def address(source: object) -> str:
    """Write a path or database address without user, password, token or query; the one way to show one."""
    text = str(source)
    found = _SCHEME.match(text)
    if found is None:
        return _NAMED.sub(rf"\1{HIDDEN}", text)
    scheme, rest = found[0], text[found.end() :].lstrip("/")
    slashes = text[found.end() : len(text) - len(rest)]
    slashes = slashes if len(slashes) > 1 else "//"
    who, at, place = rest.rpartition("@")
    ambiguous = any(mark in who for mark in "?#;")  # the @ may belong to a secret behind them
    host = re.split(r"[?#;]", place, maxsplit=1)[0]
    _, colon, port = host.partition("/")[0].rpartition(":")
    if ambiguous or (colon and not (port.isdigit() or port.endswith("]"))):
        return f"{scheme}{slashes}{HIDDEN}"
    query = f"?{HIDDEN}" if len(host) < len(place) else ""
    return f"{scheme}{slashes}{f'{HIDDEN}@' if at else ''}{host}{query}"


def without_secrets(words: str) -> str:
    """Rewrite every address, and every password=…, within a sentence."""
    return _NAMED.sub(rf"\1{HIDDEN}", _URL.sub(lambda found: address(found[0]), words))


def visible(text: str) -> str:
    """Escape what a terminal would obey or hide: control characters, line breaks, direction marks."""
    if text.isprintable():
        return text
    return "".join(c if _harmless(c) else c.encode("unicode_escape").decode() for c in text)


def _harmless(character: str) -> bool:
    return character.isprintable() or category(character) == "Zs" or character in _JOINERS


def json_text(value: object, **options: Any) -> str:  # noqa: ANN401 - those of json.dumps
    """Write JSON whose texts are visible too: JSON itself escapes only the first 32 characters."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, **options)
    return "\n".join(
        line if line.isprintable() else "".join(c if _harmless(c) else json.dumps(c)[1:-1] for c in line)
        for line in text.split("\n")
    )


def cell(text: str) -> str:
    """Write a text so that no spreadsheet runs it: ' before what would start a formula; numbers stay."""
    return text if _NUMBER.fullmatch(text) else _FORMULA.sub("'", visible(text))
