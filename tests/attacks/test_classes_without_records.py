"""A class that noise does not tell from an empty one shows its prior, and naive Bayes says so."""

import numpy as np
import pytest

import discreet as dc
from discreet.models.naive_bayes import NaiveBayes
from discreet.posteriors.counts.naive_bayes import exact

SCHEMA = {"y": dc.Categories(["a", "b", "c"], unknown="c"), "x": dc.Binary(true=1)}


def read(classes: str, epsilon: float, path: object, reading: str = "noise_aware") -> object:
    table = dc.Table.open({"y": list(classes), "x": [i % 2 for i in range(len(classes))]}, schema=SCHEMA)
    ledger = dc.Ledger.open(f"{path}/budget.db", budget=dc.PureDP(epsilon))
    target = dc.PureDP(epsilon)
    model = NaiveBayes("y", ("x",))
    release = dc.privatise(table, model, target=target, ledger=ledger, source=dc.SeededSource(1))
    return release.read(reading=reading)


@pytest.mark.parametrize(
    ("classes", "epsilon", "absent"),
    [("abc" * 60, 1000, 0), ("ab" * 90, 1000, 1), ("a" * 180, 1000, 2)],
)
def test_classes_that_may_be_empty_are_named_in_cautions(classes, epsilon, absent, tmp_path):
    said = read(classes, epsilon, tmp_path).cautions
    assert [text.split(" rows")[0] for text in said] == ([f"{absent} of 3"] if absent else [])


def test_noise_that_hides_every_class_is_said(tmp_path):
    # scale 200 a cell, 60 records a class: all three rows stand out by chance with probability below 1e-3
    assert read("abc" * 60, 0.01, tmp_path).cautions


def test_the_naive_reading_names_them_too(tmp_path):
    said = read("ab" * 90, 1000, tmp_path, "naive").cautions
    assert "1 of 3 rows" in " ".join(said)


def test_exact_counts_have_nothing_to_caution_of():
    model = NaiveBayes("y", ("x",), sizes=(2, 2))
    assert exact(model, np.array([3, 4, 5, 6])).cautions == ()
