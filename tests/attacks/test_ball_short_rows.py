"""Rows of any length, down to the smallest double, keep 1 − 2^-10 of it on the grid, however many columns."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.families.records import Ball
from discreet.models.generalized_linear import Feature
from discreet.models.regression_records import moment_ball, rows_of, signed_moments
from discreet.posteriors.normal.algebra_kernel import to_ball as one_to_ball
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
SMALLEST = 5e-324

SHAPES = {
    "any": lambda rng, d: rng.normal(size=(12, d)),
    "few": lambda rng, d: rng.normal(size=(12, d)) * (rng.random((12, d)) < 2 / d) + np.eye(1, d),
    "wide": lambda rng, d: rng.normal(size=(12, d)) * np.exp(rng.uniform(-40, 0, (12, d))),
    "equal": lambda rng, d: rng.choice([-1.0, 1.0], (12, 1)) * np.ones((12, d)),
}
columns = st.one_of(st.integers(1, 40), st.integers(41, 2000))
exponents = st.one_of(st.just(0), st.integers(-300, 300))


def rows_within(norm, d, shape, seed, shortest):
    """Rows of that shape, their lengths from norm·2^shortest to norm, evenly by the logarithm."""
    rng = np.random.default_rng(seed)
    x = SHAPES[shape](rng, d).astype(np.longdouble)
    x *= norm / np.sqrt((x * x).sum(axis=1, keepdims=True)) * (1 - 2.0**-50)
    down = np.rint(np.linspace(shortest, 0, 12))[:, None].astype(int)
    x = np.ldexp(x, down).astype(float)
    return x[(x != 0).any(axis=1)]


def lengths(x):
    """Of rows of doubles or whole numbers: no square of an extended double vanishes here."""
    x = x.astype(np.longdouble)
    return np.sqrt((x * x).sum(axis=1))


def held(ball, x, q):
    """In whole numbers, Σq² ≤ R²; and every row keeps its length."""
    square = np.einsum("ij,ij->i", q, q)  # below 2^53
    assert (square <= ball.largest**2).all()
    assert (lengths(q) * float(ball.grid) >= KEPT * lengths(x)).all()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    d=columns, exponent=exponents, bits=st.integers(11, 25), shape=st.sampled_from(sorted(SHAPES)),
    shortest=st.sampled_from([-8, -16, -40, -700, -1300]), seed=st.integers(0, 2**32),
)  # fmt: skip
def test_every_row_inside_keeps_its_length(d, exponent, bits, *, shape, shortest, seed):
    norm = min(1.7 * 2.0**exponent, 2.0**300)
    ball = Ball(Fraction(norm), Fraction(2) ** (exponent - bits))
    x = rows_within(norm, d, shape, seed, shortest)
    q = ball.integers(x, d)
    held(ball, x, q)
    side_by_side = np.ascontiguousarray(x.T)
    to_ball(side_by_side, ball.settings(d))
    assert np.array_equal(side_by_side.T, q)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(d=columns, exponent=exponents, shape=st.sampled_from(sorted(SHAPES)), seed=st.integers(0, 2**32))
def test_on_the_default_grid_of_every_model(d, exponent, shape, seed):
    norm = min(1.01 * 2.0**exponent, 2.0**300)
    x = rows_within(norm, d, shape, seed, -1300)
    design = [Feature(f"x{i}") for i in range(d)]
    logistic = dc.BayesianLogisticRegression("y", tuple(f.column for f in design), norm=norm).bind(design)
    held(logistic.ball, x, np.rint(rows_of(logistic, x)[:, :d] / float(logistic.ball.grid)))
    held(moment_ball(logistic), x, moment_ball(logistic).integers(x, d))
    wide = min(d, 20)  # priors are matrices of fractions
    wishart = dc.NormalInverseWishart([0] * wide, 1, wide + 1, np.eye(wide, dtype=int).tolist(), radius=norm)
    line = dc.BayesianLinearRegression([0] * wide, np.eye(wide, dtype=int).tolist(), 1, 1, radius=norm)
    for model, k in ((wishart, wide), (line, wide + 1)):
        rows = rows_within(norm, k, shape, seed, -1300)
        held(model.ball, rows, model.ball.integers(rows, k))


@pytest.mark.parametrize("d", [64, 256, 1024, 1600])
def test_many_columns_are_added_in_one_order(d):
    """Rows (c, …, c) are shortened to 512½ steps a column, where the last bit of their norm decides."""
    ball = Ball(Fraction(1025 * int(sqrt(d)), 2), Fraction(1))
    x = np.repeat(np.random.default_rng(d).uniform(1000, 9000, (500, 1)), d, axis=1)
    q = np.ascontiguousarray(x.T)
    to_ball(q, ball.settings(d))
    assert np.array_equal(q.T, ball.integers(x, d))
    assert len(np.unique(q[-1])) == 2


@pytest.mark.parametrize("d", [1, 2, 5, 7])
@pytest.mark.parametrize("bits", [4, 14])
def test_imagined_rows_are_rounded_like_real_ones(d, bits):
    ball = Ball(Fraction(1), Fraction(1, 2**bits))
    x = np.concatenate([rows_within(1.0, d, shape, 3, -20) for shape in sorted(SHAPES)] * 2) * 1.5
    rows = x * 2.0**bits
    for row in rows:
        one_to_ball(row, float(ball.largest))
    assert np.array_equal(rows, ball.integers(x, d))


@pytest.mark.parametrize("steps", [1, 2, 5, 100, 1023])
def test_coarse_grids_lose_no_row_and_round_to_the_nearest(steps):
    """Fewer than 2^10 steps cannot keep the promise on the edge: ‖x‖ − (√d/2 + 2)g is kept, and one step."""
    ball = Ball(Fraction(steps), Fraction(1))
    for d in (1, 3, 40):
        x = rows_within(float(steps), d, "any", steps, -30)
        q = ball.integers(x, d)
        length = lengths(q)
        assert ((length >= 1) & (length <= steps)).all()
        assert (length >= lengths(x) - sqrt(d) / 2 - 2).all()
        inside = lengths(x) < steps - sqrt(d)
        nearest = np.floor(x + 0.5)
        kept = inside & nearest.any(axis=1)
        assert np.array_equal(q[kept], nearest[kept])


def test_zeros_stay_zeros():
    ball = Ball(Fraction(1), Fraction(1, 2**14))
    assert not ball.integers([[0.0, -0.0], [np.nan, 0.0]], 2).any()
    assert ball.integers([[0.0, -SMALLEST], [np.nan, 1e-200]], 2).tolist() == [[0, -1], [0, 1]]


# --- on every engine ------------
N, D = 240, 4
NAMES = tuple(f"c{i}" for i in range(D))
RNG = np.random.default_rng(4)
X = RNG.normal(size=(N, D)) * np.exp(RNG.uniform(-14, 0, (N, 1)))
X[:60] *= 10.0 ** -RNG.integers(0, 320, (60, D)).astype(float)
X[60:80] *= RNG.random((20, D)) < 0.1
X[80] = X[81] = 0
X[81, 3] = SMALLEST
X[82] = -SMALLEST
X = np.clip(X, -1, 1)
Y = RNG.integers(0, 2, N)
TABLE = pa.table({**{c: X[:, i] for i, c in enumerate(NAMES)}, "y": Y, "text": ["t"] * N})
SCHEMA = {**dict.fromkeys(NAMES, dc.Bounded(-1, 1)), "y": dc.Binary()}
WISHART = dc.NormalInverseWishart([0] * D, 1, D + 1, np.eye(D, dtype=int).tolist(), radius=1)
SIGNS = dc.BayesianLogisticRegression("y", NAMES, norm=1, intercept=False)


def in_memory():
    model, signs = SIGNS.bind([Feature(c) for c in NAMES]), np.where(Y == 1, 1.0, -1.0)
    rows = rows_of(model, X)
    return [
        WISHART.statistic(X),
        signed_moments(model, X, signs),
        rows[np.lexsort(rows.T)],
    ]


def on(source, **where):
    table = Table.open(source, schema=SCHEMA, n=N, **where)
    rows = bounded(table, SIGNS).read().values.rows
    sums = [
        bounded(table[NAMES], WISHART).read().values,
        bounded(table, SIGNS, reads="moments").read().values,
    ]
    return [*sums, rows[np.lexsort(rows.T)]]


def same(found):
    for here, there in zip(in_memory(), found, strict=True):
        assert np.array_equal(here, there)


def test_the_table_has_rows_of_every_length():
    short = lengths(X) * 2.0**14 < 1
    assert short.sum() > 20
    assert (lengths(X) > 1).sum() > 5
    q = WISHART.ball.integers(X, D)
    assert (q.any(axis=1) == X.any(axis=1)).all()
    assert (np.abs(q)[short].max(axis=1) <= 1).all()


def test_short_rows_on_the_embedded_engine():
    same(on(TABLE))


def test_short_rows_on_postgres(load_postgres, postgres_url):
    same(on(postgres_url, table=load_postgres(TABLE, "short")))


def test_short_rows_on_spark(spark):
    import ibis

    spark.createDataFrame(TABLE.to_pandas()).createOrReplaceTempView("short")
    same(on(ibis.pyspark.connect(spark).table("short")))


@pytest.mark.parametrize("half", [2.0**-495, 1.0, 2.0**400])
def test_scaling_by_bounds_wipes_no_number(half):
    """Numbers below 2^-500 counted as 0 before they were scaled, in columns as narrow as that, too."""
    x = np.array([half, -half / 3, half * 2.0**-30, -(2.0**-1000), SMALLEST])
    source = pa.table({"x": x, "y": [0, 1, 0, 1, 0]})
    table = Table.open(source, schema={"x": dc.Bounded(-half, half), "y": dc.Binary()}, n=5)
    model = dc.BayesianLogisticRegression("y", "x", norm=1, intercept=False)
    rows = bounded(table, model).read().values.rows[:, 0]
    assert (np.sign(rows) == np.sign(x)).all()
    assert (np.abs(rows) >= KEPT * np.abs(x / half)).all()
    squares = bounded(table, model, reads="moments").read().values[1] * float(moment_ball(model).grid) ** 2
    assert squares >= KEPT**2 * (1 + 1 / 9)
    least = moment_ball(model).integers((x / half)[:, None] + np.sign(x)[:, None] * SMALLEST, 1)[:, 0]
    assert squares == (least**2).sum() * float(moment_ball(model).grid) ** 2
