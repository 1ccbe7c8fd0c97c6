"""What a charge is asked to pay for, and the words of its entry: promises, prices, who asks of which data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from discreet.ledger.amounts import Price, generous, promise_words, refusal
from discreet.ledger.scope import DoesNotFitError, Scope
from discreet.ledger.transaction import Transaction
from discreet.privacy.accounting.filters import rules_of
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.json import to_json
from discreet.privacy.words import in_words
from discreet.release.receipt import Entry, LedgerError, Receipt, canonical, written
from discreet.shown import visible, without_secrets

LONGEST_NAME, LONGEST_NOTE = 200, 4000


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


def opened(name: str, budget: Guarantee, rule: str | None) -> Scope:
    """Build a new scope; where there is one rule only, it is settled."""
    rules = rules_of(budget)
    if rule is not None and rule not in rules:
        raise LedgerError(f"{in_words(budget)} is kept by the rule {' or '.join(rules)}, got {rule!r}")
    settled = rule or (rules[0] if len(rules) == 1 else "")
    whole = generous(budget)
    scope = Scope(name, whole, settled, canonical(to_json(whole)))
    _ = scope.tariff
    return scope


def charged(
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
def refusing(bill: Bill) -> Iterator[None]:
    """Say what would fit, once the lock is given back."""
    try:
        yield
    except DoesNotFitError as full:
        raise refusal(full.state, bill.target or bill.guarantee, full.scope) from None


def named(what: str, name: str) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise LedgerError(f"a {what} is 1 to {LONGEST_NAME} printable characters, got {name!r}")
    return name


ABOUT = {
    "data": "data set's label",
    "fingerprint": "fingerprint",
    "place": "digest of a place",
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
    return {name: _said(name, about[name]) for name in ABOUT if about.get(name)}


def _said(name: str, value: str | Sequence[str]) -> str | list[str]:
    """Return a word, or all words where there are several."""
    several = name == "columns" and not isinstance(value, str)
    return [shown(ABOUT[name], word) for word in value] if several else shown(ABOUT[name], value)


def shown(what: str, word: object) -> str:
    """Return a word without passwords: what is in the chain is there for good.

    What cannot be shown as it stands is refused; blanks of any kind, as in the names of files, can.
    """
    if not isinstance(word, str) or len(word) > LONGEST_NAME or visible(word) != word:
        raise LedgerError(f"a {what} is at most {LONGEST_NAME} characters that can be shown, got {word!r}")
    return without_secrets(word)


def noted(what: str, words: str, least: int = 0) -> str:
    """Return a note or a reason without passwords; refuse what is no text, or too long a one."""
    if not isinstance(words, str) or not least <= len(words) <= LONGEST_NOTE:
        length = f"{least} to" if least else "at most"
        raise LedgerError(f"a {what} is a text of {length} {LONGEST_NOTE} characters")
    return without_secrets(words)


def replayed(book: Transaction, first: Entry, bill: Bill, scopes: list[str]) -> Receipt:
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


def open_charge(book: Transaction, receipt_id: str) -> Entry:
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
