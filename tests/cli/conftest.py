"""A small private table with canaries in it, its schema, a ledger, and two ways to run the command."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from discreet.cli import app

# Values that no output may ever hold. They sit in the rows, in places that errors like to quote.
CANARIES = ("CANARY-otter-7731", "918273.645", "918273645")
SCHEMA = """\
[columns.smoker]
kind = "binary"
true = "yes"

[columns.ward]
kind = "categories"
levels = ["A", "B", "C"]

[columns.age]
kind = "bounded"
lower = 0
upper = 128

[columns.visits]
kind = "count"
max = 16
"""


def _rows(n=200):
    return {
        "smoker": [("yes", "no", None, CANARIES[0])[i % 4] for i in range(n)],
        "ward": [("A", "B", "C", CANARIES[0])[i % 4] for i in range(n)],
        "age": [(20.0, 40.0, float(CANARIES[1]), None)[i % 4] for i in range(n)],
        "visits": [(0, 1, int(CANARIES[2]), 3)[i % 4] for i in range(n)],
        "patient": [f"{CANARIES[0]}-{i // 2}" for i in range(n)],
    }


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with rows.parquet, rows.csv and schema.toml, and nothing spent."""
    table = pa.table(_rows())
    parquet.write_table(table, tmp_path / "rows.parquet")
    from pyarrow import csv

    csv.write_csv(table, tmp_path / "rows.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.fixture
def run(home):
    """Run the command in this process: (exit code, stdout, stderr)."""

    def call(*args):
        result = CliRunner().invoke(app, [str(a) for a in args])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return SimpleNamespace(code=result.exit_code, out=result.stdout, err=result.stderr)

    return call


@pytest.fixture
def overheard(run, capfd):
    """Run the command in this process, and catch what an engine writes past Python too."""

    def call(*args):
        done, past = run(*args), capfd.readouterr()
        return SimpleNamespace(code=done.code, out=done.out + past.out, err=done.err + past.err)

    return call


def environment(**extra):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("COV", "NO_COLOR", "FORCE_COLOR"))}
    return {**kept, **extra}


@pytest.fixture
def shell(home):
    """Run the command as a process of its own, piped."""

    def call(*args, **extra):
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "discreet", *map(str, args)],
            capture_output=True, text=True, cwd=home, env=environment(**extra), timeout=300, check=False,
        )  # fmt: skip
        return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr)

    return call


FIT = (
    "fit", "rows.parquet", "--schema", "schema.toml", "--column", "smoker", "--model", "beta_bernoulli",
    "--prior", "alpha=1,beta=3", "--ledger", "budget.db",
)  # fmt: skip


@pytest.fixture
def budget(run):
    """Start a ledger of pure ε = 1."""
    assert run("ledger", "init", "budget.db", "--budget", "pure:1").code == 0
    return Path("budget.db")
