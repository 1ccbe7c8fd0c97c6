"""Who may ask: people, their tokens and sessions. Secrets are stored as digests, and shown once."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from sqlalchemy import delete, insert, select, update

from discreet.service.state.layout import PEOPLE, SESSIONS, TOKENS
from discreet.service.state.store import StateStore

OWNER, ANALYST = "owner", "analyst"
NAME = r"[A-Za-z0-9][A-Za-z0-9._@+\-]{0,99}"
PREFIX = "discreet_"  # so that leaked tokens are found by scanners
DAY = 86400


class Unknown(LookupError):  # noqa: N818 - what happened, in the user's words
    """There is nothing of that name, or not for whoever asks."""


@final
@dataclass(frozen=True)
class Person:
    """Somebody who may sign in."""

    name: str
    role: str
    groups: tuple[str, ...] = ()

    @property
    def owns(self) -> bool:
        return self.role == OWNER


@final
@dataclass(frozen=True)
class Token:
    """What is known of a token once it was shown."""

    id: str
    person: str
    created: int
    expires: int
    revoked: int | None


@final
@dataclass(frozen=True)
class Session:
    """A sign-in of the page."""

    person: Person
    csrf: str
    expires: int


def checked_name(what: str, name: str) -> str:
    """Return a name that is safe in a URL, a log line and the name of a scope."""
    if not re.fullmatch(NAME, name):
        raise ValueError(
            f"the name of a {what} is 1 to 100 of A-Z a-z 0-9 . _ @ + -, and starts with a letter or digit; "
            f"got {name[:120]!r}"
        )
    return name


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


# ── people ──────────────────────────────────────────────────────────────────────────────────────────
def add_person(state: StateStore, name: str, role: str = ANALYST, groups: Iterable[str] = ()) -> Person:
    """Enter somebody, or change the role and groups of somebody who is there."""
    if role not in {OWNER, ANALYST}:
        raise ValueError(f"a role is {OWNER} or {ANALYST}, got {role!r}")
    held = tuple(sorted({checked_name("group", group) for group in groups}))
    values = {"role": role, "groups": json.dumps(held)}
    with state.writing() as connection:
        changed = connection.execute(
            update(PEOPLE).where(PEOPLE.c.name == checked_name("person", name)).values(**values)
        )
        if not changed.rowcount:
            connection.execute(insert(PEOPLE).values(name=name, created=int(time.time()), **values))
    return Person(name, role, held)


def people(state: StateStore) -> list[Person]:
    with state.reading() as connection:
        found = connection.execute(select(PEOPLE).order_by(PEOPLE.c.name)).all()
    return [Person(row.name, row.role, tuple(json.loads(row.groups))) for row in found]


def person(state: StateStore, name: str) -> Person:
    with state.reading() as connection:
        row = connection.execute(select(PEOPLE).where(PEOPLE.c.name == name)).one_or_none()
    if row is None:
        raise Unknown(f"nobody is called {name!r}")
    return Person(row.name, row.role, tuple(json.loads(row.groups)))


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────────
def issue(state: StateStore, name: str, days: float = 90) -> tuple[Token, str]:
    """Make a token for somebody; the text is returned here and nowhere else."""
    if not 0 < days <= 3660:
        raise ValueError(f"a token lasts above 0 and up to 3660 days, got {days!r}")
    holder, secret, now = person(state, name), PREFIX + secrets.token_urlsafe(32), int(time.time())
    token = Token(secrets.token_hex(8), holder.name, now, now + max(1, int(days * DAY)), None)
    with state.writing() as connection:
        connection.execute(insert(TOKENS).values(**vars(token), digest=digest(secret)))
    return token, secret


def tokens(state: StateStore, name: str | None = None) -> list[Token]:
    query = select(TOKENS).order_by(TOKENS.c.created, TOKENS.c.id)
    with state.reading() as connection:
        found = connection.execute(query if name is None else query.where(TOKENS.c.person == name)).all()
    return [Token(row.id, row.person, row.created, row.expires, row.revoked) for row in found]


def revoke(state: StateStore, token: str) -> None:
    """End a token, and the sessions that it began."""
    with state.writing() as connection:
        ended = update(TOKENS).where(TOKENS.c.id == token, TOKENS.c.revoked.is_(None))
        done = connection.execute(ended.values(revoked=int(time.time()))).rowcount
        connection.execute(delete(SESSIONS).where(SESSIONS.c.token == token))
        known = connection.execute(select(TOKENS.c.id).where(TOKENS.c.id == token)).scalar()
    if not done and known is None:
        raise Unknown(f"there is no token {token!r}")


def revoke_all(state: StateStore) -> list[Token]:
    """End every token that is valid; return them."""
    now = int(time.time())
    ended = [each for each in tokens(state) if each.revoked is None and each.expires > now]
    with state.writing() as connection:
        connection.execute(update(TOKENS).where(TOKENS.c.revoked.is_(None)).values(revoked=now))
    return ended


def holder(state: StateStore, secret: str) -> tuple[Person, Token]:
    """Return whose token this is; one that is wrong, expired or revoked is simply unknown."""
    query = select(TOKENS, PEOPLE.c.role, PEOPLE.c.groups).join(PEOPLE, PEOPLE.c.name == TOKENS.c.person)
    with state.reading() as connection:
        row = connection.execute(query.where(TOKENS.c.digest == digest(secret))).one_or_none()
    if row is None or row.revoked is not None or row.expires <= time.time():
        raise Unknown("no such token")
    known = Person(row.person, row.role, tuple(json.loads(row.groups)))
    return known, Token(row.id, row.person, row.created, row.expires, row.revoked)


# ── sessions ────────────────────────────────────────────────────────────────────────────────────────
def begin_session(
    state: StateStore, who: Person, hours: float, token: Token | None = None
) -> tuple[str, Session]:
    """Sign somebody in: the secret for the cookie, and what the page needs to know."""
    secret, csrf, now = secrets.token_urlsafe(32), secrets.token_urlsafe(24), int(time.time())
    ends = now + int(hours * 3600) if token is None else min(now + int(hours * 3600), token.expires)
    row = {"digest": digest(secret), "person": who.name, "csrf": csrf, "expires": ends}
    with state.writing() as connection:
        connection.execute(delete(SESSIONS).where(SESSIONS.c.expires <= now))
        connection.execute(insert(SESSIONS).values(token=None if token is None else token.id, **row))
    return secret, Session(who, csrf, ends)


def session(state: StateStore, secret: str) -> Session:
    query = select(SESSIONS, PEOPLE.c.role, PEOPLE.c.groups).join(PEOPLE, PEOPLE.c.name == SESSIONS.c.person)
    with state.reading() as connection:
        row = connection.execute(query.where(SESSIONS.c.digest == digest(secret))).one_or_none()
    if row is None or row.expires <= time.time():
        raise Unknown("no such session")
    return Session(Person(row.person, row.role, tuple(json.loads(row.groups))), row.csrf, row.expires)


def end_session(state: StateStore, secret: str) -> None:
    with state.writing() as connection:
        connection.execute(delete(SESSIONS).where(SESSIONS.c.digest == digest(secret)))


def end_sessions(state: StateStore) -> int:
    """Sign everybody out; return how many sessions there were."""
    with state.writing() as connection:
        return connection.execute(delete(SESSIONS)).rowcount
