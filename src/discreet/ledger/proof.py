"""The proof that a ledger is whole: the chain is walked from its first entry, and all is added up again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from discreet.ledger.carried import Move, carried_price, carried_sums, moves_of
from discreet.release.receipt import (
    GENESIS,
    Entry,
    Head,
    Lane,
    TamperedError,
    added,
    canonical,
    exact,
    link,
    unsealed,
    written,
)

BEFORE_RULES = {"rule": "orders"}  # the terms of scopes that were opened before there was a choice


@final
@dataclass(frozen=True)
class State:
    """A scope as it stands: the budget it was opened with as JSON, its sums, its terms."""

    opened: str
    lanes: list[Fraction]
    terms: dict[str, Any]
    full: bool  # the capacity is the one that every budget has
    guarded: bool  # what the database holds below it is the sum that it should
    held: bool  # the budget's promise survives the sums


def terms_after(terms: Mapping[str, Any], content: Mapping[str, Any], scope: str) -> dict[str, Any]:
    """Return a scope's terms after an entry: its rule is settled once, the rest by the last word on it."""
    kind = content["kind"]
    if kind == "scope":
        return {"rule": content["rule"]} if "rule" in content else dict(BEFORE_RULES)
    if kind == "close":
        return {**terms, "closed": {"at": content["at"], "note": content["note"]}}
    if kind == "reopen":
        return {name: said for name, said in terms.items() if name != "closed"}
    if kind in {"lower", "raise"}:
        return {**terms, "budget": content["budget"]}
    rule = content.get("rules", {}).get(scope)
    return {**terms, "rule": rule} if rule and not terms["rule"] else dict(terms)


@final
@dataclass
class LiveCharges:
    """What is charged and was not given back, in units of the budgets that the scopes have by now."""

    amounts: dict[str, dict[str, list[Lane]]] = field(default_factory=dict)

    def step(self, entry: Entry) -> None:
        content = entry.content
        if entry.kind == "charge":
            self.amounts[entry.id] = dict(content["amounts"])
        elif entry.kind == "refund":
            self.amounts.pop(entry.id, None)
        elif "moves" in content:
            self._carry(content["scopes"][0], moves_of(content))

    def _carry(self, scope: str, moves: list[Move | None]) -> None:
        for amounts in self.amounts.values():
            if scope in amounts:
                amounts[scope] = written(carried_price(exact(amounts[scope]), moves))


@final
@dataclass
class SoFar:
    """What the entries so far say of every scope, data set, charge and release."""

    head: Head = field(default_factory=lambda: Head(0, GENESIS))
    budgets: dict[str, str] = field(default_factory=dict)
    terms: dict[str, dict[str, Any]] = field(default_factory=dict)
    sums: dict[str, list[Fraction]] = field(default_factory=dict)
    live: LiveCharges = field(default_factory=LiveCharges)
    required: dict[str, list[str]] = field(default_factory=dict)
    computed: dict[str, Entry] = field(default_factory=dict)

    def step(self, entry: Entry) -> None:
        """Take the next entry, whose hash must follow from the one before."""
        _check_link(entry, self.head)
        content = entry.content
        if entry.kind == "scope":
            self.budgets[entry.id] = canonical(content["budget"])
        if entry.kind == "require":
            self.required[content["data"]] = content["requires"]
        if content.get("releases"):
            self.computed[entry.id] = entry
        for scope in content["scopes"]:
            self.terms[scope] = terms_after(self.terms.get(scope, {"rule": ""}), content, scope)
        self._add(entry)
        self.head = Head(entry.position, entry.hash)

    def _add(self, entry: Entry) -> None:
        content = entry.content
        if "moves" in content:
            scope = content["scopes"][0]
            self.sums[scope] = carried_sums(self.sums.get(scope, []), moves_of(content))
        if entry.kind == "refund":
            self._pay(self.live.amounts.get(entry.id, {}), -1)
        self.live.step(entry)
        if entry.kind == "charge":
            self._pay(content["amounts"], 1)

    def _pay(self, amounts: Mapping[str, list[Lane]], sign: int) -> None:
        for scope, price in amounts.items():
            self.sums[scope] = added(self.sums.get(scope, []), exact(price), sign)


def checked(
    entries: Iterable[Entry],
    head: Head,
    scopes: Mapping[str, State],
    required: Mapping[str, list[str]],
    kept: Iterable[tuple[str, dict[str, bytes]]],
) -> Head:
    """Walk the chain: links, head, budgets, sums, requirements, releases; raise at the first that is off."""
    walk = SoFar()
    for entry in entries:
        walk.step(entry)
    if walk.head != head:
        raise TamperedError(
            f"the chain ends at entry {walk.head.entries} and the ledger says {head.entries}: "
            "entries were cut off, added or changed"
        )
    _check_scopes(scopes, walk)
    if dict(required) != walk.required:
        raise TamperedError("the scopes that a data set requires were changed by hand")
    for name, bodies in kept:
        unsealed(walk.computed.pop(name, None), bodies)
    for lost in walk.computed.values():
        unsealed(lost, {})
    return head


def _check_link(entry: Entry, before: Head) -> None:
    if entry.position != before.entries + 1:
        raise TamperedError(
            f"entry {before.entries + 1} is missing or moved: after it comes {entry.position}"
        )
    if entry.previous != before.hash or entry.hash != link(before.hash, entry.position, entry.body):
        raise TamperedError(f"entry {entry.position} was changed: its hash does not follow from what it says")
    content = entry.content
    if (content["kind"], content["id"]) != (entry.kind, entry.id):
        raise TamperedError(f"entry {entry.position} was changed: its index does not match its content")


def _check_scopes(scopes: Mapping[str, State], walk: SoFar) -> None:
    if set(scopes) != set(walk.budgets):
        raise TamperedError("scopes were added or taken out by hand")
    for name, state in scopes.items():
        if state.opened != walk.budgets[name]:
            raise TamperedError(f"the budget of scope {name!r} was changed")
        if state.terms != walk.terms[name]:
            raise TamperedError(f"the terms of scope {name!r} were changed")
        if not state.full:
            raise TamperedError(f"the capacity of scope {name!r} was changed")
        if not state.guarded or any(added(state.lanes, walk.sums.get(name, []), sign=-1)):
            raise TamperedError(f"what scope {name!r} spent is not the sum of its charges")
        if not state.held:
            raise TamperedError(f"the charges of scope {name!r} are more than its budget holds")
