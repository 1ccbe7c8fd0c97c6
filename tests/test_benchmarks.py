"""Every script of benchmarks/ still runs, at a size at which its figures mean nothing."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(
    path.stem for path in FOLDER.glob("*.py") if path.stem != "sizes" and not path.stem.endswith("peers")
)
APART = {"ledger", "service", "startup", "tables", "trace"}  # fork, or start themselves again


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
        ran = subprocess.run(words, check=False, capture_output=True, text=True, env=os.environ)  # noqa: S603
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout
        return
    benchmarks.setattr(sys, "argv", [str(path), "--tiny"])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


# --- peers: what is installed beside us is run, the rest is skipped by name ------------
def test_what_people_do_today(benchmarks, tmp_path):
    path = tmp_path / "rows.parquet"
    runpy.run_path(str(FOLDER / "tables.py"))["generate"](path, 500)
    for name, work in runpy.run_path(str(FOLDER / "peers.py"))["PEERS"].items():
        if "diffprivlib" not in name:
            work(path)


@pytest.mark.parametrize("name", ["glm_peers", "hmm_peers", "linear_regression_peers", "peers"])
def test_peers_run_tiny(name, benchmarks, tmp_path, capsys):
    """Skipped unless the environment has them: none is a dependency of ours."""
    for needed in ("hmmlearn", "dynamax") if name == "hmm_peers" else ("diffprivlib",):
        pytest.importorskip(needed)
    rng, path = np.random.default_rng(1), tmp_path / "task.npz"
    x, counts = rng.uniform(-0.5, 0.5, (60, 3)), rng.poisson(3.0, (10, 52))
    given = {"features": x, "answers": np.sign(x[:, 0]), "trains": rng.random((2, 60)) < 0.7, "norm": 1.0}
    np.savez(path, **given, epsilons=[1.0], counts=counts, scores=rng.normal(size=(10, 10)), chains=2)
    words = [str(path)]
    if name == "peers":
        words = [str(tmp_path / "rows.parquet"), "diffprivlib GaussianNB"]
        runpy.run_path(str(FOLDER / "tables.py"))["generate"](words[0], 500)
    benchmarks.setattr(sys, "argv", [name, *words])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out
