"""From a table to rows and answers: encoded by the schema alone, in the ball, the same for public rows."""

# ruff: noqa: PD011 - .values is no frame's

import numpy as np
import pandas as pd
import pytest

from discreet.models.generalized_linear import BayesianLogisticRegression, GeneralizedLinear, encoded
from discreet.models.margin_losses import ClippedPoisson
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.statistics import bounded
from discreet.statistics.records import designed
from discreet.tables.derived.columns import col
from discreet.tables.schema import Binary, Bounded, Categories, Count, Label
from discreet.tables.table import Table

SCHEMA = {
    "age": Bounded(20, 60, missing=40),
    "visits": Count(10),
    "smoker": Binary(),
    "ward": Categories(["A", "B"], unknown="(unknown)"),
    "income": Label(["low", "high"], unknown="(unknown)"),
}
ROWS = pd.DataFrame(
    {
        "age": [20.0, 60.0, 50.0, np.nan, 999.0],
        "visits": [0, 10, 5, 99, 2],
        "smoker": [True, False, None, True, False],
        "ward": ["A", "B", "C", None, "A"],
        "income": ["low", "high", "other", "high", None],
    }
)
# (age − 40)/20, (visits − 5)/5, smoker, A, B, (unknown)
ENCODED = [
    [-1.0, -1.0, 1, 1, 0, 0],
    [1.0, 1.0, 0, 0, 1, 0],
    [0.5, 0.0, 0, 0, 0, 1],
    [0.0, 1.0, 1, 0, 0, 1],
    [1.0, -0.6, 0, 1, 0, 0],
]
ANSWERS = [-1, 1, 0, 1, 0]
FEATURES = ("age", "visits", "smoker", "ward")
MODEL = BayesianLogisticRegression("income", FEATURES, norm=8, labels=("low", "high"))


@pytest.fixture
def table():
    return Table.open(ROWS, schema=SCHEMA)


def test_rows_and_answers_are_what_the_schema_says(table):
    counted = bounded(table, MODEL).read()
    rows = counted.values.rows
    np.testing.assert_allclose(rows[:, :-1], ENCODED, atol=8 * 2.0**-19)
    assert (rows[:, -1] == 4).all()
    assert counted.values.answers.tolist() == ANSWERS
    assert counted.n == 5


def test_names_follow_the_design(table):
    assert bounded(table, MODEL).model.names == (
        *("age", "visits", "smoker", "ward = A", "ward = B", "ward = (unknown)"),
        "(intercept)",
    )


def test_long_rows_are_scaled_to_the_norm_exactly(table):
    model = BayesianLogisticRegression("income", FEATURES, norm=1, intercept=False, labels=("low", "high"))
    statistic = bounded(table, model)
    q = statistic.read().values.rows / float(statistic.model.ball.grid)
    assert np.array_equal(q, np.rint(q))  # on the grid, so that the sum below is exact
    assert ((q.astype(np.int64) ** 2).sum(axis=1) <= statistic.model.ball.largest**2).all()
    wanted = np.array(ENCODED) / np.maximum(np.linalg.norm(ENCODED, axis=1), 1)[:, None]
    np.testing.assert_allclose(q * float(statistic.model.ball.grid), wanted, atol=2.0**-19)


def test_public_rows_are_encoded_like_private_ones(table):
    _, model = designed(table, MODEL)
    columns = {name: ROWS[name].to_numpy() for name in FEATURES}
    np.testing.assert_allclose(encoded(model.design, columns), ENCODED, atol=1e-12)
    with pytest.raises(ValueError, match="ward"):
        encoded(model.design, {name: columns[name] for name in FEATURES[:-1]})


def test_an_unknown_level_may_be_a_declared_one():
    kinds = {**SCHEMA, "ward": Categories(["A", "B"], unknown="B")}
    statistic = bounded(Table.open(ROWS, schema=kinds), MODEL)
    indicator = statistic.read().values.rows[:, 3]  # of two levels, against the first
    assert statistic.model.design[3].reference == "A"
    np.testing.assert_allclose(indicator, [0, 1, 1, 1, 0])
    np.testing.assert_allclose(
        encoded(statistic.model.design, {n: ROWS[n].to_numpy() for n in FEATURES})[:, 3], indicator
    )


def test_counts_are_answers_of_a_poisson_model(table):
    model = GeneralizedLinear("visits", ("age", "smoker"), norm=2, loss=ClippedPoisson(6))
    assert bounded(table, model, clip=True).read().values.answers.tolist() == [0, 6, 5, 6, 2]


def test_binary_and_derived_targets(table):
    model = BayesianLogisticRegression("smoker", ("age",), norm=1)
    assert bounded(table, model).read().values.answers.tolist() == [1, -1, -1, 1, -1]
    derived = table.derive(old=col("age") >= 50)
    model = BayesianLogisticRegression("old", ("visits",), norm=1)
    assert bounded(derived, model).read().values.answers.tolist() == [-1, 1, 1, -1, 1]


def test_filters_leave_rows_out_and_may_leave_none(table):
    few = bounded(table.where(col("age") > 45), MODEL, ADD_REMOVE)
    assert few.n is None
    assert few.read().n == 3
    nobody = bounded(table.where(col("visits") > 50), MODEL, ADD_REMOVE).read()
    assert (nobody.n, nobody.values.rows.shape, nobody.values.answers.shape) == (0, (0, 7), (0,))


def test_units_bring_at_most_their_rows():
    rows = pd.concat([ROWS] * 4).assign(person=["a"] * 10 + ["b"] * 9 + ["c"])
    table = Table.open(rows, schema=SCHEMA, unit="person", rows_per_unit=3)
    assert bounded(table, MODEL, ADD_REMOVE).read().n == 7


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"labels": ("low", "huge")}, "declared"),
        ({"target": "visits", "features": ("age",)}, "labels"),
        ({"target": "nowhere"}, "nowhere"),
        ({"features": ("age", "nowhere")}, "nowhere"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused_before_anything_is_read(table, given, match):
    wrong = BayesianLogisticRegression(
        **{"target": "income", "features": FEATURES, "norm": 2, "labels": ("low", "high"), **given}
    )
    with pytest.raises((KeyError, ValueError), match=match):
        bounded(table, wrong)


def test_categories_are_no_counts(table):
    with pytest.raises(TypeError, match="Bounded, Count or Binary"):
        bounded(table, GeneralizedLinear("ward", ("age",), norm=1, loss=ClippedPoisson(3)))


def test_the_norm_must_be_public():
    with pytest.raises(ValueError, match="public knowledge"):
        BayesianLogisticRegression("income", FEATURES)
    with pytest.raises(ValueError, match="norm"):
        BayesianLogisticRegression("income", FEATURES, norm=float("nan"))
    with pytest.raises(ValueError, match="predict itself"):
        BayesianLogisticRegression("age", FEATURES, norm=1)


def test_nothing_of_the_rows_shows(table):
    statistic = bounded(table, MODEL)
    assert "999" not in repr(statistic) + repr(statistic.read()) + repr(statistic.read().values)
