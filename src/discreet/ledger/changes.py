"""What whoever keeps a ledger decides about its scopes: closed, reopened, lowered, raised, required.

Each is one entry of the chain in the transaction that makes it so, with the reason that was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from discreet.ledger.amounts import spent_words
from discreet.ledger.bill import noted, shown
from discreet.ledger.carried import capacities
from discreet.ledger.reads import required_by, scope_row
from discreet.ledger.scope import DoesNotFitError, Scope, closed_words
from discreet.ledger.transaction import EVERY, Transaction
from discreet.privacy.accounting.filters import rules_of
from discreet.privacy.guarantee import same_relation
from discreet.privacy.words import in_words
from discreet.release.receipt import LedgerError


def close(book: Transaction, name: str, reason: str) -> None:
    terms = scope_row(book.connection, name).terms
    if "closed" in terms:
        raise LedgerError(f"scope {name!r} is {closed_words(terms)} already")
    book.close_scope(name, _reason(reason))


def reopen(book: Transaction, name: str, reason: str) -> None:
    if "closed" not in scope_row(book.connection, name).terms:
        raise LedgerError(f"scope {name!r} is open: there is nothing to reopen")
    book.reopen_scope(name, _reason(reason))


def lower(book: Transaction, asked: Scope, reason: str) -> None:
    before, after = _comparable(book, asked)
    if _larger(before, after):
        raise LedgerError(
            f"{in_words(after.budget)} is not below the budget {in_words(before.budget)} of scope "
            f"{before.name!r} in every part; to raise it takes a reason: raise_scope"
        )
    try:
        book.change_budget("lower", before, after, _reason(reason))
    except DoesNotFitError as full:
        raise LedgerError(
            f"scope {before.name!r} has spent more than {in_words(after.budget)} holds"
            f"{spent_words(full.state)}; lower it less, or close it, so that nothing more is charged"
        ) from None


def raised(book: Transaction, asked: Scope, reason: str) -> None:
    before, after = _comparable(book, asked)
    if not _larger(before, after):
        raise LedgerError(
            f"{in_words(after.budget)} is not above the budget {in_words(before.budget)} of scope "
            f"{before.name!r} in any part; to lower it: lower_scope"
        )
    if not _reason(reason).strip():
        raise LedgerError("to raise a budget takes a reason, which stays on record")
    try:
        book.change_budget("raise", before, after, _reason(reason))
    except DoesNotFitError as full:  # one part goes up and another down
        raise LedgerError(
            f"scope {before.name!r} has spent more than {in_words(after.budget)} holds"
            f"{spent_words(full.state)}; lower no part below that"
        ) from None


def require(book: Transaction, data: str, scopes: Sequence[str], reason: str) -> None:
    data = shown("data set's label", data)
    if not data:
        raise LedgerError('name a data set by its label, fingerprint or place; "*" stands for every charge')
    wanted = sorted(set(scopes))
    for name in wanted:
        _ = scope_row(book.connection, name)  # or say which there are
    before = required_by(book.connection, [data]).get(data, [])
    if wanted == before:
        return
    missing = sorted(set(before) - set(wanted))
    if missing and not _reason(reason).strip():
        whose = "every charge" if data == EVERY else f"data set {data!r}"
        raise LedgerError(
            f"{whose} requires {', '.join(map(repr, before))}; to leave out {', '.join(map(repr, missing))} "
            "takes a reason, which stays on record"
        )
    book.require(data, wanted, _reason(reason))


def _reason(reason: str) -> str:
    return noted("reason", reason)


def _comparable(book: Transaction, asked: Scope) -> tuple[Scope, Scope]:
    """Return the scope as it is and as it is asked to be, under the rule that it is kept by."""
    before = scope_row(book.connection, asked.name).scope
    same_relation(before.budget, asked.budget)
    kinds = {type(before.budget), type(asked.budget)}
    if len(kinds) > 1 or rules_of(before.budget) != rules_of(asked.budget):
        raise LedgerError(
            f"scope {asked.name!r} has budget {in_words(before.budget)}, which cannot become one of another "
            f"kind, {in_words(asked.budget)}; open another scope, and close this one"
        )
    after = replace(asked, rule=before.rule)
    if before.held == after.held:
        raise LedgerError(f"the budget of scope {asked.name!r} is {in_words(before.budget)} already")
    return before, after


def _larger(before: Scope, after: Scope) -> bool:
    """Whether any part of the budget goes up: ε or δ, ρ, μ², or the divergence of an order."""
    plain = [replace(scope, rule="").tariff for scope in (before, after)]
    old, new = (dict(capacities(tariff)) for tariff in plain)
    if set(old) != set(new):
        raise LedgerError(
            f"the budgets {in_words(before.budget)} and {in_words(after.budget)} of scope {before.name!r} "
            "are given at different orders, so that neither is the smaller; give the same orders"
        )
    return any(new[name] > old[name] for name in old)
