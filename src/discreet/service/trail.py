"""Who asked what, when, at which price: the ledger's entries, read on as they come."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, final

from discreet.ledger import Entry, Ledger
from discreet.ledger.amounts import promise_words
from discreet.service.compute.reading import losses


@final
@dataclass
class Trail:
    """An index of the ledger in memory: charges, who made them, and whether their releases exist."""

    ledger: Ledger
    charges: dict[str, Entry] = field(default_factory=dict)
    actor: dict[str, str] = field(default_factory=dict)  # of a charge
    computed: set[str] = field(default_factory=set)
    refunded: set[str] = field(default_factory=set)
    of_person: dict[str, list[str]] = field(default_factory=dict)
    scopes: set[str] = field(default_factory=set)  # by name: looking at sums would take ball arithmetic
    last: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def read_on(self) -> Trail:
        """Take in what was written since."""
        with self.lock:
            for entry in self.ledger.history(after=self.last):
                self._take(entry)
                self.last = entry.position
        return self

    def _take(self, entry: Entry) -> None:
        if entry.kind == "charge":
            self.charges[entry.id] = entry
            actor = entry.content.get("about", {}).get("actor", "")
            self.actor[entry.id] = actor
            self.of_person.setdefault(actor, []).append(entry.id)
        elif entry.kind == "scope":
            self.scopes.add(entry.id)
        elif entry.kind == "computed":
            self.computed.add(entry.id)
        elif entry.kind == "refund":
            self.refunded.add(entry.id)

    def releases(self, person: str | None, settled: float) -> list[dict[str, Any]]:
        """List releases, newest first: of somebody or of all, once their time on the schedule has come."""
        ids = self.charges if person is None else self.of_person.get(person, ())
        found = (self.charges[name] for name in reversed(list(ids)) if name in self.computed)
        return [line(entry) for entry in found if time.time() >= charged_at(entry) + settled]

    def all(self) -> list[dict[str, Any]]:
        """List every charge, oldest first, with what became of it."""
        return [{**line(entry), "outcome": self._outcome(entry.id)} for entry in self.charges.values()]

    def _outcome(self, name: str) -> str:
        return "refunded" if name in self.refunded else "released" if name in self.computed else "charged"


def charged_at(entry: Entry) -> float:
    return datetime.fromisoformat(entry.content["at"]).timestamp()


def line(entry: Entry) -> dict[str, Any]:
    """Say one charge in a line."""
    said: Mapping[str, Any] = entry.content
    about = said.get("about", {})
    return {
        "id": entry.id,
        "table": about.get("data"),
        "columns": about.get("columns", []),
        "model": about.get("model"),
        "mechanism": about.get("mechanism"),
        "created": said["at"],
        "analyst": about.get("actor"),
        **losses(said.get("target", said["guarantee"])),
        "price": promise_words(said["guarantee"]),
        "scopes": said["scopes"],
        "note": said.get("note", ""),
        "position": entry.position,
    }
