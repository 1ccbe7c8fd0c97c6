"""What a charge does, on both engines: receipts, replays, scopes, refunds, words, exports."""

import csv
import json
import threading
from fractions import Fraction

import pytest

from discreet.ledger import Ledger, LedgerError, Overspent
from discreet.privacy.accounting.composition import repeat
from discreet.privacy.guarantee import ADD_REMOVE, MixedRelations, NotProved
from discreet.privacy.json import from_json, to_json
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.privacy.words import in_words

THIRD = PureDP(Fraction(1, 3))


def test_a_charge_is_remembered_by_the_next_process(place, opened):
    ledger = opened(place, PureDP(1))
    receipt = ledger.charge(THIRD, note="first look")
    again = opened(place)
    assert again.receipt(receipt.id) == receipt
    assert from_json(receipt.guarantee) == THIRD
    assert receipt.scopes == ("default",)
    assert not receipt.replay
    assert again.spent().sums == (Fraction(1, 3),)
    assert json.loads(json.dumps(receipt.to_json()))["note"] == "first look"


def test_receipts_are_chained(place, opened):
    ledger = opened(place, PureDP(1))
    one, two = ledger.charge(THIRD), ledger.charge(THIRD)
    assert two.previous == one.hash
    assert two.position == one.position + 1
    assert ledger.verify(one, two).hash == two.hash


def test_equal_shares_of_a_budget_all_fit_and_nothing_after(place, opened):
    ledger = opened(place, PureDP(1))
    for _ in range(7):
        ledger.charge(PureDP(Fraction(1, 7)))
    assert ledger.spent().sums == (1,)
    assert ledger.remaining().guarantee is None
    with pytest.raises(Overspent, match="nothing; the budget is spent"):
        ledger.charge(PureDP(5e-324))


def test_a_replay_returns_the_first_receipt_and_charges_nothing(place, opened):
    ledger = opened(place, PureDP(1))
    first = ledger.charge(THIRD, charge_id="monday")
    again = ledger.charge(THIRD, charge_id="monday", note="other words")
    assert again.replay
    assert not again.computed
    assert (again.hash, again.note) == (first.hash, "")
    assert ledger.spent().sums == (Fraction(1, 3),)
    ledger.mark_computed("monday")
    assert ledger.charge(THIRD, charge_id="monday").computed  # whoever replays can see it


def test_a_charge_id_never_pays_for_something_else(place, opened):
    ledger = opened(place, PureDP(1))
    ledger.add_scope("other", PureDP(1))
    ledger.charge(THIRD, charge_id="monday")
    with pytest.raises(LedgerError, match="already paid for"):
        ledger.charge(PureDP(0.5), charge_id="monday")
    with pytest.raises(LedgerError, match="already paid for"):
        ledger.charge(THIRD, charge_id="monday", scopes="other")


def test_two_budgets_are_charged_together_or_not_at_all(place, opened):
    ledger = opened(place, PureDP(1), scope="analyst")
    ledger.add_scope("table", PureDP(0.5))
    ledger.charge(PureDP(0.25), scopes=["table", "analyst"])
    before = ledger.verify()
    with pytest.raises(Overspent, match=r"in scope 'table'.*PureDP\(0\.25\)"):
        ledger.charge(PureDP(0.375), scopes=["analyst", "table"])
    assert ledger.spent("analyst").sums == ledger.spent("table").sums == (Fraction(1, 4),)
    assert ledger.verify() == before


def test_two_budgets_of_different_kinds(place, opened):
    ledger = opened(place, ApproxDP(1, 1e-6), scope="table")
    ledger.add_scope("analyst", ZeroCDP(0.01))
    receipt = ledger.charge(ZeroCDP(0.0025), scopes=["table", "analyst"])
    assert receipt.scopes == ("analyst", "table")
    assert ledger.spent("analyst").sums == (Fraction(1, 4) * Fraction(0.01),)
    assert [scope.scope for scope in ledger.scopes() if ledger.history(scope.scope)[-1].id == receipt.id] == [
        "analyst",
        "table",
    ]


@pytest.mark.parametrize(
    ("budget", "guarantee", "count"),
    [
        (PureDP(1), PureDP(0.1), 9),  # the double 0.1 is above one tenth
        (PureDP(1), BoundedRange(0.25), 4),
        (ZeroCDP(0.5), GaussianDP(0.5), 4),
        (GaussianDP(1), GaussianDP.from_square(Fraction(1, 3)), 3),
        (RenyiDP.points({2: 1, 4: 1.5}), ZeroCDP(0.125), 3),  # order 4 is the tight one: all must hold
        (ApproxDP(1, 1e-6), ApproxDP(0.25, 2.5e-7), 4),
        (ApproxDP(1, 2**-20), ApproxDP(0.25, 2**-22), 4),
        (ApproxDP(1, 1e-6), PureDP(0.25), 4),
        (ApproxDP(1, 0), PureDP(0.25), 4),
        (PureDP(1, relation=ADD_REMOVE), PureDP(0.5, relation=ADD_REMOVE), 2),
    ],
)
def test_every_kind_of_budget_admits_what_its_filter_admits(budget, guarantee, count, tmp_path, opened):
    ledger = opened(tmp_path / "budget.db", budget)
    for _ in range(count):
        assert ledger.admits(guarantee)
        ledger.charge(guarantee)
    assert not ledger.admits(guarantee)
    with pytest.raises(Overspent, match="does not fit what is left"):
        ledger.charge(guarantee)
    ledger.verify()


@pytest.mark.parametrize(
    "budget",
    [
        PureDP(1),
        ZeroCDP(0.5),
        GaussianDP(1),
        RenyiDP.points({2: 1, 4: 1.5}),
        ApproxDP(1, 1e-6),
        ApproxDP(1, 1e-6, relation=ADD_REMOVE),
    ],
    ids=repr,
)
def test_what_remains_fits_and_a_little_more_does_not(budget, tmp_path, opened):
    ledger = opened(tmp_path / "budget.db", budget)
    small = GaussianDP(0.01, relation=budget.relation)
    ledger.charge(PureDP(0.05, relation=budget.relation) if not ledger.admits(small) else small)
    left = ledger.remaining()
    assert 0 < left.share < 1
    assert in_words(budget) in str(left)
    assert left.guarantee is not None
    assert left.guarantee.relation is budget.relation
    ledger.charge(left.guarantee)
    after = ledger.remaining().guarantee  # rounding of points and of (ε, δ) may leave a crumb
    assert after is None or ledger.remaining().share < 1e-9 or isinstance(budget, ApproxDP)


@pytest.mark.parametrize(
    ("first", "target", "rule"),
    [
        (PureDP(0.1), None, "sums"),
        (ApproxDP(0.1, 1e-7), None, "sums"),
        (GaussianDP(0.01), ApproxDP(0.1, 1e-7), "sums"),  # what was asked for decides
        (PureDP(0.1), ZeroCDP(0.005), "orders"),
        (ZeroCDP(0.001), None, "orders"),
        (GaussianDP(0.01), None, "orders"),
        (RenyiDP.at(65, 0.1), RenyiDP.at(65, 0.1), "orders"),
        (repeat(BoundedRange(0.01), 20), None, "orders"),  # the steps of a chain: less by orders than by Σε
    ],
    ids=repr,
)
def test_the_first_charge_settles_how_a_budget_is_kept(first, target, rule, tmp_path, opened):
    ledger = opened(tmp_path / "budget.db", ApproxDP(1, 1e-6))
    assert (ledger.remaining().rule, ledger.remaining().share) == ("", 1.0)
    with pytest.raises(Overspent):
        ledger.charge(PureDP(2))  # a refusal settles nothing
    assert ledger.remaining().rule == ""
    receipt = ledger.charge(first, target=target)
    assert receipt.rules == {"default": rule}
    assert opened(tmp_path / "budget.db").remaining().rule == rule
    ledger.refund(receipt.id, "never ran")
    assert ledger.remaining().rule == rule  # for good
    with pytest.raises(LedgerError, match="kept by the rule"):
        ledger.add_scope("default", ApproxDP(1, 1e-6), rule={"sums": "orders", "orders": "sums"}[rule])
    ledger.verify(receipt)


@pytest.mark.parametrize("written", [float, str], ids=["doubles", "decimals"])
@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "0.7", "1"])
def test_a_budget_is_used_whole_whether_numbers_are_doubles_or_decimals(epsilon, written, tmp_path, opened):
    """1e-6 as a double is a hair below the decimal, 0.1 above it: the budget is no less than either."""
    ledger = opened(tmp_path / "budget.db", ApproxDP(float(epsilon), 1e-6))
    whole = ApproxDP(Fraction(written(epsilon)), Fraction(written("1e-6")))
    ledger.charge(whole)
    assert ledger.remaining().share < 1e-15
    with pytest.raises(Overspent):
        ledger.charge(whole)
    opened(tmp_path / "budget.db", ApproxDP(float(epsilon), 1e-6))  # asked for again as it was written


def test_a_target_above_what_remains_is_told_what_would_fit(place, opened):
    ledger = opened(place, ApproxDP(1, 1e-6))
    ledger.charge(ApproxDP(0.5, 1e-7))
    with pytest.raises(
        Overspent, match=r"costs ε = 0\.75 and 0\.5 is left; what fits: ApproxDP\(0\.5, 9e-0?7\)"
    ):
        ledger.charge(ApproxDP(0.75, 1e-7))
    ledger.charge(ApproxDP(0.5, 9e-07))  # it told the truth


def test_only_what_was_never_computed_is_refunded(place, opened):
    ledger = opened(place, PureDP(1))
    kept, wasted = ledger.charge(THIRD), ledger.charge(THIRD, charge_id="wasted")
    ledger.mark_computed(kept.id)
    with pytest.raises(LedgerError, match="was computed"):
        ledger.refund(kept.id, "changed my mind")
    entry = ledger.refund("wasted", "the machine went down")
    assert entry.content["note"] == "the machine went down"
    assert ledger.spent().sums == (Fraction(1, 3),)
    with pytest.raises(LedgerError, match="was refunded"):
        ledger.refund("wasted", "twice")
    with pytest.raises(LedgerError, match="was refunded"):
        ledger.mark_computed("wasted")  # a release that was paid back must not leave
    with pytest.raises(LedgerError, match="was refunded"):
        ledger.charge(THIRD, charge_id="wasted")  # nor ride on the old receipt
    assert [e.kind for e in ledger.history()] == ["scope", "charge", "charge", "computed", "refund"]
    ledger.verify(kept, wasted)


def test_a_release_is_marked_once(place, opened):
    ledger = opened(place, PureDP(1))
    receipt = ledger.charge(THIRD)
    ledger.mark_computed(receipt.id)
    with pytest.raises(LedgerError, match="was computed"):
        ledger.mark_computed(receipt.id)


def test_a_refund_brings_dead_meters_back_to_life(tmp_path, opened):
    ledger = opened(tmp_path / "budget.db", ApproxDP(1, 1e-6), rule="orders")
    fresh = ledger.spent()
    ledger.charge(PureDP(0.9), charge_id="large")  # beyond every Rényi order; only Σε holds
    assert len(ledger.spent().left()) < len(fresh.left())
    ledger.refund("large", "never ran")
    assert ledger.spent() == fresh


def test_the_same_budget_may_be_asked_again_another_may_not(place, opened):
    opened(place, PureDP(1)).charge(THIRD)
    assert opened(place, PureDP(1.0)).spent().sums == (Fraction(1, 3),)
    with pytest.raises(LedgerError, match=r"has budget PureDP\(1\.0\), which cannot become PureDP\(2\.0\)"):
        Ledger.open(place, PureDP(2))
    with pytest.raises(LedgerError, match="cannot become"):
        Ledger.open(place, PureDP(1, relation=ADD_REMOVE))


def test_neighbours_are_never_mixed(tmp_path, opened):
    ledger = opened(tmp_path / "budget.db", PureDP(1))
    with pytest.raises(MixedRelations):
        ledger.charge(PureDP(0.1, relation=ADD_REMOVE))
    assert ledger.spent().sums == (0,)


def test_a_budget_without_a_proved_filter_leaves_no_file(tmp_path):
    with pytest.raises(NotProved):
        Ledger.open(tmp_path / "budget.db", BoundedRange(1))
    assert not list(tmp_path.iterdir())


def test_exports_say_everything_and_nothing_else(place, opened, tmp_path):
    ledger = opened(place, PureDP(1))
    receipt = ledger.charge(THIRD, note='=1+1, "quoted", Zoë')
    ledger.mark_computed(receipt.id)
    document = json.loads(ledger.export(tmp_path / "out.json").read_text())
    assert document["head"]["hash"] == ledger.verify().hash
    assert document["scopes"]["default"]["budget"] == to_json(PureDP(1))
    with ledger.export(tmp_path / "out.csv").open(newline="") as lines:
        table = list(csv.DictReader(lines))
    assert [row["kind"] for row in table] == ["scope", "charge", "computed"]
    assert table[1]["note"] == '\'=1+1, "quoted", Zoë'  # no spreadsheet runs it
    assert document["entries"][1]["note"] == '=1+1, "quoted", Zoë'
    assert table[1]["hash"] == document["entries"][1]["hash"] == receipt.hash
    # nothing but guarantees, names and the caller's words can be in there
    charge = set(ledger.history()[1].content)
    assert charge == {"kind", "id", "at", "scopes", "guarantee", "amounts", "note"}
    with pytest.raises(LedgerError, match=r"\.json or \.csv"):
        ledger.export(tmp_path / "out.xlsx")


def test_threads_share_a_ledger(place, opened):
    ledger = opened(place, PureDP(1))
    threads = [
        threading.Thread(target=lambda: [ledger.charge(PureDP(Fraction(1, 40))) for _ in range(5)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent().sums == (1,)
    ledger.verify()
