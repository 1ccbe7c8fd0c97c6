"""A posterior draw has one name for families and regressions, in privatise and as a class."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.registry import MECHANISMS, offered_to
from discreet.models.generalized_linear import Feature
from discreet.models.regression_records import Records

OF_FAMILIES = offered_to("family")
OF_REGRESSIONS = offered_to("regression")

SHARED = [name for name in OF_FAMILIES if name in OF_REGRESSIONS]
TARGET = dc.ApproxDP(60, 1e-6)  # the direct draw has no knob
LOGISTIC = dc.BayesianLogisticRegression("ill", ("age",), norm=1, radius=2, design=(Feature("age"),))
POISSON = dc.GeneralizedLinear(
    "stays", ("age",), norm=1, radius=2, loss=dc.ClippedPoisson(3), design=(Feature("age"),)
)


def test_four_names_are_shared():
    assert SHARED == ["direct", "diffused", "concentrated", "one_posterior_sample"]


@pytest.mark.slow
@pytest.mark.parametrize("model", [LOGISTIC, POISSON], ids=["logistic", "poisson"])
@pytest.mark.parametrize("name", SHARED)
def test_calibrating_for_a_regression_gives_its_own_mechanism(name, model):
    target = dc.ApproxDP(800, 1e-6) if (name, model) == ("direct", POISSON) else TARGET
    got = MECHANISMS[name].calibrate(model, n=50, target=target)
    own = MECHANISMS[OF_REGRESSIONS[name]]
    assert type(got) is own
    assert got == own.calibrate(model, n=50, target=target)
    assert got.guarantee <= target
    rows = Records.of(model, np.linspace(-1, 1, 50)[:, None], np.ones(50))
    assert np.isfinite(got.release(rows, dc.SeededSource(1))).all()


@pytest.mark.parametrize("name", ["direct", "diffused", "concentrated"])
def test_the_regressions_options_go_through_and_draws_are_gaussian(name):
    ask = {"n": 50, "target": dc.GaussianDP(8)}
    assert isinstance(MECHANISMS[name].calibrate(LOGISTIC, **ask).guarantee, dc.GaussianDP)
    weak = replace(LOGISTIC, radius=0.5)  # so that a direct draw meets a moderate ε too
    exact = MECHANISMS[name].calibrate(weak, n=50, target=dc.ApproxDP(9, 1e-6), sampler="rejection")
    assert exact.sampler == "rejection"
    with pytest.raises(TypeError, match="nonsense"):
        MECHANISMS[name].calibrate(LOGISTIC, nonsense=1, **ask)


def test_families_are_calibrated_as_before():
    got = dc.DiffusedPosterior.calibrate(dc.BetaBernoulli(6, 12), n=100, target=dc.ApproxDP(0.5, 1e-6))
    assert type(got) is dc.DiffusedPosterior
    for name in SHARED:  # what privatise reads the options from
        assert {"model", "n", "target"} <= set(inspect.signature(MECHANISMS[name].calibrate).parameters)


KNOBS = {"diffused": {"r": 1}, "concentrated": {"m": 1}, "direct": {}}
KNOBS["one_posterior_sample"] = {"truncation": 0.1, "temperature": 1}


@pytest.mark.parametrize("name", SHARED)
def test_building_the_class_for_families_names_the_one_for_regressions(name):
    own = MECHANISMS[OF_REGRESSIONS[name]].__name__
    with pytest.raises(TypeError, match=rf"is a regression: build {own}, or let .*calibrate"):
        MECHANISMS[name](LOGISTIC, n=50, **KNOBS[name])
    with pytest.raises(TypeError, match=r"got Mixture; privatise\(table, model"):
        MECHANISMS[name].calibrate(dc.Mixture(2, ("age",)), n=9, target=TARGET)
