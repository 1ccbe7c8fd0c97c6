"""Jobs that nobody works on: approved a moment ago, or left by a worker that ended."""

from __future__ import annotations

import asyncio
import logging

from discreet.service.api.bodies import AskRelease
from discreet.service.api.problems import Refused, refusal_of
from discreet.service.api.releases import follow, no_budget, question_of, started
from discreet.service.api.running import Worker
from discreet.service.budgets import charged
from discreet.service.compute.orders import Order
from discreet.service.state import jobs
from discreet.service.state.people import Unknown, person

EVERY = 0.5  # seconds
log = logging.getLogger("discreet.service")


async def take_over(at: Worker) -> None:
    """Look for such jobs, for as long as the worker runs."""
    while True:
        await asyncio.sleep(EVERY)
        try:
            for job in await asyncio.to_thread(jobs.free, at.state):
                if await asyncio.to_thread(jobs.claim, at.state, job):
                    await begin_or_fail(at, job)
        except Exception as error:  # noqa: BLE001 - a database that is away comes back, and a bad job stays one
            log.warning("cannot take over jobs", extra={"said": {"error": type(error).__name__}})
            await asyncio.sleep(EVERY)


async def begin_or_fail(at: Worker, name: str) -> None:
    """Begin, or end a job that cannot be asked any more, as when its table is gone."""
    try:
        await begin(at, name)
    except (Refused, Unknown) as error:
        said = refusal_of(error).to_json()
        await asyncio.to_thread(jobs.finish, at.state, name, jobs.FAILED, 0.0, said)


async def begin(at: Worker, name: str) -> None:
    """Work on a job that was claimed: under its id, so that it is paid once whoever began it."""
    waiting = await asyncio.to_thread(jobs.find, at.state, name)
    asked = AskRelease.model_validate(waiting.request)
    who = await asyncio.to_thread(person, at.state, waiting.person)
    question = await question_of(at, asked)
    scopes, missing = charged(question.table, who, await at.scope_names())
    trail = await asyncio.to_thread(at.trail().read_on)
    if missing and name not in trail.charges:  # since it was asked: a group was left, or a budget is gone
        raise Refused(no_budget(missing))
    order = Order(name, question, who.name, tuple(scopes), asked.note)
    follow(at, name, waiting.decided or waiting.created, started(at, order))
