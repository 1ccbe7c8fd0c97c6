"""A small private table, a ledger, and two ways to run the command."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import discreet
from discreet.cli import app

FIT = (
    "fit", "rows.parquet", "--schema", "schema.toml", "--column", "smoker", "--model", "beta_bernoulli",
    "--prior", "alpha=1,beta=3", "--ledger", "budget.db", "--target", "pure:0.3", "--charge-id", "monday",
)  # fmt: skip


def beside(name):
    """Load a module of this folder that holds no tests; tests are no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCHEMA = '[columns.smoker]\nkind = "binary"\ntrue = "yes"\n'


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with rows.parquet and schema.toml, and nothing spent."""
    parquet.write_table(pa.table({"smoker": ["yes", "no", None, "?"] * 50}), tmp_path / "rows.parquet")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(home):
    """Run the command in this process."""

    def call(*args):
        result = CliRunner().invoke(app, [str(a) for a in args])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return SimpleNamespace(code=result.exit_code, out=result.stdout, err=result.stderr)

    return call


@pytest.fixture
def budget(run):
    """Start a ledger of pure ε = 1."""
    assert run("ledger", "init", "budget.db", "--budget", "pure:1").code == 0
    return Path("budget.db")


@pytest.fixture
def bare(home, tmp_path_factory):
    """The environment of a process of its own, where ArviZ does not load, in a way of its own."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "arviz.py").write_text("raise RuntimeError('broken')")
    paths = [str(folder), str(Path(discreet.__file__).parent.parent)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "discreet": f"{sys.executable} -m discreet"}


@pytest.fixture
def bash(home, bare):
    """Run a line of bash in which $discreet is the command, whose own code is returned."""

    def call(line, **extra):
        done = subprocess.run(  # noqa: S603 - our own command
            ["/bin/bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"],
            capture_output=True, cwd=home, timeout=120, check=False, env={**bare, **extra},
        )  # fmt: skip
        out, err = (text.decode("latin-1") for text in (done.stdout, done.stderr))
        return SimpleNamespace(code=done.returncode, out=out, err=err)

    return call
