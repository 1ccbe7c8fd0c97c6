"""What a terminal is shown: the words of others without secrets or control characters, and progress."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar, final
from unicodedata import category

# ── How words that others chose are shown: addresses without secrets, control characters escaped, cells
# safe.
# Column names, levels, notes and paths come from files that somebody else may have written. A terminal obeys
# escape sequences, a spreadsheet runs what starts with =, and a database's address holds a password.
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


# ── The progress bar: on a terminal's stderr, once the work has taken two seconds, and gone when it ends.
T = TypeVar("T")
PATIENCE = 2.0  # seconds without a bar
BETWEEN_LABELS = 0.5  # seconds between changes of its label


class Advance(Protocol):
    """Move the bar by so much of its total; a label is worked out only when it is due to be seen."""

    def __call__(self, by: float = 1, label: Callable[[], str] | None = None) -> None: ...


Ear = Callable[[str, float, float | None], None]  # the label, how much is done, and of how much
_EAR: ContextVar[Ear | None] = ContextVar("ear", default=None)


@contextmanager
def heard(ear: Ear) -> Iterator[None]:
    """Have a function told how far work is, in place of a bar: of the outermost where they are nested."""
    before = _EAR.set(ear)
    try:
        yield
    finally:
        _EAR.reset(before)


@contextmanager
def _told(ear: Ear, label: str, total: float | None) -> Iterator[Advance]:
    done = 0.0

    def advance(by: float = 1, label: Callable[[], str] | None = None) -> None:  # noqa: ARG001 - as a bar
        nonlocal done
        done += by
        ear(outer, done, total)

    outer, before = label, _EAR.set(None)
    ear(outer, done, total)
    try:
        yield advance
    finally:
        _EAR.reset(before)


@contextmanager
def bar(label: str, total: float | None = None, *, show: bool = True) -> Iterator[Advance]:
    """Hold a bar, without an end where no total is known; give the function that moves it."""
    if (ear := _EAR.get()) is not None:
        with _told(ear, label, total) as told:
            yield told
        return
    if show and in_notebook():
        yield _Line(label, total).advance
        sys.stderr.write("\r")
        return
    if not (show and sys.stderr.isatty()) or os.environ.get("NO_COLOR"):
        yield lambda by=1, label=None: None  # noqa: ARG005 - nobody sees it
        return
    from rich.console import Console  # noqa: PLC0415 - loaded where there is a terminal
    from rich.progress import Progress  # noqa: PLC0415

    drawn, labelled = Progress(console=Console(stderr=True), transient=True), time.monotonic()
    task, due = drawn.add_task(label, total=total), time.monotonic() + PATIENCE

    def advance(by: float = 1, label: Callable[[], str] | None = None) -> None:
        nonlocal labelled
        drawn.advance(task, by)
        now = time.monotonic()
        if now < due:
            return
        drawn.start()
        if label and now - labelled > BETWEEN_LABELS:
            labelled = now
            drawn.update(task, description=label())

    timer = threading.Timer(max(PATIENCE, 0.0), drawn.start)  # while no piece of the work is done
    timer.daemon = True
    timer.start()
    try:
        yield advance
    finally:
        timer.cancel()
        timer.join()
        with suppress(OSError):  # a terminal that is gone must not cost a release
            drawn.stop()


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this: its stderr is no terminal, but a carriage return works."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


@final
class _Line:
    """A bar of text, for notebooks: rewritten at most every half second, once two seconds have passed."""

    def __init__(self, label: str, total: float | None) -> None:
        self.label, self.total, self.done = label, total, 0.0
        self.due = time.monotonic() + PATIENCE

    def advance(self, by: float = 1, label: Callable[[], str] | None = None) -> None:
        self.done += by
        if time.monotonic() < self.due:
            return
        self.due = time.monotonic() + BETWEEN_LABELS
        share = f"{self.done / self.total:4.0%}" if self.total else f"{self.done:g}"
        sys.stderr.write(f"\r{label() if label else self.label} {share} ")
        sys.stderr.flush()


def steps(work: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Yield the items of work under a bar; a total where work has no length."""
    with bar(label, total if total is not None else len(work)) as advance:  # type: ignore[arg-type]
        for item in work:
            yield item
            advance()
