"""The bar that is shown while chains run: only on a terminal, and only once they have taken two seconds."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")
PATIENCE = 2.0  # seconds without a bar


def watched(pieces: Iterable[T], total: int, label: str) -> Iterator[T]:
    """Yield the pieces, of which there will be `total`; rich draws the bar on stderr."""
    if not sys.stderr.isatty():
        yield from pieces
        return
    from rich.console import Console  # noqa: PLC0415 - only where there is a terminal
    from rich.progress import Progress  # noqa: PLC0415

    started, bar = time.monotonic(), Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total)
    try:
        for piece in pieces:
            if time.monotonic() - started > PATIENCE:
                bar.start()
            yield piece
            bar.advance(task)
    finally:
        bar.stop()
