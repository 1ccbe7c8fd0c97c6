"""Releases that wait: for a second person, or because they take longer than one answer may."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from sqlalchemy import Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from discreet.service.state.layout import JOBS
from discreet.service.state.people import Unknown
from discreet.service.state.store import StateStore

AWAITING, QUEUED, RUNNING = "awaiting_approval", "queued", "running"
DONE, REFUSED, FAILED = "done", "refused", "failed"
LEASE = 15.0  # seconds after which another worker takes over what one left


@final
@dataclass(frozen=True)
class Waiting:
    """One release on its way; its id is that of the charge, and of the release."""

    id: str
    person: str
    status: str
    request: Mapping[str, Any]
    created: float
    visible: float | None
    problem: Mapping[str, Any] | None
    decided_by: str | None
    decided: float | None
    reason: str | None

    def status_at(self, now: float) -> str:
        """Say where it stands: an end is not seen before its time on the schedule."""
        return RUNNING if self.visible is not None and now < self.visible else self.status


def add(
    state: StateStore, job: str, person: str, status: str, request: Mapping[str, Any], *, lease: float = 0
) -> Waiting:
    """Enter a job unless it is there."""
    row = {"id": job, "person": person, "status": status, "request": json.dumps(request, sort_keys=True)}
    try:
        with state.writing() as connection:
            connection.execute(insert(JOBS).values(created=time.time(), lease=lease, **row))
    except IntegrityError:  # a retry was first
        pass
    return find(state, job)


def find(state: StateStore, job: str) -> Waiting:
    with state.reading() as connection:
        row = connection.execute(select(JOBS).where(JOBS.c.id == job)).one_or_none()
    if row is None:
        raise Unknown(f"there is no job {job!r}")
    return _read(row)


def claim(state: StateStore, job: str) -> bool:
    """Take a job for this worker, if nobody has it."""
    now = time.time()
    free = update(JOBS).where(JOBS.c.id == job, JOBS.c.status.in_([QUEUED, RUNNING]), JOBS.c.lease < now)
    with state.writing() as connection:
        return bool(connection.execute(free.values(status=RUNNING, lease=now + LEASE)).rowcount)


def give_up(state: StateStore, job: str) -> None:
    """Let another worker, or this one, take a job up again at once."""
    with state.writing() as connection:
        held = update(JOBS).where(JOBS.c.id == job, JOBS.c.status == RUNNING)
        connection.execute(held.values(status=QUEUED, lease=0.0))


def renew(state: StateStore, job: str) -> None:
    with state.writing() as connection:
        held = update(JOBS).where(JOBS.c.id == job, JOBS.c.status == RUNNING)
        connection.execute(held.values(lease=time.time() + LEASE))


def again(state: StateStore, job: str) -> bool:
    """Take up a job that failed after its charge: whoever asks again gets what was paid for."""
    failed = update(JOBS).where(JOBS.c.id == job, JOBS.c.status == FAILED)
    values = {"status": RUNNING, "lease": time.time() + LEASE, "visible": None, "problem": None}
    with state.writing() as connection:
        return bool(connection.execute(failed.values(**values)).rowcount)


def finish(
    state: StateStore, job: str, status: str, visible: float, problem: Mapping[str, Any] | None = None
) -> None:
    """Write how a job ended, and from when that may be seen."""
    said = None if problem is None else json.dumps(problem)
    with state.writing() as connection:
        running = update(JOBS).where(JOBS.c.id == job, JOBS.c.status == RUNNING)
        connection.execute(running.values(status=status, visible=visible, problem=said))


def end_all(state: StateStore, problem: Mapping[str, Any]) -> int:
    """Refuse every job that has not ended; return how many there were."""
    going = update(JOBS).where(JOBS.c.status.in_([AWAITING, QUEUED, RUNNING, FAILED]))
    with state.writing() as connection:
        values = {"status": REFUSED, "problem": json.dumps(problem), "visible": None}
        return connection.execute(going.values(**values)).rowcount


def free(state: StateStore) -> list[str]:
    """List what a worker may take: approved, or left by one that ended."""
    query = select(JOBS.c.id).where(JOBS.c.status.in_([QUEUED, RUNNING]), JOBS.c.lease < time.time())
    with state.reading() as connection:
        return list(connection.execute(query.order_by(JOBS.c.created).limit(20)).scalars())


def of_person(state: StateStore, person: str) -> list[Waiting]:
    """List what somebody asked for that had to wait, newest first."""
    query = select(JOBS).where(JOBS.c.person == person).order_by(JOBS.c.created.desc()).limit(200)
    with state.reading() as connection:
        return [_read(row) for row in connection.execute(query)]


def awaiting(state: StateStore) -> list[Waiting]:
    with state.reading() as connection:
        rows = connection.execute(
            select(JOBS).where(JOBS.c.status == AWAITING).order_by(JOBS.c.created)
        ).all()
    return [_read(row) for row in rows]


def decide(state: StateStore, job: str, by: str, *, approve: bool, reason: str) -> Waiting:
    """Let a second person say yes or no, once."""
    found = find(state, job)
    if found.person == by:
        raise PermissionError("a second person must decide: nobody approves what they asked for")
    decided = update(JOBS).where(JOBS.c.id == job, JOBS.c.status == AWAITING)
    no = {"title": "Refused by the owner", "status": 403, "type": "about:blank", "detail": reason}
    values = {
        "status": QUEUED if approve else REFUSED,
        "problem": None if approve else json.dumps(no),
        "decided_by": by,
        "decided": time.time(),
        "reason": reason,
    }
    with state.writing() as connection:
        if not connection.execute(decided.values(**values)).rowcount:
            raise ValueError("this request was decided before, or waits for nobody")
    return find(state, job)


def _read(row: Row[Any]) -> Waiting:
    problem = None if row.problem is None else json.loads(row.problem)
    return Waiting(
        id=row.id,
        person=row.person,
        status=row.status,
        request=json.loads(row.request),
        created=row.created,
        visible=row.visible,
        problem=problem,
        decided_by=row.decided_by,
        decided=row.decided,
        reason=row.reason,
    )
