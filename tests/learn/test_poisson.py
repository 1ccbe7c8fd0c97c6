"""discreet.learn.PoissonRegression and GeneralizedLinearRegression: numbers by a loss of public constants."""

import os
import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.utils.estimator_checks import check_regressors_train, parametrize_with_checks

import discreet as dc
from discreet.learn import GeneralizedLinearRegression, PoissonRegression
from discreet.mechanisms.registry import offered_to
from discreet.mechanisms.regression.samplers.sampler import SAMPLERS

OF_REGRESSIONS = offered_to("regression")

WEIGHTS, CONSTANT = np.array([1.0, -1.0, 0.0]), 0.7
DELTA = 1e-5


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    x = 0.4 * rng.standard_normal((n, 3))
    x /= np.maximum(1, np.linalg.norm(x, axis=1, keepdims=True))
    return x, rng.poisson(np.exp(x @ WEIGHTS + CONSTANT))


def estimator(**given):
    usual = {"epsilon": 2, "delta": DELTA, "upper": 10, "norm": 1, "radius": 2, "random_state": 0}
    return PoissonRegression(**{**usual, **given})


def charges(ledger):
    return sum(entry.kind == "charge" for entry in ledger.history())


def huber(answers=1.0):
    """√(1 + (s − y)²), smooth and of slope at most 1: a line that far answers do not move."""
    return dc.DeclaredLoss(
        lambda s, y: np.sqrt(1 + (s - y) ** 2),
        lambda s, y: (s - y) / np.sqrt(1 + (s - y) ** 2),
        lambda s, y: (1 + (s - y) ** 2) ** -1.5,
        1,
        1,
        lower=-answers,
        upper=answers,
    )


# ── scikit-learn's own checks ───────────────────────────────────────────────────────────────────────────
CANNOT_APPLY = {
    "check_regressors_train": "200 records do not outweigh the noise of one draw; see below",
    "check_dtype_object": "columns of objects are refused by their type: converting them would quote a value",
    "check_supervised_y_no_nan": "an error about one answer would tell of one record",
}
# The manners that all estimators share are checked in full on the classifier; here too with DISCREET_SLOW=1.
OF_REGRESSORS = {
    *("check_regressors_int", "check_regressors_no_decision_function"),
    *("check_supervised_y_2d", "check_fit_idempotent", "check_estimators_pickle", "check_n_features_in"),
    *("check_no_attributes_set_in_init", "check_estimators_unfitted", "check_estimator_cloneable"),
    *("check_dtype_object", "check_supervised_y_no_nan"),
}


def checked(**given):
    return PoissonRegression(delta=1e-2, upper=9, norm=5, radius=2, random_state=0, **given)


@parametrize_with_checks(
    [checked(epsilon=100, mechanism="tuned")], expected_failed_checks=lambda _: CANNOT_APPLY
)
def test_scikit_learns_own_checks(estimator, check):
    if check.func.__name__ not in OF_REGRESSORS and not os.environ.get("DISCREET_SLOW"):
        pytest.skip("slow: DISCREET_SLOW=1")
    check(estimator)


def test_scikit_learns_own_check_of_a_score():
    """R² above ½ on 200 rows whose answers are no counts: without privacy it is hardly more."""
    check_regressors_train("PoissonRegression", checked(epsilon=1000))


# ── what is public and refused ──────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"upper": None}, "upper is missing.*public knowledge"),
        ({"upper": -1}, "upper"),
        ({"norm": None}, "norm is missing.*public knowledge"),
        ({"mechanism": "magic"}, "no mechanism for a regression is called 'magic'"),
        ({"mechanism": "polynomial_statistics"}, "know the logistic loss.*choose objective_perturbation"),
        ({"mechanism": "tuned", "relation": "add_remove"}, "most"),
    ],
)
def test_what_is_missing_or_wrong_is_said_before_anything_is_paid(given, words, tmp_path):
    x, y = made(20)
    relation = dc.Relation(given.get("relation", "substitute"))
    budget = dc.ApproxDP(9, 1e-3, relation=relation)
    with dc.Ledger.open(tmp_path / "budget.db", budget=budget) as ledger:
        with pytest.raises(ValueError, match=words):
            estimator(ledger=ledger, **given).fit(x, y)
        assert not charges(ledger)


def test_weights_texts_and_losses_of_labels_are_refused():
    x, y = made(20)
    with pytest.raises(TypeError, match="sample_weight is refused"):
        estimator().fit(x, y, sample_weight=np.ones(20))
    with pytest.raises(TypeError, match="numeric type") as error:
        estimator().fit(x, np.array(["Alice Smith"] * 20))
    assert "Alice" not in str(error.value)
    for loss in (None, "poisson", dc.Logistic()):
        with pytest.raises(TypeError, match=r"loss must be .*ClippedPoisson.*use LogisticRegression"):
            GeneralizedLinearRegression(epsilon=1, delta=DELTA, loss=loss, norm=1).fit(x, y)


def test_no_record_makes_a_fit_warn_or_fail():
    x, y = made(30)
    far, odd = x.astype(np.longdouble), y.astype(np.longdouble)
    far[0], odd[:3] = [np.nan, 1.7e308, np.longdouble("1e4000")], [np.nan, -5, np.longdouble("1e4000")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = estimator(bounds=(0, 0.1), norm=None, mechanism="tuned").fit(far, odd)
        assert np.isfinite(fitted.predict(far)).all()


# ── what is promised and paid ───────────────────────────────────────────────────────────────────────────
BY_DATA = [name for name in OF_REGRESSIONS if name != "polynomial_statistics"]


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [*((name, {}) for name in BY_DATA), *(("diffused", {"sampler": name}) for name in SAMPLERS)],
)
def test_every_mechanism_and_sampler_keeps_the_promise(mechanism, options):
    x, y = made(200)
    epsilon = 700 if mechanism == "direct" else 2  # it has no knob
    ask = {"mechanism": mechanism, "options": options, "epsilon": epsilon, "upper": 5, "radius": 1}
    fitted = estimator(**ask).fit(x, y)
    assert fitted.guarantee_ <= dc.ApproxDP(epsilon, DELTA)
    assert fitted.mechanism_.name == OF_REGRESSIONS[mechanism]
    assert options.items() <= vars(fitted.mechanism_).items()
    rates = fitted.predict(x)
    assert (rates >= 0).all()
    assert (rates <= 5).all()


def test_the_ledger_is_charged_once_a_fit_and_copies_share_it(tmp_path):
    x, y = made(50)
    with dc.Ledger.open(tmp_path / "budget.db", budget=dc.ApproxDP(3, 1e-4)) as ledger:
        asked = estimator(ledger=ledger, epsilon=1, mechanism="tuned")
        fitted = clone(asked).fit(x, y)
        assert ledger.receipt(fitted.receipt_.id).computed
        assert charges(ledger) == 1
        with pytest.raises(dc.Overspent):
            clone(asked).set_params(epsilon=3).fit(x, y)


# ── what it predicts ────────────────────────────────────────────────────────────────────────────────────
def test_rates_come_near_the_truth_and_average_over_the_posterior():
    x, y = made(20_000)
    fitted = estimator().fit(x, y)
    assert fitted.coef_ == pytest.approx(WEIGHTS, abs=0.3)
    assert fitted.intercept_ == pytest.approx(CONSTANT, abs=0.15)
    truth = np.exp(x @ WEIGHTS + CONSTANT)
    assert np.sqrt(np.mean((fitted.predict(x) - truth) ** 2)) < 0.2 * truth.std()
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    assert (again.predict(x[:9]) == fitted.predict(x[:9])).all()


def test_a_rate_is_that_of_the_average_and_not_of_the_mean_weights():
    """e^s is convex: E e^s > e^{E s}; 6 standard errors."""
    x, y = made(500)
    fitted = estimator(epsilon=1, upper=30).fit(x, y)
    reading = fitted.posterior_.predictor or fitted.posterior_
    row = np.append(x[0], 1.0)  # weights are in units of the columns, the intercept with them
    each = np.minimum(np.exp(reading.flat_sample(20_000, dc.SeededSource(1)) @ row), 30)
    error = 6 * each.std() / np.sqrt(len(each))
    assert fitted.predict(x[:1])[0] == pytest.approx(each.mean(), abs=error)
    assert np.exp(reading.flat_mean() @ row) < each.mean() - error


def test_a_declared_loss_predicts_its_margin():
    """A robust line: one answer in twenty is far off, and moves it little; least squares follows it."""
    rng = np.random.default_rng(1)
    x, _ = made(5000)
    y = 0.5 * x[:, 0] - 0.2 + 0.1 * rng.standard_normal(len(x))
    y[rng.random(len(x)) < 0.05] = 8
    ask = {"epsilon": 4, "delta": DELTA, "loss": huber(8), "norm": 1, "radius": 2, "random_state": 0}
    fitted = GeneralizedLinearRegression(**ask).fit(x, y)
    assert fitted.get_params()["loss"] is ask["loss"]
    assert clone(fitted).loss == ask["loss"]
    truth = 0.5 * x[:, 0] - 0.2
    assert np.abs(fitted.predict(x) - truth).mean() < 0.15
    assert abs(y.mean() - truth.mean()) > 0.3
    same = GeneralizedLinearRegression(**{**ask, "loss": dc.ClippedPoisson(10)}).fit(*made(500))
    poisson = estimator(epsilon=4).fit(*made(500))
    assert np.array_equal(same.predict(x[:9]), poisson.predict(x[:9]))


def test_declared_code_that_fails_does_so_before_the_charge(tmp_path):
    broken = dc.DeclaredLoss(huber().phi, lambda s, y: s.nonsense + y, huber().second, 1, 1)
    with dc.Ledger.open(tmp_path / "budget.db", budget=dc.ApproxDP(9, 1e-3)) as ledger:
        with pytest.raises(AttributeError, match="nonsense"):
            GeneralizedLinearRegression(epsilon=1, delta=DELTA, loss=broken, norm=1, ledger=ledger).fit(
                *made(20)
            )
        assert not charges(ledger)
