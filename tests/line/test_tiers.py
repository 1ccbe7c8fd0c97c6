"""One table, several audiences: each release keeps its own promise, and one charge pays for all."""

import json
import math

import numpy as np
import pytest
from scipy.stats import kstest

from discreet.families import BetaBernoulli, DirichletCategorical
from discreet.ledger import Ledger
from discreet.line.tiers import privatise_tiers
from discreet.models.naive_bayes import NaiveBayes
from discreet.privacy.accounting.filters import Overspent
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP
from discreet.privatise import ChargeKept
from discreet.release.certificate import certificate_text
from discreet.release.json import release_to_json
from discreet.release.release import Release
from discreet.sampling.source import SeededSource

TARGETS = {"public": ApproxDP(0.2, 1e-6), "team": ApproxDP(2, 1e-6), "board": ApproxDP(1, 1e-6)}
MODEL = BetaBernoulli(1, 1)


@pytest.fixture(autouse=True)
def in_memory(monkeypatch):
    monkeypatch.setattr(
        "discreet.line.tiers.bounded", lambda table, model, relation: table.bounded(model, relation)
    )


def released(memory, data, ledger, targets=TARGETS, model=MODEL, **more):
    return privatise_tiers(memory(data), model, targets=targets, ledger=ledger, **more)


def test_every_tier_meets_its_target_and_the_innermost_alone_is_charged(memory, ledger, smokers):
    made = released(memory, smokers, ledger)
    assert list(made) == list(TARGETS)
    for name, release in made.items():
        assert release.guarantee <= TARGETS[name]
        assert release.target == TARGETS[name]
        assert release.value.guarantee == release.guarantee
        assert release.receipt == made["team"].receipt
    assert not made["team"].guarantee <= TARGETS["board"]
    scales = [float(made[name].value.scale) for name in ("team", "board", "public")]
    assert scales == sorted(scales)
    charges = [e for e in ledger.history() if e.kind == "charge"]
    assert len(charges) == 1
    assert made["team"].receipt.guarantee == charges[0].content["guarantee"]
    ledger.verify(made["public"].receipt)


def test_what_fits_for_the_innermost_is_enough_and_less_is_refused_before_reading(memory, tmp_path, smokers):
    with Ledger.open(tmp_path / "just.db", budget=ApproxDP(2, 2e-6)) as enough:
        assert len(released(memory, smokers, enough)) == 3
        table = memory(smokers)
        with pytest.raises(Overspent):
            privatise_tiers(table, MODEL, targets=TARGETS, ledger=enough)
        assert table.events == []
    with Ledger.open(tmp_path / "short.db", budget=ApproxDP(1.8, 2e-6)) as short:
        with pytest.raises(Overspent):
            released(memory, smokers, short)
        assert len([e for e in short.history() if e.kind == "charge"]) == 0
        outer = {name: TARGETS[name] for name in ("public", "board")}
        assert len(released(memory, smokers, short, outer)) == 2


def test_outer_tiers_are_the_inner_one_with_more_noise(memory, ledger):
    """KS and correlation at level 1e-6 over 1500 cells of one release; fresh noise in each tier fails."""
    targets, cells = {"in": GaussianDP(0.5), "out": GaussianDP(0.25)}, np.repeat(np.arange(1500), 2)
    made = released(memory, cells, ledger, targets, DirichletCategorical([1] * 1500), source=SeededSource(6))
    inner, outer = (np.array(made[who].value.noisy) for who in targets)
    sigma, wide = (float(made[who].value.scale) for who in targets)
    assert kstest(inner, "norm", args=(2, sigma)).pvalue > 1e-6
    assert kstest(outer, "norm", args=(2, wide)).pvalue > 1e-6
    step = outer - inner
    assert kstest(step, "norm", args=(0, math.sqrt(wide**2 - sigma**2))).pvalue > 1e-6
    assert kstest(step, "norm", args=(0, math.sqrt(wide**2 + sigma**2))).pvalue < 1e-6  # fresh noise
    assert abs(np.corrcoef(step, inner)[0, 1]) < 4.9 / math.sqrt(1500)


def test_audiences_with_one_target_get_one_value(memory, ledger, smokers):
    made = released(
        memory, smokers, ledger, {"a": TARGETS["board"], "b": TARGETS["board"], "c": TARGETS["public"]}
    )
    assert made["a"].value == made["b"].value != made["c"].value


def test_certificates_say_what_was_paid_and_releases_come_back_from_their_folders(
    memory, ledger, smokers, tmp_path
):
    made = released(memory, smokers, ledger)
    for name, release in made.items():
        said = release.certificate()
        assert "the receipt paid for the innermost tier, 'team'" in said["mechanism"]["theorem"]
        assert said["mechanism"]["parameters"]["audience"] == name
        assert [who for who, _ in said["mechanism"]["parameters"]["tiers"]] == ["team", "board", "public"]
        assert said["promised"]["target"]["epsilon"] == TARGETS[name].loss
        assert "innermost tier" in certificate_text(json.loads(json.dumps(said)))
        assert Release.load(release.save(tmp_path / name, draws=0)) == release


def test_every_tier_is_read_with_its_own_noise(memory, ledger, smokers):
    made = released(memory, smokers, ledger, source=SeededSource(5))
    spread = [made[name].posterior.variance().item() for name in ("team", "board", "public")]
    assert spread == sorted(spread)
    exact = MODEL.update(MODEL.statistic(smokers), len(smokers))
    assert made["team"].reading == "noise_aware"
    assert spread[0] > exact.variance()
    assert made["team"].posterior.mean().item() == pytest.approx(exact.mean(), abs=0.1)
    assert made["team"].seeded


def test_n_private_and_vectors(memory, tmp_path):
    data = np.array([0, 1, 2, 1] * 50)
    targets = {
        "in": ApproxDP(1, 1e-6, relation=ADD_REMOVE),
        "out": ApproxDP(0.3, 1e-6, relation=ADD_REMOVE),
    }
    with Ledger.open(tmp_path / "book.db", budget=ApproxDP(2, 1e-5, relation=ADD_REMOVE)) as book:
        made = privatise_tiers(memory(data), DirichletCategorical([1, 1, 1]), targets=targets, ledger=book)
    assert made["out"].n is None
    assert made["out"].value.joint
    assert made["out"].posterior.mean().shape == (3,)


def test_several_rows_a_unit(memory, ledger, smokers):
    made = privatise_tiers(
        memory(smokers, rows_per_unit=2, unit="patient"), MODEL, targets=TARGETS, ledger=ledger
    )
    for name, release in made.items():
        assert release.guarantee <= TARGETS[name]
        assert release.rows_per_unit == 2


def test_one_charge_gives_the_same_releases_and_a_failed_read_keeps_it(memory, ledger, smokers):
    broken = memory(ValueError("secret"), n=len(smokers))
    with pytest.raises(ChargeKept) as failed:
        privatise_tiers(broken, MODEL, targets=TARGETS, ledger=ledger, charge_id="once")
    assert "secret" not in str(failed.value)
    first = released(memory, smokers, ledger, charge_id="once")
    again = released(memory, smokers, ledger, charge_id="once")
    assert len(first) == 3
    assert {name: release_to_json(r) for name, r in first.items()} == {
        name: release_to_json(r) for name, r in again.items()
    }
    assert len({dict(r.parameters)["salt"] for r in first.values()}) == 3  # no digest can be guessed


@pytest.mark.parametrize(
    ("targets", "model", "error", "words"),
    [
        ({}, MODEL, ValueError, "at least one audience"),
        ({"a": PureDP(1), "b": PureDP(1, relation=ADD_REMOVE)}, MODEL, ValueError, "same relation"),
        ({"a": ApproxDP(1, 1e-6)}, NaiveBayes(label="y", features=("x",)), TypeError, "family's statistic"),
    ],
)
def test_bad_input_is_refused_before_the_charge(  # noqa: PLR0917
    memory, ledger, smokers, targets, model, error, words
):
    with pytest.raises(error, match=words):
        released(memory, smokers, ledger, targets, model)
    assert len([e for e in ledger.history() if e.kind == "charge"]) == 0
