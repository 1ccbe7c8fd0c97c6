"""What the ledger says of who asked what of which data: any name that can be shown, and never a falsehood."""

import pandas as pd
import pytest

import discreet as dc

MODEL = dc.BetaBernoulli(1, 1)


@pytest.fixture
def ledger(tmp_path):
    with dc.Ledger.open(tmp_path / "budget.db", budget=dc.PureDP(8)) as opened:
        yield opened


def rows(path, column="smoker", **options):
    if not path.exists():
        pd.DataFrame({column: [True, False] * 40, "other": [True] * 80}).to_csv(path, index=False)
    schema = {column: dc.Binary(), "other": dc.Binary()}
    return dc.Table.open(path, schema=schema, **options)[column]


def fitted(table, ledger, **more):
    return dc.privatise(table, MODEL, **{"target": dc.PureDP(0.5), "ledger": ledger, **more})


# Screenshots of a Mac, French before a colon, Persian, ideographic: all of them can be shown.
@pytest.mark.parametrize("name", ["10.15\u202fAM", "pour\u00a0cent", "می\u200cخواهم", "全\u3000角"])
def test_blanks_and_joiners_of_any_script_do_not_keep_a_table_from_being_fitted(tmp_path, ledger, name):
    release = fitted(rows(tmp_path / f"{name}.csv", column=name), ledger)
    assert release.receipt.about["data"] == f"{name}.csv"
    assert release.receipt.about["columns"] == [name]
    assert list(ledger.spending()["data"]) == [f"{name}.csv"]
    ledger.verify(release)


@pytest.mark.parametrize("label", ["a\nb", "\u202eevil", "\x1b[2J", "\ud800", "x" * 201, 7])
def test_what_moves_a_terminal_is_refused_before_the_charge(tmp_path, ledger, label):
    with pytest.raises(dc.LedgerError, match="characters that can be shown"):
        fitted(rows(tmp_path / "v.csv", label=label), ledger)
    with pytest.raises(dc.LedgerError, match="characters that can be shown"):
        fitted(rows(tmp_path / "v.csv"), ledger, actor=label)
    assert len(ledger.history()) == 1


def test_one_id_is_one_question_about_one_data_set(tmp_path, ledger):
    """Else the second file's release would be the first one's, or the ledger would name the wrong file."""
    monday, tuesday = rows(tmp_path / "monday.csv"), rows(tmp_path / "tuesday.csv")
    first = fitted(monday, ledger, charge_id="visits", actor="Zoë")
    with pytest.raises(dc.LedgerError, match=r"'monday\.csv', not 'tuesday\.csv'"):
        fitted(tuesday, ledger, charge_id="visits")
    again = fitted(monday, ledger, charge_id="visits", actor="Ann")  # who asks may change
    assert again.body == first.body
    assert list(ledger.spending()["actor"]) == ["Zoë"]


@pytest.mark.parametrize("differs", ["data", "columns", "model"])
def test_nor_after_a_crash_before_the_draw(tmp_path, ledger, differs, monkeypatch):
    table = rows(tmp_path / "monday.csv")

    def fails(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(type(ledger), "record", fails)
        with pytest.raises(dc.ChargeKept):
            fitted(table, ledger, charge_id="visits")
    other = {
        "data": (rows(tmp_path / "tuesday.csv"), MODEL),
        "columns": (table["other"], MODEL),
        "model": (table, dc.BetaBinomial(1, 1, trials=1)),
    }[differs]
    with pytest.raises(dc.LedgerError, match="another question"):
        dc.privatise(*other, target=dc.PureDP(0.5), ledger=ledger, charge_id="visits")
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (tmp_path / "monday.csv").rename(moved / "monday.csv")
    assert fitted(rows(moved / "monday.csv"), ledger, charge_id="visits").receipt.replay is False
    assert ledger.spent().sums == (dc.PureDP(0.5).loss,)


def test_charges_that_said_nothing_are_found_again(tmp_path, ledger):
    """As older versions and charges by hand are."""
    ledger.charge(dc.PureDP(0.5), charge_id="old")
    assert fitted(rows(tmp_path / "v.csv"), ledger, charge_id="old").receipt.about == {}
