"""Every row of the catalogue on a page: labels whole, headings apart, nothing beyond either width."""

import pandas as pd
import pytest

import discreet as dc
from discreet.catalogue import ROWS
from discreet.cli.typed.job import Job, any_model_of
from discreet.report import report

COPIES = 10  # of an example's records
NAMES = {
    "a": "marital status",
    "b": "hours-per-week",
    "u": "Never married, or not stated",
    "v": "Machine-op-inspct/Farming-fishing",
    "x": "blood_pressure_systolic",
    "place": "federal state",
    "N": "North Rhine-Westphalia",
    "S": "Mecklenburg-Vorpommern",
}
WIDTHS = (1280, 390)  # those of conftest.py


def renamed(value):
    """Give an example's columns and levels names as long as people give them."""
    if isinstance(value, dict):
        return {renamed(key): renamed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [renamed(part) for part in value]
    return NAMES.get(value, value) if isinstance(value, str) else value


def plain(value):
    """Make tuples of a job file's lists, as constructors take them."""
    return tuple(plain(part) for part in value) if isinstance(value, list) else value


def page_of(name, home):
    row, example = ROWS[name], ROWS[name].examples[0]
    columns, prior = renamed(dict(example.columns)), renamed(dict(example.prior))
    rows = [tuple(renamed(value) for value in record) for record in example.rows] * COPIES
    table = dc.Table.open(
        pd.DataFrame(rows, columns=list(columns)), schema=dc.Schema.from_dict({"columns": columns})
    )
    if row.kind == "family":
        table, model = table[tuple(columns)], row.load("model")(**prior)
    else:
        model = any_model_of(Job(model=name, prior={k: plain(v) for k, v in prior.items()}), None)
    relation = (
        dc.ADD_REMOVE if name == "record_count" else dc.SUBSTITUTE
    )  # else it is public, and no question
    target, whole = (dc.ApproxDP(e, d, relation=relation) for e, d in ((4, 1e-6), (1e6, 0.5)))
    with dc.Ledger.open(home / f"{relation.value}.db", budget=whole) as ledger:
        return report(dc.privatise(table, model, target=target, ledger=ledger, source=dc.SeededSource(1)))


@pytest.fixture(scope="module")
def found(measured, tmp_path_factory):
    home = tmp_path_factory.mktemp("walk")
    return measured({name: page_of(name, home) for name in ROWS})


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ROWS)
def test_a_page_of_every_model_fits_and_keeps_its_labels(found, name, width):
    seen = found[f"{name}-{width}"]
    assert seen["scroll"] <= width
    assert (seen["out"], seen["cut"], seen["tall"], seen["touching"]) == ([], [], [], [])
    assert seen["hidden"] == 0  # no table has to be scrolled
    for label in labels(name):
        assert label in seen["text"], label


def labels(name):
    """Names of columns, and of levels where a model counts them."""
    columns = renamed(dict(ROWS[name].examples[0].columns))
    few = [key for key in columns if key in NAMES.values()]
    if ROWS[name].kind != "counts":
        return few
    return few + [
        str(level)
        for column in columns.values()
        for level in column.get("levels", ())
        if isinstance(level, str)
    ]
