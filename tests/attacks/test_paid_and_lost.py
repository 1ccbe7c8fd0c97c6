"""What was paid for is never lost and never drawn twice: one charge id is one release, byte for byte."""

import itertools
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import create_engine, text

import discreet as dc
from discreet.learn import LinearRegression, LogisticRegression
from discreet.ledger import Ledger, LedgerError, TamperedError
from discreet.ledger.schema import located
from discreet.line import after_charge, chains
from discreet.line.local import release_observations
from discreet.line.tiers import privatise_tiers
from discreet.mcmc.barker import Barker
from discreet.mcmc.proposals import SimplexWalk
from discreet.mcmc.running.checkpoint import Checkpoint
from discreet.mcmc.target import SimplexTarget
from discreet.mechanisms.local.profile_categorical import SmoothCategorical
from discreet.release.json import canonical, release_to_json

FRAME = pd.DataFrame({"smoker": [True, False, False] * 40, "ward": ["A", "B", "A"] * 40})
SCHEMA = {"smoker": dc.Binary(), "ward": dc.Categories(["A", "B"], unknown="B")}
GRAPH = dc.ProfileGraph.of(
    {"x": [Fraction(1, 2), Fraction(1, 2)], "y": [Fraction(1, 4), Fraction(3, 4)]},
    [("x", "y")],
    labels=["A", "B"],
)
HERE = Path(__file__).parent
counter = itertools.count()


@pytest.fixture
def table():
    return dc.Table.open(FRAME, schema=SCHEMA)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """A path or URL where no ledger is yet, once on each engine."""
    if request.param == "sqlite":
        return str(tmp_path / "budget.db")
    url, name = request.getfixturevalue("postgres_url"), f"paid_{next(counter)}"
    engine = create_engine(located(url))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"


def one(table, ledger, name):
    made = dc.privatise(
        table["smoker"], dc.BetaBernoulli(1, 1), target=dc.PureDP(0.1), ledger=ledger, charge_id=name
    )
    return canonical(release_to_json(made))


def drawn(table, ledger, name):
    ask = {"mechanism": "diffused", "target": dc.ApproxDP(0.5, 1e-7), "draws": 3}
    made = dc.privatise(table["ward"], dc.DirichletCategorical([1, 2]), **ask, ledger=ledger, charge_id=name)
    return canonical(release_to_json(made))


def counted(table, ledger, name):
    model = dc.NaiveBayes(label="smoker", features=("ward",))
    made = dc.privatise(table, model, target=dc.PureDP(0.1), ledger=ledger, charge_id=name)
    return canonical(release_to_json(made))


def regressed(table, ledger, name):
    model = dc.BayesianLogisticRegression(target="smoker", features=("ward",), labels=(False, True), norm=2)
    made = dc.privatise(table, model, target=dc.ApproxDP(0.5, 1e-7), ledger=ledger, charge_id=name)
    return canonical(release_to_json(made))


def tiered(table, ledger, name):
    targets = {"team": dc.ApproxDP(0.5, 1e-7), "all": dc.ApproxDP(0.1, 1e-7)}
    made = privatise_tiers(
        table["smoker"], dc.BetaBernoulli(1, 1), targets=targets, ledger=ledger, charge_id=name
    )
    return {audience: canonical(release_to_json(release)) for audience, release in made.items()}


def walked(table, ledger, name):
    made = chains.run(table, kernel(), steps=3, chains=2, ledger=ledger, charge_id=name)
    return made.draws.tobytes(), made.certificate()


def kernel():
    target = SimplexTarget(column="smoker", alpha=(1, 1), truncation=0.05)
    return Barker(target=target, walk=SimplexWalk(0.1), temperature=50)


def learnt(table, ledger, name):
    del table
    x, y = FRAME[["smoker"]].to_numpy(float), (FRAME["ward"] == "A").to_numpy()
    model = LogisticRegression(epsilon=0.5, delta=1e-7, classes=[False, True], norm=1, ledger=ledger)
    return model.fit(x, y, charge_id=name).released_[0].__repr__(), model.coef_.tobytes(), model.receipt_


def learnt_line(table, ledger, name):
    del table
    x, y = FRAME[["smoker"]].to_numpy(float), (FRAME["ward"] == "A").to_numpy(float)
    model = LinearRegression(epsilon=0.5, delta=1e-7, answers=(0, 1), norm=1, ledger=ledger)
    return model.fit(x, y, charge_id=name).released_, model.receipt_


WAYS = [one, drawn, counted, regressed, tiered, walked, learnt, learnt_line]


@pytest.mark.parametrize("way", WAYS)
def test_one_charge_id_is_one_release_whatever_releases(table, tmp_path, way, monkeypatch):
    with Ledger.open(tmp_path / "b.db", dc.ApproxDP(20, 1e-3)) as ledger:
        first = way(table, ledger, "mine")
        assert way(table, ledger, "other") != first  # control: another charge is another draw
    monkeypatch.setattr(
        after_charge, "guard_after_charge", lambda *_: pytest.fail("private data were read again")
    )
    with Ledger.open(tmp_path / "b.db") as again:
        assert way(table, again, "mine") == first
        assert [e.kind for e in again.history()].count("computed") == 2
        again.verify()


def test_local_releases_are_kept_too(tmp_path):
    rows = tmp_path / "rows.csv"
    FRAME.to_csv(rows, index=False)
    mechanism = SmoothCategorical.solve(GRAPH, 0.5)
    ask = {"column": "ward", "profile": "x", "observations": "march"}
    with Ledger.open(tmp_path / "b.db", dc.PureDP(2, relation=GRAPH.relation)) as ledger:
        first = release_observations(rows, mechanism, ledger=ledger, **ask)
        FRAME[:7].to_csv(rows, index=False)  # whatever lies there now
        again = release_observations(rows, mechanism, ledger=ledger, **ask)
        assert np.array_equal(first.values, again.values)
        assert first.receipt == again.receipt
        with pytest.raises(LedgerError, match=r"another release .its profile is not"):
            release_observations(rows, mechanism, ledger=ledger, **{**ask, "profile": "y"})


def test_another_question_under_the_same_id_is_refused(table, tmp_path):
    with Ledger.open(tmp_path / "b.db", dc.PureDP(2)) as ledger:
        one(table, ledger, "mine")
        other = {"target": dc.PureDP(0.1), "ledger": ledger, "charge_id": "mine"}
        with pytest.raises(LedgerError, match=r"another release .its model is not"):
            dc.privatise(table["smoker"], dc.BetaBernoulli(2, 1), **other)
        with pytest.raises(LedgerError, match="another question"):
            dc.privatise(table["ward"], dc.DirichletCategorical([1, 1]), **other)


def storm(place, out, *how):
    Ledger.open(place, dc.PureDP(1)).close()
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, HERE / "paid.py", place, out, *how], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_many_processes_with_one_id_get_one_release(place, tmp_path):
    storm(place, tmp_path, "crowd")
    said = [path.read_bytes() for path in tmp_path.glob("crowd.*")]
    assert (len(said), len(set(said))) == (8, 1)
    with Ledger.open(place) as ledger:
        assert [e.kind for e in ledger.history()] == [
            "scope",
            *["charge", "computed"] * 2,
        ]  # and the warm one
        assert ledger.released("crowd") == {"": said[0]}


def test_killed_at_every_statement_nothing_is_lost_and_nothing_is_drawn_twice(place, tmp_path):
    """From the charge through read, draw and record to the saved folder; asked again, the same bytes.

    On SQLite every third statement, on PostgreSQL every fourth; every one with DISCREET_LEDGER_FULL=1.
    """
    stride = 1 if "DISCREET_LEDGER_FULL" in os.environ else 4 if "postgresql" in place else 3
    storm(place, tmp_path, "kills", str(stride))
    names = [path.name.removesuffix(".again") for path in tmp_path.glob("*.again")]
    left = 0
    with Ledger.open(place) as ledger:
        ledger.verify()
        entries = ledger.history()
        assert ledger.spent().sums[0] <= Fraction(len(names) + 1, 1000)  # and the warm one; each paid once
        for name in names:
            assert [e.kind for e in entries if e.id == name] == ["charge", "computed"]
            (body,) = ledger.released(name).values()
            first = tmp_path / f"{name}.first"
            assert body == (tmp_path / f"{name}.again").read_bytes()
            if first.exists() and first.stat().st_size:  # it had left before the process died
                left += 1
                assert first.read_bytes() == body
            assert canonical(release_to_json(dc.Release.load(tmp_path / name))).encode() == body
    assert len(names) * stride > 150  # statements
    assert 10 < left * stride < len(names) * stride  # some died before, some after it had left


def test_a_chain_with_a_file_loses_nothing_and_runs_once(table, tmp_path, monkeypatch):
    file = tmp_path / "chain"
    ask = {"steps": 3, "chains": 1, "charge_id": "mine"}
    with Ledger.open(tmp_path / "b.db", dc.ApproxDP(20, 1e-3)) as ledger:
        with monkeypatch.context() as patch:  # killed after the file was made, before the ledger knew of it
            patch.setattr(Ledger, "claim", lambda *_: (_ for _ in ()).throw(SystemExit))
            with pytest.raises(dc.ChargeKept):
                chains.run(table, kernel(), ledger=ledger, checkpoint=file, **ask)
        with monkeypatch.context() as patch:  # and while the first steps were made
            patch.setattr(Checkpoint, "add", lambda *_: (_ for _ in ()).throw(OSError))
            with pytest.raises(dc.ChargeKept):
                chains.resume(table, kernel(), file, ledger=ledger)
        with pytest.raises(LedgerError, match="paid for another run"):
            chains.run(table, kernel(), ledger=ledger, checkpoint=tmp_path / "rival", **ask)
        made = chains.resume(table, kernel(), file, ledger=ledger)
        again = chains.resume(table, kernel(), file, ledger=ledger)
        assert np.array_equal(made.draws, again.draws)
        assert made.certificate() == again.certificate()
        assert [e.kind for e in ledger.history()] == ["scope", "charge", "computed"]


def test_a_second_file_under_one_charge_is_refused(table, tmp_path, monkeypatch):
    ask = {"steps": 3, "chains": 1, "charge_id": "mine"}
    with Ledger.open(tmp_path / "b.db", dc.ApproxDP(20, 1e-3)) as ledger:
        for name in ("first", "second"):  # both files are there before the ledger knows of either
            with monkeypatch.context() as patch:
                patch.setattr(Ledger, "claim", lambda *_: (_ for _ in ()).throw(OSError))
                with pytest.raises(dc.ChargeKept):
                    chains.run(table, kernel(), ledger=ledger, checkpoint=tmp_path / name, **ask)
        chains.resume(table, kernel(), tmp_path / "second", ledger=ledger)
        with pytest.raises(dc.ChargeKept, match="did not pay for this run"):
            chains.resume(table, kernel(), tmp_path / "first", ledger=ledger)


# ── changes by hand ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE discreet_releases SET body = :body",
        "DELETE FROM discreet_releases",
        "INSERT INTO discreet_releases VALUES ('mine', 'second', :body)",
        "INSERT INTO discreet_releases VALUES ('nobody', '', :body)",
    ],
)
def test_a_release_changed_by_hand_is_found(place, table, statement):
    with Ledger.open(place, dc.PureDP(1)) as ledger:
        one(table, ledger, "mine")
        ledger.verify()
        engine = create_engine(located(place))
        with engine.begin() as connection:
            for action in ("update", "delete"):
                on = " ON discreet_releases" if engine.dialect.name == "postgresql" else ""
                connection.execute(text(f"DROP TRIGGER discreet_releases_{action}{on}"))
            given = {"body": b"{}"} if ":body" in statement else {}
            connection.execute(text(statement), given)
        engine.dispose()
        with pytest.raises(TamperedError, match="added, changed or taken out"):
            ledger.verify()


def test_the_database_refuses_to_change_a_release(tmp_path, table):
    with Ledger.open(tmp_path / "b.db", dc.PureDP(1)) as ledger:
        one(table, ledger, "mine")
    connection = sqlite3.connect(tmp_path / "b.db")
    for statement in ("UPDATE discreet_releases SET body = x'00'", "DELETE FROM discreet_releases"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    connection.close()


def test_a_refund_while_drawing_leaves_nothing(table, tmp_path):
    with Ledger.open(tmp_path / "b.db", dc.PureDP(1)) as ledger:

        def refunded(records):
            ledger.refund("mine", "changed my mind")
            return records

        receipt = ledger.charge(dc.PureDP(0.5), charge_id="mine")
        form = after_charge.Form(lambda _, value: {"": value}, lambda bodies: bodies[""])
        with pytest.raises(dc.ChargeKept, match="refunded"):
            after_charge.release_once(ledger, receipt, lambda: b"secret", refunded, form)
        with pytest.raises(LedgerError, match="not kept here"):
            ledger.released("mine")
        done = ledger.charge(dc.PureDP(0.5), charge_id="yours")
        after_charge.release_once(ledger, done, lambda: b"x", lambda x: x, form)
        with pytest.raises(LedgerError, match="computed"):
            ledger.refund("yours", "changed my mind")
        assert replace(done, computed=True) == ledger.receipt("yours")


OTHER = [
    ({}, {"answers": (0, 10)}, "answers and models are"),  # the model says what bounds clip, of each column
    ({}, {"bounds": (0, 10)}, "bounds and models are"),
    ({"random_state": 1}, {}, "seeded is"),  # a seeded fit came back as a private one
]


@pytest.mark.parametrize(("before", "now", "differs"), OTHER)
def test_a_line_is_not_read_by_another_scale_under_one_id(tmp_path, before, now, differs):
    x, y = FRAME[["smoker"]].to_numpy(float), (FRAME["ward"] == "A").to_numpy(float)
    with Ledger.open(tmp_path / "b.db", dc.ApproxDP(20, 1e-3)) as ledger:
        ask = {"epsilon": 0.5, "delta": 1e-7, "answers": (0, 1), "bounds": (0, 1), "ledger": ledger}
        LinearRegression(**ask, **before).fit(x, y, charge_id="mine")
        LinearRegression(**ask, **before).fit(x, y, charge_id="mine")  # control
        with pytest.raises(LedgerError, match=rf"another release .its {differs} not"):
            LinearRegression(**{**ask, **now}).fit(x, y, charge_id="mine")


def test_a_run_is_not_given_to_another_kernel_or_table_under_one_id(table, tmp_path):
    ask = {"steps": 3, "chains": 1, "charge_id": "mine"}
    longer = dc.Table.open(pd.concat([FRAME, FRAME]), schema=SCHEMA)
    other = replace(kernel(), target=SimplexTarget(column="smoker", alpha=(1, 2), truncation=0.05))
    with Ledger.open(tmp_path / "b.db", dc.ApproxDP(20, 1e-3)) as ledger:
        chains.run(table, kernel(), ledger=ledger, **ask)
        chains.run(table, kernel(), ledger=ledger, **ask)  # control
        with pytest.raises(LedgerError, match=r"another release .its n is not"):
            chains.run(longer, kernel(), ledger=ledger, **ask)
        with pytest.raises(LedgerError, match=r"another release .its setting is not"):
            chains.run(table, other, ledger=ledger, **ask)
