"""How the command speaks: tables for people, JSON for programs, colours only where a terminal wants them."""

from __future__ import annotations

import io
import json
import math
import os
import signal
import sys
import threading
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, final

from discreet.shown import json_text, visible, without_secrets

if TYPE_CHECKING:
    from rich.console import Console
    from typing_extensions import Buffer


VERBOSE: ContextVar[bool] = ContextVar("verbose", default=False)
PIPED_WIDTH = 120


def console(*, stderr: bool = False) -> Console:
    """Return rich's console; no escape code leaves where the stream is no terminal or NO_COLOR is set."""
    from rich.console import Console  # noqa: PLC0415 - loaded when something is shown, not for --help

    stream = sys.stderr if stderr else sys.stdout
    fancy = stream.isatty() and not os.environ.get("NO_COLOR")
    return Console(
        stderr=stderr,
        color_system="auto" if fancy else None,
        force_terminal=None if fancy else False,
        width=None if stream.isatty() else PIPED_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )


def say(words: str = "") -> None:
    """Answer in one line, whatever the words hold."""
    print(visible(words))  # noqa: T201 - this is how a command answers


def lines(text: str) -> None:
    """Answer in several lines."""
    for line in text.split("\n"):
        say(line)


def complain(words: str) -> None:
    """Say one line on standard error; no password and no escape sequence leaves by it."""
    print(visible(f"discreet: {without_secrets(words)}"), file=sys.stderr, flush=True)  # noqa: T201


def heading(words: str) -> None:
    console().print(visible(words), style="bold")


def note(words: str) -> None:
    """Say what is being done, if --verbose asked for it; only public names and paths are ever noted."""
    if VERBOSE.get():
        complain(words)


def table(titles: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Iterable[int] = ()) -> None:
    """Print rows under titles; columns in `numbers` are set to the right."""
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    right = set(numbers)
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for i, title in enumerate(titles):
        drawn.add_column(visible(title), justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(visible(str(cell)) for cell in row))
    out = console()
    with out.capture() as shown:
        out.print(drawn)
    for line in shown.get().strip("\n").split("\n"):
        print(line.rstrip())  # noqa: T201 - every cell is visible, and the colours are ours


def dump(value: object) -> None:
    """Print JSON: ∞ and NaN as strings, since JSON has neither; in ASCII where the stream has no more."""
    text = json_text(_finite(value), indent=2, default=str)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2)
    print(text)  # noqa: T201 - as say, but with its line breaks


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list | tuple) else value


# ── Standard streams that cannot change an exit code: any text, a closed pipe, no stream at all.
@final
class Patient(io.RawIOBase):
    """A descriptor whose reader may leave: what is written afterwards is dropped, and only news is raised."""

    def __init__(self, raw: io.RawIOBase, *, silent: bool) -> None:
        self._raw, self._silent, self._gone = raw, silent, False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()

    def write(self, data: Buffer, /) -> int | None:
        if not self._gone:
            try:
                return self._raw.write(data)
            except OSError as error:
                self._gone = True  # Python would try again when it ends, and turn the exit code to 120
                if not self._silent and not isinstance(error, BrokenPipeError):
                    reason = (error.strerror or "it failed").lower()
                    raise OSError(f"standard output could not be written: {reason}") from None
        return memoryview(data).nbytes


def prepare() -> None:
    """Make both streams fit for any text; a full disk is an error on standard output alone, and once."""
    _occupy()
    sys.stdout, sys.stderr = _fit(sys.stdout, silent=False), _fit(sys.stderr, silent=True)


# What ends a command early: Ctrl-C, kill and service managers, a terminal that is closed
ENDS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_owned = threading.Event()


def own_the_process() -> None:
    """Say that this process runs one command and ends, by whatever signal as by Ctrl-C.

    A signal that is ignored, as nohup has it, stays ignored.
    """
    _owned.set()
    for end in ENDS:
        if signal.getsignal(end) is signal.SIG_DFL:
            signal.signal(end, signal.default_int_handler)


def all_is_said() -> None:
    """Ignore signals from here on: while Python ends, which takes time, none may change the exit code."""
    if _owned.is_set():
        for end in ENDS:
            signal.signal(end, signal.SIG_IGN)


def _occupy() -> None:
    """Give closed descriptors to the null device: else the next file opened would be standard output."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def _fit(stream: TextIO | None, *, silent: bool) -> TextIO:
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")
    raw = getattr(stream.buffer, "raw", stream.buffer)  # PYTHONUNBUFFERED leaves no buffer between
    if not isinstance(raw, io.FileIO):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(Patient(raw, silent=silent)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=silent or stream.line_buffering or raw is stream.buffer,
    )
