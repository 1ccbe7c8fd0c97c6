"""`discreet fit`: released, refused, misused, failed, interrupted; and nothing private in any of it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.ledger import Ledger
from discreet.release.release import Release

from .conftest import CANARIES, FIT, environment


def clean(*runs):
    for run in runs:
        for canary in CANARIES:
            assert canary not in run.out
            assert canary not in run.err


def test_a_fit_writes_a_release_that_loads_and_a_charge_that_verifies(run, budget):
    done = run(*FIT, "--target", "pure:0.4", "--out", "smokers")
    assert done.code == 0, done.err
    release = Release.load("smokers")
    assert release.model.name == "beta_bernoulli"
    assert not release.seeded
    with Ledger.open(budget) as ledger:
        ledger.verify(release.receipt)
    for word in ("posterior mean", "ε = 0.4 at δ = 0", release.receipt.id, "report.html"):
        assert word in done.out
    clean(done)


def test_json_is_whole_and_says_the_posterior(run, budget):
    done = run(*FIT, "--target", "pure:0.4", "--out", "smokers", "--json")
    said = json.loads(done.out)
    assert said["certificate"]["promised"]["pure_epsilon"] == pytest.approx(0.4)
    (row,) = said["posterior"]
    assert row["interval"][0] < row["mean"] < row["interval"][1]
    assert said["files"] == sorted(path.name for path in Path("smokers").iterdir())
    clean(done)


NOISY = "noisy_statistics"
JOBS = {
    "categories": ("ward", "dirichlet_categorical", "alpha = 1", NOISY, "pure:0.5"),
    "diffused": ("ward", "dirichlet_categorical", "alpha = [1, 2, 3]", "diffused", "approx:0.5,1e-6"),
    "bounded": ("age", "normal_mean", "mean = 50, strength = 1, variance = 400", NOISY, "gdp:0.5"),
    "count": ("visits", "gamma_poisson", "shape = 2, rate = 1", NOISY, "zcdp:0.1"),
    "two": (
        "age",
        "normal_inverse_gamma",
        "mean = 50, strength = 1, shape = 3, scale = 400",
        NOISY,
        "pure:1",
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_file_is_enough(run, home, name):
    column, model, prior, mechanism, target = JOBS[name]
    assert run("ledger", "init", "big.db", "--budget", "approx:4,1e-3").code == 0
    (home / "jobs").mkdir()
    (home / "jobs" / "job.toml").write_text(
        f'data = "../rows.parquet"\nschema = "../schema.toml"\ncolumn = "{column}"\nmodel = "{model}"\n'
        f'prior = {{ {prior} }}\nmechanism = "{mechanism}"\ntarget = "{target}"\n'
        f'ledger = "../big.db"\nout = "{name}"\n'
    )
    done = run("fit", "jobs/job.toml", "--seed", "5")
    assert done.code == 0, done.err
    assert (home / "jobs" / name / "certificate.json").exists()
    assert "SEEDED" in done.out
    clean(done)


def test_the_command_line_wins_over_the_job_file(run, home, budget):
    (home / "job.toml").write_text(
        'data = "rows.parquet"\nschema = "schema.toml"\ncolumn = "smoker"\nmodel = "beta_bernoulli"\n'
        'prior = { alpha = 1, beta = 3 }\ntarget = "pure:0.9"\nledger = "budget.db"\nout = "first"\n'
    )
    done = run("fit", "job.toml", "--target", "pure:0.1", "--out", "second", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["certificate"]["promised"]["pure_epsilon"] == pytest.approx(0.1)
    assert not (home / "first").exists()


def test_three_tenths_fit_a_budget_of_0_3_and_the_fourth_is_refused(run, home):
    assert 0.1 + 0.1 + 0.1 > 0.3  # in doubles; what is typed is exact
    assert run("ledger", "init", "budget.db", "--budget", "pure:0.3").code == 0
    for i in range(3):
        assert run(*FIT, "--target", "pure:0.1", "--out", f"r{i}").code == 0
    done = run(*FIT, "--target", "pure:0.1", "--out", "r3")
    assert done.code == 1
    assert "PureDP(0.1) does not fit" in done.err
    assert "what fits" in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_refusal_is_json_too(run, budget):
    done = run(*FIT, "--target", "pure:2", "--out", "r", "--json")
    assert done.code == 1
    said = json.loads(done.out)
    assert (said["kind"], said["exit_code"]) == ("Overspent", 1)


def test_an_unreachable_target_is_refused_before_it_is_charged(run, budget):
    done = run(*FIT, "--mechanism", "diffused", "--target", "pure:0.5", "--out", "r")
    assert done.code == 1
    assert "never pure DP" in done.err
    assert len(json.loads(run("ledger", "history", "budget.db", "--json").out)) == 1


BAD = {
    "unknown column": (("--column", "nonsense"), 2, "nonsense"),
    "unknown model": (("--model", "beta"), 2, "there are"),
    "unknown mechanism": (("--mechanism", "laplace"), 2, "there are"),
    "unknown hyper-parameter": (("--prior", "gamma=1"), 2, "takes alpha, beta"),
    "negative prior": (("--prior", "alpha=-1,beta=1"), 2, "above 0"),
    "promise without a kind": (("--target", "0.5"), 2, "approx:EPSILON,DELTA"),
    "unknown relation": (("--relation", "neighbours"), 2, "substitute"),
    "unit without rows per unit": (("--unit", "patient"), 2, "--rows-per-unit"),
    "unknown option": (("--option", "noize=gaussian"), 2, "takes the options"),
    "a family that does not fit the column": (("--column", "age"), 2, ""),
    "no such schema": (("--schema", "none.toml"), 2, "none.toml"),
    "no such ledger": (("--ledger", "none.db"), 2, "ledger init none.db"),
    "no such scope": (("--scope", "alice"), 2, "alice"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_with_the_next_step_and_charges_nothing(run, budget, case):
    options, code, word = BAD[case]
    done = run("--debug", "--verbose", *FIT, "--target", "pure:0.5", "--out", "r", *options)
    assert done.code == code, done.err
    line = next(line for line in done.err.splitlines() if line.startswith("discreet: ") and word in line)
    assert line
    assert len(json.loads(run("ledger", "history", "budget.db", "--json").out)) == 1
    clean(done)


def test_a_misspelt_option_is_one_line(run):
    done = run("fit", "rows.parquet", "--colum", "x")
    assert done.code == 2
    assert done.err.startswith("discreet: ")
    assert "discreet fit --help" in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_folder_that_is_taken_is_refused_before_the_charge(run, home, budget):
    (home / "r").mkdir()
    (home / "r" / "mine.txt").write_text("keep")
    done = run(*FIT, "--target", "pure:0.5", "--out", "r")
    assert done.code == 2
    assert "choose another --out" in done.err
    assert len(json.loads(run("ledger", "history", "budget.db", "--json").out)) == 1


@pytest.mark.parametrize("words", ["data = [", 'nonsense = "x"'])
def test_a_broken_job_file_is_bad_input(run, home, words):
    (home / "job.toml").write_text(words)
    done = run("fit", "job.toml")
    assert done.code == 2
    assert "job.toml" in done.err


# ── the engine fails, with canaries on its tongue ───────────────────────────────────────────────────


def _damaged(home, kind):
    """Rows that an engine cannot read, and would love to quote."""
    if kind == "cut parquet":
        whole = (home / "rows.parquet").read_bytes()
        (home / "bad.parquet").write_bytes(whole[: len(whole) // 2])
        return "bad.parquet"
    if kind == "text for parquet":
        (home / "bad.parquet").write_text(f"smoker,ward\n{CANARIES[0]},{CANARIES[1]}\n")
        return "bad.parquet"
    if kind == "no file":
        return "absent.parquet"
    (home / "bad.csv").write_bytes(
        f"smoker,ward,age,visits\n{CANARIES[0]},{CANARIES[1]}\x00".encode() + b"\xff\xfe\n"
    )
    return "bad.csv"


@pytest.mark.parametrize("kind", ["cut parquet", "text for parquet", "no file"])
def test_an_engine_that_fails_is_code_3_and_is_not_quoted(overheard, budget, home, kind):
    bad = _damaged(home, kind)
    done = overheard("--debug", "--verbose", FIT[0], bad, *FIT[2:], "--target", "pure:0.5", "--out", "r")
    assert done.code == 3, done.err
    assert any(line.startswith("discreet: ") for line in done.err.splitlines())
    assert "Traceback" not in done.err
    clean(done)


def test_bytes_that_are_no_text_never_reach_the_screen(overheard, budget, home):
    bad = _damaged(home, "bytes")
    done = overheard("--debug", "--verbose", FIT[0], bad, *FIT[2:], "--target", "pure:0.5", "--out", "r")
    assert done.code in {0, 3}
    clean(done)


def test_canaries_are_in_the_data_so_that_the_search_can_fail(home):
    assert CANARIES[0] in (home / "rows.csv").read_text()
    assert "918273.645" in (home / "rows.csv").read_text()


@pytest.mark.parametrize("data", ["rows.parquet", "rows.csv"])
def test_a_verbose_release_shows_no_row(run, budget, data):
    done = run("--debug", "--verbose", FIT[0], data, *FIT[2:], "--target", "pure:0.5", "--out", "r")
    assert done.code == 0, done.err
    assert "calibrating" in done.err
    clean(done)
    for path in Path("r").iterdir():
        content = path.read_bytes()
        assert not any(canary.encode() in content for canary in CANARIES), path.name


# ── Ctrl-C ──────────────────────────────────────────────────────────────────────────────────────────

SLOW = """
import sys, time
from pathlib import Path
from discreet import statistics

def read(self):
    Path("reading").touch()
    time.sleep(120)

statistics.BoundedStatistic.read = read
sys.argv = ["discreet", *sys.argv[1:]]
from discreet.cli import main
main()
"""


def test_an_interrupt_while_reading_keeps_the_charge_says_so_and_is_code_4(run, budget, home):
    args = [*FIT, "--target", "pure:0.5", "--out", "r", "--charge-id", "monday"]
    process = subprocess.Popen(  # noqa: S603 - our own command, made slow
        [sys.executable, "-c", SLOW, *args],
        cwd=home, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        while not (home / "reading").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 4, err
    assert "charge 'monday' is kept" in err
    assert "Traceback" not in err
    assert not (home / "r").exists()
    entries = json.loads(run("ledger", "history", "budget.db", "--json").out)
    assert [entry["kind"] for entry in entries] == ["scope", "charge"]
    # the same charge pays for the release that was not made, and is not paid again
    done = run(*args)
    assert done.code == 0, done.err
    entries = json.loads(run("ledger", "history", "budget.db", "--json").out)
    assert [entry["kind"] for entry in entries] == ["scope", "charge", "computed"]


def test_a_charge_id_gives_its_release_again_and_no_other(run, budget):
    args = [*FIT, "--target", "pure:0.2", "--charge-id", "monday"]
    assert run(*args, "--out", "first").code == 0
    assert run(*args, "--out", "second").code == 0
    first, second = (
        json.loads(Path(out, "release.json").read_text())["release"] for out in ("first", "second")
    )
    assert first == second
    assert Path("first/certificate.json").read_bytes() == Path("second/certificate.json").read_bytes()
    done = run(*args, "--prior", "alpha=1,beta=2", "--out", "third")
    assert done.code == 2
    assert "already gave another release (its model is not" in done.err
