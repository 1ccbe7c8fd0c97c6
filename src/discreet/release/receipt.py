"""The hash chain: entries, receipts, and the proof that none was changed, taken out, cut off or reordered."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any, Protocol, final

GENESIS = "0" * 64


class LedgerError(Exception):
    """The ledger refuses what was asked; the message says why and what to do."""


class LedgerUnavailableError(LedgerError):
    """The file or server failed: what was asked is not acknowledged, so nothing may be released."""


class TamperedError(LedgerError):
    """The ledger is not what was written."""


def canonical(value: object) -> str:
    """One text for one value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def link(previous: str, position: int, body: str) -> str:
    """SHA-256 of the hash before, the position and the body."""
    return hashlib.sha256(f"{previous}\n{position}\n{body}".encode()).hexdigest()


@final
@dataclass(frozen=True)
class Entry:
    """One row: a scope opened, a charge, its release computed and kept, or a refund."""

    position: int
    kind: str
    id: str
    body: str = field(repr=False)
    previous: str = field(repr=False)
    hash: str

    @property
    def content(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.body)
        return loaded

    def flat(self) -> dict[str, Any]:
        """Everything in one level, for exports."""
        return {"position": self.position, **self.content, "previous": self.previous, "hash": self.hash}


def entry_after(previous: str, position: int, content: Mapping[str, Any]) -> Entry:
    body = canonical(content)
    kind, name = str(content["kind"]), str(content["id"])
    return Entry(position, kind, name, body, previous, link(previous, position, body))


@final
@dataclass(frozen=True)
class Receipt:
    """Proof of a charge: keep it, and `verify(receipt)` can show that the ledger still holds it."""

    id: str
    scopes: tuple[str, ...]
    guarantee: dict[str, Any]
    note: str
    at: str
    position: int
    previous: str
    hash: str
    replay: bool = False
    computed: bool = False

    @classmethod
    def of(cls, entry: Entry, *, replay: bool = False, computed: bool = False) -> Receipt:
        content = entry.content
        return cls(
            id=entry.id,
            scopes=tuple(content["scopes"]),
            guarantee=content["guarantee"],
            note=content["note"],
            at=content["at"],
            position=entry.position,
            previous=entry.previous,
            hash=entry.hash,
            replay=replay,
            computed=computed,
        )

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "scopes": list(self.scopes)}


class Claim(Protocol):
    """A release as somebody holds it: a receipt, and all that it says as the ledger would have kept it."""

    @property
    def receipt(self) -> Receipt: ...

    @property
    def body(self) -> bytes: ...


def refuse_forged(receipt: Receipt, charged: Receipt | None) -> None:
    """Hold every field of a receipt to the ledger's own; it may be from before its release was computed."""
    if charged is None:
        raise TamperedError(
            f"the ledger has no charge {receipt.id!r}: it is older than the release, or another one"
        )
    said, held = receipt.to_json(), charged.to_json()
    wrong = [name for name in held if name not in {"computed", "replay"} and said[name] != held[name]]
    if wrong or (receipt.computed and not charged.computed):
        raise TamperedError(
            f"the ledger holds another charge {receipt.id!r} than this receipt: "
            f"{', '.join(wrong) or 'computed'} differs"
        )


def refuse_changed(claim: Claim, kept: Mapping[str, bytes]) -> None:
    """Hold a release to the bytes that its charge paid for."""
    if not kept:
        raise TamperedError(
            f"the ledger keeps no release of charge {claim.receipt.id!r}, which an older discreet or another "
            "program made: the receipt is right, and the values cannot be proved"
        )
    if claim.body not in kept.values():
        wrong = min((_different(claim.body, body) for body in kept.values()), key=len)
        raise TamperedError(
            f"this is not the release that charge {claim.receipt.id!r} paid for: {', '.join(wrong)} differs"
        )


def _different(one: bytes, other: bytes) -> list[str]:
    said, held = json.loads(one), json.loads(other)
    return [name for name in sorted({*said, *held}) if said.get(name) != held.get(name)] or ["its text"]


@final
@dataclass(frozen=True)
class Head:
    """How many entries there are and the hash of the last: what two honest copies agree on."""

    entries: int
    hash: str


@final
@dataclass(frozen=True)
class State:
    """A scope as it stands: its budget as JSON, and its sums."""

    budget: str
    lanes: list[int]
    full: bool  # the capacity is the one that every budget has
    held: bool  # the budget's promise survives the sums


def sealed(bodies: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of each release of a charge, by name: what the chain keeps of them."""
    return {name: hashlib.sha256(body).hexdigest() for name, body in bodies.items()}


def unsealed(computed: Entry | None, bodies: dict[str, bytes]) -> dict[str, bytes]:
    """Return the releases of a charge if they are those that were recorded."""
    if computed is None or computed.content.get("releases", {}) != sealed(bodies):
        named = "without a charge" if computed is None else f"of charge {computed.id!r}"
        raise TamperedError(f"a release {named} was added, changed or taken out since it was recorded")
    return bodies


def checked(
    entries: Iterable[Entry],
    head: Head,
    scopes: Mapping[str, State],
    kept: Iterable[tuple[str, dict[str, bytes]]],
) -> Head:
    """Walk the chain: every link, the head, budgets, sums and releases; raise at the first that is off."""
    walked = Head(0, GENESIS)
    opened: dict[str, str] = {}
    sums: dict[str, list[int]] = defaultdict(list)
    amounts: dict[str, Mapping[str, list[int]]] = defaultdict(dict)
    computed: dict[str, Entry] = {}
    for entry in entries:
        _check_link(entry, walked)
        content = entry.content
        if entry.kind == "scope":
            opened[entry.id] = canonical(content["budget"])
        if entry.kind == "charge":
            amounts[entry.id] = content["amounts"]
        if content.get("releases"):
            computed[entry.id] = entry
        sign = {"charge": 1, "refund": -1}.get(entry.kind, 0)
        for scope, price in amounts[entry.id].items() if sign else ():
            sums[scope] = [a + sign * b for a, b in zip_longest(sums[scope], price, fillvalue=0)]
        walked = Head(entry.position, entry.hash)
    if walked != head:
        raise TamperedError(
            f"the chain ends at entry {walked.entries} and the ledger says {head.entries}: "
            "entries were cut off, added or changed"
        )
    _check_scopes(scopes, opened, sums)
    for name, bodies in kept:
        unsealed(computed.pop(name, None), bodies)
    for lost in computed.values():
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


def _check_scopes(
    scopes: Mapping[str, State], opened: Mapping[str, str], sums: Mapping[str, list[int]]
) -> None:
    if set(scopes) != set(opened):
        raise TamperedError("scopes were added or taken out by hand")
    for name, state in scopes.items():
        if state.budget != opened[name]:
            raise TamperedError(f"the budget of scope {name!r} was changed")
        if not state.full:
            raise TamperedError(f"the capacity of scope {name!r} was changed")
        if any(a != b for a, b in zip_longest(state.lanes, sums[name], fillvalue=0)):
            raise TamperedError(f"what scope {name!r} spent is not the sum of its charges")
        if not state.held:
            raise TamperedError(f"the charges of scope {name!r} are more than its budget holds")
