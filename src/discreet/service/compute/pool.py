"""Processes that compute, each one thing at a time: ball arithmetic's precision is global to a process.

A process that dies, or takes longer than it may, is replaced; whoever waited for it is told.
"""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Protocol, TypeVar, final

T = TypeVar("T")
EVERY = 0.25  # seconds between what a process says of its work
SPAWN = multiprocessing.get_context("spawn")  # nothing of the parent: no locks, connections or threads


class ComputeLostError(RuntimeError):
    """The process that computed is gone; what it charged is kept, and asking again under its id is safe."""


class TooLongError(RuntimeError):
    """The computation took longer than it may, and was ended."""


class TooBusyError(RuntimeError):
    """More is waiting than will be done in time."""


@final
@dataclass(frozen=True)
class StepDone:
    """How far a process is with public work: it is sent before the answer."""

    label: str
    done: float
    of: float | None

    def to_json(self) -> dict[str, Any]:
        return {"words": self.label, "done": self.done, "of": self.of}


Seen = Callable[[StepDone], None]


class Asks(Protocol):
    """The way to a process that is lent: ask it to work, and wait for what it returns."""

    async def __call__(self, work: Callable[..., T], *given: object) -> T: ...


@final
class _Computing:
    """One process and the way to it."""

    def __init__(self, begin: Callable[[Any], None], given: object) -> None:
        self.here, there = SPAWN.Pipe()
        self.process: SpawnProcess = SPAWN.Process(target=_serve, args=(there, begin, given), daemon=True)
        self.process.start()
        there.close()

    async def ask(self, work: Callable[..., T], *given: object, seen: Seen | None = None) -> T:
        try:
            self.here.send((work, given))
            while isinstance(said := await self._said(), StepDone):
                if seen is not None:
                    seen(said)
        except (EOFError, OSError):
            raise ComputeLostError("the process that computed this is gone") from None
        answer: T = said
        return answer

    async def _said(self) -> Any:  # noqa: ANN401 - a step, or what the work returned
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self.here.fileno(), arrived.set)
        try:
            await arrived.wait()
        finally:
            loop.remove_reader(self.here.fileno())
        return self.here.recv()

    def end(self) -> None:
        with suppress(OSError):
            self.here.close()
        self.process.kill()
        self.process.join()


@final
class Pool:
    """A few processes; `begin` prepares each of them once, `run` has the next free one work."""

    def __init__(self, count: int, begin: Callable[[Any], None], given: object, waiting: int = 256) -> None:
        self._begin, self._given, self._most = begin, given, waiting
        self._all = [_Computing(begin, given) for _ in range(count)]
        self._idle: asyncio.LifoQueue[_Computing] = asyncio.LifoQueue()
        self._waiting = 0
        for one in self._all:
            self._idle.put_nowait(one)

    @property
    def waiting(self) -> int:
        return self._waiting

    @property
    def ids(self) -> list[int]:
        """Name the processes, for who watches them."""
        return [one.process.pid or 0 for one in self._all]

    async def run(
        self,
        work: Callable[..., T],
        *given: object,
        timeout: float | None = None,  # noqa: ASYNC109 - it ends a process
        seen: Seen | None = None,
    ) -> T:
        """Return work(*given) of a free process; it returns its refusals and raises nothing."""
        async with self.lent(timeout, seen) as ask:
            return await ask(work, *given)

    @asynccontextmanager
    async def lent(self, timeout: float | None = None, seen: Seen | None = None) -> AsyncIterator[Asks]:  # noqa: ASYNC109 - it ends a process
        """Wait for a free process and give the way to ask it once."""
        if self._waiting >= self._most:
            raise TooBusyError(f"{self._waiting} requests are waiting")
        self._waiting += 1
        try:
            one = await self._idle.get()
        finally:
            self._waiting -= 1
        whole = True

        async def ask(work: Callable[..., T], *given: object) -> T:
            nonlocal whole
            whole = False
            answer = await asyncio.wait_for(one.ask(work, *given, seen=seen), timeout)
            whole = True
            return answer

        try:
            yield ask
        except TimeoutError:
            raise TooLongError(f"it took longer than {timeout:g} seconds") from None
        finally:  # a process that did not answer may still work on it, and would answer the next with it
            self._idle.put_nowait(one if whole else self._replaced(one))

    def _replaced(self, lost: _Computing) -> _Computing:
        lost.end()
        fresh = _Computing(self._begin, self._given)
        self._all[self._all.index(lost)] = fresh
        return fresh

    def close(self) -> None:
        for one in self._all:
            one.end()


_WAY: list[Connection] = []  # of a process that computes
_SAID = [-math.inf]  # when it last told of a step


def tell(label: str, done: float, of: float | None) -> None:
    """Say how far this process is, now and then; only of work that reads nothing private."""
    if _WAY and time.monotonic() - _SAID[0] > EVERY:
        _SAID[0] = time.monotonic()
        _WAY[0].send(StepDone(label, done, of))


def _serve(way: Connection, begin: Callable[[Any], None], given: object) -> None:
    """Run in the process: answer until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its processes
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    begin(given)
    _WAY.append(way)
    with suppress(EOFError, OSError):
        while True:
            work, arguments = way.recv()
            way.send(work(*arguments))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
