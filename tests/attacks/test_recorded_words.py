"""What a release says of its theorem is words: they improve, and a charge keeps the release it paid for."""

import importlib
import re

import pandas as pd
import pytest

import discreet as dc
from discreet.mechanisms.noise.laplace import Laplace
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.mechanisms.registry import MECHANISMS
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.mechanisms.statistics.tiered_statistics import TieredStatistics
from discreet.release.folder import refuse_other_certificate


@pytest.fixture
def table():
    return dc.Table.open(pd.DataFrame({"smoker": [True, False] * 60}), schema={"smoker": dc.Binary()})[
        "smoker"
    ]


@pytest.fixture
def ledger(tmp_path):
    with dc.Ledger.open(tmp_path / "budget.db", budget=dc.ApproxDP(9, 1e-3)) as opened:
        yield opened


def ways(table, ledger):
    """Release in each way that records its theorem."""
    ask = {"ledger": ledger, "charge_id": "one"}
    yield dc.privatise(table, dc.BetaBernoulli(1, 1), target=dc.PureDP(0.5), **ask)
    ask["charge_id"] = "tiers"
    targets = {"team": dc.ApproxDP(1, 1e-6), "all": dc.ApproxDP(0.5, 1e-6)}
    yield from dc.privatise_tiers(table, dc.BetaBernoulli(1, 1), targets=targets, **ask).values()
    ask |= {"charge_id": "draw", "mechanism": "one_posterior_sample", "truncation": 0.05}
    yield dc.privatise(table, dc.BetaBernoulli(1, 1), target=dc.PureDP(3), **ask)


def test_a_better_wording_refuses_no_retry(table, ledger, tmp_path, monkeypatch):
    before = list(ways(table, ledger))
    entries = len(ledger.history())
    for kind in (NoisyStatistics, TieredStatistics, OnePosteriorSample):
        monkeypatch.setattr(kind, "theorem", "the same theorem, said better")
    again = list(ways(table, ledger))
    assert [one.body for one in again] == [one.body for one in before]
    assert "better" not in again[0].theorem
    assert len(ledger.history()) == entries
    ledger.verify(*again)
    again[0].save(tmp_path / "saved", draws=0)
    refuse_other_certificate(tmp_path / "saved", dc.Release.load(tmp_path / "saved"))


def test_another_mechanism_or_knob_is_still_another_question(table, ledger):
    list(ways(table, ledger))
    ask = {"ledger": ledger, "charge_id": "draw", "mechanism": "one_posterior_sample"}
    with pytest.raises(dc.LedgerError, match="another release"):
        dc.privatise(table, dc.BetaBernoulli(1, 1), target=dc.PureDP(3), truncation=0.1, **ask)


def test_what_a_theorem_names_of_this_package_is_there():
    said = {name: str(getattr(kind, "theorem", "")) for name, kind in MECHANISMS.items()}
    assert Laplace.name in said
    for name, words in said.items():
        for cited in re.findall(r"\[([a-z_]+(?:\.[a-z_]+)+)\]", words):
            assert importlib.import_module(f"discreet.{cited}"), name
        assert "ops_worst" not in words, name
