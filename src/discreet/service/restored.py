"""After a back-up was put back: nothing that it forgot is spent, drawn, decided or believed a second time.

The copy knows nothing of what came after it. A charge that was open in it may have been drawn and answered
since: drawn again it would be a second release for one price, so that each is marked as computed elsewhere.
Budgets may have been spent since: they are closed, until an owner has compared them with a newer export. A
request that waits in it may have been decided and answered since: it is ended. A token that is valid in it
may have been revoked since: all are revoked, unless the owner says to keep them. Sessions are ended, too.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from discreet.ledger import Ledger
from discreet.service.settings import Settings
from discreet.service.state import jobs, people
from discreet.service.state.store import StateStore
from discreet.service.trail import Trail

REASON = "a back-up was put back"
ENDED = {
    "title": "The service was restored",
    "status": 409,
    "type": "about:blank",
    "detail": "a back-up was put back, which does not know whether this request was answered since",
    "next": "ask again under another Idempotency-Key, once the owner has reopened the budgets",
}


def settle(settings: Settings, state: StateStore, *, keep_tokens: bool = False) -> dict[str, Any]:
    """Make a restored service safe to serve: what was closed, marked and ended."""
    with Ledger.open(settings.ledger) as book:
        closed = [left.scope for left in book.scopes() if not left.closed]
        for scope in closed:
            book.close_scope(scope, REASON)
        trail = Trail(book).read_on()
        open_charges = [name for name in trail.charges if name not in trail.computed | trail.refunded]
        for name in open_charges:
            book.mark_computed(name)
    revoked = [] if keep_tokens else [asdict(token) for token in people.revoke_all(state)]
    return {
        "closed": closed,
        "marked": open_charges,
        "ended": jobs.end_all(state, ENDED),
        "sessions": people.end_sessions(state),
        "revoked": revoked,
    }
