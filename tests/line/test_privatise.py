"""The walk: what is charged when, what a failure keeps, what a replay may do."""

import signal
import subprocess
import sys
import traceback
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.families import BetaBernoulli, DirichletCategorical
from discreet.ledger import Ledger, LedgerError
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.posteriors.read import DrawnPosterior, OnlyDraws
from discreet.privacy.accounting.filters import Overspent
from discreet.privacy.guarantee import ADD_REMOVE, MixedRelations, NotProved, Unreachable
from discreet.privacy.json import from_json
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.privatise import ChargeKept, Interrupted, privatise
from discreet.release.json import release_to_json
from discreet.sampling.source import SeededSource

MODEL = BetaBernoulli(6, 12)
TARGET = ApproxDP(0.5, 1e-6)


def kinds(ledger):
    return [entry.kind for entry in ledger.history()]


def test_the_straight_line(memory, ledger, smokers):
    release = privatise(memory(smokers), MODEL, target=TARGET, ledger=ledger)
    assert isinstance(release.value, NoisyStatistic)
    assert release.guarantee <= TARGET
    assert release.n == 200
    assert not release.seeded
    assert kinds(ledger) == ["scope", "charge", "computed"]
    assert ledger.receipt(release.receipt.id).computed
    assert release.receipt.computed
    ledger.verify(release.receipt)
    ((low, high),) = release.posterior.interval(0.9).values
    assert 0 < low < release.posterior.mean().item() < high < 1
    assert release.posterior.sample(10, SeededSource(1)).shape == (10, 1)
    flat = release.read(model=BetaBernoulli(1, 1))
    assert flat.mean() != release.posterior.mean()


def test_events_come_in_order_and_nothing_is_read_before_the_charge(memory, ledger, smokers, monkeypatch):
    table = memory(smokers)
    for name in ("charge", "record"):
        original = getattr(Ledger, name)

        def spied(self, *args, original=original, name=name, **kwargs):
            done = original(self, *args, **kwargs)
            table.events.append(name)
            return done

        monkeypatch.setattr(Ledger, name, spied)
    draw = NoisyStatistics.release
    monkeypatch.setattr(
        NoisyStatistics,
        "release",
        lambda self, *a, **k: (table.events.append("draw"), draw(self, *a, **k))[1],
    )
    privatise(table, MODEL, target=TARGET, ledger=ledger)
    assert table.events == ["charge", "read", "draw", "record"]


def test_a_draw_says_what_it_is(memory, ledger, smokers):
    release = privatise(memory(smokers), MODEL, mechanism="diffused", target=TARGET, ledger=ledger)
    assert isinstance(release.posterior, DrawnPosterior)
    assert release.posterior.size == 1
    assert 0 <= release.posterior.mean() <= 1
    with pytest.raises(OnlyDraws, match=r"only one draw.*noisy_statistics"):
        release.posterior.interval(0.9)
    with pytest.raises(OnlyDraws, match="costs again"):
        release.posterior.sample(2)
    with pytest.raises(ValueError, match="one reading"):
        release.read(model=BetaBernoulli(1, 1))


@pytest.mark.parametrize(
    "target", [ApproxDP(0.5, 1e-6), RenyiDP.at(2, 0.05), RenyiDP.points({1.5: 0.02, 3: 0.1})], ids=repr
)
def test_several_draws_share_the_target(memory, ledger, smokers, target):
    ask = {"mechanism": "diffused", "target": target, "ledger": ledger}
    several = privatise(memory(smokers), MODEL, draws=5, **ask)
    one = privatise(memory(smokers), MODEL, **ask)
    assert several.posterior.sample().shape == (5, 1)
    assert dict(several.parameters)["draws"] == 5
    assert dict(several.parameters)["r"] < dict(one.parameters)["r"]
    assert several.guarantee.renyi(1.5) == pytest.approx(5 * one_of(several).renyi(1.5))
    assert several.guarantee <= target


def one_of(release):
    ((leaf, times),) = release.guarantee.parts
    assert times == 5
    return leaf


def test_several_draws_need_a_mechanism_that_draws(memory, ledger, smokers):
    for mechanism in ("noisy_statistics", "one_posterior_sample"):
        with pytest.raises(ValueError, match="one release per charge"):
            privatise(memory(smokers), MODEL, mechanism=mechanism, target=TARGET, ledger=ledger, draws=2)


def test_the_seed_is_said(memory, ledger, smokers):
    ask = {"target": TARGET, "ledger": ledger, "source": SeededSource(5)}
    release = privatise(memory(smokers), MODEL, **ask)
    assert release.seeded
    assert "SEEDED" in repr(release)
    said = release.certificate()
    assert said["private"] is False
    assert any("NOT PRIVATE" in warning for warning in said["warnings"])


# ── what is charged ─────────────────────────────────────────────────────────────────────────────────


def test_the_own_guarantee_is_charged_where_it_fits(memory, ledger, smokers):
    release = privatise(memory(smokers), MODEL, target=TARGET, ledger=ledger)
    assert from_json(release.receipt.guarantee) == release.guarantee


def test_the_target_is_charged_where_it_costs_less(memory, tmp_path, smokers):
    """A posterior draw has no finite ε at δ = 0: under sums its (ε, δ) target is what is charged."""
    ledger = Ledger.open(tmp_path / "small.db", budget=ApproxDP(0.5, 1e-3))
    target = ApproxDP(0.5, 1e-3)  # all of it
    release = privatise(memory(smokers), MODEL, mechanism="diffused", target=target, ledger=ledger)
    receipt = release.receipt
    assert from_json(receipt.guarantee) == release.guarantee != target
    assert from_json(receipt.target) == target
    assert (receipt.by_target, receipt.rules) == (("default",), {"default": "sums"})
    assert ledger.spent().sums == (Fraction(1, 2),)
    assert ledger.spent().disclosed == Fraction(1e-3)
    again = {"mechanism": "diffused", "target": target, "ledger": ledger, "charge_id": receipt.id}
    found = privatise(memory(smokers), MODEL, **again)
    assert release_to_json(found) == release_to_json(release)


def test_under_orders_the_own_curve_is_charged_and_the_target_where_only_it_fits(memory, tmp_path, smokers):
    """A budget of disclosing events: δ = 1e-3 fits, while the orders have no room for the whole curve."""
    ledger = Ledger.open(tmp_path / "small.db", budget=ApproxDP(0.5, 1e-2), rule="orders")
    small = ApproxDP(0.05, 1e-5)
    cheap = privatise(memory(smokers), MODEL, mechanism="diffused", target=small, ledger=ledger)
    assert cheap.receipt.by_target == ()
    ledger.add_scope("fresh", ApproxDP(0.5, 1e-2), rule="orders")
    whole = ApproxDP(0.5, 1e-3)
    dear = privatise(memory(smokers), MODEL, mechanism="diffused", target=whole, ledger=ledger, scope="fresh")
    assert not ledger.remaining("fresh").admits(dear.guarantee)
    assert dear.receipt.by_target == ("fresh",)


def test_a_budget_that_is_gone_refuses_and_reads_nothing(memory, tmp_path, smokers):
    ledger = Ledger.open(tmp_path / "small.db", budget=PureDP(1))
    privatise(memory(smokers), MODEL, target=PureDP(0.75), ledger=ledger)
    table = memory(smokers)
    with pytest.raises(Overspent, match="what fits"):
        privatise(table, MODEL, target=PureDP(0.75), ledger=ledger)
    assert table.events == []
    assert kinds(ledger) == ["scope", "charge", "computed"]
    privatise(memory(smokers), MODEL, target=PureDP(0.25), ledger=ledger)  # the rest


def test_scopes_are_charged_together(memory, ledger, smokers):
    ledger.add_scope("analyst", PureDP(1))
    release = privatise(
        memory(smokers), MODEL, target=PureDP(0.5), ledger=ledger, scope=("default", "analyst")
    )
    assert release.receipt.scopes == ("analyst", "default")
    with pytest.raises(Overspent, match="analyst"):
        privatise(memory(smokers), MODEL, target=PureDP(0.75), ledger=ledger, scope=("default", "analyst"))


# ── refused before the charge ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "mistake",
    [
        ({"mechanism": "laplace"}, ValueError, "noisy_statistics, direct"),
        (
            {"mechanism": "diffused", "noise": "laplace"},
            ValueError,
            "takes the options: none; got noise",
        ),
        ({"mechanism": "one_posterior_sample"}, ValueError, r"truncation \(needed\)"),
        ({"noise": "magic"}, ValueError, "unknown noise"),
        ({"mechanism": "diffused", "target": PureDP(1)}, Unreachable, "never pure DP"),
        ({"mechanism": "direct", "target": ApproxDP(0.01, 1e-9)}, Unreachable, "misses"),
        ({"target": ApproxDP(0.5, 1e-6, relation=ADD_REMOVE)}, MixedRelations, "never mixed"),
        ({"mechanism": "diffused", "draws": 0}, ValueError, "whole number"),
        ({"scope": "nobody"}, LedgerError, "nobody"),
    ],
)
def test_mistakes_cost_nothing(memory, ledger, smokers, mistake):
    ask, error, match = mistake
    table = memory(smokers)
    with pytest.raises(error, match=match):
        privatise(table, MODEL, **{"target": TARGET, "ledger": ledger, **ask})
    assert kinds(ledger) == ["scope"]
    assert table.events == []


def test_a_renyi_target_for_several_rows_is_refused(memory, tmp_path, smokers):
    ledger = Ledger.open(tmp_path / "b.db", budget=PureDP(9, relation=ADD_REMOVE))
    table = memory(smokers, rows_per_unit=3, unit="patient")
    with pytest.raises(NotProved, match="3 rows"):
        privatise(table, MODEL, target=RenyiDP.at(2, 1, relation=ADD_REMOVE), ledger=ledger)
    assert kinds(ledger) == ["scope"]


# ── units with several rows ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("target", "noise"),
    [
        (PureDP(1, relation=ADD_REMOVE), "discrete_laplace"),
        (ApproxDP(1, 1e-6, relation=ADD_REMOVE), "discrete_laplace"),
        (ApproxDP(1, 1e-6, relation=ADD_REMOVE), "discrete_gaussian"),
        (ZeroCDP(0.5, relation=ADD_REMOVE), "discrete_gaussian"),
        (GaussianDP(1, relation=ADD_REMOVE), "gaussian"),
    ],
    ids=repr,
)
def test_a_unit_with_k_rows_gets_the_target(memory, tmp_path, smokers, target, noise):
    ledger = Ledger.open(tmp_path / "units.db", budget=ApproxDP(9, 1e-3, relation=ADD_REMOVE))
    ask = {"target": target, "ledger": ledger, "noise": noise}
    one = privatise(memory(smokers, unit="patient"), MODEL, **ask)
    four = privatise(memory(smokers, rows_per_unit=4, unit="patient"), MODEL, **ask)
    assert four.guarantee <= target
    assert four.guarantee == four.value.guarantee.group(4)
    ratio = dict(four.parameters)["scale"] / dict(one.parameters)["scale"]
    assert ratio == pytest.approx(4, rel=0.25 if isinstance(target, ApproxDP) else 1e-6)
    if noise == "discrete_laplace" and isinstance(target, PureDP):
        assert four.value.guarantee == PureDP(0.25, relation=ADD_REMOVE)  # Δ/b = 1/4, by hand
    protected = four.certificate()["protected"]
    assert (protected["unit"], protected["rows_per_unit"], protected["number_of_records"]) == (
        "patient",
        4,
        None,
    )


def test_draws_for_units_with_several_rows(memory, tmp_path, smokers):
    ledger = Ledger.open(tmp_path / "units.db", budget=ApproxDP(9, 1e-3, relation=ADD_REMOVE))
    target = ApproxDP(1, 1e-6, relation=ADD_REMOVE)
    table = memory(smokers, rows_per_unit=3, unit="patient")
    release = privatise(table, MODEL, mechanism="diffused", target=target, ledger=ledger)
    assert release.guarantee <= target
    assert release.guarantee.delta(1) <= 1e-6


# ── after the charge ────────────────────────────────────────────────────────────────────────────────

CANARY = "canary-48213"


def test_a_failing_read_keeps_the_charge_and_says_nothing_of_the_cause(memory, ledger):
    table = memory(ValueError(f"Could not convert string '{CANARY}'"), n=5)
    with pytest.raises(ChargeKept, match=r"withheld.*'mine' is kept") as caught:
        privatise(table, MODEL, target=TARGET, ledger=ledger, charge_id="mine")
    assert caught.value.receipt_id == "mine"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert CANARY not in "".join(
        traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    )
    assert kinds(ledger) == ["scope", "charge"]


def test_a_failed_charge_can_be_used_once_more_and_then_gives_the_same(memory, ledger, smokers):
    ask = {"target": TARGET, "ledger": ledger, "charge_id": "mine"}
    with pytest.raises(ChargeKept):
        privatise(memory(OSError("down"), n=200), MODEL, **ask)
    release = privatise(memory(smokers), MODEL, **ask)
    assert kinds(ledger) == ["scope", "charge", "computed"]
    table = memory(smokers)
    assert release_to_json(privatise(table, MODEL, **ask)) == release_to_json(release)
    assert table.events == []
    assert kinds(ledger) == ["scope", "charge", "computed"]


def test_a_charge_pays_for_its_own_promise_only(memory, ledger, smokers):
    with pytest.raises(ChargeKept):
        privatise(memory(OSError(), n=200), MODEL, target=PureDP(0.1), ledger=ledger, charge_id="cheap")
    table = memory(smokers)
    with pytest.raises(LedgerError, match="already paid for"):
        privatise(table, MODEL, target=PureDP(2), ledger=ledger, charge_id="cheap")
    assert table.events == []


def test_a_refunded_charge_is_gone(memory, ledger, smokers):
    with pytest.raises(ChargeKept):
        privatise(memory(OSError(), n=200), MODEL, target=TARGET, ledger=ledger, charge_id="mine")
    ledger.refund("mine", "the database was down")
    with pytest.raises(LedgerError, match="refunded"):
        privatise(memory(smokers), MODEL, target=TARGET, ledger=ledger, charge_id="mine")


def test_a_computed_release_is_never_refunded(memory, ledger, smokers):
    release = privatise(memory(smokers), MODEL, target=TARGET, ledger=ledger)
    with pytest.raises(LedgerError, match="computed"):
        ledger.refund(release.receipt.id, "changed my mind")


def test_of_two_under_one_id_only_one_draw_leaves(memory, ledger, smokers):
    """The rival releases while this one reads: what is drawn here is seen by nobody."""
    ask = {"target": TARGET, "ledger": ledger, "charge_id": "mine"}
    rival = []
    racing = replace(
        memory(smokers), events=Rival(lambda: rival.append(privatise(memory(smokers), MODEL, **ask)))
    )
    ours = privatise(racing, MODEL, **ask)
    assert release_to_json(ours) == release_to_json(rival[0])
    assert kinds(ledger) == ["scope", "charge", "computed"]


def test_a_charge_marked_by_hand_gives_no_release(memory, ledger, smokers):
    marked = replace(memory(smokers), events=Rival(lambda: ledger.mark_computed("mine")))
    for table in (marked, memory(smokers)):
        with pytest.raises(
            (ChargeKept, LedgerError), match=r"was computed|a second draw is a second release"
        ):
            privatise(table, MODEL, target=TARGET, ledger=ledger, charge_id="mine")
    assert kinds(ledger) == ["scope", "charge", "computed"]


class Rival(list):
    """Do something when the table is read."""

    def __init__(self, act):
        super().__init__()
        self.act = act

    def append(self, event):
        super().append(event)
        self.act()


def test_ctrl_c_while_reading_keeps_the_charge_and_says_so(memory, ledger, smokers):
    with pytest.raises(Interrupted, match="'mine' is kept") as caught:
        privatise(memory(KeyboardInterrupt(), n=200), MODEL, target=TARGET, ledger=ledger, charge_id="mine")
    assert isinstance(caught.value, KeyboardInterrupt)
    assert kinds(ledger) == ["scope", "charge"]
    privatise(memory(smokers), MODEL, target=TARGET, ledger=ledger, charge_id="mine")


def test_ctrl_c_while_charging_names_the_charge(memory, ledger, smokers, monkeypatch):
    def interrupted(self, *args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "charge", interrupted)
    with pytest.raises(Interrupted, match="while charging 'mine'"):
        privatise(memory(smokers), MODEL, target=TARGET, ledger=ledger, charge_id="mine")


KILLED = """
import os, signal, sys
from discreet.statistics import BoundedStatistic
from discreet.tables.table import Table
from discreet.tables.schema import Binary
from discreet.families import BetaBernoulli
from discreet.ledger import Ledger
from discreet.privacy.kinds import PureDP
from discreet.privatise import privatise
import pandas
BoundedStatistic.read = lambda self: os.kill(os.getpid(), signal.SIGKILL)
table = Table.open(pandas.DataFrame({"smoker": [True, False] * 50}), schema={"smoker": Binary()})
ledger = Ledger.open(sys.argv[1], budget=PureDP(1))
privatise(table["smoker"], BetaBernoulli(1, 1), target=PureDP(0.75), ledger=ledger, charge_id="killed")
"""


def test_kill_between_charge_and_read_keeps_the_charge(tmp_path, memory, smokers):
    path = tmp_path / "killed.db"
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    ledger = Ledger.open(path)
    assert kinds(ledger) == ["scope", "charge"]
    ledger.verify()
    with pytest.raises(Overspent):
        privatise(memory(smokers), BetaBernoulli(1, 1), target=PureDP(0.75), ledger=ledger)
    release = privatise(
        memory(smokers), BetaBernoulli(1, 1), target=PureDP(0.75), ledger=ledger, charge_id="killed"
    )
    assert (release.created, release.receipt.hash) == (
        ledger.receipt("killed").at,
        ledger.receipt("killed").hash,
    )
    assert kinds(ledger) == ["scope", "charge", "computed"]


def test_the_walk_fits_on_a_screen():
    import inspect

    source = inspect.getsource(privatise)
    body = source[source.index('"""', source.index('"""') + 3) + 3 :]
    assert len(body.strip().splitlines()) < 40


def test_the_vector_families_walk_too(memory, ledger):
    release = privatise(
        memory([0, 1, 2, 2, 1] * 20), DirichletCategorical([1, 1, 1]), target=TARGET, ledger=ledger
    )
    assert np.isclose(release.posterior.mean().sum(), 1)
