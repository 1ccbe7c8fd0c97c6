"""discreet.learn.LinearRegression: noisy moments, read with their noise, as a scikit-learn regressor."""

import os

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet as dc
from discreet.learn import LinearRegression

WEIGHTS = np.array([0.5, -0.8, 0.0])


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    x = 0.3 * rng.standard_normal((n, 3))
    return x, 0.2 + x @ WEIGHTS + 0.1 * rng.standard_normal(n)


def estimator(**given):
    usual = {"epsilon": 2, "delta": 1e-5, "answers": (-1, 1), "norm": 1, "random_state": 0}
    return LinearRegression(**{**usual, **given})


CANNOT_APPLY = {
    "check_dtype_object": "columns of objects are refused by their type: converting them would quote a value",
    "check_supervised_y_no_nan": "an error about one answer would tell of one record",
}


# The manners that both estimators share are checked in full on the classifier; here too with DISCREET_SLOW=1.
OF_REGRESSORS = {
    *("check_regressors_train", "check_regressors_int", "check_regressors_no_decision_function"),
    *("check_supervised_y_2d", "check_fit_idempotent", "check_estimators_pickle", "check_n_features_in"),
    *("check_estimators_unfitted", "check_fit2d_1sample", "check_methods_subset_invariance"),
}


@parametrize_with_checks(
    [LinearRegression(epsilon=100, delta=1e-2, answers=(-3, 3), norm=5, random_state=0)],
    expected_failed_checks=lambda _: CANNOT_APPLY,
)
def test_scikit_learns_own_checks(estimator, check):
    if check.func.__name__ not in {*OF_REGRESSORS, *CANNOT_APPLY} and not os.environ.get("DISCREET_SLOW"):
        pytest.skip("slow: DISCREET_SLOW=1")
    check(estimator)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"answers": None}, "answers=.*is missing.*must be public knowledge"),
        ({"answers": (1, 1)}, "lower < upper"),
        ({"norm": None}, "norm is missing.*must be public knowledge"),
        ({"norm": float("nan")}, "norm must be finite"),
        ({"radius": 0}, "radius must be finite and above 0"),
        ({"noise": "magic"}, "unknown noise"),
        ({"epsilon": None}, "say what to promise"),
    ],
)
def test_what_is_missing_or_wrong_is_said(given, words):
    with pytest.raises(ValueError, match=words):
        estimator(**given).fit(*made(20))


def test_sample_weights_and_texts_are_refused():
    x, y = made(20)
    with pytest.raises(TypeError, match="sample_weight is refused"):
        estimator().fit(x, y, sample_weight=np.ones(20))
    with pytest.raises(TypeError, match="numeric type"):
        estimator().fit(x, y.astype(str))


@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
@pytest.mark.parametrize(("delta", "noise"), [(1e-5, "gaussian"), (None, "discrete_laplace")])
def test_the_promise_meets_the_target(relation, delta, noise):
    fitted = estimator(relation=relation, delta=delta).fit(*made(300))
    assert fitted.mechanism_.noise == noise
    assert fitted.guarantee_ <= fitted.target_
    assert fitted.target_.relation.value == relation
    assert fitted.mechanism_.n == (300 if relation == "substitute" else None)


def test_weights_come_near_the_truth_in_units_as_given():
    x, y = made(20_000)
    fitted = estimator(epsilon=4).fit(x, y)
    assert fitted.coef_ == pytest.approx(WEIGHTS, abs=0.1)
    assert fitted.intercept_ == pytest.approx(0.2, abs=0.03)
    assert np.allclose(fitted.predict(x[:50] / 2), x[:50] / 2 @ fitted.coef_ + fitted.intercept_)
    shifted = 50 + 10 * x
    other = estimator(epsilon=4, bounds=(30, 70), norm=1, answers=(-100, 100)).fit(shifted, 100 * y)
    assert other.coef_ == pytest.approx(10 * WEIGHTS, abs=2)
    assert other.score(shifted, 100 * y) > 0.8  # 0.89 by least squares


def test_predictions_with_their_deviation_cover_new_answers():
    """90 % of y within 1.645 deviations; of 2000 answers 4 standard errors are 2.7 %, and w's own share."""
    x, y = made(3000)
    fitted = estimator(epsilon=1).fit(x, y)
    new, answers = made(2000, seed=1)
    mean, deviation = fitted.predict(new, return_std=True)
    assert 0.86 < np.mean(np.abs(answers - mean) < 1.645 * deviation) < 0.995
    assert np.mean(np.abs(answers - mean) < 0.5 * deviation) < 0.6  # negative control
    assert (mean == fitted.predict(new)).all()


LOWER = [18, 1, 15, 60, 90, 40, 20, 2, 3, 50]  # public: what such measurements can be
UPPER = [80, 2, 45, 140, 310, 250, 100, 10, 6.5, 130]


@pytest.mark.parametrize(("epsilon", "least"), [(0.1, -1.5), (1, 0.1), (10, 0.4)])
def test_diabetes_never_blows_up(epsilon, least):
    """Mean R² of 2 fits; least squares has 0.52. Of 20: −0.19, 0.28, 0.48, and −0.42 the worst."""
    x, y = load_diabetes(return_X_y=True, scaled=False)
    given = {"bounds": (LOWER, UPPER), "norm": 1.5, "answers": (25, 350), "epsilon": epsilon}
    scores = [estimator(**given, random_state=seed).fit(x, y).score(x, y) for seed in range(2)]
    assert np.mean(scores) > least
    assert min(scores) > -3
    assert LeastSquares().fit(x, y).score(x, y) == pytest.approx(0.5177, abs=1e-3)


@pytest.mark.parametrize(
    "x",
    [np.zeros((40, 2)), np.full((40, 2), 1e300), np.full((40, 2), np.nan), np.ones((10, 20))],
    ids=["constant", "long", "missing", "wide"],
)
def test_awkward_data_give_finite_answers(x):
    y = np.linspace(-5, 5, len(x))
    y[0] = np.nan
    fitted = estimator().fit(x, y)
    assert np.isfinite(fitted.predict(x)).all()


def test_with_n_private_an_empty_table_is_fitted_too():
    assert estimator(relation="add_remove").fit(np.zeros((0, 3)), np.zeros(0)).mechanism_.n is None


def test_pipelines_and_a_ledger(tmp_path):
    ledger = dc.Ledger.open(tmp_path / "budget.db", budget=dc.ApproxDP(9, 1e-3))
    x, y = made(600)
    model = make_pipeline(
        FunctionTransformer(lambda x: x / 2), estimator(ledger=ledger, epsilon=2, noise="gaussian")
    )
    assert cross_val_score(model, x, y, cv=3).shape == (3,)
    assert sum(entry.kind == "charge" for entry in ledger.history()) == 3
    with pytest.raises(dc.Overspent):
        estimator(ledger=ledger, epsilon=8).fit(x, y)
