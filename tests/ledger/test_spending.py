"""Who spent what on which data: in the chain, in receipts and certificates, as a table and as a picture."""

import csv
import json
from fractions import Fraction
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.ledger import LedgerError, TamperedError
from discreet.privacy.kinds import ApproxDP, PureDP, ZeroCDP

QUARTER = PureDP(Fraction(1, 4))


@pytest.fixture
def used(place, opened):
    """Two people, two data sets, two scopes; one charge is given back."""
    ledger = opened(place, PureDP(1))
    ledger.add_scope("many", ApproxDP(1, 1e-6))
    visits = {"data": "visits", "columns": ["smoker"], "model": "beta_bernoulli", "mechanism": "laplace"}
    ledger.charge(QUARTER, about={**visits, "actor": "Zoë"})
    ledger.charge(QUARTER, about={**visits, "actor": "Zoë", "columns": ["ward", "age"]})
    ledger.charge(PureDP(0.125), about={"data": "<wards>", "actor": "Ali"}, charge_id="computed")
    ledger.mark_computed("computed")
    ledger.charge(QUARTER, about=visits, charge_id="given back")
    ledger.refund("given back", "never ran")
    ledger.charge(ZeroCDP(Fraction(1, 1000)), scopes="many")
    return ledger


def test_spending_is_a_data_frame_of_what_was_not_given_back(used):
    found = used.spending()
    assert isinstance(found, pd.DataFrame)
    assert list(found["scope"]) == ["default"] * 3 + ["many"]
    assert list(found["data"]) == ["visits", "visits", "<wards>", "not said"]
    assert list(found["actor"]) == ["Zoë", "Zoë", "Ali", "not said"]
    assert list(found["columns"])[:2] == ["smoker", "ward, age"]
    assert list(found["share"])[:3] == [0.25, 0.25, 0.125]
    assert found["share"][3] == pytest.approx(1 - used.remaining("many").share)
    assert 0.2 < found["share"][3] < 0.25
    assert list(found["released"]) == [False, False, True, False]
    by_data = found[found["scope"] == "default"].groupby("data")["share"].sum()
    assert dict(by_data) == {"visits": 0.5, "<wards>": 0.125}
    assert len(used.spending("many")) == 1


def test_it_is_drawn_and_nothing_in_it_is_markup_of_others(used, tmp_path):
    drawn = used.picture(tmp_path / "spending.svg")
    tree = ET.parse(drawn)  # noqa: S314 - our own
    bars = [
        float(r.get("width"))
        for r in tree.iter("{http://www.w3.org/2000/svg}rect")
        if r.get("height") == "16"
    ]
    whole = bars[0]  # the trough of the first scope; then its parts, the largest first
    assert [round(bar / whole, 3) for bar in bars[1:3]] == [0.5, 0.125]
    said = " ".join(t.text for t in tree.iter("{http://www.w3.org/2000/svg}text"))
    assert "default: 37.5% left" in said
    assert "50.0% by Zoë, on visits" in said
    page = used._repr_html_()
    assert "&lt;wards&gt;" in page
    assert "<wards>" not in page
    assert used.picture(tmp_path / "spending.html").read_text() == page
    with pytest.raises(FileExistsError, match="name another file"):
        used.picture(drawn)
    with pytest.raises(LedgerError, match=r"\.svg or \.html"):
        used.picture(tmp_path / "spending.png")


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"who": "me"}, "about says data, fingerprint"),
        ({"actor": "a" * 201}, "a name of an actor is at most 200"),
        ({"data": "a\nb"}, "can be shown"),
    ],
)
def test_what_is_said_is_short_and_known(place, opened, about, said):
    ledger = opened(place, PureDP(1))
    with pytest.raises(LedgerError, match=said):
        ledger.charge(QUARTER, about=about)
    assert ledger.spent().sums == (0,)


def test_a_release_says_who_asked_and_on_which_data(tmp_path, opened):
    rows = tmp_path / "visits.csv"
    rows.write_text("ill\n" + "0\n1\n" * 40)
    declared = {"ill": dc.Binary()}
    ledger = opened(tmp_path / "budget.db", ApproxDP(1, 1e-6))
    table = dc.Table.open(rows, schema=declared)
    model = dc.BetaBernoulli(alpha=1, beta=1)
    release = dc.privatise(table["ill"], model, epsilon=0.5, delta=1e-7, ledger=ledger, actor="Zoë")
    about = release.receipt.about
    assert (about["data"], about["actor"], about["columns"]) == ("visits.csv", "Zoë", ["ill"])
    assert (about["model"], about["mechanism"]) == ("beta_bernoulli", "noisy_statistics")
    with ledger.export(tmp_path / "out.csv").open(newline="") as lines:
        _, charge, *_ = csv.DictReader(lines)
    said = ("data", "fingerprint", "actor", "model", "mechanism")
    assert [charge[name] for name in (*said, "columns")] == [*(about[name] for name in said), "ill"]
    text = dc.certificate_text(release.certificate())
    assert "data set visits.csv" in text
    assert "asked for by Zoë, as declared" in text
    assert "scope default is kept by plain sums" in text
    folder = release.save(tmp_path / "out", draws=0)
    ledger.verify(dc.Release.load(folder))
    # the fingerprint is of schema and place: other rows have the same one, another schema another
    rows.write_text("ill\n" + "1\n" * 80)
    assert dc.Table.open(rows, schema=declared).fingerprint == about["fingerprint"]
    assert dc.Table.open(rows, schema={"ill": dc.Bounded(0, 1)}).fingerprint != about["fingerprint"]
    assert dc.Table.open(rows, schema=declared, label="visits, 2026").label == "visits, 2026"
    forged = json.loads((folder / "release.json").read_text())
    forged["release"]["receipt"]["about"]["actor"] = "Ali"
    with pytest.raises(TamperedError, match="about"):
        ledger.verify(type(release.receipt).from_json(forged["release"]["receipt"]))


def test_the_command_shows_it(used, place, tmp_path):
    shown = CliRunner().invoke(app, ["ledger", "show", place, "--picture", str(tmp_path / "p.svg")])
    assert shown.exit_code == 0
    assert "visits" in shown.output
    assert "Zoë" in shown.output
    assert "50.0%" in shown.output
    assert "█" * 10 in shown.output
    told = json.loads(CliRunner().invoke(app, ["ledger", "show", place, "--json"]).output)
    assert [row["actor"] for row in told["spending"]] == ["Zoë", "Zoë", "Ali", "not said"]
