"""Rows as long as the norm itself (0/1, ±1 and one-hot columns) count; the grid wipes none of them."""

from fractions import Fraction
from math import isqrt, sqrt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.datasets import adult
from discreet.experiments.regression.data import ANSWERS
from discreet.families.records import Ball
from discreet.learn import LinearRegression, LogisticRegression
from discreet.mechanisms.sgd.losses import clipped, logistic_loss
from discreet.models.generalized_linear import Feature
from discreet.models.regression_records import moment_ball, rows_of, signed_moments
from discreet.statistics import bounded
from discreet.statistics.kernel import to_ball
from discreet.tables.table import Table

pytestmark = [
    # pandas 4 warns of what pyspark 4.0 and Ibis still ask of it; neither is our call
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated"),
    # py4j leaves its sockets to the collector
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]
KEPT = 1 - 2.0**-10


# --- any row inside the ball keeps its length, and none leaves it ------------
SHAPES = {
    "any": lambda rng, d: rng.normal(size=(40, d)),
    "one-hot": lambda rng, d: np.eye(d)[rng.integers(0, d, 40)],
    "±1": lambda rng, d: rng.choice([-1.0, 1.0], (40, d)),
    "0/1": lambda rng, d: np.maximum(np.eye(d)[rng.integers(0, d, 40)], rng.random((40, d)) < 0.5),
    "equal": lambda rng, d: np.repeat(rng.uniform(1, 9, (40, 1)), d, axis=1),
}
shapes, seeds = st.sampled_from(sorted(SHAPES)), st.integers(0, 2**32)
norms = st.one_of(
    st.just(None),  # √d, to the last bit of a double
    st.floats(0.01, 100),
    st.sampled_from([1.0, 3.0, 2.0**-300, 2.0**300, 1e-90, 1e90, 1e-20, 1e20]),
)


def rows_on(norm, d, shape, seed, *, shortest=1.0):
    """Rows of that shape no longer than norm and, but for `shortest`, as long as doubles allow."""
    rng = np.random.default_rng(seed)
    x = SHAPES[shape](rng, d)
    x /= np.sqrt((x**2).sum(axis=1, keepdims=True))
    return x * norm * rng.uniform(shortest, 1, (40, 1))


def lengths(x):
    largest = np.abs(x).max()
    return np.sqrt(((x / largest) ** 2).sum(axis=1)) * largest


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    d=st.integers(1, 300), bits=st.integers(0, 25), norm=norms, shape=shapes, seed=seeds, beyond=st.booleans()
)
def test_rows_inside_the_ball_keep_their_length(d, bits, norm, shape, seed, *, beyond):
    norm = sqrt(d) if norm is None else norm
    grid = Fraction(2) ** (int(np.floor(np.log2(norm))) - bits)
    ball = Ball(Fraction(norm), grid)
    x = rows_on(norm, d, shape, seed)
    q = ball.integers(x * 3 if beyond else x, d)
    wide = q.astype(object)
    assert ((wide * wide).sum(axis=1) <= ball.largest**2).all()  # exact: Python's integers
    least = ball.largest - sqrt(d) / 2 - 1
    assert np.sqrt((q.astype(float) ** 2).sum(axis=1)).min() >= least
    if ball.largest >= 2**11:
        assert (lengths(q * float(grid)) >= KEPT * norm).all()
    y = np.ascontiguousarray((x * 3 if beyond else x).T)
    to_ball(y, ball.settings(d))
    assert np.array_equal(y.T, q)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(d=st.integers(1, 180), norm=norms, shape=shapes, seed=seeds)
def test_rows_of_regressions_keep_their_length(d, norm, shape, seed):
    norm = sqrt(d) if norm is None else norm
    design = [Feature(f"x{i}") for i in range(d)]
    model = dc.BayesianLogisticRegression("y", tuple(f.column for f in design), norm=norm).bind(design)
    x = rows_on(norm, d, shape, seed, shortest=1 / 16)
    rows = rows_of(model, x)[:, :-1]
    assert (lengths(rows) >= KEPT * lengths(x)).all()
    assert all(sum(Fraction(v) ** 2 for v in row) <= Fraction(norm) ** 2 for row in rows[:3].tolist())
    edge = rows_on(norm, d, shape, seed)
    assert (
        lengths(moment_ball(model).integers(edge, d) * float(moment_ball(model).grid)) >= KEPT * norm
    ).all()


@pytest.mark.parametrize("d", [2, 3, 5, 8, 12])
def test_rows_of_ones_on_a_grid_of_ones(d):
    """⌊√d⌋² < d: as many ones as fit are kept."""
    ball = Ball(Fraction(sqrt(d)), Fraction(1))
    q = ball.integers(np.ones((1, d)), d)
    assert sorted(q[0].tolist()) == [0] * (d - ball.largest**2) + [1] * ball.largest**2


@pytest.mark.parametrize("d", [1, 9, 100, 3000])
def test_no_rounding_of_doubles_leaves_the_ball(d):
    """With 2^25 steps Σq² is seen to the last step: a norm too small by a few ulps would show."""
    ball = Ball(Fraction(2**25), Fraction(1))
    rng = np.random.default_rng(d)
    x = (
        np.concatenate([rng.normal(size=(200, d)), np.ones((1, d)), np.sqrt(np.arange(1.0, d + 1))[None]])
        * 1e12
    )
    q = ball.integers(x, d).astype(object)
    square = (q * q).sum(axis=1)
    assert (square <= 2**50).all()
    assert (square >= (2**25 - isqrt(d) // 2 - 2) ** 2).all()


def test_norms_that_doubles_cannot_square_are_refused():
    """At 1e-200 squares vanish: a row of 1e-180 passed for short, and left as −2^63 steps."""
    with pytest.raises(ValueError, match=r"within 2\^±300; measure the columns in other units"):
        dc.BayesianLinearRegression([0], [[1]], 1, 1, radius=Fraction(1, 10**200))
    with pytest.raises(ValueError, match=r"within 2\^±300"):
        Ball(Fraction(10) ** 200, Fraction(2) ** 650)
    least = Ball(Fraction(1, 2**300), Fraction(1, 2**320))
    assert least.integers([[1e300, 0], [2.0**-301, 0], [5e-324, 0]], 2).tolist() == [
        [2**20, 0],
        [2**19, 0],
        [1, 0],
    ]


def test_noisy_sgd_neither_wipes_nor_spares_far_rows():
    """An entry of 1e200 made a row of zeros; rows of 1e-170 passed a norm of 1e-180 as they were."""
    (rows, _) = clipped(
        (np.array([[1e200, 1e200], [3.0, 4.0], [np.inf, 0.0]]), np.ones(3)), logistic_loss(norm=1.0)
    )
    np.testing.assert_allclose(rows, [[sqrt(0.5), sqrt(0.5)], [0.6, 0.8], [1, 0]], rtol=1e-12)
    (rows, _) = clipped((np.array([[3e-130, 4e-130]]), np.ones(1)), logistic_loss(norm=1e-150))
    np.testing.assert_allclose(rows, [[6e-151, 8e-151]], rtol=1e-12)


# --- on every engine ------------
N, COLUMNS = 200, ("a", "b", "c")
BITS = np.random.default_rng(3).integers(0, 2, (N, len(COLUMNS)))
TABLE = pa.table(
    {**{c: BITS[:, i].astype(np.float64) for i, c in enumerate(COLUMNS)}, "y": BITS[:, 0], "text": ["t"] * N}
)
SCHEMA = {**dict.fromkeys(COLUMNS, dc.Bounded(0, 1)), "y": dc.Binary()}
WISHART = dc.NormalInverseWishart([0] * 3, 1, 4, np.eye(3).tolist(), radius=sqrt(3))
LINE = dc.BayesianLinearRegression([0, 0], np.eye(2).tolist(), 1, 1, radius=sqrt(3))
SIGNS = dc.BayesianLogisticRegression("y", COLUMNS, norm=sqrt(3), intercept=False)


def in_memory():
    x, signs = BITS.astype(float), np.where(BITS[:, 0] == 1, 1.0, -1.0)
    design = [Feature(c, 0.5, 0.5) for c in COLUMNS]
    return [WISHART.statistic(x), LINE.statistic(x), signed_moments(SIGNS.bind(design), 2 * x - 1, signs)]


def on(source, **where):
    table = Table.open(source, schema=SCHEMA, n=N, **where)
    asked = [
        (table[COLUMNS], WISHART, "statistic"),
        (table[COLUMNS], LINE, "statistic"),
        (table, SIGNS, "moments"),
    ]
    rows = bounded(table, SIGNS).read().values.rows  # what other mechanisms than moments look at
    assert (np.sqrt((rows**2).sum(axis=1)) >= KEPT * sqrt(3)).all()
    return [bounded(t, model, reads=reads).read().values for t, model, reads in asked]


def held_to_the_squares(found):
    """A row of ones is as long as the radius: entries of Σxxᵀ come back to 2^-9, and those of ±1 as well."""
    upper = np.triu_indices(3)
    truth = (BITS.T @ BITS)[upper]
    for values, model in ((found[0][3:], WISHART), (found[1], LINE)):
        np.testing.assert_allclose(values * model.units[-1], truth, rtol=2.0**-9)
    sign = 2.0 * BITS - 1
    step = float(moment_ball(SIGNS).grid)
    np.testing.assert_allclose(found[2][3:] * step**2, (sign.T @ sign)[upper], rtol=2.0**-9, atol=N * 2.0**-9)
    assert found[2][3] * step**2 > N * KEPT**2


def test_rows_of_ones_in_memory_and_on_the_embedded_engine():
    held_to_the_squares(in_memory())
    for here, there in zip(in_memory(), on(TABLE), strict=True):
        assert np.array_equal(here, there)


def test_rows_of_ones_on_postgres(load_postgres, postgres_url):
    got = on(postgres_url, table=load_postgres(TABLE, "edge"))
    held_to_the_squares(got)
    for here, there in zip(in_memory(), got, strict=True):
        assert np.array_equal(here, there)


def test_rows_of_ones_on_spark(spark):
    import ibis

    spark.createDataFrame(TABLE.to_pandas()).createOrReplaceTempView("edge")
    got = on(ibis.pyspark.connect(spark).table("edge"))
    held_to_the_squares(got)
    for here, there in zip(in_memory(), got, strict=True):
        assert np.array_equal(here, there)


# --- results ------------
def one_hot_census():
    columns = ("relationship", "occupation", "sex")
    data = adult(*columns, "income", "split")
    x = np.column_stack([data[c] == level for c in columns for level in ANSWERS[c]]).astype(float)
    assert np.array_equal((x**2).sum(axis=1), np.full(len(x), 3.0))
    y, train = np.where(data["income"] == ">50K", 1, -1), data["split"] == "train"
    return (x[train][::8], y[train][::8]), (x[~train][::8], y[~train][::8])


def zeros_and_ones():
    rng = np.random.default_rng(1)
    x = (rng.random((4000, 6)) < 0.5).astype(float)
    y = np.where(rng.logistic(size=4000) < x @ [6, -6, 4, -4, 5, -5], 1, -1)
    return (x[:3000], y[:3000]), (x[3000:], y[3000:])


def error(train, test, mechanism, epsilon, **declared):
    """At one seed, so that both norms meet the same noise."""
    model = LogisticRegression(
        epsilon=epsilon, delta=1e-6, classes=(-1, 1), mechanism=mechanism, random_state=1, **declared
    )
    return float((model.fit(*train).predict(test[0]) != test[1]).mean())


@pytest.mark.parametrize("mechanism", ["objective_perturbation", "polynomial_statistics"])
@pytest.mark.parametrize("epsilon", [0.1, 1, 10, 1000])
def test_logistic_regression_on_one_hot_rows_at_their_own_length(mechanism, epsilon):
    train, test = one_hot_census()
    at, above = (error(train, test, mechanism, epsilon, norm=sqrt(3) * f) for f in (1, 1.001))
    assert abs(at - above) < 0.01
    if epsilon >= 1:
        assert at < 0.21  # a guess of the majority errs at .245, a fit without noise at .180


@pytest.mark.parametrize("mechanism", ["objective_perturbation", "polynomial_statistics"])
@pytest.mark.parametrize("epsilon", [0.1, 1, 10, 1000])
def test_logistic_regression_on_zeros_and_ones_by_their_bounds(mechanism, epsilon):
    train, test = zeros_and_ones()
    default, at, above = (
        error(train, test, mechanism, epsilon, bounds=(0, 1), norm=norm)
        for norm in (None, sqrt(6), 1.001 * sqrt(6))
    )
    assert abs(default - above) < 0.01
    assert abs(at - above) < 0.01
    if epsilon >= 1:
        assert default < 0.12  # a fit without noise errs at .106, the majority at about .5


def test_linear_regression_on_zeros_and_ones_by_their_bounds():
    """Every row is as long as the norm, and answers at their bounds make (x, y) as long as the radius."""
    rng = np.random.default_rng(2)
    x = (rng.random((4000, 4)) < 0.5).astype(float)
    y = np.where(x[:, 0] == 1, 1.0, -1.0)
    model = LinearRegression(epsilon=1000, answers=(-1, 1), bounds=(0, 1), random_state=1).fit(x, y)
    np.testing.assert_allclose(model.coef_, [2, 0, 0, 0], atol=0.02)
