"""What every fitted estimator says of itself, in units of its columns: intervals, summary, certificate."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.linear_model import LogisticRegression as Exact

import discreet as dc
from discreet.learn import LinearRegression, LogisticRegression, PoissonRegression

BOUNDS = ([18, 0], [90, 40])
COMMON = {"bounds": BOUNDS, "delta": 1e-6, "random_state": 0}


def made(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.uniform(*BOUNDS, size=(n, 2))


def test_linear_in_units_of_the_columns_beside_least_squares():
    """At ε = 10⁶ means are within a fifth of a deviation of least squares, and intervals hold it."""
    rng, x = made()
    y = 50 + 0.3 * (x[:, 0] - 54) - 0.5 * (x[:, 1] - 20) + 5 * rng.standard_normal(len(x))
    fitted = LinearRegression(epsilon=10**6, answers=(0, 100), **COMMON).fit(x, y)
    exact = LeastSquares().fit(x, y)
    deviation = fitted.summary_["sd"].to_numpy()
    assert (np.abs(fitted.coef_ - exact.coef_) < 0.2 * deviation[:2]).all()
    assert abs(fitted.intercept_ - exact.intercept_) < 0.2 * deviation[2]
    assert fitted.coef_interval_.shape == (2, 2)
    assert list(fitted.summary_["name"]) == ["x0", "x1", "(intercept)", "variance"]
    assert fitted.summary_["mean"].iloc[3] == pytest.approx(25, rel=0.1)
    low, high = fitted.intercept_interval_
    assert low < exact.intercept_ < high
    without = LinearRegression(epsilon=10, answers=(0, 100), intercept=False, **COMMON).fit(x, y)
    with pytest.raises(AttributeError, match="no intercept"):
        _ = without.intercept_interval_
    centre = np.array([[54.0, 20.0]])
    assert without.predict(centre)[0] == pytest.approx(50, abs=1e-9)  # through the middle of all bounds
    assert centre[0] @ without.coef_ + without.intercept_ == pytest.approx(50, abs=1e-9)


@pytest.mark.parametrize("mechanism", ["objective_perturbation", "polynomial_statistics"])
def test_logistic_in_units_of_the_columns(mechanism):
    rng, x = made()
    y = rng.random(len(x)) < 1 / (1 + np.exp(-(x - [54, 20]) @ [0.03, 0.05]))
    fitted = LogisticRegression(epsilon=1000, classes=[False, True], mechanism=mechanism, **COMMON).fit(x, y)
    exact = Exact(C=np.inf).fit(x, y)
    deviation = fitted.summary_["sd"].to_numpy()
    assert (np.abs(fitted.coef_[0] - exact.coef_[0]) < deviation[:2]).all()
    assert abs(fitted.intercept_[0] - exact.intercept_[0]) < deviation[2]
    assert fitted.coef_interval_.shape == (1, 2, 2)
    wide, narrow = fitted.interval(0.9)[0], fitted.interval(0.5)[0]
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (narrow[:, 1] < wide[:, 1]).all()


def test_certificate_and_report_with_and_without_a_ledger(tmp_path):
    rng, x = made(500)
    y = rng.poisson(np.exp(0.5 + 0.015 * (x[:, 0] - 54)))
    ledger = dc.Ledger.open(f"{tmp_path}/b.db", budget=dc.ApproxDP(10, 1e-4))
    given = {"epsilon": 1, "upper": 8, "norm": 1, "radius": 3, **COMMON, "random_state": None}
    paid = PoissonRegression(**given, ledger=ledger).fit(x, y)
    assert paid.certificate_["receipt"]["id"] == paid.receipt_.id
    assert paid.certificate_["private"]
    page = paid.report(tmp_path / "page.html").read_text()
    assert "(intercept)" in page
    assert "<script" not in page
    unpaid = PoissonRegression(**given).fit(x, y)
    assert "no ledger was given" in unpaid.certificate_["receipt"]["note"]
    seeded = PoissonRegression(**{**given, "random_state": 1}).fit(x, y)
    assert not seeded.certificate_["private"]


def test_several_classes_and_single_draws(tmp_path):
    rng, _ = made(1)
    ward = rng.choice(["A", "B", "C"], 1000)
    x = np.column_stack([ward == "A", ward == "B"]) + 0.2 * rng.standard_normal((1000, 2))
    given = {"epsilon": 3, "delta": 1e-6, "norm": 1, "random_state": 0}
    three = LogisticRegression(classes=["A", "B", "C"], **given).fit(x, ward)
    assert three.coef_interval_.shape == (3, 2, 2)
    assert three.intercept_interval_.shape == (3, 2)
    assert set(three.summary_["class"]) == {"A", "B", "C"}
    three.report(tmp_path / "wards.html")
    assert len(list(tmp_path.glob("wards-*.html"))) == 3
    drawn = LogisticRegression(classes=["A", "B"], mechanism="tuned", **given).fit(x, ward)
    assert "draw 1" in drawn.summary_.columns
    with pytest.raises(ValueError, match="was not released"):
        _ = drawn.coef_interval_
