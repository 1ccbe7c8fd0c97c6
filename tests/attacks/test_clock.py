"""Nothing that is released tells how long the work took: one public time, from before the first read."""

import json
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.ledger import Ledger, transaction
from discreet.line import chains
from discreet.line.tiers import privatise_tiers
from discreet.mcmc.barker import Barker
from discreet.mcmc.proposals import SimplexWalk
from discreet.mcmc.target import SimplexTarget
from discreet.mechanisms.regression import objective_perturbation
from discreet.mechanisms.regression.samplers import certified_minimum
from discreet.models.generalized_linear import Feature
from discreet.models.regression_records import VALUES
from discreet.sampling.source import SeededSource

START = datetime(2031, 5, 4, 3, 2, 1, 987654, tzinfo=UTC)
TIME = re.compile(rb"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*")


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still but while something is read: every read takes an hour."""
    now = [START]

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return now[0].astimezone(tz)

    for module in (transaction,):
        monkeypatch.setattr(module, "datetime", Clock)
    read = dc.privatise.__globals__["release_once"]

    def slow(ledger, receipt, look, draw, form):
        def looked():
            now[0] += timedelta(hours=1)
            return look()

        return read(ledger, receipt, looked, draw, form)

    for place in (dc.privatise.__globals__, privatise_tiers.__globals__, chains.run.__globals__):
        monkeypatch.setitem(place, "release_once", slow)
    return now


@pytest.fixture
def table():
    frame = pd.DataFrame({"smoker": [True, False, False] * 40, "ward": ["A", "B", "A"] * 40})
    return dc.Table.open(
        frame, schema={"smoker": dc.Binary(), "ward": dc.Categories(["A", "B"], unknown="B")}
    )


def times(folder):
    """Every time that is written in the files of a folder, and the times of the files themselves."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    written = {found for path in files for found in TIME.findall(path.read_bytes())}
    return written, {path.stat().st_mtime for path in (*files, folder)}


def test_a_release_bears_the_time_of_its_charge_alone(table, tmp_path, clock):
    with Ledger.open(tmp_path / "b.db", dc.PureDP(2)) as ledger:
        release = dc.privatise(table["smoker"], dc.BetaBernoulli(1, 1), target=dc.PureDP(0.5), ledger=ledger)
        assert clock[0] == START + timedelta(hours=1)  # the work did take long
        release.save(tmp_path / "r")
        written, stamped = times(tmp_path / "r")
        assert written == {b"2031-05-04T03:02:01"}
        assert stamped == {START.replace(microsecond=0).timestamp()}
        assert release.created == release.receipt.at == "2031-05-04T03:02:01+00:00"
        assert {entry.content["at"] for entry in ledger.history()} == {release.created}
        ledger.charge(dc.PureDP(0.1))  # control: the clock went on
        assert ledger.history()[-1].content["at"] == "2031-05-04T04:02:01+00:00"
        exported = Path(ledger.export(tmp_path / "out.json")).read_bytes()
        assert set(TIME.findall(exported)) == {b"2031-05-04T03:02:01", b"2031-05-04T04:02:01"}


def test_so_do_tiers_and_chains(table, tmp_path, clock):
    with Ledger.open(tmp_path / "b.db", dc.ApproxDP(20, 1e-3)) as ledger:
        targets = {"team": dc.ApproxDP(0.5, 1e-7), "all": dc.ApproxDP(0.1, 1e-7)}
        for audience, release in privatise_tiers(
            table["smoker"], dc.BetaBernoulli(1, 1), targets=targets, ledger=ledger
        ).items():
            release.save(tmp_path / audience, draws=0)
            assert times(tmp_path / audience)[0] == {b"2031-05-04T03:02:01"}
        kernel = Barker(
            target=SimplexTarget(column="smoker", alpha=(1, 1), truncation=0.05),
            walk=SimplexWalk(0.1),
            temperature=50,
        )
        made = chains.run(table, kernel, steps=2, chains=1, ledger=ledger)
        assert clock[0] == START + timedelta(hours=2)
        place = made.save(tmp_path / "chain.npz")
        assert set(TIME.findall(json.dumps(made.certificate()).encode())) == {b"2031-05-04T04:02:01"}
        assert place.stat().st_mtime == (START + timedelta(hours=1)).replace(microsecond=0).timestamp()


def test_the_command_dates_its_files_too(home, run, clock):
    assert run("ledger", "init", "budget.db", "--budget", "pure:1").code == 0
    fit = [
        "fit",
        "rows.parquet",
        "--schema",
        "schema.toml",
        "--column",
        "smoker",
        "--model",
        "beta_bernoulli",
    ]
    fit += ["--prior", "alpha=1,beta=3", "--ledger", "budget.db", "--target", "pure:0.3", "--out", "r"]
    done = run(*fit, "--json")
    assert done.code == 0, done.err
    assert clock[0] == START + timedelta(hours=1)
    written, stamped = times(home / "r")
    assert written | set(TIME.findall(done.out.encode())) == {b"2031-05-04T03:02:01"}
    assert stamped == {START.replace(microsecond=0).timestamp()}
    assert os.stat("r").st_mtime == START.replace(microsecond=0).timestamp()  # noqa: PTH116


# ── which way a solver goes ─────────────────────────────────────────────────────────────────────────

N = 4_000_000


@pytest.fixture(scope="module")
def few():
    model = dc.BayesianLogisticRegression(
        target="y", features=("x",), labels=(0, 1), norm=1, design=(Feature("x"),)
    )
    return model, objective_perturbation.ObjectivePerturbation.calibrate(
        model, n=N, target=dc.ApproxDP(1, 1e-6)
    )


@pytest.fixture
def ways(monkeypatch):
    """Say whether doubles prove the minimum; the slow way is not walked."""

    def refined(*_):
        raise ArithmeticError("the slow way")

    monkeypatch.setattr(certified_minimum, "_refined", refined)

    def walk(model, ready, x):
        records = VALUES[ready.reads](model, x[:, None], np.where(np.arange(len(x)) % 2, 1.0, -1.0))
        try:
            ready.release(records, SeededSource(1))
        except ArithmeticError:
            return "balls"
        return "doubles"

    return walk


def test_no_record_sends_objective_perturbation_the_slow_way(few, ways, monkeypatch):
    """Four million empty rows have no curvature to lean on; one record more or less must not show."""
    model, ready = few
    x = np.zeros(N)
    assert ways(model, ready, x) == "doubles"
    monkeypatch.setattr(objective_perturbation, "MOST", 2**20)  # control: as it was
    assert ways(model, ready, x) == "balls"
