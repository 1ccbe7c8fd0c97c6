"""Words for people hold no Fraction(a, b) and no endless rational, and never round to the flattering side."""

import re
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.cli.printed.errors import reworded
from discreet.privacy.accounting.filters import filter_for, spend
from discreet.privacy.guarantee import Unreachable
from discreet.privacy.words import DOWN, UP, at_order, in_words, knob, number
from discreet.release.certificate import certificate_text
from discreet.report import LedgerView, report
from discreet.sampling.source import SeededSource

LONG = Fraction(10**300 + 1, 3 * 10**300)  # a hair above a third, in 600 digits
UGLY = re.compile(r"Fraction\(|\d{30}")


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (0.1, "0.1", "0.1"),
        (Fraction(1, 10), "0.1", "0.1"),
        (Fraction(1, 3), "1/3", "1/3"),
        (1.0, "1.0", "1.0"),
        (1e-6, "1e-06", "1e-06"),
        (1 / 3, "0.333334", "0.333333"),
        (LONG, "0.333334", "0.333333"),
        (0.1 + 2e-17, "0.100001", "0.1"),
        (Fraction(1, 10**400), "1e-400", "1e-400"),
        (Fraction(2, 3 * 10**400), "6.66667e-401", "6.66666e-401"),
        (float("inf"), "inf", "inf"),
    ],
)
def test_a_number_is_short_and_rounded_to_the_side_that_was_asked_for(value, up, down):
    assert (number(value, UP), number(value, DOWN)) == (up, down)


@given(
    value=st.fractions(min_value=Fraction(1, 10**40), max_value=10**9, max_denominator=10**60)
    | st.floats(min_value=1e-300, max_value=1e9)
)
@settings(deadline=None, max_examples=300, derandomize=True)
def test_a_number_never_lies(value):
    up, down = number(value, UP), number(value, DOWN)
    read = Fraction(float(up)) if up == repr(value) else Fraction(up)  # a double is its shortest decimal
    assert read >= Fraction(value)
    assert Fraction(down) <= Fraction(value) or down == repr(value)
    assert max(len(up), len(down)) <= 22


def test_a_smaller_order_promises_less_so_it_is_rounded_the_other_way():
    assert at_order(1.4204482076268572, 1 / 7, UP) == "RenyiDP.at(1.42044, 0.142858)"
    assert at_order(1.4204482076268572, 1 / 7, DOWN) == "RenyiDP.at(1.42045, 0.142857)"


PROMISES = [
    dc.PureDP(LONG),
    dc.ApproxDP(LONG, Fraction(1, 3 * 10**300)),
    dc.ZeroCDP(LONG),
    dc.GaussianDP(Fraction(1, 3)),
    dc.BoundedRange(LONG),
    dc.RenyiDP.points({1 + Fraction(10**40 + 1, 10**40): LONG / 2, 8: LONG}),
    dc.PureDP(LONG, relation=dc.ADD_REMOVE),
    dc.PureDP(LONG) + dc.ZeroCDP(LONG),
    dc.DirectPosterior(dc.BetaBernoulli(LONG, 12), n=100).guarantee,
]


@pytest.mark.parametrize("promise", PROMISES, ids=range(len(PROMISES)))
def test_every_kind_of_promise_has_words(promise):
    said = in_words(promise)
    assert not UGLY.search(said)
    assert len(said) < 160
    assert ("ADD_REMOVE" in said) == (promise.relation is dc.ADD_REMOVE)


def test_the_search_would_find_what_is_ugly():
    assert UGLY.search(repr(dc.PureDP(LONG)))
    assert UGLY.search(repr(PROMISES[-1]))


@pytest.mark.parametrize(
    "budget", [dc.PureDP(LONG), dc.ZeroCDP(LONG), dc.GaussianDP(LONG), dc.ApproxDP(LONG, LONG / 10**6)],
    ids=["pure", "zcdp", "gdp", "approx"],
)  # fmt: skip
def test_a_ledger_speaks_plainly(budget, tmp_path):
    with dc.Ledger.open(tmp_path / "budget.db", budget) as ledger:
        ledger.charge(dc.PureDP(Fraction(1, 10**9 + 7)), charge_id="monday")
        words = [str(ledger.remaining())]
        for promise in PROMISES:
            if promise.relation is budget.relation and not ledger.admits(promise):
                with pytest.raises(dc.Overspent, match="what fits") as caught:
                    ledger.charge(promise)
                words.append(str(caught.value))
        with pytest.raises(dc.LedgerError, match="already paid") as caught:
            ledger.charge(dc.PureDP(Fraction(1, 10**9 + 9)), charge_id="monday")
        words.append(str(caught.value))
        with pytest.raises(dc.LedgerError, match="cannot become") as caught:
            ledger.add_scope("default", dc.PureDP(2 * LONG))
        words.append(str(caught.value))
        (view,) = LedgerView.of(ledger.remaining()).scopes
        words += [view.budget, view.remaining]
    assert len(words) > 5
    for said in words:
        assert not UGLY.search(said), said


def test_what_fits_is_what_fits():
    """The words are rounded down: read back as decimals, they are admitted."""
    state = filter_for(dc.PureDP(1)).start().after(dc.PureDP(1 - LONG))
    with pytest.raises(dc.Overspent, match=r"what fits: PureDP\(0\.333333\)"):
        spend(state, dc.PureDP(1))
    assert state.admits(dc.PureDP(Fraction("0.333333")))
    assert not state.admits(dc.PureDP(Fraction("0.333334")))


def test_a_double_that_is_a_hair_too_large_is_told_how_to_be_written(tmp_path):
    tenth = Fraction(1, 10)
    with dc.Ledger.open(tmp_path / "budget.db", dc.PureDP(1)) as ledger:
        for _ in range(9):
            ledger.charge(dc.PureDP(tenth))
        with pytest.raises(dc.Overspent, match=r"what fits: PureDP\(0\.1\); .* give Fraction\('0\.1'\)$"):
            ledger.charge(dc.PureDP(0.1))
        with pytest.raises(dc.Overspent, match=r"what fits: PureDP\(0\.1\)$"):
            ledger.charge(dc.PureDP(0.2))
        ledger.charge(dc.PureDP(Fraction("0.1")))
        with pytest.raises(dc.Overspent, match=r"what fits: nothing; the budget is spent$"):
            ledger.charge(dc.PureDP(0.1))


def test_the_command_says_no_endless_rational():
    assert reworded(f"of {dc.PureDP(LONG)!r}") == "of PureDP(0.333334)"


def test_knobs_are_brief():
    assert knob("1/3") == "1/3"
    assert knob([str(LONG), 2]) == "[about 0.333333, 2]"
    assert knob("laplace") == "laplace"


def test_certificate_and_report_of_awkward_rationals_speak_plainly(tmp_path):
    table = dc.Table.open(pa.table({"s": [True, False] * 50}), schema={"s": dc.Binary()})
    with dc.Ledger.open(tmp_path / "budget.db", dc.PureDP(3 * LONG)) as ledger:
        release = dc.privatise(
            table["s"], dc.BetaBernoulli(LONG, Fraction(2, 7)), target=dc.PureDP(LONG), ledger=ledger,
            source=SeededSource(1),
        )  # fmt: skip
        said, view = release.certificate(), LedgerView.of(ledger.remaining())
    assert not UGLY.search(re.sub(r"[0-9a-f]{32,64}", "", certificate_text(said)))
    assert "asked for: PureDP(0.333334)" in certificate_text(said)
    page = re.sub(r"[0-9a-f]{32,64}|<svg.*?</svg>", "", report(release, view), flags=re.DOTALL)
    shown = re.sub(r"<[^>]*>", " ", page)
    assert "PureDP(0.333334)" in shown
    assert not UGLY.search(shown)
    assert Fraction(said["promised"]["target"]["epsilon"]) == LONG  # programs get every digit


def test_an_unreachable_target_is_named_without_fractions():
    target = dc.ApproxDP(LONG, Fraction(1, 10**6))
    assert str(target) == in_words(target) == "ApproxDP(0.333334, 1e-06)"
    assert "Fraction" in repr(target)  # every digit, for those who want it
    with pytest.raises(Unreachable) as refused:
        dc.NoisyStatistics.calibrate(dc.BetaBernoulli(1, 1), n=10, target=dc.PureDP(LONG), noise="gaussian")
    assert not UGLY.search(str(refused.value))
    assert "PureDP(0.333334)" in str(refused.value)
