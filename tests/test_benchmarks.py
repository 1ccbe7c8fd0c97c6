"""Every script of benchmarks/ still runs, at a size at which its figures mean nothing."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
PEERS = {"glm_peers": "diffprivlib", "linear_regression_peers": "diffprivlib", "hmm_peers": "hmmlearn"}
SCRIPTS = sorted(
    path.stem for path in FOLDER.glob("*.py") if path.stem != "sizes" and not path.stem.endswith("peers")
)
APART = {"ledger", "startup", "tables"}  # fork, or start themselves again


@pytest.fixture
def benchmarks(monkeypatch):
    """The folder on the path, as for a script; what it imports from there is forgotten afterwards."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    yield monkeypatch
    for path in FOLDER.glob("*.py"):
        if str(getattr(sys.modules.get(path.stem), "__file__", "")) == str(path):
            del sys.modules[path.stem]


@pytest.mark.filterwarnings("ignore")  # a script says what it likes
@pytest.mark.parametrize("name", SCRIPTS)
def test_it_runs_tiny(name, benchmarks, capsys):
    path = FOLDER / f"{name}.py"
    if name in APART:
        words = [sys.executable, str(path), "--tiny"]
        ran = subprocess.run(words, check=False, capture_output=True, text=True, env={**os.environ})  # noqa: S603
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout
        return
    benchmarks.setattr(sys, "argv", [str(path), "--tiny"])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
