"""The charge: durable before the first private value is read, and made once under an id."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.privacy.accounting.filters import Overspent
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.json import to_json
from discreet.release.json import canonical
from discreet.release.receipt import LedgerError, Receipt

if TYPE_CHECKING:
    from discreet.ledger import Ledger


class Interrupted(KeyboardInterrupt):
    """Ctrl-C after the charge; `receipt_id` names it."""

    def __init__(self, message: str, receipt_id: str) -> None:
        super().__init__(message)
        self.receipt_id = receipt_id


def pay(
    ledger: Ledger,
    promises: tuple[Guarantee, ...],
    *,
    scope: str | Sequence[str] | None = None,
    charge_id: str | None = None,
    note: str = "",
) -> Receipt:
    """Charge the first promise that fits; under an id used before, find the charge that was made."""
    name = uuid.uuid4().hex if charge_id is None else charge_id
    try:
        return _charged(ledger, _due(ledger, promises, charge_id), name, note, scope)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted while charging {name!r}: nothing was read or released; ledger.history() says "
            "whether the charge was made, and the same charge_id pays only once",
            name,
        ) from None


def _due(ledger: Ledger, promises: tuple[Guarantee, ...], charge_id: str | None) -> tuple[Guarantee, ...]:
    """Only what was charged before, where the id is known and it was one of these; else all of them."""
    if charge_id is None:
        return promises
    try:
        before = canonical(ledger.receipt(charge_id).guarantee)
    except LedgerError:  # no such charge; if the ledger is out of reach, charging says so
        return promises
    same = tuple(promise for promise in promises if canonical(to_json(promise)) == before)
    return same[:1] or promises[-1:]  # the ledger refuses an id that paid for something else


def _charged(
    ledger: Ledger, due: tuple[Guarantee, ...], name: str, note: str, scope: str | Sequence[str] | None
) -> Receipt:
    for promise in due[:-1]:
        try:
            return ledger.charge(promise, charge_id=name, note=note, scopes=scope)
        except Overspent:
            continue
    return ledger.charge(due[-1], charge_id=name, note=note, scopes=scope)
