"""/v1/session: sign in and out."""

from __future__ import annotations

import asyncio
import time

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from discreet.service.api.bodies import SignIn
from discreet.service.api.door import COOKIE, Asking, Here, bearer, of_page, refuse_guessing
from discreet.service.api.problems import NOBODY, Refused
from discreet.service.state.people import Person, Session, Unknown, begin_session, end_session, holder

routes = APIRouter(prefix="/v1/session", tags=["session"])


@routes.get("/methods", summary="How one can sign in here")
async def methods(at: Here) -> list[str]:
    return ["token", *(["openid"] if at.settings.openid else [])]


@routes.post("", status_code=201, summary="Sign in with a token; sets the page's cookie")
async def sign_in(given: SignIn, request: Request, at: Here) -> Response:
    try:
        who, token = await asyncio.to_thread(holder, at.state, given.token)
    except Unknown:
        refuse_guessing(at, request.client.host if request.client else "")
        raise Refused(NOBODY) from None
    hours = at.settings.session_hours
    secret, found = await asyncio.to_thread(begin_session, at.state, who, hours, token)
    answer = JSONResponse(said(found.person, found), 201)
    set_cookie(answer, secret, found, secure=secure(request))
    return answer


@routes.get("", summary="Who is signed in")
async def who_is(request: Request, who: Asking) -> dict[str, object]:
    if bearer(request) is not None:
        return said(who, None)
    return said(who, await of_page(request))


@routes.delete("", status_code=204, summary="Sign out")
async def sign_out(request: Request, who: Asking, at: Here) -> Response:
    del who
    answer = Response(status_code=204)
    if request.cookies.get(COOKIE):
        await asyncio.to_thread(end_session, at.state, request.cookies[COOKIE])
        answer.delete_cookie(COOKIE, path="/")
    return answer


def said(who: Person, found: Session | None) -> dict[str, object]:
    more = (
        {"csrf": None, "expires": None} if found is None else {"csrf": found.csrf, "expires": found.expires}
    )
    return {"name": who.name, "role": who.role, "groups": list(who.groups), **more}


def secure(request: Request) -> bool:
    """Whether the cookie may travel by HTTPS only: everywhere but on this machine itself."""
    return request.url.scheme == "https" or request.url.hostname not in {
        "127.0.0.1",
        "localhost",
        "::1",
        "testserver",
    }


def set_cookie(answer: Response, secret: str, found: Session, *, secure: bool) -> None:
    left = max(0, found.expires - int(time.time()))
    answer.set_cookie(COOKIE, secret, max_age=left, path="/", secure=secure, httponly=True, samesite="strict")
