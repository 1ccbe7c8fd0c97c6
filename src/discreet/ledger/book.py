"""The durable budget: charged before private data are read, never after.

A charge is one transaction: lock, add the price where it fits, append to the hash chain, commit. A crash may
waste budget, never overspend it. See amounts for the prices and discreet.release.receipt for what is proved.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

from discreet.ledger.amounts import Price, Remaining, generous, promise_words, refusal
from discreet.ledger.export import as_csv, as_json
from discreet.ledger.spending import Spent, Total, html, picture, spent, totals
from discreet.ledger.spending import to_json as to_rows
from discreet.ledger.store import (
    DoesNotFitError,
    Scope,
    StaleScopeError,
    Store,
    Transaction,
    all_kept,
    head_of,
    known_scope,
    left_in,
    receipt_of,
    rows,
    scope_names,
    scope_rows,
    scope_states,
    stored_releases,
)
from discreet.privacy.accounting.filters import Overspent, Spending, rules_of
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
    checked,
    exact,
    refuse_changed,
    refuse_forged,
    written,
)
from discreet.shown import address, visible

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
    "TamperedError",
]

LONGEST_NAME, LONGEST_NOTE = 200, 4000
PATIENCE = 20  # times that a charge looks its scopes up again, because others settled them meanwhile


@final
class Ledger:
    """A budget for each scope (a table, an analyst, a project), and every charge against it.

    The only mutable object of the library. Nothing private ever enters: guarantees, names and the caller's
    notes are all that is stored.
    """

    def __init__(self, store: Store, scope: str) -> None:
        self._store = store
        self.scope = _named("scope", scope)
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
        _opened(scope, budget, rule)  # refuse a budget without a filter before a file appears
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
        scope = _opened(_named("scope", name), budget, rule)
        with self._store.writing(f"open scope {name!r}") as book:
            before = book.find("scope", name)
            if before is None:
                book.open_scope(scope)
                return
            held = known_scope(book.connection, name)
        if held.held not in {scope.held, canonical(to_json(budget))}:
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
        name = uuid.uuid4().hex if charge_id is None else _named("charge id", charge_id)
        if not isinstance(note, str) or len(note) > LONGEST_NOTE:
            raise LedgerError(f"a note is a text of at most {LONGEST_NOTE} characters")
        bill = Bill(name, guarantee, target, note, described(about or {}), charge_id is not None)
        for _again in range(PATIENCE):
            chosen = [scope.settled(guarantee, target) for scope in self._chosen(scopes)]
            try:
                return self._paid(bill, chosen)
            except StaleScopeError:
                self._known.clear()
        raise LedgerUnavailableError(f"the scopes of charge {name!r} kept changing; ask again")

    def _paid(self, bill: Bill, chosen: Sequence[Scope]) -> Receipt:
        offers = {scope.name: scope.tariff.prices(bill.guarantee, bill.target) for scope in chosen}
        with _refusing(bill), self._store.writing(f"charge {bill.name!r}") as book:
            first = book.find("charge", bill.name) if bill.asked_before else None
            if first is not None:
                return _replayed(book, first, bill, sorted(offers))
            paid = {
                scope.name: offers[scope.name][book.spend(scope, [price for _, price in offers[scope.name]])]
                for scope in chosen
            }
            entry = book.append("charge", bill.name, **_charged(bill, chosen, paid))
        self._known.update({scope.name: scope for scope in chosen})
        return Receipt.of(entry)

    def record(self, receipt_id: str, bodies: Mapping[str, bytes]) -> dict[str, bytes]:
        """Keep what a charge paid for and mark it as computed, in one transaction; return what is kept.

        Where another process was first, that is its release: one draw leaves, and ours is seen by nobody.
        """
        with self._store.writing(f"record the release of {receipt_id!r}") as book:
            first = stored_releases(book.connection, receipt_id)
            if not first:
                book.computed(_open_charge(book, receipt_id), bodies)
        return first or dict(bodies)

    def mark_computed(self, receipt_id: str) -> None:
        """Say, before it leaves, that a charge's release was made elsewhere: once, and no refund after."""
        with self._store.writing(f"mark {receipt_id!r} as computed") as book:
            book.computed(_open_charge(book, receipt_id), {})

    def claim(self, receipt_id: str, run: str) -> None:
        """Let one run, and no other, write what a charge paid for to a file of its own, state by state."""
        with self._store.writing(f"claim {receipt_id!r}") as book:
            before = book.find("computed", receipt_id)
            if before is None and run:
                book.computed(_open_charge(book, receipt_id), {}, run=run)
            elif before is None or before.content.get("run", "") != run or before.content.get("releases"):
                raise LedgerError(
                    f"charge {receipt_id!r} did not pay for this run: resume the file of the run it paid "
                    "for, with its own ledger, or pay under a new charge id"
                )

    def refund(self, receipt_id: str, reason: str) -> Entry:
        """Give back a charge whose release was never computed; both stay on record."""
        if not isinstance(reason, str) or not 0 < len(reason) <= LONGEST_NOTE:
            raise LedgerError(f"a refund needs a reason of 1 to {LONGEST_NOTE} characters")
        with self._store.writing(f"refund {receipt_id!r}") as book:
            charge = _open_charge(book, receipt_id)
            amounts = charge.content["amounts"]
            for name in sorted(amounts):
                book.spend(known_scope(book.connection, name), [exact(amounts[name])], sign=-1)
            return book.append("refund", charge.id, scopes=sorted(amounts), note=reason)

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────

    def scopes(self) -> tuple[str, ...]:
        with self._store.reading() as connection:
            return scope_names(connection)

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

    def _shares(self) -> tuple[list[Total], dict[str, float]]:
        return totals(self.spent_by()), {name: self.remaining(name).share for name in self.scopes()}

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

    def history(self, scope: str | None = None) -> tuple[Entry, ...]:
        """List everything that ever happened, or what touched one scope, oldest first."""
        with self._store.reading() as connection:
            entries = tuple(rows(connection))
            return entries if scope is None else tuple(e for e in entries if scope in e.content["scopes"])

    def verify(self, *claims: Receipt | Claim) -> Head:
        """Prove that the chain is whole, that it ends where it should, and that sums and releases agree.

        Receipts must be the ledger's in every field, and releases in every byte, too.
        """
        held = [(claim if isinstance(claim, Receipt) else claim.receipt, claim) for claim in claims]
        with self._store.reading() as connection:
            states = scope_states(connection)
            head = checked(rows(connection), head_of(connection), states, all_kept(connection))
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
            text = as_csv(entries) if target.suffix == ".csv" else as_json(entries, head, states)
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
            f"{address(target)} exists, and an earlier export is a record: choose another name"
        ) from None
    return target


@final
@dataclass(frozen=True)
class Bill:
    """What a charge is asked to pay for."""

    name: str
    guarantee: Guarantee
    target: Guarantee | None
    note: str
    about: dict[str, Any]
    asked_before: bool  # whether the id may be known

    def promises(self) -> list[Any]:
        """Return both promises as JSON reads them back, the mechanism's own first."""
        both = [self.guarantee] if self.target in {None, self.guarantee} else [self.guarantee, self.target]
        return [json.loads(canonical(to_json(promise))) for promise in both if promise is not None]


def _opened(name: str, budget: Guarantee, rule: str | None) -> Scope:
    """Build a new scope; where there is one rule only, it is settled."""
    rules = rules_of(budget)
    if rule is not None and rule not in rules:
        raise LedgerError(f"{in_words(budget)} is kept by the rule {' or '.join(rules)}, got {rule!r}")
    settled = rule or (rules[0] if len(rules) == 1 else "")
    whole = generous(budget)
    scope = Scope(name, whole, settled, canonical(to_json(whole)))
    _ = scope.tariff
    return scope


def _charged(
    bill: Bill, chosen: Sequence[Scope], paid: Mapping[str, tuple[Guarantee, Price]]
) -> dict[str, Any]:
    """Write what was paid: by which rule, and where at the target's price."""
    own, *asked = bill.promises()
    by_target = [name for name, (promise, _) in paid.items() if asked and promise != bill.guarantee]
    rules = {scope.name: scope.rule for scope in chosen if len(rules_of(scope.budget)) > 1}
    more = {"target": asked[0] if asked else None, "by_target": sorted(by_target), "rules": rules}
    more["about"] = bill.about
    return {
        "scopes": sorted(paid),
        "guarantee": own,
        "amounts": {name: written(price) for name, (_, price) in paid.items()},
        "note": bill.note,
        **{name: value for name, value in more.items() if value},
    }


@contextmanager
def _refusing(bill: Bill) -> Iterator[None]:
    """Say what would fit, once the lock is given back."""
    try:
        yield
    except DoesNotFitError as full:
        raise refusal(full.state, bill.target or bill.guarantee, full.scope) from None


def _named(what: str, name: str) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise LedgerError(f"a {what} is 1 to {LONGEST_NAME} printable characters, got {name!r}")
    return name


ABOUT = {
    "data": "data set's label",
    "fingerprint": "fingerprint",
    "columns": "column's name",
    "model": "model's name",
    "mechanism": "mechanism's name",
    "actor": "name of an actor",
}
ASKED = ("data", "columns", "model", "mechanism")  # what makes two charges with one id the same question


def described(about: Mapping[str, Any]) -> dict[str, Any]:
    """Hold what is said of a charge to short public names; what is empty is left out."""
    strange = sorted(set(about) - set(ABOUT))
    if strange:
        raise LedgerError(f"about says {', '.join(ABOUT)}; got {', '.join(strange)}")
    kept = {name: about[name] for name in ABOUT if about.get(name)}
    for name, value in kept.items():
        for word in value if name == "columns" else [value]:
            _shown(ABOUT[name], word)
    return {**kept, "columns": list(kept["columns"])} if "columns" in kept else kept


def _shown(what: str, word: str) -> None:
    """Refuse what cannot be shown as it stands; blanks of any kind, as in the names of files, can."""
    if not isinstance(word, str) or len(word) > LONGEST_NAME or visible(word) != word:
        raise LedgerError(f"a {what} is at most {LONGEST_NAME} characters that can be shown, got {word!r}")


def _replayed(book: Transaction, first: Entry, bill: Bill, scopes: list[str]) -> Receipt:
    """Give the first receipt back, if it paid for the same thing and was not refunded."""
    content = first.content
    if content["guarantee"] not in bill.promises() or content["scopes"] != scopes:
        raise LedgerError(
            f"charge id {first.id!r} already paid for {promise_words(content['guarantee'])} in "
            f"{', '.join(content['scopes'])}; choose another id for another release"
        )
    _refuse_another(first, bill)
    if book.find("refund", first.id):
        raise LedgerError(f"charge {first.id!r} was refunded; choose a new charge id")
    return Receipt.of(first, replay=True, computed=book.find("computed", first.id) is not None)


def _refuse_another(first: Entry, bill: Bill) -> None:
    """Refuse another question where both say what is asked of which data: the ledger would tell a falsehood.

    Where the data lie may change, and who asks.
    """
    before, now = first.content.get("about", {}), bill.about
    differ = [name for name in ASKED if name in before and name in now and before[name] != now[name]]
    if differ:
        said = ", ".join(f"{ABOUT[name]} {_word(before[name])}, not {_word(now[name])}" for name in differ)
        raise LedgerError(
            f"charge id {first.id!r} already paid for another question ({said}): ask that one again, or "
            "choose another id and pay"
        )


def _word(said: str | list[str]) -> str:
    return repr(said) if isinstance(said, str) else ", ".join(map(repr, said))


def _open_charge(book: Transaction, receipt_id: str) -> Entry:
    """Find a charge whose release is neither computed nor given up."""
    charge = book.find("charge", receipt_id)
    if charge is None:
        raise LedgerError(f"there is no charge {receipt_id!r}; history() lists them")
    if book.find("refund", receipt_id):
        raise LedgerError(f"charge {receipt_id!r} was refunded; charge again under a new id")
    if book.find("computed", receipt_id):
        raise LedgerError(
            f"the release of charge {receipt_id!r} was computed: it is neither refunded nor computed again"
        )
    return charge
