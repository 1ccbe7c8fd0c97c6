"""What may be written under the lock: a fixed number of statements by primary key for each charge."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, final

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from discreet.ledger.amounts import FULL
from discreet.ledger.carried import carried_price, carried_sums, moves_between, moves_of, moves_to_json
from discreet.ledger.proof import terms_after
from discreet.ledger.reads import found, known_scope, required_by
from discreet.ledger.schema import (
    ENTRIES,
    LEDGER,
    RELEASES,
    REQUIRED,
    SCOPES,
)
from discreet.ledger.scope import (
    DoesNotFitError,
    Scope,
    ScopeRefusedError,
    StaleScopeError,
    closed_words,
    held_now,
)
from discreet.release.receipt import (
    Entry,
    Head,
    LedgerError,
    added,
    as_written,
    canonical,
    entry_after,
    exact,
    sealed,
    written,
)

# Built once: a statement built anew costs more than running it, and the lock is held meanwhile.
_MOVE_HEAD = update(LEDGER).where(LEDGER.c.one == 1).values(entries=bindparam("to"), head=bindparam("last"))
_SCOPE = select(SCOPES).where(SCOPES.c.name == bindparam("scope"))
_HOLD = (
    update(SCOPES)
    .where(SCOPES.c.name == bindparam("scope"))
    .values(spent=bindparam("guarded"), others=bindparam("sums"), terms=bindparam("said"))
)
_TERMS = update(SCOPES).where(SCOPES.c.name == bindparam("scope")).values(terms=bindparam("said"))
_CHANGES = select(ENTRIES).where(
    ENTRIES.c.kind.in_(("lower", "raise")), ENTRIES.c.position > bindparam("after")
)
EVERY = "*"  # the data set that stands for all


@final
@dataclass
class Transaction:
    """The ledger under its lock, within one transaction."""

    connection: Connection
    head: Head

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Undo what is done inside, and no more, if it is refused."""
        before = self.head
        try:
            with self.connection.begin_nested():
                yield
        except BaseException:
            self.head = before
            raise

    def find(self, kind: str, name: str) -> Entry | None:
        return found(self.connection, kind, name)

    def open_scope(self, scope: Scope) -> None:
        lanes = [Fraction(0)] * scope.tariff.lanes
        fresh = {"name": scope.name, "budget": scope.held, "capacity": FULL, "spent": 0}
        said = {"others": canonical(written(lanes)), "terms": canonical({"rule": scope.rule})}
        self.connection.execute(insert(SCOPES).values(**fresh, **said))
        budget = json.loads(scope.held)
        self.append("scope", scope.name, scopes=[scope.name], budget=budget, rule=scope.rule)

    def spend(self, scope: Scope, prices: Sequence[Sequence[Fraction]], sign: int = 1) -> int:
        """Add the first of these prices that fits, or raise, which undoes the transaction; return which."""
        row = self._row(scope.name)
        with as_written(f"scope {scope.name!r}"):
            terms, sums = dict(json.loads(row.terms)), exact(json.loads(row.others))
            settled, held = str(terms["rule"]), held_now(row.budget, terms)
        if held != scope.held or settled not in {"", scope.rule}:
            raise StaleScopeError(scope.name)
        if sign > 0 and "closed" in terms:
            raise ScopeRefusedError(
                f"scope {scope.name!r} is {closed_words(terms)}: nothing is charged to it; charge another "
                "scope, or whoever keeps the ledger reopens it"
            )
        before = sums if settled else [Fraction(0)] * scope.tariff.lanes
        for place, price in enumerate(prices):
            after = added(before, price, sign)
            if scope.tariff.holds(after):
                self._hold(scope, after, {**terms, "rule": scope.rule})
                return place
        raise DoesNotFitError(scope.name, scope.tariff.spending(before))

    def _row(self, scope: str) -> Row[Any]:
        row = self.connection.execute(_SCOPE, {"scope": scope}).one_or_none()
        if row is None:
            raise LedgerError(f"scope {scope!r} was taken out since it was opened; open the ledger again")
        return row

    def give_back(self, charge: Entry) -> None:
        """Take off what a charge cost, in units of the budgets that its scopes have by now."""
        amounts = charge.content["amounts"]
        changes = [Entry(**row._mapping) for row in self._changes_after(charge.position)]  # noqa: SLF001
        for name in sorted(amounts):
            price = exact(amounts[name])
            for change in changes:
                if change.content["scopes"] == [name]:
                    with as_written(f"entry {change.position}"):
                        price = carried_price(price, moves_of(change.content))
            self.spend(known_scope(self.connection, name), [price], sign=-1)

    def _changes_after(self, position: int) -> list[Row[Any]]:
        found = self.connection.execute(_CHANGES.order_by(ENTRIES.c.position), {"after": position})
        return list(found.all())

    def close_scope(self, name: str, reason: str) -> None:
        self._retermed(self.append("close", self._next(), scopes=[name], note=reason), name)

    def reopen_scope(self, name: str, reason: str) -> None:
        self._retermed(self.append("reopen", self._next(), scopes=[name], note=reason), name)

    def _next(self) -> str:
        """Return an id for what has none of its own: its place in the chain."""
        return str(self.head.entries + 1)

    def _retermed(self, entry: Entry, name: str) -> None:
        after = terms_after(json.loads(self._row(name).terms), entry.content, name)
        self.connection.execute(_TERMS, {"scope": name, "said": canonical(after)})

    def change_budget(self, kind: str, before: Scope, after: Scope, reason: str) -> None:
        """Carry what was spent over to another budget, or raise where it does not fit there."""
        row = self._row(before.name)
        moves = moves_between(before.tariff, after.tariff)
        said = {"budget": json.loads(after.held), "moves": moves_to_json(moves), "note": reason}
        lanes = carried_sums(exact(json.loads(row.others)), moves)
        if not after.tariff.holds(lanes):
            raise DoesNotFitError(before.name, before.tariff.spending(exact(json.loads(row.others))))
        entry = self.append(kind, self._next(), scopes=[before.name], **said)
        self._hold(after, lanes, terms_after(json.loads(row.terms), entry.content, before.name))

    def require(self, data: str, scopes: Sequence[str], reason: str) -> None:
        """Have every charge that names a data set charge these scopes too."""
        before = required_by(self.connection, [data]).get(data)
        if before is None:
            self.connection.execute(insert(REQUIRED).values(data=data, scopes=canonical(list(scopes))))
        else:
            self.connection.execute(
                update(REQUIRED).where(REQUIRED.c.data == data).values(scopes=canonical(list(scopes)))
            )
        touched = sorted({*scopes, *(before or ())})
        said = {"data": data, "requires": list(scopes), "scopes": touched, "note": reason}
        self.append("require", self._next(), **said)

    def refuse_beside(self, about: Mapping[str, Any], scopes: Sequence[str]) -> None:
        """Refuse a charge that leaves out a scope that its data set requires."""
        names = [about[key] for key in ("data", "fingerprint", "place") if key in about]
        for data, wanted in required_by(self.connection, [EVERY, *names]).items():
            if lacking := sorted(set(wanted) - set(scopes)):
                raise ScopeRefusedError(_beside(about.get("data", data), data, lacking, scopes))

    def _hold(self, scope: Scope, lanes: Sequence[Fraction], terms: Mapping[str, Any]) -> None:
        """Write the sums; the database itself refuses one above the capacity."""
        guarded, said = math.ceil(lanes[scope.tariff.guarded]), canonical(terms)
        values = {"scope": scope.name, "guarded": guarded, "sums": canonical(written(lanes)), "said": said}
        self.connection.execute(_HOLD, values)

    def computed(self, charge: Entry, bodies: Mapping[str, bytes], **more: object) -> None:
        """Keep releases and say that they exist. When that was tells how long the work took: not written."""
        kept = [{"id": charge.id, "name": name, "body": body} for name, body in bodies.items()]
        if kept:
            self.connection.execute(insert(RELEASES), kept)
        said = {"at": charge.content["at"], "scopes": charge.content["scopes"], "releases": sealed(bodies)}
        self.append("computed", charge.id, **said, **more)

    def append(self, kind: str, name: str, **content: object) -> Entry:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        position = self.head.entries + 1
        entry = entry_after(self.head.hash, position, {"kind": kind, "id": name, "at": now, **content})
        self.head = Head(position, entry.hash)
        self.connection.execute(insert(ENTRIES), asdict(entry))
        self.connection.execute(_MOVE_HEAD, {"to": position, "last": entry.hash})
        return entry


def _beside(named: str, data: str, lacking: Sequence[str], scopes: Sequence[str]) -> str:
    whose = "every charge of this ledger" if data == EVERY else f"data set {named!r}"
    several = f"scopes {', '.join(map(repr, lacking))}" if len(lacking) > 1 else f"scope {lacking[0]!r}"
    return (
        f"{whose} requires the {several}, so that nobody spends beside a shared budget; charge them "
        f"together: scope={sorted({*scopes, *lacking})}"
    )
