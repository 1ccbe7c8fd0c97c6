"""What is promised, said in either way; a ledger by its path; and a δ that is too large for the records."""

from fractions import Fraction

import pytest

import discreet as dc
from discreet.ledger import Ledger
from discreet.line.tiers import privatise_tiers
from discreet.privacy.asked import promise, promises
from discreet.privacy.words import delta_caution
from discreet.privatise import privatise

MODEL = dc.BetaBernoulli(alpha=1, beta=1)


@pytest.fixture
def table():
    return dc.Table.open({"ill": [0, 1, 1, 0] * 50}, schema={"ill": dc.Binary()})["ill"]


@pytest.fixture
def place(tmp_path):
    """Where a ledger is that nobody holds open."""
    path = tmp_path / "budget.db"
    Ledger.open(path, dc.ApproxDP(1, 1e-6)).close()
    return path


def test_epsilon_and_delta_are_a_target_in_exact_decimals():
    assert promise(None, 0.1, 1e-6) == dc.ApproxDP(Fraction(1, 10), Fraction(1, 10**6))
    assert promise(None, 1, None, "add_remove") == dc.PureDP(1, relation=dc.ADD_REMOVE)
    assert promise(None, Fraction(1, 3), 0) == dc.PureDP(Fraction(1, 3))
    assert promise(dc.ZeroCDP(1), None, None) == dc.ZeroCDP(1)
    assert promises(None, {"team": 2}, 1e-6) == {"team": dc.ApproxDP(2, Fraction("1e-6"))}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "got neither"),
        ({"delta": 1e-6}, "got delta without epsilon"),
        ({"target": dc.PureDP(1), "epsilon": 1}, "got both"),
        ({"target": dc.PureDP(1), "delta": 1e-6}, "a target holds its own"),
        ({"target": dc.PureDP(1), "relation": "add_remove"}, "a target holds its own"),
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": float("nan")}, "epsilon must be finite"),
        ({"epsilon": 1, "delta": 1}, r"delta must lie in \[0, 1\)"),
        ({"epsilon": 1, "relation": "profile"}, "profile"),
    ],
)
def test_anything_but_one_way_is_refused_before_anything_is_charged(given, said, table, place):
    with pytest.raises(ValueError, match=said):
        privatise(table, MODEL, ledger=place, **given)
    with Ledger.open(place) as ledger:
        assert [entry.kind for entry in ledger.history()] == ["scope"]


def test_a_ledger_is_opened_by_its_path_and_ten_tenths_are_one(table, place):
    for i in range(10):
        release = privatise(
            table, MODEL, epsilon=0.1, delta=1e-7, ledger=place, charge_id=f"{i}", mechanism="diffused"
        )
    again = privatise(
        table, MODEL, epsilon=0.1, delta=1e-7, ledger=str(place), charge_id="9", mechanism="diffused"
    )
    assert again.body == release.body
    with Ledger.open(place) as ledger:
        assert ledger.spent().sums == (1,)
        ledger.verify(release)
    with pytest.raises(dc.Overspent, match="nothing; the budget is spent"):
        privatise(table, MODEL, epsilon=0.1, delta=1e-7, ledger=place)


def test_a_ledger_that_is_not_there_is_not_made(table, tmp_path):
    with pytest.raises(dc.LedgerError, match="there is no ledger at"):
        privatise(table, MODEL, epsilon=1, ledger=tmp_path / "none.db")
    assert not list(tmp_path.iterdir())


def test_tiers_take_an_epsilon_for_each_audience_and_a_path(table, place):
    made = privatise_tiers(table, MODEL, epsilon={"team": 0.5, "public": 0.1}, delta=1e-6, ledger=place)
    assert made["team"].target == dc.ApproxDP(0.5, Fraction("1e-6"))
    with pytest.raises(ValueError, match="got both"):
        privatise_tiers(table, MODEL, targets={"team": dc.PureDP(1)}, epsilon={"team": 1}, ledger=place)
    with pytest.raises(ValueError, match="got neither"):
        privatise_tiers(table, MODEL, ledger=place)


def test_a_plan_takes_epsilon_and_delta():
    one = dc.plan(MODEL, 200, epsilon=0.5, delta=1e-6, truth=0.3)
    two = dc.plan(MODEL, 200, dc.ApproxDP(0.5, Fraction("1e-6")), truth=0.3)
    assert one.to_json() == two.to_json()
    with pytest.raises(ValueError, match="got neither"):
        dc.plan(MODEL, 200)


# ── δ and the number of records ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("delta", "n", "said"),
    [
        (Fraction(1, 100), 100, "not below 1/n = 0.01"),
        (Fraction(1, 101), 100, "above 1/(10 n) = 0.001"),
        (Fraction(1, 1000), 100, None),
        (Fraction(1, 999), 100, "above 1/(10 n)"),
        (Fraction(1, 1000), None, "n is private, and δ = 0.001 is above 1/(10 n) from 100 records on"),
        (Fraction(1, 100_000), None, None),
    ],
)
def test_a_delta_as_large_as_one_record_is_said(delta, n, said):
    drawn = dc.GaussianDP(0.5)
    caution = delta_caution(drawn, dc.ApproxDP(1, delta), n)
    assert caution is None if said is None else said in caution
    assert delta_caution(dc.PureDP(1), dc.ApproxDP(1, delta), n) is None  # nothing is disclosed at all


def test_the_caution_stands_in_plan_certificate_and_report(table, place, tmp_path):
    plan = dc.plan(MODEL, 200, epsilon=0.5, delta=0.006, truth=0.3)
    assert sum("not below 1/n" in words for words in plan.cautions) == 1
    Ledger.open(tmp_path / "loose.db", dc.ApproxDP(1, 0.01)).close()
    release = privatise(
        table, MODEL, epsilon=0.5, delta=0.006, ledger=tmp_path / "loose.db", mechanism="diffused"
    )
    (said,) = release.certificate()["cautions"]
    assert "not below 1/n = 0.005" in said
    assert "not below 1/n = 0.005" in " ".join(dc.certificate_text(release.certificate()).split())
    fine = privatise(table, MODEL, epsilon=0.5, delta=1e-6, ledger=place, mechanism="diffused")
    assert fine.certificate()["cautions"] == []
