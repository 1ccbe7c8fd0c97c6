"""discreet.learn.LogisticRegression: what is public, what is promised, what is paid, what it predicts."""

import pickle
import subprocess
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet as dc
from discreet.learn import LinearRegression, LogisticRegression
from discreet.learn.regression import answers, probabilities, shares
from discreet.mechanisms.mechanism import gaussian_share
from discreet.mechanisms.registry import offered_to
from discreet.mechanisms.regression.samplers.sampler import SAMPLERS
from discreet.models.regression_records import VALUES
from discreet.privacy.accounting.composition import compose
from discreet.privatise import ChargeKept

OF_REGRESSIONS = offered_to("regression")

WEIGHTS = np.array([4.0, -4.0, 0.0])
DELTA = 1e-5


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    x = 0.4 * rng.standard_normal((n, 3))
    y = (rng.random(n) < 1 / (1 + np.exp(-x @ WEIGHTS - 0.5))).astype(int)
    return x, y


def estimator(**given):
    usual = {"epsilon": 2, "delta": DELTA, "classes": [0, 1], "norm": 1, "random_state": 0}
    return LogisticRegression(**{**usual, **given})


def linear(**given):
    usual = {"epsilon": 2, "delta": DELTA, "answers": (0, 1), "norm": 1, "random_state": 0}
    return LinearRegression(**{**usual, **given})


# ── scikit-learn's own checks ───────────────────────────────────────────────────────────────────────────
CANNOT_APPLY = {
    "check_dtype_object": "columns of objects are refused by their type: converting them would quote a value",
    "check_classifiers_classes": "classes are declared, not learned from y",
    "check_classifiers_train": "classes are declared: one estimator is not for 2 and for 3 classes",
    "check_classifiers_regression_target": "a label that is not declared counts for nothing, without error",
    "check_classifiers_one_label": "ten records do not outweigh the prior and the noise",
    "check_supervised_y_no_nan": "an error about one label would tell of one record",
}


@parametrize_with_checks(
    [LogisticRegression(epsilon=8, delta=1e-3, classes=[0, 1], norm=4, mechanism="tuned", random_state=0)],
    expected_failed_checks=lambda _: CANNOT_APPLY,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# ── what must be public ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"norm": None}, "norm is missing.*must be public knowledge"),
        ({"classes": None}, "classes must be declared.*public knowledge"),
        ({"classes": [1]}, "at least two labels"),
        ({"classes": [1, 1]}, "each once"),
        ({"epsilon": None}, "say what to promise.*got delta without epsilon"),
        ({"epsilon": None, "delta": None}, "say what to promise.*got neither"),
        ({"target": dc.ApproxDP(1, 1e-5)}, "got both"),
        (
            {"epsilon": None, "delta": None, "target": dc.ApproxDP(1, 1e-5), "relation": "add_remove"},
            "relation",
        ),
        ({"bounds": (1, 0)}, "lower < upper.*public"),
        ({"bounds": (0, float("nan"))}, "lower < upper.*public"),
        ({"bounds": ([0, 0], 1)}, "3 numbers, one per column"),
        ({"mechanism": "magic"}, "no mechanism for a regression is called 'magic'"),
        ({"mechanism": "tuned", "options": {"magic": 1}}, "^tuned takes the options: most.*got magic"),
    ],
)
def test_what_is_missing_or_wrong_is_said_before_anything_is_read(given, words):
    x, y = made(20)
    with pytest.raises(ValueError, match=words):
        estimator(**given).fit(x, y)


def test_sample_weights_are_refused_with_a_reason():
    x, y = made(20)
    with pytest.raises(TypeError, match=r"sample_weight is refused.*count once"):
        estimator().fit(x, y, sample_weight=np.ones(20))
    with pytest.raises(TypeError, match="got groups too"):
        estimator().fit(x, y, groups=y)


def test_numpys_generators_are_no_secret():
    x, y = made(20)
    with pytest.raises(TypeError, match="not made for secrets"):
        estimator(random_state=np.random.default_rng(0)).fit(x, y)


def test_texts_are_refused_without_quoting_one():
    x = np.array([["Alice Smith"] * 3] * 20)
    with pytest.raises(TypeError, match="numeric type") as error:
        estimator().fit(x, made(20)[1])
    assert "Alice" not in str(error.value)


SECRET = 0.73920416


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.full(17, SECRET), np.zeros(17)),
        (np.full((17, 2, 2), SECRET), np.zeros(17)),
        (np.full((17, 3), SECRET + 1j), np.zeros(17)),
        (np.full((17, 3), 0.5), np.full(17, SECRET + 1j)),
        (np.full((17, 3), 0.5), np.full((17, 2), SECRET)),
        (np.full((17, 3), SECRET), np.zeros(16)),
        (np.full((17, 0), SECRET), np.zeros(17)),
        ([[SECRET, 1.0]] * 16 + [[SECRET]], np.zeros(17)),
    ],
    ids=["1d", "3d", "complex", "complex y", "wide y", "short y", "no column", "ragged"],
)
@pytest.mark.parametrize("several", [estimator, linear], ids=["logistic", "linear"])
def test_wrong_shapes_are_refused_without_a_value_or_the_private_number_of_records(several, x, y):
    """scikit-learn's own words print the array, or its shape."""
    with pytest.raises(ValueError, match=r"must|Complex|feature|samples") as error:
        several(relation="add_remove").fit(x, y)
    told = f"{error.value} {error.value.__context__} {error.value.__cause__}"
    assert not any(private in told for private in ("7392", "17", "16"))


# ── what counts ─────────────────────────────────────────────────────────────────────────────────────────
def test_undeclared_labels_count_for_nothing_and_missing_numbers_for_the_middle():
    x, y = made(200)
    odd = y.astype(object)
    odd[:10] = ["x", None, 7, float("nan"), -1, 2, "0", 3, 4, 5]
    kept = np.array(answers(odd, np.array([0, 1])))
    assert (kept[0, :10] == 0).all()
    assert (kept[0, 10:] == 2 * y[10:] - 1).all()
    holes = x.copy()
    holes[0] = [np.nan, np.inf, -np.inf]
    fitted = estimator(bounds=(-1, 1), norm=1).fit(holes, odd)
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.predict_proba(holes)).all()


def test_no_record_makes_a_fit_warn_or_fail():
    """Warnings are errors here: one that a far number or an odd answer makes tells of that record."""
    pd = pytest.importorskip("pandas")
    x, y = made(20)
    far = x.astype(np.longdouble)
    far[0] = [1.7e308, -1.7e308, np.longdouble("1e4000")]
    odd = y.astype(object)
    odd[:4] = [pd.NA, {1: 2}, np.zeros(2), 10**400]
    assert np.isfinite(estimator(bounds=(0, 0.1), mechanism="tuned").fit(far, odd).coef_).all()
    assert np.isfinite(linear(bounds=(0, 0.1)).fit(far, far[:, 2]).coef_).all()
    assert np.array(answers(odd, np.array([0, 1])))[0, :4].tolist() == [0, 0, 0, 0]


def test_three_classes_are_plus_and_minus_one_each():
    y = np.array(["a", "b", "c", "z"])
    assert np.array(answers(y, np.array(["a", "b", "c"]))).tolist() == [
        [1, -1, -1, 0],
        [-1, 1, -1, 0],
        [-1, -1, 1, 0],
    ]
    each = [np.array([0.2, 0.0]), np.array([0.2, 0.0]), np.array([0.4, 0.0])]
    assert probabilities(each).tolist() == pytest.approx(np.array([[0.25, 0.25, 0.5], [1 / 3] * 3]))


# ── what is promised ────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
@pytest.mark.parametrize("mechanism", OF_REGRESSIONS)
def test_the_promise_meets_the_target_for_every_mechanism_and_relation(mechanism, relation):
    x, y = made(300)
    epsilon = 100 if mechanism == "direct" else 2  # it has no knob
    draws = mechanism not in {"objective_perturbation", "polynomial_statistics"}
    options = {"most": 600} if draws and relation == "add_remove" else None
    ask = {"mechanism": mechanism, "epsilon": epsilon, "radius": 3, "options": options}
    fitted = estimator(relation=relation, **ask).fit(x, y)
    target = dc.ApproxDP(
        epsilon, Fraction(str(DELTA)), relation=dc.Relation(relation)
    )  # the decimal, exactly
    assert fitted.guarantee_ <= target
    assert fitted.target_ == target
    assert fitted.seeded_
    assert fitted.receipt_ is None
    assert fitted.mechanism_.name == OF_REGRESSIONS[mechanism]
    assert fitted.mechanism_.n == (300 if relation == "substitute" else None)
    assert np.isfinite(fitted.predict_proba(x)).all()
    if mechanism == "direct":
        with pytest.raises(dc.Unreachable, match="one draw of the posterior as it is"):
            estimator(relation=relation, **{**ask, "epsilon": 2}).fit(x, y)
    else:  # what it gets is used up
        assert fitted.guarantee_.epsilon(DELTA) > 0.95 * epsilon


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_sampler_is_one_argument_of_the_estimator(sampler):
    x, y = made(300)
    options = {"sampler": sampler}
    fitted = estimator(mechanism="diffused", radius=3, options=options).fit(x, y)
    assert fitted.mechanism_.sampler == sampler
    assert fitted.guarantee_ <= dc.ApproxDP(2, DELTA)
    assert isinstance(fitted.guarantee_, dc.GaussianDP) == (sampler == "langevin")
    with pytest.raises(ValueError, match="sampler must be one of langevin"):
        estimator(mechanism="diffused", options={"sampler": "magic"}).fit(x, y)


@pytest.mark.parametrize("classes", [3, 10])
def test_fits_of_several_classes_compose_to_the_target_and_use_it_up(classes):
    target = dc.ApproxDP(1, DELTA)
    each = gaussian_share(target, classes)
    together = compose(*[each] * classes)
    assert together <= target
    assert together.epsilon(DELTA) > 0.999
    assert not compose(*[each] * (classes + 1)) <= target  # one more class would be too much
    _, plain = shares(target, classes)
    assert (plain.loss * classes, plain.slack * classes) == (1, Fraction(DELTA))
    assert shares(dc.GaussianDP(1), 4) == [dc.GaussianDP(0.5)]
    assert shares(target, 1) == [target]


def test_three_classes_are_told_apart_within_one_target():
    rng = np.random.default_rng(1)
    centres = np.array([[0.6, 0.0], [-0.4, 0.5], [-0.4, -0.5]])
    y = rng.integers(3, size=3000)
    x = centres[y] + 0.25 * rng.standard_normal((3000, 2))
    names = np.array(["red", "green", "blue"])[y]
    fitted = estimator(classes=["red", "green", "blue"], epsilon=3).fit(x, names)
    assert fitted.classes_.tolist() == ["blue", "green", "red"]
    assert fitted.coef_.shape == (3, 2)
    assert fitted.intercept_.shape == (3,)
    assert len(fitted.posterior_) == len(fitted.released_) == 3
    assert fitted.posterior_[2].model.labels == ("not red", "red")
    assert np.allclose(fitted.predict_proba(x).sum(axis=1), 1)
    assert fitted.score(x, names) > 0.85  # 0.94 without privacy
    assert fitted.guarantee_ <= dc.ApproxDP(3, DELTA)


# ── what it predicts ────────────────────────────────────────────────────────────────────────────────────
def test_weights_and_probabilities_come_near_the_truth():
    x, y = made(20_000)
    fitted = estimator(epsilon=4).fit(x, y)
    assert fitted.coef_[0] == pytest.approx(WEIGHTS, abs=0.6)
    assert fitted.intercept_[0] == pytest.approx(0.5, abs=0.3)
    p = fitted.predict_proba(x)
    short = np.linalg.norm(x, axis=1) < 0.999  # longer rows are scaled down
    truth = 1 / (1 + np.exp(-x @ WEIGHTS - 0.5))
    assert np.abs(p[:, 1] - truth)[short].mean() < 0.03
    assert (fitted.predict(x) == (p[:, 1] > 0.5)).all()


def test_coefficients_are_in_units_of_the_columns_as_given():
    """σ(x·coef + intercept) is P(y|x) at the one draw that was released, whatever the bounds."""
    x, y = made(5000)
    shifted = 10 + 100 * x
    lower, upper = 10 - 100 * np.array([1, 2, 4]), 10 + 100 * np.array([1, 2, 4])
    fitted = estimator(bounds=(lower, upper), norm=None, radius=20, mechanism="tuned").fit(shifted, y)
    inside = (np.abs(x) < [1, 2, 4]).all(axis=1)
    margins = (shifted @ fitted.coef_[0] + fitted.intercept_[0])[inside]
    p = fitted.predict_proba(shifted)[inside, 1]
    assert np.ptp(margins) > 1
    assert p == pytest.approx(1 / (1 + np.exp(-margins)), abs=1e-4)  # rows are rounded to norm/2^20


@pytest.mark.parametrize("mechanism", ["objective_perturbation", "polynomial_statistics"])
def test_predictions_average_over_the_posterior_and_are_not_those_of_its_mean(mechanism):
    """Over what predicts, be it the posterior or a reading made for predictions; 6 standard errors."""
    x, y = made(300)
    fitted = estimator(epsilon=0.5, mechanism=mechanism).fit(x, y)
    far = np.array([[0.9, -0.9, 0.0]]) / 2
    averaged = fitted.predict_proba(far)[0, 1]
    reading = fitted.posterior_.predictor or fitted.posterior_
    row = np.append(far[0], 1.0)  # weights are in units of the columns, the intercept with them
    each = 1 / (1 + np.exp(-reading.flat_sample(20_000, dc.SeededSource(1)) @ row))
    error = 6 * each.std() / np.sqrt(len(each))
    assert averaged == pytest.approx(each.mean(), abs=error)
    plugged = 1 / (1 + np.exp(-reading.flat_mean() @ row))
    assert abs(averaged - 0.5) + error < abs(plugged - 0.5)


@pytest.mark.parametrize(
    "data",
    [
        (np.zeros((50, 2)), np.arange(50) % 2),  # constant columns
        (np.linspace(-1, 1, 50)[:, None], (np.arange(50) > 24).astype(int)),  # separable
        (np.random.default_rng(0).standard_normal((10, 30)), np.arange(10) % 2),  # more columns than rows
        (np.full((50, 2), 1e300), np.arange(50) % 2),  # far too long
        (np.random.default_rng(0).standard_normal((50, 2)), np.zeros(50, int)),  # one class only
    ],
)
def test_awkward_data_give_finite_answers(data):
    x, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = estimator(target=dc.GaussianDP(1), epsilon=None, delta=None).fit(x, y)
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.predict_proba(x)).all()


def test_with_n_private_an_empty_table_is_fitted_too():
    fitted = estimator(relation="add_remove").fit(np.zeros((0, 3)), np.zeros(0, int))
    assert fitted.mechanism_.n is None
    with pytest.raises(ValueError, match="0 sample"):
        estimator().fit(np.zeros((0, 3)), np.zeros(0, int))


# ── scikit-learn's ways ─────────────────────────────────────────────────────────────────────────────────
def test_pipelines_cross_validation_and_copies():
    x, y = made(2000)
    steps = make_pipeline(
        FunctionTransformer(lambda x: x / 2), estimator(epsilon=4, random_state=None, mechanism="tuned")
    )
    scores = cross_val_score(steps, x, y, cv=3)
    assert scores.mean() > 0.7
    fitted = estimator().fit(x, y)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    assert (again.predict_proba(x) == fitted.predict_proba(x)).all()
    assert clone(fitted).get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        clone(fitted).predict(x)


def test_data_frames_name_the_weights():
    pandas = pytest.importorskip("pandas")
    x, y = made(100)
    frame = pandas.DataFrame(x, columns=["age", "dose", "y"])
    fitted = estimator().fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["age", "dose", "y"]
    assert fitted.posterior_.names == ("age", "dose", "y", "(intercept)")
    with pytest.raises(TypeError, match="numeric type"):
        estimator().fit(frame.assign(ward="A"), y)


def charges(ledger):
    return sum(entry.kind == "charge" for entry in ledger.history())


# ── the ledger ──────────────────────────────────────────────────────────────────────────────────────────
def test_the_ledger_is_charged_before_the_data_are_looked_at(tmp_path, monkeypatch):
    ledger = dc.Ledger.open(tmp_path / "budget.db", budget=dc.ApproxDP(3, 1e-4))
    x, y = made(20)
    ask = {"ledger": ledger, "epsilon": 0.5, "mechanism": "tuned"}
    fitted = estimator(**ask).fit(x, y)
    assert charges(ledger) == 1
    assert ledger.receipt(fitted.receipt_.id).computed
    looked = []

    class Watched:
        """Labels that say when they are looked at, and fail."""

        def __eq__(self, other):
            looked.append(charges(ledger))
            raise RuntimeError("patient 17 has no label")

        def __hash__(self):
            return 0

    watched = np.array([Watched()] * 20, dtype=object)
    estimator(**ask).fit(x, watched)
    assert set(looked) == {2}

    def failing(*given):
        raise RuntimeError(f"patient 17 is not in {given}")

    monkeypatch.setitem(VALUES, "records", failing)
    with pytest.raises(ChargeKept) as error:
        estimator(**ask).fit(x, y)
    assert "patient" not in str(error.value)
    assert error.value.__cause__ is None
    assert charges(ledger) == 3  # charged, although nothing came of it
    looked.clear()
    with pytest.raises(dc.Overspent):
        estimator(**{**ask, "epsilon": 3}).fit(x, watched)
    assert not looked  # refused before a label is looked at


def test_a_ledger_is_shared_by_copies_and_may_be_a_path(tmp_path):
    where = str(tmp_path / "budget.db")
    ledger = dc.Ledger.open(where, budget=dc.ApproxDP(10, 1e-3))
    x, y = made(90)
    assert clone(estimator(ledger=ledger)).ledger is ledger
    cross_val_score(estimator(ledger=ledger, epsilon=1, mechanism="tuned"), x, y, cv=3)
    assert charges(ledger) == 3  # every fold is a release
    estimator(ledger=where, epsilon=1, mechanism="tuned").fit(x, y)
    assert charges(ledger) == 4


# ── loading ─────────────────────────────────────────────────────────────────────────────────────────────
def _python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603


def test_scikit_learn_is_loaded_when_touched_and_missed_by_name():
    assert _python("import sys, discreet.learn; assert 'sklearn' not in sys.modules").returncode == 0
    missing = _python(
        "import sys; sys.modules['sklearn'] = None; import discreet.learn as l; l.LogisticRegression"
    )
    assert "pip install 'discreet[learn]'" in missing.stderr
