"""Standard streams that cannot change an exit code: any text, a closed pipe, no stream at all."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, final

if TYPE_CHECKING:
    from typing_extensions import Buffer


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
