"""When answers leave: at times that are known beforehand, whatever the rows hold."""

from __future__ import annotations

import asyncio
import time


def next_tick(begun: float, now: float, wait: float) -> float:
    """Return the first of begun + wait, begun + 2 wait, begun + 4 wait, … that is not over."""
    if wait <= 0:
        return now
    tick = wait
    while begun + tick < now:
        tick *= 2
    return begun + tick


async def until(moment: float) -> None:
    rest = moment - time.time()
    if rest > 0:
        await asyncio.sleep(rest)
