"""`discreet show`, `read` and `predict`: what a saved release says, read otherwise, labels for new rows."""

import csv
import json

import pandas as pd
import pytest

import discreet as dc
from discreet.sampling.source import SeededSource

SCHEMA = {
    "ill": dc.Label(["no", "yes"], unknown="no"),
    "ward": dc.Categories(["A", "B"], unknown="B"),
    "age": dc.Bounded(0, 100),
}


@pytest.fixture
def saved(home):
    """Two releases in the folder: a proportion, and naive Bayes on a derived column."""
    frame = pd.DataFrame(
        {"ill": ["no", "yes"] * 200, "ward": ["A", "B", "B", "B"] * 100, "age": [20, 70] * 200}
    )
    table = dc.Table.open(frame, schema=SCHEMA).derive(old=dc.col("age") >= 50)
    ledger = dc.Ledger.open("paid.db", budget=dc.PureDP(100))
    ask = {"target": dc.PureDP(20), "ledger": ledger, "source": SeededSource(1)}
    dc.privatise(table["ward"], dc.DirichletCategorical([1, 1]), **ask).save("wards", draws=0)
    dc.privatise(table, dc.NaiveBayes("ill", ("old", "ward")), **ask).save("bayes", draws=0)
    dc.privatise(table, dc.BayesianNetwork([("old", "ill")]), **ask).save("net", draws=0)
    ledger.close()
    return home


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def test_show_has_parameters_promise_and_what_is_predicted_on_one_screen(saved, run):
    done = run("show", "wards")
    assert done.code == 0
    assert len(done.out.splitlines()) < 24
    for words in (
        "posterior mean",
        "A ",
        "promised ε = ",
        "read ",
        "predicts nothing: this model has no column",
        "SEEDED",
    ):
        assert words in done.out
    said = json.loads(run("show", "bayes", "--json").out)
    assert said["predicts"] == "the label of a row, from the features"
    assert said["certificate"]["private"] is False
    assert {"posterior", "cautions", "reading", "files"} <= set(said)
    assert "remaining" not in said


def test_read_takes_another_prior_and_another_reading_at_no_cost(saved, run):
    before = (saved / "paid.db").read_bytes()
    done = run("read", "wards", "--prior", "alpha=1000", "--json")
    said = json.loads(done.out)
    assert [row["mean"] for row in said["posterior"]] == pytest.approx([0.5, 0.5], abs=0.05)
    assert said["cost"] == 0
    plain = json.loads(run("read", "wards", "--json").out)
    assert plain["posterior"][0]["mean"] == pytest.approx(0.25, abs=0.02)
    done = run("read", "wards", "--reading", "naive", "--csv", "wards.csv")
    assert done.code == 0
    assert "caution" in done.out
    assert "cost nothing" in done.out
    assert pd.read_csv("wards.csv")["name"].tolist() == ["A", "B"]
    assert (saved / "paid.db").read_bytes() == before


def test_read_takes_options_of_the_reading_in_the_words_of_its_cautions(home, run):
    """Half of the records lie at a bound: the caution says what to type, and typing it widens the answer."""
    table = dc.Table.open({"age": [100.0] * 200 + [60.0] * 200}, schema={"age": dc.Bounded(0, 100)})
    model = dc.NormalMean(50, 1, 900, 0, 100)
    with dc.Ledger.open("paid.db", budget=dc.PureDP(100)) as ledger:
        ask = {"target": dc.PureDP(20), "ledger": ledger, "source": SeededSource(1)}
        dc.privatise(table["age"], model, **ask).save("ages", draws=0)
    said = " ".join(run("show", "ages").out.split())
    assert "declare the column with clips = true" in said
    assert "discreet read --option clips=true" in said
    plain, clipped = (
        json.loads(run("read", "ages", *option, "--json").out)["posterior"][0]["mean"]
        for option in ((), ("--option", "clips=true"))
    )
    assert plain == pytest.approx(80, abs=1)
    assert clipped > 85
    done = run("read", "ages", "--option", "clipped=true")
    assert done.code == 2
    assert "takes the options size_prior, clips, detail; got clipped" in done.err


def test_a_regression_by_name_is_read_under_the_prior_that_it_was_given(home, run):
    """Not under matrices of encoded columns; what decides on the rows cannot be read otherwise."""
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0] * 100, "y": [0.0, 2.0, 1.0, 3.0] * 100})
    table = dc.Table.open(frame, schema={"x": dc.Bounded(0, 4), "y": dc.Bounded(0, 4)})
    model = dc.BayesianLinearRegression(target="y", features=["x"])
    with dc.Ledger.open("paid.db", budget=dc.ApproxDP(100, 1e-3)) as ledger:
        ask = {"target": dc.ApproxDP(20, 1e-6), "ledger": ledger, "source": SeededSource(1)}
        dc.privatise(table, model, **ask).save("line", draws=0)
    wide, narrow = (
        json.loads(run("read", "line", *prior, "--json").out)["posterior"][0]["mean"]
        for prior in ((), ("--prior", "spread=0.01"))
    )
    assert wide == pytest.approx(0.8, abs=0.1)
    assert abs(narrow) < 0.5
    done = run("read", "line", "--prior", "radius=3")
    assert done.code == 2
    assert "takes spread, shape, scale; got radius" in done.err


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("wards", "--prior", "beta=1"), "takes alpha; got beta"),
        (("wards", "--reading", "loud"), "loud"),
        (("wards", "--level", "95"), "between 0 and 1"),
        (("nowhere",), "there is no folder"),
        (("wards", "--csv", "paid.db"), "paid.db"),
    ],
)
def test_what_cannot_be_read_is_bad_input(saved, run, typed, words):
    done = run("read", *typed)
    assert done.code == 2
    assert words in done.err


def test_predictions_stand_behind_the_rows_with_labels_from_csv_and_parquet(saved, run):
    frame = pd.DataFrame({"who": ["ann", "=bob"], "ward": ["A", None], "age": [80.0, 10.0]})
    frame.to_csv("new.csv", index=False)
    frame.to_parquet("new.parquet")
    done = run("predict", "bayes", "new.csv", "--proba")
    assert done.code == 0
    assert "predicted 2 rows" in done.err
    first, second = rows_of(done.out)
    assert (first["who"], first["predicted"], second["predicted"]) == ("ann", "yes", "no")
    assert second["who"] == "'=bob"  # no spreadsheet runs it
    assert float(first["P(no)"]) + float(first["P(yes)"]) == pytest.approx(1)
    done = run("predict", "bayes", "new.parquet", "--out", "said.csv")
    assert pd.read_csv("said.csv")["predicted"].tolist() == ["yes", "no"]
    assert run("predict", "bayes", "new.csv", "--out", "said.csv").code == 2  # kept, not overwritten
    told = json.loads(run("predict", "bayes", "new.csv", "--json").out)
    assert told["predicted"] == ["yes", "no"]


def test_a_network_is_asked_for_a_column(saved, run):
    pd.DataFrame({"age": [80, 10], "predicted": [1, 2]}).to_csv("new.csv", index=False)
    done = run("predict", "net", "new.csv")
    assert done.code == 2
    assert "add --target, one of old, ill" in done.err
    done = run("predict", "net", "new.csv", "--target", "ill", "--given", "old")
    assert [row["predicted of the release"] for row in rows_of(done.out)] == ["yes", "no"]
    done = run("predict", "bayes", "new.csv", "--target", "ill")
    assert done.code == 2
    assert "leave them out" in done.err


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("bayes", "lost.csv"), "there is no file"),
        (("bayes", "other.csv"), "no column 'ward'"),
        (("wards", "other.csv"), "no column to predict from others"),
        (("bayes", "codes.parquet"), "integer codes are not labels"),
    ],
)
def test_what_cannot_be_predicted_is_bad_input_and_says_why(saved, run, typed, words):
    (saved / "other.csv").write_text("age\n3\n")
    pd.DataFrame({"ward": [0, 1], "age": [3, 4]}).to_parquet("codes.parquet")
    done = run("predict", *typed)
    assert done.code == 2
    assert words in done.err


def test_odd_levels_are_said_in_one_line(saved, run):
    (saved / "odd.csv").write_text("ward,age\n A,3\nb,80\n")
    done = run("predict", "bayes", "odd.csv")
    assert done.code == 0
    assert "2 of 2 values in column 'ward' are not declared levels" in done.err
    assert "Warning" not in done.err
