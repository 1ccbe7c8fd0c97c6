"""Who asks: a bearer's token, or the page's session with its CSRF header."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import Depends, Request

from discreet.service.api.problems import NOBODY, NOT_YOURS, SLOWER, Refused
from discreet.service.api.running import Worker
from discreet.service.compute.orders import Problem
from discreet.service.state.people import Person, Session, Unknown, digest, holder, session

COOKIE = "discreet_session"
READ_ONLY = {"GET", "HEAD", "OPTIONS"}
CSRF = Problem(403, "Not allowed", "a request of the page needs the header X-CSRF of its session")


def worker(request: Request) -> Worker:
    found: Worker = request.app.state.worker
    return found


async def person(request: Request) -> Person:
    """Return who asks; a wrong, expired and revoked token are one and the same nobody."""
    at = worker(request)
    address = request.client.host if request.client else ""
    secret = bearer(request)
    try:
        if secret is not None:
            known = await at.doors.get(digest(secret), lambda: holder(at.state, secret)[0])
        else:
            known = (await of_page(request)).person
    except Unknown:
        if secret is not None or COOKIE in request.cookies:
            refuse_guessing(at, address)
        raise Refused(NOBODY) from None
    if not at.asking.allows(known.name):
        raise Refused(SLOWER)
    request.scope.setdefault("state", {})["person"] = known.name
    return known


async def of_page(request: Request) -> Session:
    """Return the session of the page's cookie; what changes anything must bring its CSRF header."""
    at, secret = worker(request), request.cookies.get(COOKIE)
    if not secret:
        raise Unknown
    found = session(at.state, secret)
    given = request.headers.get("x-csrf", "")
    if request.method not in READ_ONLY and not hmac.compare_digest(given.encode(), found.csrf.encode()):
        raise Refused(CSRF)
    return found


def refuse_guessing(at: Worker, address: str) -> None:
    """Slow an address down that keeps bringing what is no token."""
    if not at.signing_in.allows(address):
        raise Refused(SLOWER)


def bearer(request: Request) -> str | None:
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if kind.lower() == "bearer" else None


async def owner(who: Annotated[Person, Depends(person)]) -> Person:
    if not who.owns:
        raise Refused(NOT_YOURS)
    return who


Asking = Annotated[Person, Depends(person)]
Owner = Annotated[Person, Depends(owner)]
Here = Annotated[Worker, Depends(worker)]
