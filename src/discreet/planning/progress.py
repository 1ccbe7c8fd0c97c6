"""A progress bar that shows itself only on a terminal, and only once the work has taken two seconds."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")
PATIENCE = 2.0  # seconds without a bar


def steps(work: Sequence[T], label: str) -> Iterator[T]:
    """Yield the items of work; rich draws the bar on stderr."""
    if not sys.stderr.isatty():
        yield from work
        return
    from rich.console import Console  # noqa: PLC0415 - only where there is a terminal
    from rich.progress import Progress  # noqa: PLC0415

    started, bar = time.monotonic(), Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=len(work))
    try:
        for item in work:
            if time.monotonic() - started > PATIENCE:
                bar.start()
            yield item
            bar.advance(task)
    finally:
        bar.stop()
