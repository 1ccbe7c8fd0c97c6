"""/v1/queries: questions about θ, parsed and never run; free from a release, charged as a fresh draw."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from discreet.service.api.bodies import AskQuery, AskRelease
from discreet.service.api.door import Asking, Here
from discreet.service.api.problems import NOTHING, Refused
from discreet.service.api.public import Columns, sent, table_of
from discreet.service.api.releases import order_of, own, paid, refuse_strangers
from discreet.service.api.running import Worker
from discreet.service.compute import asking
from discreet.service.compute.orders import Inquiry, Problem, Reply
from discreet.service.state.people import Person

routes = APIRouter(prefix="/v1/queries", tags=["queries"])
NEITHER = Problem(
    422,
    "Not understood",
    "a query names either a release that was paid for, or a table with columns, model and epsilon, under an "
    "Idempotency-Key",
    "see docs/service.md",
)
Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=190, pattern=r"^[\x21-\x7e]+$")]


@routes.post("", summary="Ask: free of a release, or charged as one fresh draw of the posterior")
async def ask(given: AskQuery, who: Asking, at: Here, key: Key = None) -> Response:
    if given.release is not None:
        if given.table is not None:
            raise Refused(NEITHER)
        return sent(await _free(at, who, given.release, given.query))
    if given.table is None or given.model is None or given.epsilon is None or not key:
        raise Refused(NEITHER)
    return await _charged(at, who, given, f"query:{key}")


async def _free(at: Worker, who: Person, release: str, query: str) -> Reply | Problem:
    await refuse_strangers(at, release, who)
    key = ("query", release, query)
    if key in at.free.held:
        return at.free.held[key]
    return await at.once(key, asking.answer, await own(at, release, who), query)


async def _charged(at: Worker, who: Person, given: AskQuery, key: str) -> Response:
    """Read the query and find a draw that meets the promise; then pay, and answer from that draw alone."""
    arrived = time.time()
    fields = given.model_dump(mode="json", exclude={"query", "release"}, exclude_none=True)
    asked = AskRelease.model_validate(fields)
    order = await order_of(at, asked, who, key)
    drawn = ("draw", given.query, repr(order.inquiry))
    chosen = sent(await at.once(drawn, asking.draw_for, order.inquiry, given.query))
    draw = json.loads(bytes(chosen.body))
    order = replace(order, inquiry=replace(order.inquiry, **draw))
    found = await paid(at, order, {**asked.model_dump(mode="json"), **draw}, arrived)
    if isinstance(found, Response):
        return found
    body = bytes(sent(found).body)
    answered = ("paid", order.id, given.query)
    return sent(await at.once(answered, asking.paid_answer, body, given.query), 201)


@routes.get("/names", summary="What a query may name: parameters, functions, columns and levels")
async def names(
    who: Asking,
    at: Here,
    *,
    release: Annotated[str | None, Query(pattern="^[0-9a-f]{32}$")] = None,
    table: Annotated[str | None, Query(max_length=100)] = None,
    model: Annotated[str | None, Query(max_length=100)] = None,
    columns: Columns = [],  # noqa: B006 - FastAPI copies it
    prior: Annotated[str, Query(max_length=4000, description="The model's own arguments, as JSON")] = "{}",
) -> Response:
    if release is not None:
        return sent(await at.once(("names", release), asking.names_of_release, await own(at, release, who)))
    if table is None or model is None:
        raise Refused(NEITHER)
    found = await table_of(at, table)
    try:
        given = json.loads(prior)
    except (ValueError, RecursionError):  # the latter of a thousand brackets
        raise Refused(NEITHER) from None
    if model not in found.allowed or not isinstance(given, dict):
        raise Refused(NOTHING)
    inquiry = Inquiry(found, tuple(columns), model, given)
    return sent(await at.once(("names", repr(inquiry)), asking.names_of_model, inquiry))
