"""Plans: answered at once where they are quick, else under way until they are asked for again.

They are free and read no table. One that takes long is not lost with its connection: the same question, asked
again, waits for it a little longer, and is told how far it is. Every worker knows its own alone, so that one
that is asked on another connection may begin again there.
"""

from __future__ import annotations

import asyncio
import json
import time

from fastapi import APIRouter
from starlette.responses import Response

from discreet.service.api.bodies import AskPlan
from discreet.service.api.door import Asking, Here
from discreet.service.api.problems import Refused
from discreet.service.api.public import sent
from discreet.service.api.releases import question_of
from discreet.service.api.running import Planning, Worker
from discreet.service.compute import plans
from discreet.service.compute.orders import Inquiry, Problem, Reply

routes = APIRouter(prefix="/v1", tags=["plans and releases"])
SOON = 20.0  # seconds for which one request waits: few plans take longer, and no proxy gives up by then
STALE = 30.0  # seconds after which how a plan failed is no answer any more
MOST = 2  # plans of one person under way in a worker: nobody keeps the others waiting with many
DROPPED = Problem(409, "Given up", "you asked for other plans since, so that this one was ended", "ask again")
WAITS = {"words": "waits for a process that computes", "done": 0, "of": None}


@routes.post(
    "/plans",
    summary="What to expect of each mechanism; free",
    responses={202: {"description": "Under way: ask the same again"}},
)
async def plan(given: AskPlan, who: Asking, at: Here) -> Response:
    """Answer with the plan, or with 202 and how far it is: then ask the same again."""
    question = await question_of(at, given)
    key = ("plan", json.dumps(given.model_dump(mode="json"), sort_keys=True), str(question.table.revision))
    if key in at.free.held:
        return sent(at.free.held[key])
    mine = at.plans.setdefault(who.name, {})
    one = mine.get(key)
    if one is None or (one.task.done() and time.monotonic() - one.asked > STALE):
        mine.pop(key, None)
        one = _begun(at, mine, key, question, tuple(given.mechanisms))
    await asyncio.wait({one.task}, timeout=SOON)
    one.asked = time.monotonic()
    if not one.task.done():
        return _under_way(one)
    if mine.get(key) is one:
        del mine[key]
    if one.task.cancelled():
        raise Refused(DROPPED)
    return sent(one.task.result())


def _under_way(one: Planning) -> Response:
    said = {"plan": {"status": "running", "progress": one.step.to_json() if one.step else WAITS}}
    return Response(json.dumps(said), 202, {"Retry-After": "1"}, "application/json")


def _begun(
    at: Worker,
    mine: dict[tuple[str, ...], Planning],
    key: tuple[str, ...],
    question: Inquiry,
    mechanisms: tuple[str, ...],
) -> Planning:
    """Begin a plan, and end the oldest of somebody who has too many under way."""

    async def work() -> Reply | Problem:
        longest = at.settings.planning
        found = await at.compute(plans.plan, question, mechanisms, longest=longest, seen=one.see)
        if isinstance(found, Reply):
            at.free.get(key, lambda: found)
        return found

    while len(mine) >= MOST:
        mine.pop(next(iter(mine))).task.cancel()
    one = mine[key] = Planning(asyncio.get_running_loop().create_task(work()))
    one.task.add_done_callback(lambda task: task.cancelled() or task.exception())  # nobody may ask again
    return one
