"""As ε grows, a perturbed fit is read like a fit without privacy; intervals stay widened no more."""

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.regression.objective_perturbation import ObjectivePerturbation
from discreet.models.generalized_linear import Feature, GeneralizedLinear
from discreet.models.margin_losses import ClippedPoisson
from discreet.models.regression_records import Records
from discreet.posteriors.regression.coverage import Tilt, expected
from discreet.posteriors.regression.perturbed_fit import reading
from discreet.sampling.source import SeededSource

N = 500
DESIGN = [Feature("a"), Feature("b")]
LOGISTIC = dc.BayesianLogisticRegression("y", ("a", "b"), norm=1).bind(DESIGN)
POISSON = GeneralizedLinear("y", ("a", "b"), norm=1, loss=ClippedPoisson(8)).bind(DESIGN)


def records(model):
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (N, 2))
    score = x @ [1.0, -0.5]
    y = np.where(rng.logistic(size=N) < score, 1, -1) if model is LOGISTIC else rng.poisson(np.exp(score))
    return Records.of(model, x, y)


def released(model, epsilon):
    mechanism = ObjectivePerturbation.calibrate(model, n=N, target=dc.ApproxDP(epsilon, 1e-5))
    return mechanism.release(records(model), SeededSource(2))


@pytest.mark.parametrize("model", [LOGISTIC, POISSON], ids=["logistic", "poisson"])
def test_intervals_tend_to_those_without_privacy(model):
    """N(θ̂, (H + λ₀)⁻¹), H and θ̂ of the records themselves: deviations were 1.1 to 1.5 times as wide."""
    fit = released(model, 1e8)
    private = records(model)
    bends = model.loss.bend(private.rows @ fit.estimate, private.answers)
    precision = (private.rows * bends[:, None]).T @ private.rows + float(model.strength) * np.eye(3)
    without = np.sqrt(np.diag(np.linalg.inv(precision)))
    read = reading(fit)
    np.testing.assert_allclose(np.sqrt(np.diag(read.covariance)), without, rtol=0.02)
    in_columns = without * [1, 1, float(model.constant)]  # the intercept's column is the constant
    np.testing.assert_allclose(np.sqrt(read.variance()), in_columns, rtol=0.02)


def test_noise_that_matters_still_widens_them():
    """Control: at ε = 1 the same model needs it, and the caution's advice is a larger ε; at 1e6 it is not."""
    noises = {}
    for epsilon in (1, 1e6):
        found = ObjectivePerturbation.calibrate(LOGISTIC, n=N, target=dc.ApproxDP(epsilon, 1e-5))
        tilt = Tilt(
            found.strength, found.variance**0.5, found.hessian_variance**0.5, float(1 / LOGISTIC.strength)
        )
        noises[epsilon] = expected(LOGISTIC, N, tilt)
    assert noises[1].widening > 1.2
    assert noises[1].from_noise
    assert 1 <= noises[1e6].widening < 1.01
    assert not noises[1e6].from_noise
    said = reading(released(LOGISTIC, 1e6)).caution
    assert said is None or "no ε mends it" in said
    assert "a larger ε" in reading(released(LOGISTIC, 1)).caution
