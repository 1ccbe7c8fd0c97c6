"""/v1/owner: tables, people, tokens, budgets, approvals and the trail. For owners only."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from discreet.service import owning
from discreet.service.api.bodies import BudgetChange, Decision, NewBudget, NewPerson, NewTable, NewToken
from discreet.service.api.door import Here, Owner
from discreet.service.api.problems import NOTHING, Refused
from discreet.service.api.public import sent, shown
from discreet.service.budgets import BudgetName
from discreet.service.compute import owned
from discreet.service.compute.orders import Problem
from discreet.service.state import jobs, people
from discreet.service.state.registered import Registered, all_tables
from discreet.shown import address, cell

routes = APIRouter(prefix="/v1/owner", tags=["owner"])


async def allowed(work: Any, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - passes on what it is given
    """Run an owner's change; what it refuses in our words is a problem of the request."""
    try:
        return await asyncio.to_thread(work, *given, **named)
    except PermissionError as error:
        raise Refused(Problem(403, "Not allowed", str(error))) from None
    except (ValueError, TypeError) as error:
        raise Refused(Problem(422, "Cannot be done", " ".join(str(error).split())[:1000])) from None


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────
@routes.get("/tables", summary="Registered tables, with where they live")
async def tables(who: Owner, at: Here) -> dict[str, Any]:
    del who
    found = await asyncio.to_thread(all_tables, at.state)
    return {"tables": [{**asdict(each), "address": address(each.address)} for each in found]}


@routes.post("/tables", status_code=201, summary="Register a table, or say anew what is public of it")
async def add_table(given: NewTable, who: Owner, at: Here) -> dict[str, Any]:
    """Open it by names and types; no value is read but, where that is public, how many rows there are."""
    del who
    said = given.model_dump(by_alias=True)
    table = await allowed(owning.described, {**said, "schema": given.declared})
    checked = json.loads(bytes(sent(await at.compute(owned.checked, table)).body))
    made: Registered = await allowed(owning.keep_table, at.state, table, checked["n"])
    at.forget()
    return {**asdict(made), "address": address(made.address)}


# ── people and tokens ───────────────────────────────────────────────────────────────────────────────
@routes.get("/analysts", summary="Everybody who may sign in")
async def analysts(who: Owner, at: Here) -> dict[str, Any]:
    del who
    found = await asyncio.to_thread(people.people, at.state)
    return {"analysts": [asdict(each) for each in found]}


@routes.post("/analysts", status_code=201, summary="Enter somebody, or change their groups and role")
async def add_analyst(given: NewPerson, who: Owner, at: Here) -> dict[str, Any]:
    del who
    made = await allowed(people.add_person, at.state, given.name, given.role, given.groups)
    at.forget()
    return asdict(made)


@routes.get("/tokens", summary="Tokens, without their texts")
async def tokens(who: Owner, at: Here) -> dict[str, Any]:
    del who
    found = await asyncio.to_thread(people.tokens, at.state)
    return {"tokens": [asdict(each) for each in found]}


@routes.post("/tokens", status_code=201, summary="Issue a token; its text is in this answer and nowhere else")
async def add_token(given: NewToken, who: Owner, at: Here) -> dict[str, Any]:
    del who
    token, secret = await allowed(people.issue, at.state, given.analyst, given.days)
    return {**asdict(token), "token": secret}


@routes.delete("/tokens/{token}", status_code=204, summary="Revoke a token, and the sessions it began")
async def end_token(token: Annotated[str, Path(pattern="^[0-9a-f]{16}$")], who: Owner, at: Here) -> Response:
    del who
    await asyncio.to_thread(people.revoke, at.state, token)
    at.forget()
    return Response(status_code=204)


# ── budgets ─────────────────────────────────────────────────────────────────────────────────────────
@routes.get("/budgets", summary="All budgets")
async def budgets(who: Owner, at: Here) -> Response:
    del who
    names = [BudgetName.of(scope) for scope in sorted(await at.scope_names())]
    return await shown(at, [name for name in names if name is not None])


@routes.post("/budgets", status_code=201, summary="Open a budget")
async def add_budget(given: NewBudget, who: Owner, at: Here) -> Response:
    del who
    name = await allowed(BudgetName.checked, given.kind, given.owner, given.relation)
    await allowed(owning.refuse_nobody, at.state, name)
    found = sent(await at.compute(owned.open_budget, name, str(given.epsilon), str(given.delta)), 201)
    at.forget()
    return found


@routes.patch("/budgets/{scope}", summary="Close, reopen, lower or raise a budget, with a reason")
async def change_budget(
    scope: Annotated[str, Path(max_length=200)], given: BudgetChange, who: Owner, at: Here
) -> Response:
    name = BudgetName.of(scope)
    if name is None:
        raise Refused(NOTHING)
    amount = None if given.epsilon is None else (str(given.epsilon), str(given.delta))
    reason = f"{given.reason} ({who.name})"
    return sent(await at.compute(owned.change_budget, name, given.action, amount, reason))


# ── approvals ───────────────────────────────────────────────────────────────────────────────────────
@routes.get("/approvals", summary="Releases that wait for a second person")
async def approvals(who: Owner, at: Here) -> dict[str, Any]:
    found = await asyncio.to_thread(jobs.awaiting, at.state)
    shown = ({**asdict(each), "yours": each.person == who.name} for each in found)
    return {"approvals": list(shown)}


@routes.post("/approvals/{job}", summary="Approve or reject, with a reason; not one's own")
async def decide(
    job: Annotated[str, Path(pattern="^[0-9a-f]{32}$")], given: Decision, who: Owner, at: Here
) -> dict[str, Any]:
    yes = given.decision == "approve"
    made = await allowed(jobs.decide, at.state, job, who.name, approve=yes, reason=given.reason)
    return {"id": made.id, "status": made.status, "decided_by": made.decided_by}


# ── the trail ───────────────────────────────────────────────────────────────────────────────────────
FIELDS = (
    "position",
    "created",
    "analyst",
    "table",
    "columns",
    "model",
    "mechanism",
    "epsilon",
    "delta",
    "price",
    "scopes",
    "outcome",
    "note",
    "id",
)


@routes.get("/trail", summary="Who asked what, when, at which price")
async def trail(
    who: Owner, at: Here, written: Annotated[Literal["json", "csv"], Query(alias="format")] = "json"
) -> Response:
    del who
    found = (await asyncio.to_thread(at.trail().read_on)).all()
    if written == "json":
        return Response(json.dumps({"trail": found}, ensure_ascii=False), media_type="application/json")
    return Response(
        owning.as_csv(found, FIELDS, cell),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="trail.csv"'},
    )
