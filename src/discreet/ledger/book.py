"""The durable budget: charged before private data are read, never after.

A charge is one transaction: lock, add the price where it fits, append to the hash chain, commit. A crash may
waste budget, never overspend it. See amounts for the prices and discreet.release.receipt for what is proved.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

from discreet.ledger import changes, keys, together
from discreet.ledger.amounts import Remaining
from discreet.ledger.bill import (
    Bill,
    described,
    named,
    noted,
    open_charge,
    opened,
    refusing,
)
from discreet.ledger.export import as_csv, as_json
from discreet.ledger.keys import Key
from discreet.ledger.proof import checked
from discreet.ledger.reads import (
    all_kept,
    head_of,
    known_scope,
    left_in,
    receipt_of,
    remaining_of,
    required_by,
    rows,
    scope_rows,
    scope_states,
    stored_releases,
)
from discreet.ledger.scope import Scope, ScopeRefusedError, StaleScopeError
from discreet.ledger.spending import Spent, Total, html, picture, spent, totals
from discreet.ledger.spending import to_json as to_rows
from discreet.ledger.store import Store
from discreet.ledger.together import Charge
from discreet.privacy.accounting.filters import Overspent, Spending
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.json import to_json
from discreet.privacy.words import in_words
from discreet.release.receipt import (
    Claim,
    Entry,
    Head,
    LedgerError,
    LedgerUnavailableError,
    Receipt,
    TamperedError,
    canonical,
    refuse_changed,
    refuse_forged,
)
from discreet.release.signature import PublicKey, SigningKey, Statement, read_beside, written_beside
from discreet.shown import address

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Entry",
    "Head",
    "Ledger",
    "LedgerError",
    "LedgerUnavailableError",
    "Overspent",
    "Receipt",
    "Remaining",
    "ScopeRefusedError",
    "TamperedError",
]

PATIENCE = 20  # times that a charge looks its scopes up again, because others settled them meanwhile


@final
class Ledger:
    """A budget for each scope (a table, an analyst, a project), and every charge against it.

    The only mutable object of the library. Nothing private ever enters: guarantees, names and the caller's
    notes are all that is stored.
    """

    def __init__(self, store: Store, scope: str) -> None:
        self._store = store
        self.scope = named("scope", scope)
        self._known: dict[str, Scope] = {}

    @classmethod
    def open(
        cls,
        where: str | Path,
        budget: Guarantee | None = None,
        scope: str = "default",
        *,
        rule: str | None = None,
    ) -> Self:
        """Open an SQLite file or a postgresql:// URL; with a budget, start the ledger or scope if new.

        `rule`, how an (ε, δ) budget is kept, is "sums" or "orders"; left out, the first charge settles it.
        """
        ledger = cls(Store(where), scope)
        if budget is not None:
            ledger._start(scope, budget, rule)
        elif ledger._store.exists:
            ledger._store.check()
        else:
            raise LedgerError(
                f"there is no ledger at {address(where)}; give a budget to start one, e.g. budget=PureDP(1)"
            )
        return ledger

    def _start(self, scope: str, budget: Guarantee, rule: str | None) -> None:
        opened(scope, budget, rule)  # refuse a budget without a filter before a file appears
        self._store.create()
        self.add_scope(scope, budget, rule=rule)

    def close(self) -> None:
        """Close the connections; the ledger opens them again when asked."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger.open({self._store.name!r}, scope={self.scope!r})"

    # ── writing ─────────────────────────────────────────────────────────────────────────────────────

    def add_scope(self, name: str, budget: Guarantee, *, rule: str | None = None) -> None:
        """Open a scope; asked again with the same budget, do nothing."""
        scope = opened(named("scope", name), budget, rule)
        with self._store.writing(f"open scope {name!r}") as book:
            before = book.find("scope", name)
            if before is None:
                book.open_scope(scope)
                return
            held = known_scope(book.connection, name)
        if not {held.held, canonical(before.content["budget"])} & {scope.held, canonical(to_json(budget))}:
            raise LedgerError(
                f"scope {name!r} has budget {in_words(held.budget)}, which cannot become {in_words(budget)}; "
                "open it without a budget, or name another scope"
            )
        if rule is not None and held.rule != rule:
            raise LedgerError(
                f"scope {name!r} is kept by the rule {held.rule or 'of its first charge'!r}, which cannot "
                f"become {rule!r}; open it without a rule, or name another scope"
            )

    def charge(
        self,
        guarantee: Guarantee,
        *,
        target: Guarantee | None = None,
        charge_id: str | None = None,
        note: str = "",
        scopes: str | Sequence[str] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Pay for one release in every scope named, or in none; durable when it returns.

        Where the release is known to keep a `target` too, each scope is charged the cheaper of the two. Under
        a charge id used before nothing is charged and the first receipt comes back, with replay=True. `about`
        says who asks what of which data: data, fingerprint, columns, model, mechanism, actor.
        """
        name = uuid.uuid4().hex if charge_id is None else named("charge id", charge_id)
        said = noted("note", note), described(about or {})
        bill = Bill(name, guarantee, target, *said, charge_id is not None)
        for _again in range(PATIENCE):
            chosen = [scope.settled(guarantee, target) for scope in self._chosen(scopes)]
            try:
                return self._paid(bill, chosen)
            except StaleScopeError:
                self._known.clear()
        raise LedgerUnavailableError(f"the scopes of charge {name!r} kept changing; ask again")

    def _paid(self, bill: Bill, chosen: Sequence[Scope]) -> Receipt:
        with refusing(bill), self._store.writing(f"charge {bill.name!r}") as book:
            receipt = together.paid(book, bill, chosen)
        self._known.update({scope.name: scope for scope in chosen if not receipt.replay})
        return receipt

    def charge_all(self, asked: Sequence[Charge]) -> list[Receipt | None]:
        """Pay for several releases in one transaction, each in all its scopes or in none.

        All are durable when it returns. None stands for one that is refused, which `charge` gives a reason
        for, and for all of them where scopes were settled meanwhile.
        """
        ready = []
        for each in asked:
            said = noted("note", each.note), described(each.about)
            name = named("charge id", each.charge_id)
            bill = Bill(name, each.guarantee, each.target, *said, asked_before=True)
            ready.append((bill, [s.settled(each.guarantee, each.target) for s in self._chosen(each.scopes)]))
        try:
            with self._store.writing(f"make {len(ready)} charges") as book:
                return together.all_paid(book, ready)
        except StaleScopeError:
            self._known.clear()
            return [None] * len(ready)

    def record(self, receipt_id: str, bodies: Mapping[str, bytes]) -> dict[str, bytes]:
        """Keep what a charge paid for and mark it as computed, in one transaction; return what is kept.

        Where another process was first, that is its release: one draw leaves, and ours is seen by nobody.
        """
        with self._store.writing(f"record the release of {receipt_id!r}") as book:
            return together.kept(book, receipt_id, bodies)

    def record_all(self, releases: Mapping[str, Mapping[str, bytes]]) -> dict[str, dict[str, bytes] | None]:
        """Do so for several charges in one transaction; None for one that is refused."""
        with self._store.writing(f"record {len(releases)} releases") as book:
            return together.all_kept(book, releases)

    def mark_computed(self, receipt_id: str) -> None:
        """Say, before it leaves, that a charge's release was made elsewhere: once, and no refund after."""
        with self._store.writing(f"mark {receipt_id!r} as computed") as book:
            book.computed(open_charge(book, receipt_id), {})

    def claim(self, receipt_id: str, run: str) -> None:
        """Let one run, and no other, write what a charge paid for to a file of its own, state by state."""
        with self._store.writing(f"claim {receipt_id!r}") as book:
            before = book.find("computed", receipt_id)
            if before is None and run:
                book.computed(open_charge(book, receipt_id), {}, run=run)
            elif before is None or before.content.get("run", "") != run or before.content.get("releases"):
                raise LedgerError(
                    f"charge {receipt_id!r} did not pay for this run: resume the file of the run it paid "
                    "for, with its own ledger, or pay under a new charge id"
                )

    def refund(self, receipt_id: str, reason: str) -> Entry:
        """Give back a charge whose release was never computed; both stay on record."""
        reason = noted("reason of a refund", reason, least=1)
        with self._store.writing(f"refund {receipt_id!r}") as book:
            charge = open_charge(book, receipt_id)
            book.give_back(charge)
            return book.append("refund", charge.id, scopes=sorted(charge.content["amounts"]), note=reason)

    def close_scope(self, name: str, reason: str = "") -> None:
        """Let nothing more be charged to a scope; what was paid for may still be computed, or refunded."""
        with self._store.writing(f"close scope {name!r}") as book:
            changes.close(book, name, reason)

    def reopen_scope(self, name: str, reason: str = "") -> None:
        """Let a closed scope be charged again."""
        with self._store.writing(f"reopen scope {name!r}") as book:
            changes.reopen(book, name, reason)

    def lower_scope(self, name: str, budget: Guarantee, reason: str = "") -> None:
        """Give a scope a smaller budget of the same kind, never below what it has spent."""
        after = opened(named("scope", name), budget, None)
        with self._store.writing(f"lower scope {name!r}") as book:
            changes.lower(book, after, reason)

    def raise_scope(self, name: str, budget: Guarantee, reason: str) -> None:
        """Give a scope a larger budget of the same kind; the reason stays on record.

        From then on the scope promises the larger budget, for what was released before too.
        """
        after = opened(named("scope", name), budget, None)
        with self._store.writing(f"raise scope {name!r}") as book:
            changes.raised(book, after, reason)

    def require(self, data: str, scopes: str | Sequence[str], reason: str = "") -> None:
        """Have every charge that names a data set charge these scopes too; "*" stands for every charge.

        A data set is named by its label, its fingerprint, or the place where its rows lie (`Table.label`,
        `.fingerprint`, `.place`). Scopes may be added; to leave out one that was required takes a reason.
        """
        with self._store.writing(f"require the scopes of {data!r}") as book:
            changes.require(book, data, (scopes,) if isinstance(scopes, str) else scopes, reason)

    # ── signing ─────────────────────────────────────────────────────────────────────────────────────

    def add_key(self, public: PublicKey, name: str) -> Key:
        """Put the public key of somebody who signs certificates on record."""
        with self._store.writing("add a key") as book:
            return keys.add(book, public, name)

    def retire_key(self, fingerprint: str, reason: str, *, revoked: bool = False) -> None:
        """Let a key sign no more; revoked, as one that was stolen, what it signed before does not count."""
        with self._store.writing("retire a key") as book:
            keys.retire(book, fingerprint, reason, revoked=revoked)

    def signing_keys(self) -> tuple[Key, ...]:
        """List the keys, oldest first."""
        with self._store.reading() as connection:
            return tuple(keys.keys(connection).values())

    def sign(self, folder: str | Path, claim: Claim, key: SigningKey) -> Path:
        """Sign the certificate of a saved release, once all of it is proved; return the file beside it.

        The signature is on record first, so that a crash loses nothing: sign again.
        """
        home = Path(folder).expanduser()
        self.verify(claim)
        statement = Statement.of(home, claim)
        signature = key.sign(statement)
        with self._store.writing(f"sign the release of {claim.receipt.id!r}") as book:
            keys.record(book, statement, signature)
            every = list(keys.on_record(book.connection, statement))
        return written_beside(home, every)

    def signers(self, folder: str | Path, claim: Claim) -> tuple[Key, ...]:
        """Say whose signatures lie beside a saved release, and prove each; a missing one is told too."""
        home = Path(folder).expanduser()
        statement, held = Statement.of(home, claim), read_beside(home)
        with self._store.reading() as connection:
            return tuple(keys.signers(connection, statement, held))

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────

    def scopes(self) -> tuple[Remaining, ...]:
        """List every scope as it stands: its budget by now, what is left, how it is kept, if it is closed."""
        with self._store.reading() as connection:
            return tuple(remaining_of(row) for row in scope_rows(connection))

    def required(self) -> dict[str, tuple[str, ...]]:
        """Say which scopes each data set requires."""
        with self._store.reading() as connection:
            found = required_by(connection)
        return {data: tuple(names) for data, names in found.items() if names}

    def spent(self, scope: str | None = None) -> Spending:
        """Give the filter's state: one exact sum for each meter."""
        return self.remaining(scope).state

    def remaining(self, scope: str | None = None) -> Remaining:
        """Say what would still fit: in words, as a guarantee, or whether a given one would."""
        with self._store.reading() as connection:
            return left_in(connection, scope or self.scope)

    def admits(self, guarantee: Guarantee, *, scopes: str | Sequence[str] | None = None) -> bool:
        """Whether a charge would fit now; only charging decides."""
        return all(self.remaining(scope.name).admits(guarantee) for scope in self._chosen(scopes))

    def spending(self, scope: str | None = None) -> pd.DataFrame:
        """Say who spent what on which data: a row for each charge in each scope that was not given back."""
        import pandas as pd  # noqa: PLC0415 - heavy

        return pd.DataFrame(to_rows(self.spent_by(scope)), columns=[f.name for f in fields(Spent)])

    def spent_by(self, scope: str | None = None) -> list[Spent]:
        """Return the rows of `spending`."""
        with self._store.reading() as connection:
            found = spent(rows(connection), scope_rows(connection))
        return [row for row in found if scope in {None, row.scope}]

    def picture(self, path: str | Path) -> Path:
        """Draw who spent what on which data, as .svg or .html; a file that exists is not overwritten."""
        target = Path(path).expanduser()
        if target.suffix not in {".svg", ".html"}:
            raise LedgerError(f"a picture of a ledger is an .svg or .html file, got the name {target.name!r}")
        return _fresh_file(target, (html if target.suffix == ".html" else picture)(*self._shares()))

    def _shares(self) -> tuple[list[Total], tuple[Remaining, ...]]:
        return totals(self.spent_by()), self.scopes()

    def _repr_html_(self) -> str:
        return html(*self._shares())

    def receipt(self, receipt_id: str) -> Receipt:
        """Find the receipt of an earlier charge."""
        with self._store.reading() as connection:
            receipt = receipt_of(connection, receipt_id)
        if receipt is None:
            raise LedgerError(f"there is no charge {receipt_id!r}; history() lists them")
        return receipt

    def released(self, receipt_id: str) -> dict[str, bytes]:
        """Give back the releases that a charge paid for, as they were drawn."""
        with self._store.reading() as connection:
            first = stored_releases(connection, receipt_id)
        if not first:
            raise LedgerError(
                f"the release of charge {receipt_id!r} is not kept here (it was never computed, or elsewhere "
                "or by an older discreet), and a second draw is a second release: load the saved one, or "
                "choose another charge_id and pay again"
            )
        return first

    def history(self, scope: str | None = None, *, after: int = 0) -> tuple[Entry, ...]:
        """List everything that ever happened, or what touched one scope, oldest first; `after` a position."""
        with self._store.reading() as connection:
            entries = tuple(rows(connection, after))
            return entries if scope is None else tuple(e for e in entries if scope in e.content["scopes"])

    def verify(self, *claims: Receipt | Claim) -> Head:
        """Prove that the chain is whole, that it ends where it should, and that sums and releases agree.

        Receipts must be the ledger's in every field, and releases in every byte, too.
        """
        held = [(claim if isinstance(claim, Receipt) else claim.receipt, claim) for claim in claims]
        with self._store.reading() as connection:
            states = scope_states(connection)
            required = required_by(connection)
            head = checked(rows(connection), head_of(connection), states, required, all_kept(connection))
            for receipt, claim in held:
                refuse_forged(receipt, receipt_of(connection, receipt.id))
                if not isinstance(claim, Receipt):
                    refuse_changed(claim, stored_releases(connection, receipt.id))
        return head

    def export(self, path: str | Path) -> Path:
        """Write a new file: the history as .csv, or with the budgets and the head of the chain as .json."""
        target = Path(path).expanduser()
        if target.suffix not in {".json", ".csv"}:
            raise LedgerError(f"a ledger is exported as .json or .csv, got the name {target.name!r}")
        with self._store.reading() as connection:
            entries, head, states = tuple(rows(connection)), head_of(connection), scope_states(connection)
            required = required_by(connection)
            text = as_csv(entries) if target.suffix == ".csv" else as_json(entries, head, states, required)
        return _fresh_file(target, text)

    # ── scopes ──────────────────────────────────────────────────────────────────────────────────────

    def _chosen(self, scopes: str | Sequence[str] | None) -> list[Scope]:
        names = (self.scope,) if scopes is None else (scopes,) if isinstance(scopes, str) else scopes
        if not names or len(set(names)) < len(names):
            raise LedgerError(f"a charge names one scope or several different ones, got {list(names)}")
        return [self._scope(name) for name in sorted(names)]

    def _scope(self, name: str) -> Scope:
        """Look a scope up once its rule is settled: from then on it rarely changes, and a charge notices."""
        if name in self._known:
            return self._known[name]
        with self._store.reading() as connection:
            found = known_scope(connection, name)
        if found.rule:
            self._known[name] = found
        return found


def _fresh_file(target: Path, text: str) -> Path:
    """Write a file that is not there yet."""
    try:
        with target.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise FileExistsError(
            f"{address(target)} exists, and an earlier export is a record: name another file"
        ) from None
    return target
