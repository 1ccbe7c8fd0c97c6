"""Orders that are waiting when a process gets free are paid for and released together.

Two commits to disk serve all of them, where each alone takes two; so the service keeps pace with a crowd.
Only questions that were quick before are taken together: nobody waits for another's slow one.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Hashable
from typing import final

from discreet.service.compute import releasing
from discreet.service.compute.desk import Kept
from discreet.service.compute.orders import Order, Problem, Reply
from discreet.service.compute.pool import Pool, TooBusyError

MOST = 32  # orders of one group
QUICK = 0.25  # seconds that one order, or a group of them, may have taken
WAITING = 1024  # orders that may wait
Held = tuple[Order, "asyncio.Future[Reply | Problem]"]


@final
class Till:
    """One worker's queue of orders."""

    def __init__(self, pool: Pool, timeout: float) -> None:
        self._pool, self._timeout = pool, timeout
        self._waiting: deque[Held] = deque()
        self._serving: set[asyncio.Task[None]] = set()
        self._quick: Kept[Hashable, bool] = Kept(1000)

    async def release(self, order: Order) -> Reply | Problem:
        """Return what became of an order; whoever stops waiting for it takes it back if it has not begun."""
        if len(self._waiting) >= WAITING:
            raise TooBusyError(f"{len(self._waiting)} orders are waiting")
        answer: asyncio.Future[Reply | Problem] = asyncio.get_running_loop().create_future()
        self._waiting.append((order, answer))
        if len(self._serving) < len(self._pool.ids):
            self._serving.add(serving := asyncio.create_task(self._serve()))
            serving.add_done_callback(self._serving.discard)
        return await answer

    def close(self) -> None:
        for each in [*self._serving]:
            each.cancel()

    async def _serve(self) -> None:
        while self._waiting:
            await self._serve_next()

    async def _serve_next(self) -> None:
        """Take the next group to the next free process, if nobody else has taken it by then."""
        group: list[Held] = []
        try:
            async with self._pool.lent(self._timeout) as ask:
                if not (group := self._next()):
                    return
                begun = time.monotonic()
                found = await ask(releasing.release_all, [order for order, _ in group])
            self._remember(group, time.monotonic() - begun)
        except Exception as error:  # noqa: BLE001 - each of those who wait is told
            for _, future in group or self._one():
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(group, found, strict=True):
            if not future.done():
                future.set_result(answer)

    def _one(self) -> list[Held]:
        return [self._waiting.popleft()] if self._waiting else []

    def _next(self) -> list[Held]:
        """Take the oldest order, and all others that were quick before if it was."""
        group = [each for each in self._one() if not each[1].done()]
        if not group or _question(group[0][0]) not in self._quick.held:
            return group
        others = [each for each in self._waiting if _question(each[0]) in self._quick.held][: MOST - 1]
        taken = {id(each) for each in others}
        self._waiting = deque(each for each in self._waiting if id(each) not in taken)
        return group + [each for each in others if not each[1].done()]

    def _remember(self, group: list[Held], took: float) -> None:
        for order, _ in group:
            self._quick.held.pop(_question(order), None)
            if took < QUICK:
                self._quick.get(_question(order), lambda: True)


def _question(order: Order) -> Hashable:
    """Say what is asked, at whichever price."""
    asked = order.inquiry
    table = asked.table.name, asked.table.revision
    rest = asked.columns, asked.model, asked.mechanism, repr(asked.prior), repr(asked.options)
    return (*table, *rest, repr(asked.derive), asked.where)
