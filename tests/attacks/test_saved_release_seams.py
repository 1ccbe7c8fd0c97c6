"""show, read and predict on records that others wrote, rows that are few and names that are taken."""

import hashlib
import json
import shutil

import pandas as pd
import pytest

import discreet as dc
from discreet.release.json import digest

ROWS = pd.DataFrame({"sex": ["F", "M"] * 60, "income": [True, False, False] * 40})
SCHEMA = {"sex": dc.Categories(["F", "M"]), "income": dc.Binary()}
MODELS = {
    "naive_bayes": dc.NaiveBayes("income", ("sex",)),
    "network": dc.BayesianNetwork({"sex": [], "income": ["sex"]}),
    "weights": dc.BayesianLogisticRegression(target="income", features=["sex"], norm=2),
    "dirichlet": dc.DirichletCategorical([1, 1]),
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases")
    table = dc.Table.open(ROWS, schema=SCHEMA)
    with dc.Ledger.open(folder / "b.db", dc.ApproxDP(100, 1e-3)) as ledger:
        for name, model in MODELS.items():
            rows = table["sex"] if name == "dirichlet" else table
            release = dc.privatise(rows, model, target=dc.ApproxDP(4, 1e-6), ledger=ledger)
            release.save(folder / name, draws=0)
    return folder


def rewritten(folder, release, path, value):
    """Write a record with one part changed and every hash made right."""
    shutil.copytree(folder / release, folder / "forged", dirs_exist_ok=True)
    home = folder / "forged"
    record, said = (json.loads((home / f"{name}.json").read_text()) for name in ("release", "certificate"))
    part = record["release"]
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    said["release"]["sha256"] = digest(record["release"])
    (home / "certificate.json").write_text(json.dumps(said))
    record["files"] = {
        "certificate.json": hashlib.sha256((home / "certificate.json").read_bytes()).hexdigest()
    }
    (home / "release.json").write_text(json.dumps(record))
    return home


@pytest.mark.parametrize(
    "change",
    [
        ("dirichlet", ("value", "noisy"), 0),
        ("dirichlet", ("model", "alpha", 1), 2**70),
        ("weights", ("model", "design", 0, "elsewhere"), ["a"]),
        ("weights", ("model", "design", 0, "centre"), {}),
    ],
)
@pytest.mark.parametrize("command", [("show",), ("show", "--json"), ("read",)])
def test_a_record_that_no_reading_understands_is_called_malformed(run, releases, change, command):
    forged = rewritten(releases, *change)
    done = run(command[0], forged, *command[1:])
    assert done.code == 3
    assert "malformed" in done.err
    assert len(done.err.strip().splitlines()) == 1


@pytest.mark.parametrize("name", ["naive_bayes", "network", "weights"])
def test_no_rows_are_answered_by_none(run, home, releases, name):
    (home / "none.csv").write_text("sex,income\n")
    asked = ["--target", "income"] if name == "network" else []
    done = run("predict", releases / name, "none.csv", "--proba", *asked)
    assert done.code == 0, done.err
    head, *rows = done.out.splitlines()
    assert head.startswith("sex,income,predicted")
    assert not rows
    posterior = dc.Release.load(releases / name).posterior
    assert posterior.log_predictive(ROWS.iloc[:0]).shape == (0,)


@pytest.mark.parametrize(
    "command", [("predict", "naive_bayes", "rows.csv", "--out"), ("read", "network", "--csv")]
)
def test_what_is_taken_is_refused_in_words_that_fit(run, home, releases, command):
    (home / "rows.csv").write_text("sex\nF\n")
    (home / "taken.csv").write_text("mine")
    verb, name, *rest = command
    done = run(verb, releases / name, *rest, "taken.csv")
    assert done.code == 2
    assert "taken.csv exists; nothing is overwritten: name another file" in done.err
    assert (home / "taken.csv").read_text() == "mine"
