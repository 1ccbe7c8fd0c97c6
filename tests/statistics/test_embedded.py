"""What the embedded engine streams and this process counts, against plain Python: rows, units, layouts."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import discreet as dc
from discreet.families.records import Ball, Lattice
from discreet.statistics import joint, sums
from discreet.statistics.cells import counts
from discreet.statistics.kernel import mixed, tally, to_ball
from discreet.statistics.sums import _kept as kept
from discreet.tables.rows import ROUNDS
from discreet.tables.schema import Binary, Bounded, Categories, Count
from discreet.tables.table import Table

P = 2**31 - 1


def mix(unit):
    h = (unit % P * 1_588_635_695 + 1_013_904_223) % P
    h = (h * 1_117_695_901 + 1_664_525_881) % (2**31 - 19)
    return (h * 1_703_900_269 + 374_761_393) % (2**31 - 61)


def sample(units, values, k):
    """At most k rows a unit, as the documentation words it."""
    out = []
    for unit in set(units.tolist()):
        mine = sorted(values[units == unit].tolist())
        total, start = len(mine), mix(unit) % len(mine)
        out += [v for r, v in enumerate(mine) if total <= k or (r * k + start) % total < k]
    return sorted(out)


# --- units ------------
FAR_APART = np.array([-(2**63), -(2**40), -1, 0, 7, 2**40, 2**63 - 1])  # with a value they do not fit 63 bits
CLOSE = np.arange(-3, 40)


@pytest.mark.parametrize("names", [FAR_APART, CLOSE, np.array([5])], ids=["far apart", "close", "one"])
@pytest.mark.parametrize("k", [1, 2, 3, 7, 400])
def test_the_rows_that_count(names, k):
    rng = np.random.default_rng(k)
    units, values = rng.choice(names, 300), rng.integers(0, 100, 300)
    found = kept(units.copy(), values.astype(np.int32), 100, k)
    assert sorted(found.tolist()) == sample(units, values, k)


def test_nobody():
    assert kept(np.empty(0, np.int64), np.empty(0, np.int32), 100, 3).size == 0


def test_the_choice_reads_no_other_unit():
    rng = np.random.default_rng(5)
    units, values = rng.integers(0, 9, 200), rng.integers(0, 50, 200).astype(np.int32)
    both = sorted(kept(units.copy(), values, 50, 2).tolist())
    apart = [kept(units[units == u].copy(), values[units == u], 50, 2).tolist() for u in range(9)]
    assert both == sorted(itertools.chain(*apart))


def test_the_hash_is_the_documented_one():
    for unit in [0, 1, -1, 2**31, -(2**31), 2**63 - 1, -(2**63)]:
        assert mixed(unit, np.array(ROUNDS)) == mix(unit)


def test_sums_over_units_of_any_width(tmp_path):
    """The same from the engine's window (a text unit has no other) and from the sort."""
    rng = np.random.default_rng(6)
    units, x = rng.choice(FAR_APART, 500), rng.normal(50, 60, 500)
    pq.write_table(pa.table({"unit": units, "x": x}), tmp_path / "rows.parquet")
    table = Table.open(tmp_path / "rows.parquet", schema={"x": Bounded(0, 100)}, unit="unit", rows_per_unit=3)
    mean = dc.NormalMean(50, 1, variance=9, lower=0, upper=100)
    assert sums.sortable(table, mean.lattice)
    q = np.floor(np.clip(x, 0, 100) * 256 + 0.5).astype(np.int64)
    expected = sample(units, q, 3)
    got = table["x"].bounded(mean, dc.ADD_REMOVE).read()
    assert (got.values.tolist(), got.n) == ([sum(expected)], len(expected))
    spread = dc.NormalInverseGamma(50, 1, shape=2, scale=9, lower=0, upper=100)
    centred = [v - spread.middle for v in sample(units, q, 3)]
    first, second = table["x"].bounded(spread, dc.ADD_REMOVE).read().values.tolist()
    assert second == sum(v * v for v in centred)
    assert first * sum(centred) > 0
    assert first % sum(centred) == 0


def test_too_many_values_or_text_units_go_to_the_engine(tmp_path):
    pq.write_table(pa.table({"a": ["u"], "b": [1], "x": [1.0]}), tmp_path / "rows.parquet")
    schema, wide = {"x": Bounded(0, 100)}, Lattice(0, 2**40, Fraction(1))
    by_text, by_number = (
        Table.open(tmp_path / "rows.parquet", schema=schema, unit=u, rows_per_unit=1) for u in "ab"
    )
    narrow = dc.NormalMean(50, 1, variance=9, lower=0, upper=100).lattice
    assert sums.sortable(by_number, narrow)
    assert not sums.sortable(by_number, wide)
    assert not sums.sortable(by_text, narrow)


# --- cells ------------
LEVELS = {"text": ["b", "a", "", "é"], "sparse": [7, -3, 10**12], "small": [1, 0, 300], "dense": [0, 1, 2]}
SCHEMA = {
    "text": Categories(LEVELS["text"]),
    "sparse": Categories(LEVELS["sparse"], unknown=-3),
    "small": Categories(LEVELS["small"]),
    "dense": Categories(LEVELS["dense"], unknown="(unknown)"),
    "flag": Binary(),
    "falls": Count(2, missing=1),
    "half": Categories([0.5, 1.5], unknown="(unknown)"),
}


def cells_rows(n):
    rng = np.random.default_rng(7)

    def some(values, dtype):
        return pa.array([values[i] for i in rng.integers(0, len(values), n)], type=dtype)

    return pa.table(
        {
            "text": some(["a", "b", "é", "e\u0301", "", "A", None], pa.string()),
            "sparse": some([7, -3, 10**12, 10**12 + 1, -(2**63), None], pa.int64()),
            "small": some([0, 1, 44, -128, None], pa.int8()),  # 300 does not fit, and 44 = 300 − 256
            "dense": some([0, 1, 2, 3, -1, 2**31 - 1, None], pa.int32()),
            "flag": some([True, False, None], pa.bool_()),
            "falls": some([0, 1, 2, 5, -5, None], pa.int16()),
            "half": some([0.5, 1.5, float("nan"), -0.0, None], pa.float64()),
        }
    )


def code(name, value):
    if name == "flag":
        return int(value is True)
    if name == "falls":
        return 1 if value is None else min(max(value, 0), 2)
    kind = SCHEMA[name]
    return kind.levels.index(value) if value in kind.levels else kind.elsewhere


def expected_cells(rows, features, by):
    sizes = {n: 2 if n == "flag" else 3 if n == "falls" else SCHEMA[n].size for n in (*features, *by)}
    columns = {n: [code(n, v) for v in rows[n].to_pylist()] for n in (*features, *by)}
    flat = []
    for feature in features:
        table = np.zeros([sizes[n] for n in (*by, feature)], dtype=np.int64)
        np.add.at(table, tuple(np.array(columns[n]) for n in (*by, feature)), 1)
        flat += table.reshape(-1).tolist()
    return flat


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("by", [(), ("text",), ("flag", "sparse")])
def test_cells_of_a_parquet_file(tmp_path, dictionary, by):
    rows = cells_rows(2000)
    pq.write_table(rows, tmp_path / "rows.parquet", use_dictionary=dictionary, row_group_size=700)
    table = Table.open(tmp_path / "rows.parquet", schema=SCHEMA)
    features = [name for name in SCHEMA if name not in by]
    assert counts(table, features, by=by).read().values.tolist() == expected_cells(rows, features, by)


def test_every_group_of_many_features(tmp_path, monkeypatch):
    """Where the joint cells are too many for one key, one pass gives several keys; or the engine counts."""
    rows = cells_rows(500)
    pq.write_table(rows, tmp_path / "rows.parquet")
    table, expected = Table.open(tmp_path / "rows.parquet", schema=SCHEMA), expected_cells(rows, SCHEMA, ())
    for most in (200, 3):  # 3: not even one feature fits
        monkeypatch.setattr(joint, "EMBEDDED", most)
        assert len(joint.grouped(table, tuple(SCHEMA), ())) > 1
        assert counts(table, list(SCHEMA)).read().values.tolist() == expected


def test_a_file_written_anew_is_read_anew(tmp_path):
    """Though its metadata are cached."""
    path = tmp_path / "rows.parquet"
    for n in (300, 500):
        pq.write_table(cells_rows(n), path)
        if n == 300:
            statistic = counts(Table.open(path, schema=SCHEMA), ["text"], relation=dc.ADD_REMOVE)
        assert statistic.read().n == n


def test_a_key_without_a_place_is_refused():
    cells = np.zeros(3, np.int64)
    assert tally(np.array([2, 0, 2], np.int32), cells)
    assert cells.tolist() == [1, 0, 2]
    assert not tally(np.array([3], np.int32), cells)
    assert not tally(np.array([-1], np.int32), cells)


# --- rows in a ball ------------
def equal_entries(width):
    """Rows (c, …, c): shrunk to radius 3 entries fall on a step, so the last bit of the norm decides."""
    return np.repeat(np.random.default_rng(8).uniform(1, 9, 2000)[:, None], width, axis=1)


def test_the_layout_of_the_array_does_not_matter():
    ball = Ball(Fraction(3), Fraction(1, 2**9))
    x = equal_entries(9)
    columnwise = np.sqrt((np.asfortranarray(x) ** 2).sum(axis=1))
    assert (columnwise != np.sqrt((x**2).sum(axis=1))).any()  # numpy adds in another order
    assert np.array_equal(ball.integers(x, 9), ball.integers(np.asfortranarray(x), 9))


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 16, 17, 25])
def test_the_compiled_ball_is_the_family_s(width):
    ball = Ball(Fraction(3), Fraction(1, 2**9))
    rng = np.random.default_rng(width)
    x = np.concatenate(
        [equal_entries(width), rng.normal(0, 3, (3000, width)), rng.normal(0, 1e-9, (9, width))]
    )
    q = x.T.copy(order="C")
    to_ball(q, ball.settings(width))
    assert np.array_equal(q.T.astype(np.int64), ball.integers(x, width))
