"""Several charges, or the releases of several, in one transaction: one commit for a crowd.

Each call returns after its commit, so that what holds of `Ledger.charge` and `.record` holds of every part: a
receipt that is returned is durable, and so are bytes. One that is refused is undone alone, to its savepoint.
A crash before the commit leaves none of the group, after it all of it; there is nothing between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from discreet.ledger.bill import Bill, charged, open_charge, replayed
from discreet.ledger.reads import stored_releases
from discreet.ledger.scope import DoesNotFitError, Scope
from discreet.ledger.transaction import Transaction
from discreet.privacy.guarantee import Guarantee
from discreet.release.receipt import LedgerError, Receipt


@final
@dataclass(frozen=True)
class Charge:
    """What `Ledger.charge` takes, under an id of the caller's."""

    charge_id: str
    guarantee: Guarantee
    target: Guarantee | None
    scopes: Sequence[str]
    note: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)


def paid(book: Transaction, bill: Bill, chosen: Sequence[Scope]) -> Receipt:
    """Charge every scope, or find what was charged under this id."""
    offers = {scope.name: scope.tariff.prices(bill.guarantee, bill.target) for scope in chosen}
    first = book.find("charge", bill.name) if bill.asked_before else None
    if first is not None:
        return replayed(book, first, bill, sorted(offers))
    book.refuse_beside(bill.about, sorted(offers))
    prices = {
        scope.name: offers[scope.name][book.spend(scope, [price for _, price in offers[scope.name]])]
        for scope in chosen
    }
    return Receipt.of(book.append("charge", bill.name, **charged(bill, chosen, prices)))


def all_paid(book: Transaction, asked: Sequence[tuple[Bill, Sequence[Scope]]]) -> list[Receipt | None]:
    """Do so for several; None for one that is refused, of which nothing stays."""

    def one(bill: Bill, chosen: Sequence[Scope]) -> Receipt | None:
        try:
            with book.apart():
                return paid(book, bill, chosen)
        except (LedgerError, DoesNotFitError):
            return None

    return [one(bill, chosen) for bill, chosen in asked]


def kept(book: Transaction, receipt_id: str, bodies: Mapping[str, bytes]) -> dict[str, bytes]:
    """Keep a release and mark its charge as computed, or return the release that was kept first."""
    first = stored_releases(book.connection, receipt_id)
    if not first:
        book.computed(open_charge(book, receipt_id), bodies)
    return first or dict(bodies)


def all_kept(
    book: Transaction, releases: Mapping[str, Mapping[str, bytes]]
) -> dict[str, dict[str, bytes] | None]:
    """Do so for several charges; None for one that is refused, as when it was given back."""

    def one(name: str, bodies: Mapping[str, bytes]) -> dict[str, bytes] | None:
        try:
            with book.apart():
                return kept(book, name, bodies)
        except LedgerError:
            return None

    return {name: one(name, bodies) for name, bodies in releases.items()}
