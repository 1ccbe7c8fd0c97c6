"""After the charge nothing of a failure passes, whatever was raised: no words, class, frame or warning."""

import sys
import traceback
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.learn import LinearRegression, LogisticRegression
from discreet.learn.regression import answers
from discreet.ledger import Ledger, LedgerError
from discreet.line import chains
from discreet.line.after_charge import Withheld
from discreet.line.local import release_observations
from discreet.line.tiers import privatise_tiers
from discreet.mcmc.barker import Barker
from discreet.mcmc.proposals import SimplexWalk
from discreet.mcmc.target import SimplexTarget
from discreet.mechanisms.local.profile_base import ProfileMechanism
from discreet.mechanisms.local.profile_categorical import SmoothCategorical
from discreet.mechanisms.regression.objective_perturbation import ObjectivePerturbation
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.mechanisms.statistics.tiered_statistics import TieredStatistics
from discreet.tables.table import TableError, blindly, guarded

CANARY = "canary-48213"
FRAME = pd.DataFrame({"smoker": [True, False, False] * 40, "ward": ["A", "B", "A"] * 40})
SCHEMA = {"smoker": dc.Binary(), "ward": dc.Categories(["A", "B"], unknown="B")}
GRAPH = dc.ProfileGraph.of({"x": [0.5, 0.5], "y": [0.25, 0.75]}, [("x", "y")], labels=["A", "B"])
HOME = str(Path(dc.__file__).parent)
PANIC = type("PanicException", (BaseException,), {})  # as pyo3 makes it: no Exception
TELLING = type(f"Error_{CANARY}".replace("-", "_"), (Exception,), {})  # a class can say as much as words
RAISED = [
    SystemExit,
    GeneratorExit,
    PANIC,
    TELLING,
    ValueError,
    MemoryError,
    TableError,
    LedgerError,
    StopIteration,
]


def kernel():
    return Barker(
        target=SimplexTarget(column="smoker", alpha=(1, 1), truncation=0.05),
        walk=SimplexWalk(0.1),
        temperature=50,
    )


def one(ledger, _):
    table = dc.Table.open(FRAME, schema=SCHEMA)["smoker"]
    dc.privatise(table, dc.BetaBernoulli(1, 1), target=dc.PureDP(0.1), ledger=ledger, charge_id="mine")


def tiered(ledger, _):
    table, targets = dc.Table.open(FRAME, schema=SCHEMA)["smoker"], {"all": dc.ApproxDP(0.1, 1e-7)}
    privatise_tiers(table, dc.BetaBernoulli(1, 1), targets=targets, ledger=ledger, charge_id="mine")


def walked(ledger, _):
    chains.run(
        dc.Table.open(FRAME, schema=SCHEMA), kernel(), steps=3, chains=1, ledger=ledger, charge_id="mine"
    )


def walked_to_a_file(ledger, home):
    table = dc.Table.open(FRAME, schema=SCHEMA)
    ask = {"steps": 3, "chains": 1, "charge_id": "mine", "checkpoint": home / "chain"}
    chains.run(table, kernel(), ledger=ledger, **ask)


def learnt(ledger, _):
    x, y = FRAME[["smoker"]].to_numpy(float), (FRAME["ward"] == "A").to_numpy()
    model = LogisticRegression(epsilon=0.5, delta=1e-7, classes=[False, True], norm=1, ledger=ledger)
    model.fit(x, y, charge_id="mine")


WAYS = {
    one: (NoisyStatistics, "release"),
    tiered: (TieredStatistics, "release"),
    walked: (Barker, "step"),
    walked_to_a_file: (Barker, "step"),
    learnt: (ObjectivePerturbation, "release"),
}


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "b.db", dc.ApproxDP(20, 1e-3)) as opened:
        yield opened


def raising(kind, calm=0):
    """Fail with the canary, and warn of it, after `calm` calls that do not."""
    calls = [0]

    def fail(self, *args, **_):
        calls[0] += 1
        if calls[0] <= calm:
            return args[0]
        secret = CANARY
        warnings.warn(secret, RuntimeWarning, stacklevel=1)
        raise kind(secret)

    return fail


def clean(error):
    stack = traceback.TracebackException.from_exception(error, capture_locals=True).stack
    ours = [str(frame.locals) for frame in stack if frame.filename.startswith(HOME)]
    assert ours
    assert CANARY not in f"{error!r} {ours}".replace("_", "-")
    assert error.__cause__ is None
    assert error.__context__ is None


FEW = (SystemExit, PANIC, TELLING)


@pytest.mark.parametrize(
    ("way", "kind"),
    [(way, kind) for way in WAYS for kind in (RAISED if way is one else FEW)],
    ids=lambda each: each.__name__[:12],
)
def test_a_draw_that_fails_says_nothing(ledger, tmp_path, monkeypatch, way, kind):
    place, name = WAYS[way]
    monkeypatch.setattr(place, name, raising(kind, calm=int(name == "step")))  # the first step is rehearsed
    with (
        warnings.catch_warnings(record=True, action="always") as heard,
        pytest.raises(dc.ChargeKept) as caught,
    ):
        way(ledger, tmp_path)
    clean(caught.value)
    assert not heard
    assert "'mine' is kept" in str(caught.value)
    assert kind.__name__ not in str(caught.value)


@pytest.mark.parametrize("kind", [k for k in RAISED if k not in {TableError, LedgerError}], ids=str)
def test_a_read_that_fails_says_nothing(ledger, monkeypatch, kind):
    line = dc.privatise.__globals__
    bounded = line["bounded"]
    fail = raising(kind)
    monkeypatch.setitem(line, "bounded", lambda *a, **k: replace(bounded(*a, **k), query=lambda: fail(None)))
    with pytest.raises(
        dc.ChargeKept, match="reading the statistic failed; the engine's own message"
    ) as caught:
        one(ledger, None)
    clean(caught.value)
    assert kind.__name__ not in str(caught.value)


def failing(kind):
    raise kind(CANARY)


def test_engines_that_leave_by_another_door():
    for kind in (SystemExit, GeneratorExit, PANIC, ValueError):
        for door in (guarded, blindly):
            with pytest.raises(TableError) as caught:
                door("looking", lambda k=kind: failing(k))
            assert CANARY not in str(caught.value)
            assert caught.value.__context__ is None
    with pytest.raises(TableError) as named:
        guarded("opening", lambda: {}["x"])
    assert "KeyError" in str(named.value)  # where nothing was read its class is shown, and else not
    with pytest.raises(TableError) as unnamed:
        blindly("reading", lambda: {}["x"])
    assert "KeyError" not in str(unnamed.value)
    with pytest.raises(KeyboardInterrupt):
        blindly("reading", lambda: failing(KeyboardInterrupt))


def test_polars_own_panic():
    polars = pytest.importorskip("polars")
    panic = polars.exceptions.PanicException
    assert not issubclass(panic, Exception)
    with pytest.raises(TableError) as caught:
        blindly("reading", lambda: failing(panic))
    clean(caught.value)


@pytest.mark.parametrize("kind", FEW)
def test_estimators_say_nothing_with_and_without_a_ledger(ledger, monkeypatch, kind):
    x, y = FRAME[["smoker"]].to_numpy(float), (FRAME["ward"] == "A").to_numpy(float)
    monkeypatch.setattr(NoisyStatistics, "release", raising(kind))
    for book, error in ((None, Withheld), (ledger, dc.ChargeKept)):
        model = LinearRegression(epsilon=0.5, delta=1e-7, answers=(0, 1), norm=1, ledger=book)
        with pytest.raises(error) as caught:
            model.fit(x, y)
        clean(caught.value)


@pytest.mark.parametrize("kind", FEW)
def test_local_releases_say_nothing(tmp_path, monkeypatch, kind):
    rows = tmp_path / "rows.csv"
    FRAME.to_csv(rows, index=False)
    mechanism = SmoothCategorical.solve(GRAPH, 0.5)
    monkeypatch.setattr(ProfileMechanism, "release", raising(kind))
    with Ledger.open(tmp_path / "b.db", dc.PureDP(2, relation=GRAPH.relation)) as ledger:
        ask = {"column": "ward", "profile": "x", "observations": "march", "ledger": ledger}
        with pytest.raises(dc.ChargeKept) as caught:
            release_observations(rows, mechanism, **ask)
    clean(caught.value)


class Odd:
    """An answer that ends the process when it is compared."""

    def __eq__(self, other):
        sys.exit(CANARY)

    __hash__ = None


def test_an_answer_that_exits_when_compared_is_no_label():
    y = np.array(["a", Odd(), "b"], dtype=object)
    (signs,) = answers(y, np.array(["a", "b"], dtype=object))
    assert signs.tolist() == [-1, 0, 1]


def test_ctrl_c_is_told_apart_and_says_nothing_else(ledger, monkeypatch):
    monkeypatch.setattr(NoisyStatistics, "release", raising(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt) as caught:
        one(ledger, None)
    assert caught.value.receipt_id == "mine"
    clean(caught.value)
