"""One worker of the service: its databases, its computing processes, and what it remembers for a moment."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar, final

from discreet.ledger import Ledger
from discreet.service.api.guards import Numbers, Rates
from discreet.service.compute import desk
from discreet.service.compute.desk import Kept
from discreet.service.compute.orders import Order, Problem, Reply
from discreet.service.compute.pool import ComputeLostError, Pool, Seen, StepDone
from discreet.service.compute.till import Till
from discreet.service.settings import Settings
from discreet.service.state.people import Person
from discreet.service.state.registered import Registered, all_tables
from discreet.service.state.store import StateStore
from discreet.service.trail import Trail

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
FRESH = 1.0  # seconds for which a worker may believe what another may have changed


@final
class Fresh(Generic[K, V]):
    """Answers of the databases, believed for a second."""

    def __init__(self, most: int = 10_000) -> None:
        self._kept: Kept[K, tuple[float, V]] = Kept(most)

    async def get(self, key: K, ask: Callable[[], V]) -> V:
        found = self._kept.held.get(key)
        if found is not None and time.monotonic() - found[0] < FRESH:
            return found[1]
        value = await asyncio.to_thread(ask)
        self._kept.held.pop(key, None)
        self._kept.get(key, lambda: (time.monotonic(), value))
        return value

    def forget(self) -> None:
        self._kept.held.clear()


@final
@dataclass
class Planning:
    """A plan under way, and how far it is."""

    task: asyncio.Task[Reply | Problem]
    step: StepDone | None = None
    asked: float = field(default_factory=time.monotonic)  # when somebody last asked for it

    def see(self, step: StepDone) -> None:
        self.step = step


@final
@dataclass
class Worker:
    """What the routes of one process share."""

    settings: Settings
    state: StateStore
    pool: Pool
    numbers: Numbers
    secret: bytes
    ledger: Ledger | None = None
    known: Trail | None = None
    behind: set[asyncio.Task[None]] = field(default_factory=set)
    asking: Rates = field(init=False)
    signing_in: Rates = field(init=False)  # failures, of one address
    doors: Fresh[str, Person] = field(default_factory=Fresh)
    tables: Fresh[str, list[Registered]] = field(default_factory=Fresh)
    scopes: Fresh[str, set[str]] = field(default_factory=Fresh)
    free: Kept[tuple[str, ...], Reply] = field(
        default_factory=lambda: Kept(2000)
    )  # answers that cost nothing
    tasks: dict[str, tuple[Order, asyncio.Task[Reply | Problem]]] = field(default_factory=dict)
    plans: dict[str, dict[tuple[str, ...], Planning]] = field(default_factory=dict)  # of each person
    till: Till = field(init=False)

    def __post_init__(self) -> None:
        self.asking = Rates.shared(self.settings.rate, self.settings.burst, self.settings.workers)
        self.signing_in = Rates.shared(0.2, 20, self.settings.workers)
        self.till = Till(self.pool, self.settings.longest)

    @classmethod
    def begin(cls, settings: Settings, numbers: Numbers) -> Worker:
        state = StateStore(settings.state)
        state.check()
        pool = Pool(settings.processes, desk.begin, settings)
        return cls(settings, state, pool, numbers, state.secret("ids"))

    def close(self) -> None:
        plans = (one.task for mine in self.plans.values() for one in mine.values())
        for task in [*(task for _, task in self.tasks.values()), *self.behind, *plans]:
            task.cancel()
        self.till.close()
        self.pool.close()
        self.state.close()
        if self.ledger is not None:
            self.ledger.close()

    # ── what is public, for a second ────────────────────────────────────────────────────────────────
    async def table(self, name: str) -> Registered | None:
        found = await self.tables.get("all", lambda: all_tables(self.state))
        return next((table for table in found if table.name == name), None)

    async def scope_names(self) -> set[str]:
        return await self.scopes.get("all", lambda: set(self.trail().read_on().scopes))

    def opened(self) -> Ledger:
        """Open the ledger; this process reads it only where no ball arithmetic is needed."""
        if self.ledger is None:
            self.ledger = Ledger.open(self.settings.ledger)
        return self.ledger

    def forget(self) -> None:
        """Look again at what an owner changed."""
        self.doors.forget()
        self.tables.forget()
        self.scopes.forget()

    def name_of(self, person: str, key: str) -> str:
        """Name the charge of somebody's key: nobody else can come to it, and nobody can guess it."""
        text = f"{person}\n{key}".encode()
        return hmac.new(self.secret, text, hashlib.sha256).hexdigest()[:32]

    def trail(self) -> Trail:
        if self.known is None:
            self.known = Trail(self.opened())
        return self.known

    def keep(self, task: asyncio.Task[None]) -> None:
        """Hold on to a task that nobody waits for."""
        self.behind.add(task)
        task.add_done_callback(self.behind.discard)

    # ── work ────────────────────────────────────────────────────────────────────────────────────────
    async def compute(
        self,
        work: Callable[..., Reply | Problem],
        *given: object,
        longest: float | None = None,
        seen: Seen | None = None,
    ) -> Reply | Problem:
        try:
            return await self.pool.run(work, *given, timeout=longest or self.settings.timeout, seen=seen)
        except ComputeLostError:
            self.numbers.lost.inc()
            raise

    async def worked(self, order: Order) -> Reply | Problem:
        """Release an order; a computation that lasts longer than any may is ended."""
        try:
            return await self.till.release(order)
        except ComputeLostError:
            self.numbers.lost.inc()
            raise

    async def once(
        self, key: tuple[str, ...], work: Callable[..., Reply | Problem], *given: object
    ) -> Reply | Problem:
        """Return a free answer: computed now, or as it was."""
        if key in self.free.held:
            return self.free.held[key]
        found = await self.compute(work, *given)
        if isinstance(found, Reply):
            self.free.get(key, lambda: found)
        return found
