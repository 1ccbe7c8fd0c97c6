"""`discreet fit` where the rows, the ledger, or both live on a real PostgreSQL; and rows on a real Spark."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.ledger import Ledger
from discreet.privatise import privatise
from discreet.release.release import Release
from discreet.tables.table import Table

pytestmark = [
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

CANARY = "CANARY-otter-7731"
SCHEMA = """\
[columns.smoker]
kind = "binary"
true = "yes"

[columns.ward]
kind = "categories"
levels = ["A", "B"]
unknown = "(unknown)"

[columns.age]
kind = "bounded"
lower = 0
upper = 128
"""
MODEL = ("--model", "beta_bernoulli", "--prior", "alpha=1,beta=1", "--schema", "schema.toml")
N = 4000
BIG = "pure:40"  # noise below one record, so that the answer can be told from the posterior


def visits():
    return pa.table(
        {
            "smoker": [
                "yes" if i % 12 in {0, 1, 3, 6} and i % 5 != 4 else ("no", None, CANARY)[i % 7 % 3]
                for i in range(N)
            ],
            "ward": [("A", "B", CANARY)[i % 3] for i in range(N)],
            "age": [(20.0, 40.0, None, 70.0, 918273.645)[i % 5] for i in range(N)],
        }
    )


def smokers(where):
    rows = [row for row in visits().to_pylist() if where(row)]
    return sum(row["smoker"] == "yes" for row in rows), len(rows)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def run(home):
    def call(*args):
        result = CliRunner().invoke(app, [str(a) for a in args])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        for said in (result.stdout, result.stderr):
            assert CANARY not in said
            assert "918273" not in said
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return call


@pytest.fixture(scope="module")
def in_postgres(load_postgres):
    return load_postgres(visits(), "visits")


@pytest.fixture
def ledger_url(postgres_url):
    """A place for a ledger on the server, one for each test."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("drop schema if exists budgets cascade")
        connection.execute("create schema budgets")
    return f"{postgres_url}&options=-csearch_path%3Dbudgets"


def close(said, where=lambda _row: True):
    """Whether the posterior mean is that of these rows; at ε = 40 noise above 3 has a chance below e⁻¹⁰⁰."""
    yes, n = smokers(where)
    return said["posterior"][0]["mean"] == pytest.approx((yes + 1) / (n + 2), abs=4 / n)


def chosen(row):
    return row["ward"] == "A" and (row["age"] or 0) < 64


def test_rows_and_ledger_on_postgres(run, postgres_url, in_postgres, ledger_url):
    run("ledger", "init", ledger_url, "--budget", "pure:50", "--json")
    run("schema", "check", "schema.toml", postgres_url, "--table", in_postgres, "--json")
    said = run(
        "fit", postgres_url, "--table", in_postgres, *MODEL, "--column", "smoker", "--target", BIG,
        "--ledger", ledger_url, "--out", "r", "--charge-id", "monday", "--json",
    )  # fmt: skip
    assert close(said)
    assert not close(said, chosen)
    release = Release.load("r")
    with Ledger.open(ledger_url) as ledger:
        ledger.verify(release.receipt)
        assert ledger.receipt("monday").computed
    done = run("ledger", "verify", ledger_url, "--release", "r", "--json")
    assert done["receipts"] == ["monday"]
    assert [row["kind"] for row in run("ledger", "history", ledger_url, "--json")] == [
        "scope",
        "charge",
        "computed",
    ]


def test_where_and_derive_on_postgres(run, postgres_url, in_postgres):
    run("ledger", "init", "budget.db", "--budget", "pure:50", "--relation", "add_remove", "--json")
    said = run(
        "fit", postgres_url, "--table", in_postgres, *MODEL, "--column", "smoker", "--target", BIG,
        "--relation", "add_remove", "--derive", "half = age / 2", "--where", 'ward == "A" and half < 32',
        "--ledger", "budget.db", "--out", "r", "--json",
    )  # fmt: skip
    assert close(said, chosen)
    assert not close(said)


def test_a_spent_budget_on_postgres_refuses_the_command(home, run, ledger_url):
    pq.write_table(visits(), "visits.parquet")
    run("ledger", "init", ledger_url, "--budget", "pure:0.5", "--json")
    asked = (
        "fit",
        "visits.parquet",
        *MODEL,
        "--column",
        "smoker",
        "--ledger",
        ledger_url,
        "--target",
        "pure:0.4",
    )
    run(*asked, "--out", "first", "--json")
    refused = CliRunner().invoke(app, [*asked, "--out", "second"])
    assert refused.exit_code == 1
    assert "what fits: PureDP(0.1)" in refused.stderr
    assert not (home / "second").exists()
    assert [row["kind"] for row in run("ledger", "history", ledger_url, "--json")] == [
        "scope",
        "charge",
        "computed",
    ]


def test_privatise_with_a_ledger_and_rows_on_postgres(postgres_url, in_postgres, ledger_url):
    table = Table.open(
        postgres_url, table=in_postgres, schema={"ward": dc.Categories(["A", "B"], unknown="(unknown)")}, n=N
    )
    with Ledger.open(ledger_url, dc.ApproxDP(1, 1e-6)) as ledger:
        ledger.add_scope("analyst", dc.PureDP(1))
        release = privatise(
            table["ward"], dc.DirichletCategorical([1] * 3), target=dc.PureDP(0.5), ledger=ledger,
            scope=["default", "analyst"], charge_id="wards",
        )  # fmt: skip
        assert release.receipt.scopes == ("analyst", "default")
        ledger.verify(release.receipt)
        again = privatise(
            table["ward"], dc.DirichletCategorical([1] * 3), target=dc.PureDP(0.5), ledger=ledger,
            scope=["default", "analyst"], charge_id="wards",
        )  # fmt: skip
        assert again.certificate() == release.certificate()
        with pytest.raises(dc.Overspent, match="in scope 'analyst'"):
            privatise(
                table["ward"], dc.DirichletCategorical([1] * 3), target=dc.PureDP(0.75), ledger=ledger,
                scope=["default", "analyst"],
            )  # fmt: skip
        assert len(ledger.history()) == 4  # two scopes, one charge, one release


def test_rows_on_spark(home, run, spark):
    pq.write_table(visits(), "visits.parquet")
    files = f"parquet.`{home / 'visits.parquet'}`"
    template = run("schema", "init", "spark://local[1]", "--table", files, "--json")["template"]
    assert "smoker" in template
    assert CANARY not in template
    run("ledger", "init", "budget.db", "--budget", "pure:50", "--relation", "add_remove", "--json")
    said = run(
        "fit", "spark://local[1]", "--table", files, *MODEL, "--column", "smoker", "--target", BIG,
        "--relation", "add_remove", "--where", 'ward == "A" and age < 64', "--ledger", "budget.db",
        "--out", "r", "--json",
    )  # fmt: skip
    assert close(said, chosen)
    assert not close(said)


def test_a_table_that_spark_lacks_is_refused_before_the_charge(home, run, spark):
    run("ledger", "init", "budget.db", "--budget", "pure:1", "--json")
    asked = (*MODEL, "--column", "smoker", "--ledger", "budget.db", "--target", "pure:0.4", "--out", "r")
    missing = CliRunner().invoke(app, ["fit", "spark://local[1]", *asked])
    assert (missing.exit_code, "--table" in missing.stderr) == (2, True)
    absent = CliRunner().invoke(app, ["fit", "spark://local[1]", "--table", "nowhere.visits", *asked])
    assert absent.exit_code == 3
    assert "opening the table 'nowhere.visits' on Spark failed" in absent.stderr
    assert len(run("ledger", "history", "budget.db", "--json")) == 1
