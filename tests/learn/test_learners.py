"""Every learner read from noisy sums keeps one contract: what it needs, pays, holds, says and refuses."""

import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet as dc
from discreet import learn

DELTA = 1e-5
COMMON = {"epsilon": 2, "delta": DELTA}
NUMBERS = {"bounds": (-3, 3)}
TWO = {"classes": [0, 1]}
# name → what it needs to be told
LEARNERS = {
    "GaussianNB": {**NUMBERS, **TWO},
    "CategoricalNB": {"categories": 4, **TWO},
    "KMeans": {**NUMBERS},
    "PCA": {**NUMBERS},
    "StandardScaler": {**NUMBERS},
    "LinearSVC": {**NUMBERS, **TWO},
}
SEED = 11
PURE = {"LinearSVC": {"method": "output"}}  # what a pure promise needs


def made(n=80, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.integers(4, size=(n, 3)) * 1.0 + y[:, None] - 2, y


def built(name, **given):
    return getattr(learn, name)(**{**COMMON, **LEARNERS[name], **given})


every = pytest.mark.parametrize("name", LEARNERS)

# ── scikit-learn's own checks ───────────────────────────────────────────────────────────────────────────
OBJECTS = "columns of objects are refused by their type: converting them would quote a value"
DECLARED = "classes are declared: one estimator is not for 2 and for 3 classes"
CANNOT = {
    "check_dtype_object": OBJECTS,
    "check_classifiers_classes": "classes are declared, not learned from y",
    "check_classifiers_train": DECLARED,
    "check_classifiers_regression_target": "a label that is not declared counts for nothing, without error",
    "check_supervised_y_no_nan": "an error about one label would tell of one record",
}
COMPARED = "values are compared with declared levels, whatever their type, and nothing is converted"
OWN = {
    "KMeans": {
        "check_clustering": "there are no labels_: without noise they would be facts about single rows"
    },
    "CategoricalNB": {
        "check_estimator_sparse_tag": COMPARED,
        "check_estimator_sparse_array": COMPARED,
        "check_estimator_sparse_matrix": COMPARED,
        "check_estimators_nan_inf": COMPARED,
    },
}


def cannot(estimator):
    return {**CANNOT, **OWN.get(type(estimator).__name__, {})}


@parametrize_with_checks(
    [built(name, epsilon=50, random_state=0) for name in LEARNERS], expected_failed_checks=cannot
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# ── what it holds ───────────────────────────────────────────────────────────────────────────────────────
def held(estimator):
    """Everything on a fitted estimator, as bytes, but for its ledger and when it was charged."""
    state = {k: v for k, v in vars(estimator).items() if k not in {"ledger", "receipt_"}}
    return {name: pickle.dumps(part) for name, part in state.items()}


@every
def test_nothing_on_a_fitted_one_is_of_the_records_but_by_what_was_released(name, tmp_path):
    """A retry reads the ledger and no record: on other records it must give the same state, byte for byte."""
    x, y = made()
    ledger = dc.Ledger.open(f"{tmp_path}/b.db", budget=dc.ApproxDP(10, 1e-3))
    first = built(name, ledger=ledger, random_state=SEED).fit(x, y, charge_id="once")
    again = built(name, ledger=ledger, random_state=SEED).fit(x[::-1] * 0, 1 - y, charge_id="once")
    assert held(first) == held(again)
    assert sum(entry.kind == "charge" for entry in ledger.history()) == 1
    fresh = built(name, ledger=ledger, random_state=SEED).fit(x[::-1] * 0, 1 - y)
    assert held(first) != held(fresh)  # the comparison can fail


@every
def test_the_charge_is_durable_before_a_value_is_read(name, tmp_path, monkeypatch):
    """Where the charge is refused, nothing is computed from the records."""
    x, y = made()
    empty = dc.Ledger.open(f"{tmp_path}/b.db", budget=dc.ApproxDP(0.1, 1e-9))
    looked = []
    monkeypatch.setattr("discreet.learn.private.release_once", lambda *a: looked.append(a))
    with pytest.raises(dc.Overspent):
        built(name, ledger=empty).fit(x, y)
    assert not looked


@every
def test_one_charge_that_keeps_the_target(name, tmp_path):
    x, y = made()
    ledger = dc.Ledger.open(f"{tmp_path}/b.db", budget=dc.ApproxDP(10, 1e-3))
    fitted = built(name, ledger=ledger, label="visits", actor="ann").fit(x, y)
    assert fitted.guarantee_ <= dc.ApproxDP(2, DELTA)
    assert fitted.receipt_.about["data"] == "visits"
    assert not fitted.seeded_
    assert built(name, random_state=1).fit(x, y).seeded_
    pure = built(name, delta=None, **PURE.get(name, {})).fit(x, y)
    assert pure.guarantee_ <= dc.PureDP(2)
    private = built(name, relation="add_remove").fit(x, y)
    assert private.certificate_["protected"]["number_of_records"] is None


# ── what it says ────────────────────────────────────────────────────────────────────────────────────────
@every
def test_summary_certificate_and_page(name, tmp_path):
    x, y = made()
    fitted = built(name).fit(x, y)
    table = fitted.summary_
    assert {"name", "mean", "sd", "lower", "upper"} <= set(table.columns)
    assert (table["lower"] <= table["upper"]).all()
    assert np.isfinite(table["mean"]).all()
    said = fitted.certificate_
    assert said["private"]
    assert said["verification"]["audit"]
    assert fitted.report(tmp_path / "page.html").read_text().count("<section") >= 5
    assert not built(name, random_state=1).fit(x, y).certificate_["private"]


@every
def test_what_is_missing_is_said_before_anything_is_read(name):
    x, y = made()
    for wanted in {"bounds", "classes", "categories"} & set(LEARNERS[name]):
        with pytest.raises(ValueError, match=r"(?s)public knowledge"):
            built(name, **{wanted: None}).fit(x, y)
    with pytest.raises(ValueError, match="say what to promise"):
        built(name, epsilon=None, delta=None).fit(x, y)
    with pytest.raises(NotFittedError):
        _ = built(name).summary_
    with pytest.raises(TypeError, match="not made for secrets"):
        built(name, random_state=np.random.default_rng(0)).fit(x, y)


HOSTILE = [np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324]


@every
def test_hostile_records_neither_warn_nor_fail(name):
    x, y = made()
    x[: len(HOSTILE), 0] = HOSTILE
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = built(name).fit(x, y)
    assert np.isfinite(fitted.summary_["mean"]).all()


# ── in scikit-learn's company ───────────────────────────────────────────────────────────────────────────
@every
def test_pipelines_column_transformers_grids_and_copies(name, tmp_path):
    x, y = made()
    ledger = dc.Ledger.open(f"{tmp_path}/b.db", budget=dc.ApproxDP(100, 1e-2))
    one = built(name, ledger=ledger)
    assert clone(one).ledger is ledger
    steps = make_pipeline(FunctionTransformer(lambda z: z * 1), clone(one)).fit(x, y)
    chosen = make_column_transformer(("passthrough", [0, 2]))
    assert make_pipeline(chosen, clone(one)).fit(x, y)[-1].n_features_in_ == 2
    copied = pickle.loads(pickle.dumps(built(name, random_state=1).fit(x, y)))  # noqa: S301 - our own
    assert copied.seeded_
    trial = built(name, random_state=1)
    grid = GridSearchCV(trial, {"epsilon": [1, 2]}, cv=2, scoring=lambda *_: 0.0).fit(x, y)
    assert grid.best_params_ == {"epsilon": 1}
    assert steps[-1].receipt_.id


@every
def test_sample_weights_are_refused_with_a_reason(name):
    x, y = made()
    with pytest.raises(TypeError, match=r"sample_weight is refused"):
        built(name).fit(x, y, sample_weight=np.ones(len(x)))


# ── close to what scikit-learn finds, where noise is small ───────────────────────────────────────────────
def test_components_and_moments_are_scikit_learns_at_large_epsilon():
    """At ε = 10⁶ the noise is below 10⁻³ of every number; the grid is 1/4096 of the bounds."""
    from sklearn import decomposition, preprocessing

    rng = np.random.default_rng(1)
    x = (
        rng.standard_normal((3000, 3))
        @ np.diag([0.9, 0.5, 0.2])
        @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    )
    x = np.clip(x, -3, 3)
    given = {"epsilon": 10**6, "delta": DELTA, "bounds": (-3, 3), "random_state": 0}
    ours, exact = learn.PCA(n_components=2, **given).fit(x), decomposition.PCA(2).fit(x)
    assert np.abs(np.sum(ours.components_ * exact.components_, axis=1)) == pytest.approx([1, 1], abs=1e-3)
    assert ours.explained_variance_ == pytest.approx(exact.explained_variance_, rel=0.01)
    assert (
        np.abs(ours.inverse_transform(ours.transform(x)) - exact.inverse_transform(exact.transform(x))).max()
        < 0.05
    )
    scaled, known = learn.StandardScaler(**given).fit(x), preprocessing.StandardScaler().fit(x)
    assert scaled.mean_ == pytest.approx(known.mean_, abs=0.01)
    assert scaled.scale_ == pytest.approx(known.scale_, rel=0.02)
    assert scaled.inverse_transform(scaled.transform(x)) == pytest.approx(x)


def test_two_ways_to_the_same_two_clusters():
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(-1.5, 0.3, (1500, 2)), rng.normal(1.5, 0.3, (1500, 2))])
    given = {"n_clusters": 2, "epsilon": 5, "delta": DELTA, "bounds": (-3, 3), "random_state": 0}
    for more in ({}, {"method": "sample_and_aggregate"}, {"delta": None}):
        found = learn.KMeans(**{**given, **more}).fit(x)
        assert np.sort(found.cluster_centers_, axis=0) == pytest.approx(
            np.array([[-1.5] * 2, [1.5] * 2]), abs=0.3
        )
        assert not hasattr(found, "labels_")
        assert not hasattr(found, "inertia_")
    assert found.counts_ == pytest.approx([1500, 1500], abs=150)
    assert found.fit_predict(x).shape == (3000,)
    with pytest.raises(ValueError, match=r"parts is missing.*public"):
        learn.KMeans(**given, method="sample_and_aggregate", relation="add_remove").fit(x)


def test_naive_bayes_beside_scikit_learns():
    """Accuracy within 0.02 at ε = 10 on two normal clouds of 3000 rows, and intervals that hold the mean."""
    from sklearn.naive_bayes import GaussianNB as Exact

    rng = np.random.default_rng(3)
    y = rng.integers(2, size=3000)
    x = np.clip(rng.normal(y[:, None] * [1.0, 0.5, 0.0], 0.7), -3, 3)
    ours = learn.GaussianNB(epsilon=10, delta=DELTA, classes=[0, 1], bounds=(-3, 3), random_state=0).fit(x, y)
    exact = Exact().fit(x, y)
    assert ours.score(x, y) > exact.score(x, y) - 0.02
    assert ours.theta_ == pytest.approx(exact.theta_, abs=0.1)
    assert ours.var_ == pytest.approx(exact.var_, abs=0.1)


def test_a_plane_by_objective_and_by_output():
    """Both ways find the plane between two clouds, of two classes and of three; C is the second's alone."""
    rng = np.random.default_rng(4)
    y = rng.integers(3, size=3000)
    x = rng.normal(0, 0.4, (3000, 2)) + np.array([[-1, -1], [1, -1], [0, 1.5]])[y]
    given = {"epsilon": 5, "delta": DELTA, "bounds": (-3, 3), "random_state": 0}
    for more in ({}, {"method": "output"}, {"method": "output", "delta": None, "C": 0.01}):
        three = learn.LinearSVC(classes=[0, 1, 2], **{**given, **more}).fit(x, y)
        assert three.score(x, y) > 0.9
        assert three.decision_function(x[:4]).shape == (4, 3)
        two = learn.LinearSVC(classes=[0, 1], **{**given, **more}).fit(x[y < 2], y[y < 2])
        assert two.score(x[y < 2], y[y < 2]) > 0.95
        assert two.coef_[0, 0] > abs(two.coef_[0, 1])
        inside = x[y < 2][:50]
        given_units = inside @ two.coef_[0] + two.intercept_[0]
        assert two.decision_function(inside) == pytest.approx(given_units, abs=1e-4 * np.abs(two.coef_).sum())
    with pytest.raises(ValueError, match="C belongs to"):
        learn.LinearSVC(classes=[0, 1], C=1, **given).fit(x, y)
    with pytest.raises(dc.Unreachable, match="δ > 0"):
        learn.LinearSVC(classes=[0, 1], **{**given, "delta": None}).fit(x, y)


def test_regressions_by_their_coefficients(tmp_path):
    """Pure ε too, one charge, and near least squares and the logistic fit where noise is small."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (4000, 2))
    y = np.clip(x @ [0.5, -0.3] + 0.1 + 0.1 * rng.standard_normal(4000), -1, 1)
    ledger = dc.Ledger.open(f"{tmp_path}/b.db", budget=dc.PureDP(10**7))
    given = {"bounds": (-1, 1), "method": "functional", "random_state": 0, "ledger": ledger}
    line = learn.LinearRegression(epsilon=10**5, answers=(-1, 1), **given).fit(x, y, charge_id="line")
    assert line.coef_ == pytest.approx([0.5, -0.3], abs=0.02)
    assert line.intercept_ == pytest.approx(0.1, abs=0.02)
    assert line.score(x, y) > 0.8
    assert line.guarantee_ <= dc.PureDP(10**5)
    assert line.coef_interval_.shape == (2, 2)
    again = learn.LinearRegression(epsilon=10**5, answers=(-1, 1), **given).fit(0 * x, y, charge_id="line")
    assert (again.coef_ == line.coef_).all()
    sides = (x @ [1.0, -1.0] > 0).astype(int)
    plane = learn.LogisticRegression(epsilon=10**5, classes=[0, 1], **given).fit(x, sides)
    assert plane.score(x, sides) > 0.97
    assert plane.certificate_["verification"]["audit"] == ["noisy_blocks/functional_classes"]
    assert plane.report(tmp_path / "page.html").exists()
    with pytest.raises(ValueError, match="method must be"):
        learn.LogisticRegression(epsilon=1, classes=[0, 1], bounds=(-1, 1), method="magic").fit(x, sides)
