"""/v1/session/openid: sign in at an OpenID Connect provider, by the code flow with PKCE, state and nonce."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

import httpx
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from fastapi import APIRouter, Query, Request
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from sqlalchemy import delete, insert, select
from starlette.responses import RedirectResponse, Response

from discreet.service.api.door import Here
from discreet.service.api.problems import NOBODY, NOTHING, Refused
from discreet.service.api.running import Worker
from discreet.service.api.session import secure, set_cookie
from discreet.service.compute.orders import Problem
from discreet.service.settings import OpenId
from discreet.service.state.layout import SIGN_INS
from discreet.service.state.people import Person, Unknown, begin_session, person
from discreet.service.state.store import StateStore

routes = APIRouter(prefix="/v1/session/openid", tags=["session"])
COOKIE = "discreet_sign_in"
LASTS = 600  # seconds for which a sign-in may take
ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]  # signed by the provider's own keys, never by our secret
AWAY = Problem(
    503, "Unavailable", "the provider of sign-in did not answer as OpenID Connect asks", "try later"
)


def provider_of(at: Worker) -> OpenId:
    if at.settings.openid is None:
        raise Refused(NOTHING)
    return at.settings.openid


async def described(provider: OpenId) -> Mapping[str, Any]:
    """Read what the provider says of itself, and its keys; it must be the issuer that it is known as."""
    try:
        async with httpx.AsyncClient(timeout=10) as client:
            where = f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration"
            said = (await client.get(where)).raise_for_status().json()
            keys = (await client.get(said["jwks_uri"])).raise_for_status().json()
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        raise Refused(AWAY) from None
    if said.get("issuer") != provider.issuer:
        raise Refused(AWAY)
    return {**said, "keys": keys}


@routes.get("", summary="Go to the provider", status_code=303)
async def begin(request: Request, at: Here) -> Response:
    provider = provider_of(at)
    said = await described(provider)
    row = {
        "state": secrets.token_urlsafe(32),
        "nonce": secrets.token_urlsafe(32),
        "verifier": secrets.token_urlsafe(64),
    }
    await asyncio.to_thread(_remember, at.state, row)
    asked = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": provider.redirect,
        "scope": "openid email profile",
        "state": row["state"],
        "nonce": row["nonce"],
        "code_challenge": create_s256_code_challenge(row["verifier"]),
        "code_challenge_method": "S256",
    }
    url = f"{said['authorization_endpoint']}?{urlencode(asked)}"
    answer = RedirectResponse(url, 303)
    # Lax: it must come back with the provider's redirect; it only says which browser began
    answer.set_cookie(
        COOKIE, row["state"], max_age=LASTS, path="/v1/session/openid", secure=secure(request), httponly=True,
        samesite="lax",
    )  # fmt: skip
    return answer


@routes.get("/callback", summary="Come back from the provider", status_code=303)
async def back(
    request: Request,
    at: Here,
    state: Annotated[str, Query(max_length=200)] = "",
    code: Annotated[str, Query(max_length=4000)] = "",
) -> Response:
    provider = provider_of(at)
    begun = request.cookies.get(COOKIE, "")
    if not code or not state or not hmac.compare_digest(begun.encode(), state.encode()):
        raise Refused(NOBODY)
    row = await asyncio.to_thread(_recall, at.state, state)
    said = await described(provider)
    claims = await _claims(at, provider, said, code, row)
    who = await asyncio.to_thread(_person, at.state, provider, claims)
    secret, found = await asyncio.to_thread(begin_session, at.state, who, at.settings.session_hours)
    answer = RedirectResponse("/", 303)
    set_cookie(answer, secret, found, secure=secure(request))
    answer.delete_cookie(COOKIE, path="/v1/session/openid")
    return answer


async def _claims(
    at: Worker, provider: OpenId, said: Mapping[str, Any], code: str, row: Mapping[str, str]
) -> Mapping[str, Any]:
    """Exchange the code, and check the token: signature, issuer, audience, times and nonce."""
    try:
        token = await _token(at, provider, said, {"code": code, "code_verifier": row["verifier"]})
        read = jwt.decode(token["id_token"], KeySet.import_key_set(said["keys"]), algorithms=ALGORITHMS)
        jwt.JWTClaimsRegistry(
            leeway=30,
            iss={"essential": True, "value": provider.issuer},
            aud={"essential": True, "value": provider.client_id},
            exp={"essential": True},
            sub={"essential": True},
            nonce={"essential": True, "value": row["nonce"]},
        ).validate(read.claims)
    except (JoseError, ValueError, KeyError, TypeError):
        raise Refused(NOBODY) from None
    except httpx.HTTPError:
        raise Refused(AWAY) from None
    return read.claims


def _person(state: StateStore, provider: OpenId, claims: Mapping[str, Any]) -> Person:
    """Return whom an owner entered under the name that the provider vouches for."""
    name = claims.get(provider.claim)
    if not isinstance(name, str) or (provider.claim == "email" and claims.get("email_verified") is not True):
        raise Refused(NOBODY)
    try:
        return person(state, name)
    except Unknown:
        raise Refused(NOBODY) from None


async def _token(
    at: Worker, provider: OpenId, said: Mapping[str, Any], proof: Mapping[str, str]
) -> Mapping[str, Any]:
    """Exchange a code for a token; a public client is known by its id, another by its secret."""
    secret = at.settings.secret()
    form = {"grant_type": "authorization_code", "redirect_uri": provider.redirect, **proof}
    known = httpx.Auth() if secret is None else httpx.BasicAuth(provider.client_id, secret)
    if secret is None:
        form["client_id"] = provider.client_id
    async with httpx.AsyncClient(timeout=10) as client:
        found = await client.post(said["token_endpoint"], data=form, auth=known)
    if found.status_code != httpx.codes.OK:
        raise ValueError("the provider refused the code")
    token: Mapping[str, Any] = found.json()
    return token


def _remember(state: StateStore, row: Mapping[str, str]) -> None:
    now = int(time.time())
    with state.writing() as connection:
        connection.execute(delete(SIGN_INS).where(SIGN_INS.c.expires <= now))
        connection.execute(insert(SIGN_INS).values(**row, expires=now + LASTS))


def _recall(state: StateStore, name: str) -> Mapping[str, str]:
    """Take what was begun, once."""
    with state.writing() as connection:
        row = connection.execute(select(SIGN_INS).where(SIGN_INS.c.state == name)).one_or_none()
        taken = connection.execute(delete(SIGN_INS).where(SIGN_INS.c.state == name)).rowcount
    if row is None or not taken or row.expires <= time.time():
        raise Refused(NOBODY)
    return {"nonce": row.nonce, "verifier": row.verifier}
