"""The hash chain: entries, receipts, and the proof that none was changed, taken out, cut off or reordered."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Protocol, final

GENESIS = "0" * 64
WIDEST = 256  # bits of a sum's denominator; beyond, the sum is rounded up to a whole unit


class LedgerError(Exception):
    """The ledger refuses what was asked; the message says why and what to do."""


class LedgerUnavailableError(LedgerError):
    """The file or server failed: what was asked is not acknowledged, so nothing may be released."""


class TamperedError(LedgerError):
    """The ledger is not what was written."""


# What parsers and constructors raise of a text that no ledger wrote
MALFORMED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)


@contextmanager
def as_written(what: str) -> Iterator[None]:
    """Say of something stored that cannot be read that it was changed: every text in a ledger is our own."""
    try:
        yield
    except MALFORMED as error:
        raise TamperedError(
            f"{what} holds what no ledger writes ({type(error).__name__}): it was changed by hand, or the "
            "disk failed; put back a copy that verify calls whole"
        ) from None


def canonical(value: object) -> str:
    """One text for one value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


Lane = int | str  # units that a meter holds: a whole number, or "p/q"


def exact(lanes: Sequence[Lane]) -> list[Fraction]:
    """Read what is written of the meters of a scope."""
    return [Fraction(lane) for lane in lanes]


def written(lanes: Iterable[Fraction]) -> list[Lane]:
    """Write sums exactly: whole numbers as such."""
    return [lane.numerator if lane.denominator == 1 else str(lane) for lane in lanes]


def added(sums: Sequence[Fraction], price: Sequence[Fraction], sign: int = 1) -> list[Fraction]:
    """Add a price to each meter: exactly, and never below; a meter that is missing holds nothing yet."""
    width = max(len(sums), len(price))
    padded = ([*lanes, *[Fraction(0)] * (width - len(lanes))] for lanes in (sums, price))
    return [_bounded(a + sign * b) for a, b in zip(*padded, strict=True)]


def _bounded(total: Fraction) -> Fraction:
    """Keep every sum small enough to be written: equal shares stay exact, odd ones go up to a unit."""
    return total if total.denominator.bit_length() <= WIDEST else Fraction(math.ceil(total))


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
        with as_written(f"entry {self.position}"):
            loaded: dict[str, Any] = dict(json.loads(self.body))
            return {**loaded, "scopes": [str(name) for name in loaded["scopes"]]}

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
    target: dict[str, Any] | None = (
        None  # what was asked for, where that is another promise than the guarantee
    )
    by_target: tuple[str, ...] = ()  # the scopes in which the target was charged, because it costs less there
    rules: dict[str, str] = field(default_factory=dict)  # how each (ε, δ) scope is kept: sums or orders
    about: dict[str, Any] = field(default_factory=dict)  # who, what, on which data: as declared

    @classmethod
    def of(cls, entry: Entry, *, replay: bool = False, computed: bool = False) -> Receipt:
        content = entry.content
        known = {name: content[name] for name in ("guarantee", "note", "at")}
        more = {name: content[name] for name in ("target", "rules", "about") if name in content}
        return cls(
            id=entry.id,
            scopes=tuple(content["scopes"]),
            position=entry.position,
            previous=entry.previous,
            hash=entry.hash,
            replay=replay,
            computed=computed,
            by_target=tuple(content.get("by_target", ())),
            **known,
            **more,
        )

    def to_json(self) -> dict[str, Any]:
        """Write it; what older versions did not know is left out where it is empty, so that bytes agree."""
        said = {**asdict(self), "scopes": list(self.scopes), "by_target": list(self.by_target)}
        return {name: value for name, value in said.items() if name not in _LATER or value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Receipt:
        tuples = {name: tuple(data[name]) for name in ("scopes", "by_target") if name in data}
        return cls(**{**data, **tuples})


_LATER = {"target", "by_target", "rules", "about"}


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
    wrong = [
        name
        for name in sorted({*held, *said})
        if name not in {"computed", "replay"} and said.get(name) != held.get(name)
    ]
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
    try:
        said, held = json.loads(one), json.loads(other)
    except ValueError:  # numbers in bytes, as of learners
        return ["what was released"]
    return [name for name in sorted({*said, *held}) if said.get(name) != held.get(name)] or ["its text"]


@final
@dataclass(frozen=True)
class Head:
    """How many entries there are and the hash of the last: what two honest copies agree on."""

    entries: int
    hash: str


def sealed(bodies: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of each release of a charge, by name: what the chain keeps of them."""
    return {name: hashlib.sha256(body).hexdigest() for name, body in bodies.items()}


def unsealed(computed: Entry | None, bodies: dict[str, bytes]) -> dict[str, bytes]:
    """Return the releases of a charge if they are those that were recorded."""
    if computed is None or computed.content.get("releases", {}) != sealed(bodies):
        named = "without a charge" if computed is None else f"of charge {computed.id!r}"
        raise TamperedError(f"a release {named} was added, changed or taken out since it was recorded")
    return bodies
