"""Refusals as application/problem+json (RFC 9457), for every kind of error."""

from __future__ import annotations

import json
import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from discreet.release.receipt import LedgerError, LedgerUnavailableError
from discreet.service.compute.orders import Problem
from discreet.service.compute.pool import ComputeLostError, TooBusyError, TooLongError
from discreet.service.compute.refusals import LATER, LOST, of_the_line
from discreet.service.state.people import Unknown
from discreet.service.state.store import StateUnavailableError

PROBLEM = "application/problem+json"
NOBODY = Problem(
    401, "Not signed in", "give a token that is valid: Authorization: Bearer …", "ask the owner for one"
)
NOT_YOURS = Problem(403, "Not allowed", "only an owner may do this")
NOTHING = Problem(404, "Not found", "there is nothing here, or it is not yours")
SLOWER = Problem(429, "Too many requests", "more was asked than one person may ask at once", "wait a second")
TOO_LARGE = Problem(413, "Too large", "the body of this request is longer than this service reads")
BUSY = Problem(503, "Busy", "too much is waiting here; nothing was charged", "ask again in a few seconds")
TOO_LONG = Problem(
    503,
    "Took too long",
    "the computation was ended; a charge, if one was made, is kept",
    "with the same Idempotency-Key nothing is paid twice",
)
UNEXPECTED = Problem(500, "Unexpected", "something failed that should not; its words are withheld")
STATE = Problem(
    503, "Unavailable", "the database of the service did not answer; nothing was done", "ask again"
)

log = logging.getLogger("discreet.service")


class Refused(Exception):  # noqa: N818 - what happened
    """Ends a request with a refusal."""

    def __init__(self, refusal: Problem) -> None:
        super().__init__(refusal.title)
        self.refusal = refusal


def response(refusal: Problem) -> Response:
    headers = {"Cache-Control": "no-store"}
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if refusal.status in {429, 503}:
        headers["Retry-After"] = "1"
    said = json.dumps(refusal.to_json(), ensure_ascii=False)
    body = said.encode("utf-8", "backslashreplace")  # what is no character, as it may have been sent, escaped
    return Response(body, refusal.status, headers, PROBLEM)


def refusal_of(error: BaseException) -> Problem:  # noqa: C901 - one line a kind
    """Say what an error means for whoever asked."""
    match error:
        case Refused():
            return error.refusal
        case Unknown():
            return NOTHING
        case StateUnavailableError():
            return STATE
        case LedgerUnavailableError():
            return LATER
        case LedgerError():
            return of_the_line(error)
        case ComputeLostError():
            return LOST
        case TooLongError():
            return TOO_LONG
        case TooBusyError():
            return BUSY
        case RequestValidationError():
            return Problem(422, "Not understood", _asked_wrongly(error), "see /openapi.json")
        case HTTPException() if error.status_code in {404, 413}:
            return NOTHING if error.status_code == 404 else TOO_LARGE
        case HTTPException():
            return Problem(error.status_code, "Refused", str(error.detail)[:200])
    return UNEXPECTED


def _asked_wrongly(error: RequestValidationError) -> str:
    """Say where and what, without what was sent."""
    said = (
        f"{'.'.join(str(part) for part in one['loc'])[:100]}: {one['msg'][:200]}"
        for one in error.errors()[:8]
    )
    return "; ".join(said)


def install(app: FastAPI) -> None:
    async def handle(_: Request, error: Exception) -> Response:
        return response(refusal_of(error))

    async def unexpected(request: Request, error: Exception) -> Response:
        log.error(
            "unexpected", extra={"said": {"error": type(error).__name__, "path": request.url.path[:200]}}
        )
        return response(UNEXPECTED)

    known = (
        Refused,
        Unknown,
        StateUnavailableError,
        LedgerError,
        ComputeLostError,
        TooLongError,
        TooBusyError,
    )
    for kind in (*known, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle)
    app.add_exception_handler(Exception, unexpected)
