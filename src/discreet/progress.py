"""The progress bar: on a terminal's stderr, once the work has taken two seconds, and gone when it ends."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar, final

T = TypeVar("T")
PATIENCE = 2.0  # seconds without a bar
BETWEEN_LABELS = 0.5  # seconds between changes of its label


class Advance(Protocol):
    """Move the bar by so much of its total; a label is worked out only when it is due to be seen."""

    def __call__(self, by: float = 1, label: Callable[[], str] | None = None) -> None: ...


@contextmanager
def bar(label: str, total: float | None = None, *, show: bool = True) -> Iterator[Advance]:
    """Hold a bar, without an end where no total is known; give the function that moves it."""
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
