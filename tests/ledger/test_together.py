"""Several charges in one transaction are what they are one by one; what is refused is undone alone."""

from fractions import Fraction

import pytest

from discreet.ledger import LedgerError
from discreet.ledger.together import Charge
from discreet.privacy.kinds import PureDP

QUARTER = PureDP(Fraction(1, 4))


@pytest.fixture
def book(place, opened):
    """A ledger with a budget for each of two analysts and a smaller one for their table."""
    ledger = opened(place, PureDP(1), scope="ada")
    ledger.add_scope("blaise", PureDP(1))
    ledger.add_scope("table", PureDP(Fraction(3, 4)))
    return ledger


def charge(name, scope, price=QUARTER):
    return Charge(name, price, None, (scope, "table"))


def test_a_group_is_charged_as_one_by_one_and_what_does_not_fit_is_undone_alone(book, opened, place):
    big = PureDP(Fraction(7, 8))  # fits the analyst, not the table, which comes after
    asked = [charge("a", "ada"), charge("b", "ada", big), charge("c", "blaise"), charge("a", "ada")]
    a, b, c, again = book.charge_all(asked)
    assert b is None
    assert (a.replay, again.replay, again.hash) == (False, True, a.hash)
    assert c.previous == a.hash
    other = opened(place)  # durable when it returned
    assert other.verify(a, c).hash == c.hash
    quarter, half = Fraction(1, 4), Fraction(1, 2)
    assert [other.spent(name).sums for name in ("ada", "blaise", "table")] == [
        (quarter,),
        (quarter,),
        (half,),
    ]
    first, last = book.charge_all([charge("d", "ada"), charge("e", "ada")])
    assert first
    assert last is None  # no room is made by a group


def test_a_group_of_releases_is_recorded_and_what_was_given_back_is_not(book, opened, place):
    book.charge_all([charge(name, "ada", PureDP(Fraction(1, 8))) for name in "abc"])
    book.record("a", {"": b"first"})
    book.refund("b", "asked in error")
    kept = book.record_all({"a": {"": b"second"}, "b": {"": b"x"}, "c": {"": b"y"}, "never": {"": b"z"}})
    assert kept == {"a": {"": b"first"}, "b": None, "c": {"": b"y"}, "never": None}
    other = opened(place)
    other.verify()
    assert other.released("c") == {"": b"y"}
    with pytest.raises(LedgerError, match="not kept here"):
        other.released("b")


def test_what_is_asked_wrongly_charges_nobody(book):
    with pytest.raises(LedgerError, match="nowhere"):
        book.charge_all([charge("a", "ada"), charge("b", "nowhere")])
    assert book.spent("table").sums == (0,)
