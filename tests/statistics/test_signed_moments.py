"""Signed moments of a logistic regression: the same integers from engines and from plain NumPy.

Spark is compared with the embedded engine in test_regression_line.py.
"""

import numpy as np
import pytest

import discreet as dc
from discreet.models.generalized_linear import BayesianLogisticRegression
from discreet.statistics.records import bind_design
from discreet.statistics.signed_moments import signed
from discreet.tables.schema import Binary, Bounded, Categories, Count
from discreet.tables.table import Table

pytestmark = [
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]
SCHEMA = {
    "age": Bounded(0, 100),
    "warmth": Bounded(-50.3, 49.9, grid=2**-4, missing=20.1),
    "visits": Count(20, missing=3),
    "smoker": Binary(),
    "ward": Categories(["A", "B"], unknown="(unknown)"),
    "region": Categories(range(4), unknown="(unknown)"),
}
FEATURES = ("age", "warmth", "visits", "smoker", "ward")
MODEL = BayesianLogisticRegression("region", FEATURES, norm=1.3, labels=(1, 3))
GRID, R, A = 2.0**-14, 21299, 10649  # 2/2^15; ⌊1.3/g⌋, ⌊0.65/g⌋


def doubles(rows, name):
    return rows[name].to_numpy(zero_copy_only=False).astype(np.float64)


def clipped(x, lower, upper, missing):
    return np.where(np.isnan(x), missing, np.clip(x, lower, upper))


def encoded(rows):
    """Features in [−1, 1] and signs, as docs/polynomial-regression.md says; no code of the library."""
    warmth = np.clip(
        np.floor(clipped(doubles(rows, "warmth"), -50.3, 49.9, 20.1) * 16 + 0.5) / 16, -50.3, 49.9
    )
    centre, half = -50.3 / 2 + 49.9 / 2, 49.9 / 2 + 50.3 / 2
    ward = np.array(rows["ward"].to_pylist(), dtype=object)
    x = [
        np.clip(clipped(doubles(rows, "age"), 0, 100, 0) * (1 / 50) - 1, -1, 1),
        warmth * (1 / half) + (-centre / half),
        clipped(doubles(rows, "visits"), 0, 20, 3) * (1 / 10) - 1,
        doubles(rows, "smoker") == 1,
        ward == "A",
        ward == "B",
        (ward != "A") & (ward != "B"),
    ]
    region = doubles(rows, "region")
    return np.column_stack(x).astype(np.float64), (region == 3) * 1 - (region == 1) * 1


def expected(rows):
    x, sign = encoded(rows)
    x = x / GRID
    square = np.square(x).sum(axis=1)
    y = x * (R / np.maximum(np.sqrt(square), R))[:, None]
    q, less = np.floor(y + 0.5), np.trunc(y * (1 - (x.shape[1] + 8) * 2.0**-50))
    least = np.clip((1 - 2.0**-9 + 2.0**-19) * square, 0.5, (R - 1) ** 2)
    more = np.where(y > 0, np.ceil(y), np.floor(y))
    for i in range(x.shape[1]):  # one entry after another, until the row fits, or has kept its length
        long, short = np.square(q).sum(axis=1) > R * R, np.square(q).sum(axis=1) < least
        q[long, i], q[short, i] = less[long, i], more[short, i]
    q = q.astype(np.int64)
    r = np.column_stack([q, np.full(len(q), A)]) * sign[:, None]
    d = r.shape[1]
    second = [int((r[:, i] * r[:, j]).sum()) for i in range(d) for j in range(i, d)]
    return np.array([*r.sum(axis=0).tolist(), *second])


@pytest.fixture(scope="module")
def few(make_rows):
    return make_rows(2000, 5)


def read(source, **where):
    table, fitted = bind_design(Table.open(source, schema=SCHEMA, **where), MODEL)
    return signed(table, fitted, 2000)()


def test_embedded(few):
    got = read(few)
    assert got.n == 2000
    assert np.array_equal(got.values, expected(few))
    assert not np.array_equal(got.values, expected(few.slice(100)))


def test_parquet_and_the_layout_of_rows(few, tmp_path):
    from pyarrow import parquet as pq

    order = np.random.default_rng(3).permutation(few.num_rows)
    pq.write_table(few.take(order), tmp_path / "rows.parquet")
    assert np.array_equal(read(tmp_path / "rows.parquet").values, expected(few))


def test_postgres(few, load_postgres, postgres_url):
    got = read(postgres_url, table=load_postgres(few, "signs"))
    assert got.n == 2000
    assert np.array_equal(got.values, expected(few))


def test_at_most_two_rows_a_unit(few):
    table, model = bind_design(Table.open(few, schema=SCHEMA, unit="user", rows_per_unit=2), MODEL)
    got = signed(table, model, None)()
    users = [u for u in few["user"].to_pylist() if u is not None]
    counts = np.unique(users, return_counts=True)[1]
    assert got.n == np.minimum(counts, 2).sum()
    assert got.values[-1] <= got.n * A * A


def test_filters_need_add_remove_and_are_obeyed(few):
    table = Table.open(few, schema=SCHEMA).where(dc.col("age") >= 65)
    chosen, model = bind_design(table, MODEL)
    kept = clipped(doubles(few, "age"), 0, 100, 0) >= 65
    got = signed(chosen, model, None)()
    assert got.n == kept.sum()
    assert np.array_equal(got.values, expected(few.filter(kept)))
