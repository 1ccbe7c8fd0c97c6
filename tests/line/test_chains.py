"""The straight line of a private chain on real tables: one charge for all of it, before anything is read."""

import json

import numpy as np
import pandas as pd
import pytest

from discreet.ledger import Ledger
from discreet.line import chains
from discreet.mcmc.annealed import AnnealedImportance
from discreet.mcmc.assignment_gibbs import AssignmentGibbs
from discreet.mcmc.barker import Barker
from discreet.mcmc.mixture import Mixture
from discreet.mcmc.mixture_gibbs import MixtureGibbs
from discreet.mcmc.proposals import CoordinateWalk, SimplexWalk
from discreet.mcmc.running.checkpoint import CheckpointError
from discreet.mcmc.target import CellTarget, SimplexTarget
from discreet.privacy.accounting.filters import Overspent
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.json import from_json
from discreet.privacy.kinds import ApproxDP, PureDP, ZeroCDP
from discreet.privatise import ChargeKept
from discreet.release.receipt import LedgerError
from discreet.sampling.source import SeededSource
from discreet.statistics.cells import BoundedCounts
from discreet.tables.schema import Binary, Categories
from discreet.tables.table import Table


@pytest.fixture(autouse=True)
def page():
    """The real one."""


SCHEMA = {"smoker": Binary(), "ward": Categories(["A", "B", "C"], unknown="C")}
BUDGET = ApproxDP(4, 1e-6)


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "patient": np.arange(400) // 2,
            "smoker": rng.random(400) < 0.3,
            "ward": rng.choice(["A", "B", "C", None], 400),
        }
    )


@pytest.fixture
def table(visits):
    return Table.open(visits, schema=SCHEMA)


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "budget.db", budget=BUDGET) as opened:
        yield opened


def barker(column="smoker", d=2, **more):
    target = SimplexTarget(column=column, alpha=(1,) * d, truncation=0.05)
    return Barker(target=target, walk=SimplexWalk(0.1), **more)


KERNEL = chains.calibrate(barker(), steps=40, target=ApproxDP(3, 1e-7), chains=2)


def test_a_chain_pays_for_its_planned_length_and_learns_something(table, ledger, tmp_path):
    made = chains.run(table, KERNEL, steps=40, chains=2, ledger=ledger, source=SeededSource(5))
    assert made.draws.shape == (2, 41, 2)
    assert made.guarantee <= ApproxDP(3, 1e-7)
    assert from_json(ledger.history()[-2].content["guarantee"]) == made.guarantee  # then "computed"
    assert [entry.kind for entry in ledger.history()] == ["scope", "charge", "computed"]
    summary = made.summary()
    assert set(summary) == {"smoker[0]", "smoker[1]"}
    assert set(summary["smoker[0]"]) == {"mean", "sd", "r_hat", "ess"}
    assert summary["smoker[0]"]["mean"] > 0.5  # 70 % do not smoke; a uniform prior has mean ½
    certificate = made.certificate()
    assert json.loads(json.dumps(certificate))["steps"] == {"planned": 40, "made": 40, "chains": 2}
    assert certificate["seeded"] is True
    saved = made.save(tmp_path / "chain.npz")
    with np.load(saved) as held:
        assert np.array_equal(held["draws"], made.draws)
        assert json.loads(str(held["certificate"])) == json.loads(json.dumps(certificate))
    with pytest.raises(FileExistsError, match="not overwritten"):
        made.save(saved)
    assert "SEEDED" in repr(made)


def test_nothing_is_read_before_the_charge_is_durable(table, tmp_path, monkeypatch):
    events, read = [], BoundedCounts.read
    monkeypatch.setattr(BoundedCounts, "read", lambda self: events.append("read") or read(self))
    charge, record = Ledger.charge, Ledger.record
    monkeypatch.setattr(Ledger, "charge", lambda *a, **k: events.append("charge") or charge(*a, **k))
    monkeypatch.setattr(Ledger, "record", lambda *a: events.append("record") or record(*a))
    monkeypatch.setattr(Barker, "step", lambda _self, state, *_: events.append("step") or state)
    with Ledger.open(tmp_path / "b.db", budget=BUDGET) as ledger:
        chains.run(table, KERNEL, steps=2, chains=1, ledger=ledger)
    # the first step is the rehearsal on made-up counts
    assert events == ["step", "charge", "read", "step", "step", "record"]


def test_a_run_that_cannot_be_paid_says_how_many_steps_would_fit(table, ledger):
    with pytest.raises(Overspent, match=r"(\d+) steps would fit") as caught:
        chains.run(table, KERNEL, steps=4000, chains=2, ledger=ledger)
    fits = int(str(caught.value).split(" steps would fit")[0].rsplit(" ", 1)[1])
    assert [entry.kind for entry in ledger.history()] == ["scope"]  # nothing was charged
    plan = chains.ChainPlan
    assert ledger.admits(plan(KERNEL, fits, 2).guarantee)
    assert not ledger.admits(plan(KERNEL, fits + 1, 2).guarantee)
    with pytest.raises(Overspent, match="not even one step fits"):
        chains.run(table, barker(temperature=0.01), steps=5, ledger=ledger)
    annealed = AnnealedImportance(
        target=KERNEL.target, walk=KERNEL.walk, inverse_temperatures=(1,), particles=9
    )
    with pytest.raises(Overspent, match="lower its inverse temperatures"):
        chains.run(table, annealed, steps=2, ledger=ledger)


def test_ctrl_c_returns_what_was_made_and_resume_pays_nothing(table, ledger, tmp_path, monkeypatch):
    file, step, made = tmp_path / "chain", Barker.step, [0]
    whole = chains.run(
        table, KERNEL, steps=10, chains=2, ledger=ledger, source=SeededSource(5), scope="default"
    )

    def interrupted(*args):
        made[0] += 1
        if made[0] == 10:
            raise KeyboardInterrupt
        return step(*args)

    with monkeypatch.context() as patch:
        patch.setattr(Barker, "step", interrupted)
        part = chains.run(
            table, KERNEL, steps=10, chains=2, ledger=ledger, source=SeededSource(5), checkpoint=file
        )
    assert (part.chains.steps, part.chains.complete) == (4, False)
    before = len(ledger.history())
    rest = chains.resume(table, KERNEL, file, ledger=ledger)
    assert len(ledger.history()) == before
    assert np.array_equal(rest.draws, whole.draws)
    assert rest.receipt.id == part.receipt.id
    with pytest.raises(CheckpointError, match="exists: resume it"):
        chains.run(table, KERNEL, steps=10, chains=2, ledger=ledger, checkpoint=file)


def test_resume_needs_the_ledger_that_paid(table, ledger, tmp_path):
    file = tmp_path / "chain"
    chains.run(table, KERNEL, steps=2, chains=1, ledger=ledger, checkpoint=file)
    with Ledger.open(tmp_path / "other.db", budget=BUDGET) as other:
        with pytest.raises(LedgerError, match="there is no charge"):
            chains.resume(table, KERNEL, file, ledger=other)
        other.charge(PureDP(1), charge_id=ledger.history()[-1].id)
        with pytest.raises(LedgerError, match="did not pay for this run"):
            chains.resume(table, KERNEL, file, ledger=other)


def test_one_charge_id_is_one_run(table, ledger):
    ask = {"chains": 1, "ledger": ledger, "charge_id": "mine"}
    first = chains.run(table, KERNEL, steps=2, **ask)
    again = chains.run(table, KERNEL, steps=2, **ask)
    assert np.array_equal(first.draws, again.draws)
    assert first.certificate() == again.certificate()
    with pytest.raises(LedgerError, match="already paid for"):
        chains.run(table, KERNEL, steps=1, **ask)
    assert [entry.kind for entry in ledger.history()] == ["scope", "charge", "computed"]


def test_units_with_several_rows_pay_for_all_of_them(visits, tmp_path):
    table = Table.open(visits, schema=SCHEMA, unit="patient", rows_per_unit=2)
    kernel = barker(temperature=200, relation=ADD_REMOVE)
    budget = ApproxDP(4, 1e-6, relation=ADD_REMOVE)
    with Ledger.open(tmp_path / "units.db", budget=budget) as ledger:
        made = chains.run(table, kernel, steps=2, chains=1, ledger=ledger)
    assert made.guarantee.epsilon(0) == pytest.approx(2 * made.chains.guarantee.epsilon(0))
    assert made.n is None


@pytest.mark.parametrize("kernel_class", [MixtureGibbs, AssignmentGibbs])
def test_mixtures_of_two_columns(table, ledger, kernel_class):
    model = Mixture(classes=2, columns=("ward", "smoker"), shape=(3, 2), truncation=0.5)
    more = {"records": 400} if kernel_class is AssignmentGibbs else {}
    kernel = kernel_class(model=model, temperature=100, **more)
    made = chains.run(table, kernel, steps=2, chains=1, ledger=ledger, source=SeededSource(2))
    phi = made.draws[0, -1, -len(model.labels) :]
    assert phi[:2].sum() == pytest.approx(1, abs=1e-8)
    assert phi[2:5].min() >= 1 / 6
    assert phi[2:5].sum() == pytest.approx(1, abs=1e-8)


def test_what_does_not_fit_the_table_is_said_before_the_charge(table, ledger):
    with pytest.raises(ValueError, match="the schema says ward 3"):
        chains.run(table, barker("ward", 4), steps=2, ledger=ledger)
    model = Mixture(classes=2, columns=("smoker",), shape=(2,), truncation=0.5)
    with pytest.raises(ValueError, match="the table has 400"):
        chains.run(table, AssignmentGibbs(model=model, records=7), steps=2, ledger=ledger)

    def broken(state):
        raise ZeroDivisionError("a bug of the user's")

    target = CellTarget(
        columns=("smoker",),
        shape=(2,),
        labels=("t",),
        log_likelihood=broken,
        log_prior_density=lambda _t: 0.0,
        draw_prior=lambda _s: [0.0],
        lower=-1,
        upper=0,
    )
    with pytest.raises(ZeroDivisionError, match="a bug of the user's"):  # public, so it is shown
        chains.run(table, Barker(target=target, walk=CoordinateWalk(1, 1)), steps=2, ledger=ledger)
    assert [entry.kind for entry in ledger.history()] == ["scope"]


def test_an_error_after_the_charge_tells_nothing(table, ledger, monkeypatch):
    calls, step = [0], Barker.step

    def failing(self, state, counts, source):
        calls[0] += 1
        if calls[0] > 1:
            raise RuntimeError(f"counts were {counts}")
        return step(self, state, counts, source)

    monkeypatch.setattr(Barker, "step", failing)
    with pytest.raises(ChargeKept, match="what was raised is withheld") as caught:
        chains.run(table, KERNEL, steps=2, chains=1, ledger=ledger)
    assert "counts were" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_zero_concentrated_budget_is_charged_by_bounded_range(table, tmp_path):
    with Ledger.open(tmp_path / "z.db", budget=ZeroCDP(0.5)) as ledger:
        kernel = chains.calibrate(barker(), steps=30, target=ZeroCDP(0.5), chains=2)
        chains.run(table, kernel, steps=30, chains=2, ledger=ledger, source=SeededSource(1))
        one = float(kernel.guarantee.loss)
        assert 60 * one**2 / 8 <= 0.5 < 60 * one**2 / 2  # an eighth of the square, not a half
        assert ledger.remaining().share < 1e-6
