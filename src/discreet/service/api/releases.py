"""Releases and jobs: charged before it is computed, and answered on a public schedule."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from starlette.responses import Response

from discreet.service.api.bodies import Ask, AskRelease
from discreet.service.api.door import Asking, Here
from discreet.service.api.problems import NOTHING, PROBLEM, Refused, refusal_of
from discreet.service.api.public import sent, table_of
from discreet.service.api.running import Worker
from discreet.service.api.schedule import next_tick, until
from discreet.service.budgets import charged
from discreet.service.compute import asking, reading, releasing
from discreet.service.compute.orders import Inquiry, Order, Problem, Reply
from discreet.service.compute.pool import ComputeLostError
from discreet.service.compute.refusals import MISSING_BUDGET
from discreet.service.state import jobs
from discreet.service.state.people import Person, Unknown

routes = APIRouter(prefix="/v1", tags=["plans and releases"])
OTHER = Problem(
    409,
    "Another request",
    "this Idempotency-Key was used for another request",
    "choose another Idempotency-Key",
)
Id = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Chosen by the client: a retry under the same key gets the same bytes and pays once.",
    ),
]


async def question_of(at: Worker, given: Ask) -> Inquiry:
    """Say what was asked as the processes are told; a model that may not be asked of the table is refused."""
    table = await table_of(at, given.table)
    if given.model not in table.allowed:
        words = f"{given.model[:100]!r} may not be asked of this table"
        raise Refused(Problem(403, "Not offered", words, f"there are {', '.join(table.allowed)}"))
    return Inquiry(
        table,
        tuple(given.columns),
        given.model,
        given.prior,
        given.mechanism,
        given.options,
        str(given.epsilon),
        str(given.delta),
        given.derive,
        tuple(given.where),
    )


async def order_of(at: Worker, given: AskRelease, who: Person, key: str) -> Order:
    """Add who pays, and from which budgets: all that bear on the table and the person."""
    question = await question_of(at, given)
    scopes, missing = charged(question.table, who, await at.scope_names())
    if missing:
        raise Refused(no_budget(missing))
    return Order(at.name_of(who.name, key), question, who.name, tuple(scopes), given.note)


def no_budget(missing: list[str]) -> Problem:
    words = f"there is no budget of the {' and of the '.join(missing)} that this table requires"
    return Problem(402, "No budget", words, MISSING_BUDGET)


@routes.post("/releases", status_code=201, summary="Pay for a release")
async def release(given: AskRelease, key: Key, who: Asking, at: Here) -> Response:
    """Charge, compute, answer: at once if it is ready when its time comes, else as a job."""
    arrived = time.time()
    order = await order_of(at, given, who, key)
    found = await paid(at, order, given.model_dump(mode="json"), arrived)
    return found if isinstance(found, Response) else sent(_as_release(found), 201)


async def paid(at: Worker, order: Order, asked: dict[str, Any], arrived: float) -> Reply | Problem | Response:
    """Have an order paid for and computed: its bytes, a refusal, or the answer that it must wait."""
    try:
        waiting = await asyncio.to_thread(jobs.find, at.state, order.id)
    except Unknown:
        if _dear(at, order) and order.id not in at.tasks:
            return await _to_approve(at, order, asked)
        return await _released(at, order, asked, arrived)
    if waiting.request != asked:
        raise Refused(OTHER)
    if waiting.status == jobs.FAILED and await asyncio.to_thread(jobs.again, at.state, order.id):
        follow(at, order.id, time.time(), started(at, order))
        waiting = await asyncio.to_thread(jobs.find, at.state, order.id)
    return await _told(at, waiting)


def _dear(at: Worker, order: Order) -> bool:
    most = at.settings.approve_above
    return most is not None and float(order.inquiry.epsilon) > most


async def _to_approve(at: Worker, order: Order, asked: dict[str, Any]) -> Reply | Problem | Response:
    """Let what fits wait for a second person; nothing is charged before."""
    found = await at.compute(releasing.fits, order)
    if isinstance(found, Problem):
        raise Refused(found)
    waiting = await asyncio.to_thread(jobs.add, at.state, order.id, order.person, jobs.AWAITING, asked)
    at.numbers.releases.labels("awaiting").inc()
    return await _told(at, waiting)


async def _released(
    at: Worker, order: Order, asked: dict[str, Any], arrived: float
) -> Reply | Problem | Response:
    task = started(at, order)
    leaves = arrived + at.settings.wait
    done, _ = await asyncio.wait(
        {task}, timeout=max(at.settings.wait, 0.01) if at.settings.wait else at.settings.timeout
    )
    if not done:
        lease = time.time() + jobs.LEASE
        waiting = await asyncio.to_thread(
            jobs.add, at.state, order.id, order.person, jobs.RUNNING, asked, lease=lease
        )
        follow(at, order.id, waiting.created, task)
        return await _told(at, waiting)
    found = task.result()
    if isinstance(found, Reply) or found.status >= 500:  # what came after the charge leaves at its time
        await until(leaves)
    at.numbers.releases.labels("released" if isinstance(found, Reply) else "refused").inc()
    return found


def started(at: Worker, order: Order) -> asyncio.Task[Reply | Problem]:
    """Begin to work on an order, or join who does in this process; not for another question's sake."""
    before = at.tasks.get(order.id)
    if before is not None and before[0].inquiry != order.inquiry:
        raise Refused(OTHER)
    if before is not None:
        return before[1]
    task = asyncio.get_running_loop().create_task(at.worked(order))
    at.tasks[order.id] = order, task
    task.add_done_callback(lambda _: at.tasks.pop(order.id, None))
    return task


def follow(at: Worker, job: str, created: float, task: asyncio.Task[Reply | Problem]) -> None:
    """Write down how a job ends, and when that may be seen."""

    async def write() -> None:
        while not task.done():
            await asyncio.wait({task}, timeout=jobs.LEASE / 3)
            if not task.done():
                await asyncio.to_thread(jobs.renew, at.state, job)
        visible = next_tick(created, time.time(), at.settings.wait)
        failure = None if task.cancelled() else task.exception()
        if task.cancelled() or isinstance(failure, ComputeLostError):
            await asyncio.to_thread(jobs.give_up, at.state, job)
            return
        found = task.result() if failure is None else refusal_of(failure)
        status = (
            jobs.DONE if isinstance(found, Reply) else jobs.REFUSED if found.status < 500 else jobs.FAILED
        )
        problem = found.to_json() if isinstance(found, Problem) else None
        await asyncio.to_thread(jobs.finish, at.state, job, status, visible, problem)

    at.keep(asyncio.get_running_loop().create_task(write()))


def _as_release(found: Reply | Problem) -> Reply | Problem:
    if isinstance(found, Problem):
        return found
    said = json.dumps({"release": reading.brief(json.loads(found.body))}, sort_keys=True, ensure_ascii=False)
    return Reply(said.encode()[:-1] + b', "record": ' + found.body + b"}")


async def _told(at: Worker, waiting: jobs.Waiting) -> Reply | Problem | Response:
    """Answer with where a job stands: done with the bytes of its release, refused with its problem."""
    status = waiting.status_at(time.time())
    if status == jobs.DONE:
        return await body_of(at, waiting.id)
    if status in {jobs.REFUSED, jobs.FAILED} and waiting.problem is not None:
        said = json.dumps(waiting.problem)
        return Response(said, waiting.problem["status"], media_type=PROBLEM)
    poll = f"/v1/jobs/{waiting.id}"
    said = json.dumps({"job": {"id": waiting.id, "status": status, "poll": poll}})
    return Response(said, 202, {"Location": poll}, "application/json")


async def progress(at: Worker, job: jobs.Waiting, status: str) -> dict[str, Any] | None:
    """Say how far a job is, by public facts: decisions, the charge, and when its end may be seen.

    The charge is made before a row is read, and stands in the budgets for all to see; what comes after it is
    one step, however long it takes, whose end is seen at a time of the schedule.
    """
    if status not in WORDS:
        return None
    if status != jobs.AWAITING:
        trail = await asyncio.to_thread(at.trail().read_on)
        status = PAID if job.id in trail.charges else status
    approved = at.settings.approve_above is not None and (status == jobs.AWAITING or job.decided is not None)
    steps = [*([jobs.AWAITING] if approved else []), jobs.QUEUED, PAID]
    step = steps.index(jobs.QUEUED if status == jobs.RUNNING else status) + 1
    begun = job.decided or job.created
    looks = None if status == jobs.AWAITING else next_tick(begun, time.time(), at.settings.wait)
    return {"step": step, "of": len(steps), "words": WORDS[status], "next": looks}


PAID = "paid"
WORDS = {
    jobs.AWAITING: "waits for a second person",
    jobs.QUEUED: "waits for a process that computes",
    jobs.RUNNING: "waits for a process that computes, or is calibrated; nothing is charged yet",
    PAID: "paid for; read and drawn, and shown at the next time of the schedule",
}


# ── jobs ────────────────────────────────────────────────────────────────────────────────────────────
@routes.get("/jobs", summary="What you asked for that had to wait, newest first")
async def waiting_jobs(who: Asking, at: Here) -> dict[str, Any]:
    found = await asyncio.to_thread(jobs.of_person, at.state, who.name)
    names = ("table", "columns", "model", "mechanism", "epsilon", "delta", "note")
    return {
        "jobs": [
            {
                "id": each.id,
                "status": each.status_at(time.time()),
                "created": each.created,
                **{name: each.request.get(name) for name in names},
                "problem": each.problem,
            }
            for each in found
        ]
    }


@routes.get("/jobs/{job}", summary="How far a release is that could not be answered at once")
async def job(job: Id, who: Asking, at: Here) -> dict[str, Any]:
    found = await asyncio.to_thread(jobs.find, at.state, job)
    if found.person != who.name and not who.owns:
        raise Refused(NOTHING)
    status = found.status_at(time.time())
    said: dict[str, Any] = {
        "id": found.id,
        "status": status,
        "progress": await progress(at, found, status),
        "release": None,
        "problem": None,
    }
    said |= {"created": found.created, "decided_by": found.decided_by, "reason": found.reason}
    if status == jobs.DONE:
        body = sent(await body_of(at, found.id)).body
        said["release"] = reading.brief(json.loads(bytes(body)))
    if status in {jobs.REFUSED, jobs.FAILED}:
        said["problem"] = found.problem
    return said


# ── releases that were paid for ─────────────────────────────────────────────────────────────────────
async def body_of(at: Worker, name: str) -> Reply | Problem:
    return await at.once(("record", name), releasing.kept, name)


async def own(at: Worker, name: str, who: Person) -> bytes:
    """Return the record of somebody's own release."""
    await refuse_strangers(at, name, who)
    found = await body_of(at, name)
    if isinstance(found, Problem):
        raise Refused(found)
    return found.body


async def refuse_strangers(at: Worker, name: str, who: Person) -> None:
    """Refuse what is not there and what is others' alike: as not found."""
    trail = at.trail()
    if name not in trail.computed:
        trail = await asyncio.to_thread(trail.read_on)
    if name not in trail.actor or name not in trail.computed:
        raise Refused(NOTHING)
    if not who.owns and trail.actor[name] != who.name:
        raise Refused(NOTHING)
    await refuse_early(at, name)


async def refuse_early(at: Worker, name: str) -> None:
    """Show nothing of a release before its time on the schedule."""
    if ("shown", name) in at.free.held:
        return
    try:
        waiting = await asyncio.to_thread(jobs.find, at.state, name)
    except Unknown:
        pass
    else:
        if waiting.status_at(time.time()) != jobs.DONE:
            raise Refused(NOTHING)
    at.free.get(("shown", name), lambda: Reply(b""))


@routes.get("/releases", summary="Releases that you paid for, newest first; of an owner everybody's")
async def releases(
    who: Asking,
    at: Here,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    *,
    mine: bool = False,
) -> dict[str, Any]:
    trail = await asyncio.to_thread(at.trail().read_on)
    found = trail.releases(None if who.owns and not mine else who.name, at.settings.wait + 1)
    return {"releases": found[:limit], "total": len(found)}


@routes.get("/releases/{release}", summary="What a release says")
async def one(release: Id, who: Asking, at: Here) -> Response:
    body = await own(at, release, who)
    return sent(await at.once(("detail", release), reading.detail, body))


@routes.get("/releases/{release}/record", summary="The bytes that the ledger keeps")
async def record(release: Id, who: Asking, at: Here) -> Response:
    return Response(await own(at, release, who), media_type="application/json")


@routes.get("/releases/{release}/certificate", summary="What is promised, assumed, proved and not covered")
async def certificate(release: Id, who: Asking, at: Here) -> Response:
    found = sent(await at.once(("certificate", release), reading.certificate, await own(at, release, who)))
    found.headers["Content-Disposition"] = f'attachment; filename="certificate-{release}.json"'
    return found


@routes.get("/releases/{release}/synthetic", summary="Rows that the posterior expects, as CSV")
async def synthetic(
    release: Id, who: Asking, at: Here, rows: Annotated[int, Query(ge=1, le=100_000)] = 1000
) -> Response:
    found = sent(await at.compute(asking.synthetic, await own(at, release, who), rows))
    found.headers["Content-Disposition"] = f'attachment; filename="synthetic-{release}.csv"'
    return found


REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox"
)


@routes.get("/releases/{release}/report", summary="The report for people, one HTML page")
async def report(release: Id, who: Asking, at: Here) -> Response:
    found = sent(await at.once(("report", release), reading.page, await own(at, release, who)))
    found.headers["Content-Security-Policy"] = REPORT_POLICY
    return found


@routes.get("/releases/{release}/inference-data", summary="Prior and posterior draws, netCDF for ArviZ")
async def inference_data(release: Id, who: Asking, at: Here) -> Response:
    found = sent(await at.once(("netcdf", release), reading.inference_data, await own(at, release, who)))
    found.headers["Content-Disposition"] = f'attachment; filename="posterior-{release}.nc"'
    return found
