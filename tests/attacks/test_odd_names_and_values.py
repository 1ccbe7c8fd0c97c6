"""Names of columns and levels that mean something to an engine or to us, and values far from others."""

import decimal
import fractions
import itertools
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset
from pyarrow import parquet as pq

import discreet as dc
from discreet.statistics.bounded_statistic import bounded
from discreet.statistics.cells import counts
from discreet.tables.derived.columns import col
from discreet.tables.schema import Binary, Bounded, Categories, Count
from discreet.tables.table import Table, TableError

pytestmark = [
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]
ADD = dc.ADD_REMOVE
MEAN = dc.NormalMean(50, 1, variance=9, lower=0, upper=100, grid=1)
PAIR = dc.NormalInverseWishart([0, 0], 1, degrees=4, scale=[[1, 0], [0, 1]], radius=200)
LOGIT = dc.BayesianLogisticRegression

# what our own queries call their columns, in the letters of others too: on DuckDB and Spark A is a
OURS = [
    "discreet_unit",
    "discreet_answer",
    "discreet_x0",
    "discreet_total",
    "discreet_weight",
    "discreet_rank",
]
OURS += [
    "Q",
    "x0",
    "X1",
    "y",
    "key",
    "V0",
    "count",
    "N",
    "k0",
    "T0",
    "rows",
    "discreet 1 w",
    "square",
    "select",
]


def table_of(a, b, c, w):
    rng = np.random.default_rng(3)
    n = 40
    return pa.table(
        {
            "id": rng.integers(0, 12, n),
            a: rng.integers(0, 100, n).astype(float),
            b: rng.integers(0, 100, n).astype(float),
            c: rng.random(n) < 0.5,
            w: rng.choice(["A", "B", "C"], n),
        }
    )


def everything(source, names, **where):
    a, b, c, w = names
    schema = {
        a: Bounded(0, 100),
        b: Bounded(0, 100),
        c: Binary(),
        w: Categories(["A", "B"], unknown="(unknown)"),
    }
    found = []
    for unit in ({}, {"unit": "id", "rows_per_unit": 2}):
        table = Table.open(source, schema=schema, **where, **unit)
        line = LOGIT(features=[a, w], target=c, norm=2)
        found += [
            table[a].bounded(MEAN, ADD),
            table[a, b].bounded(PAIR, ADD),
            counts(table, [c, w], relation=ADD),
            table[c].bounded(dc.BetaBernoulli(1, 1), ADD),
            bounded(table, line, ADD, reads="moments"),
        ]
    return [values_of(each) for each in found]


def values_of(statistic):
    """The exact integers, read"""
    found = statistic.read()
    return list(found.values)


PLAIN = ("first", "second", "third", "fourth")


@pytest.fixture(scope="module")
def expected():
    return everything(table_of(*PLAIN), PLAIN)


@pytest.mark.parametrize("place", range(0, len(OURS), 4))
def test_columns_called_as_ours_are(expected, tmp_path, place):
    names = OURS[place : place + 4]
    pq.write_table(table_of(*names), tmp_path / "rows.parquet")
    assert everything(tmp_path / "rows.parquet", names) == expected


def test_a_unit_called_as_ours_is():
    rows = table_of(*PLAIN)
    renamed = rows.rename_columns(["discreet_unit", *rows.column_names[1:]])
    schema = {"first": Bounded(0, 100)}
    asked = {
        name: Table.open(source, schema=schema, unit=name, rows_per_unit=2)["first"].bounded(MEAN, ADD)
        for name, source in (("id", rows), ("discreet_unit", renamed))
    }
    one, other = (values_of(each) for each in asked.values())
    assert one == other


LEVELS = [
    "${x}",
    "a${env:HOME}b",
    "$1",
    "%s",
    "%(x)s",
    "a?b",
    ":x",
    "it's",
    'a"b',
    "a\\b",
    "\\u0041",
    "a\nb",
    "--",
    "",
    " a",
    "{x}",
]


def levels_rows():
    return pa.table({"w": [*LEVELS, "A", "x", None], "b": ["${x}"] * 9 + ["$ {x}"] * (len(LEVELS) - 6)})


def levels_read(source, **where):
    schema = {"w": Categories(LEVELS, unknown="(unknown)"), "b": Binary(true="${x}")}
    table = Table.open(source, schema=schema, n=len(LEVELS) + 3, **where)
    return [*values_of(counts(table, ["w"])), *values_of(table["b"].bounded(dc.BetaBernoulli(1, 1)))]


ONCE = [*[1] * len(LEVELS), 3, 9]


def test_levels_in_frames_and_files(tmp_path):
    rows = levels_rows()
    pq.write_table(rows, tmp_path / "rows.parquet")
    for source in (rows, tmp_path / "rows.parquet"):
        assert levels_read(source) == ONCE


def test_levels_on_postgres(load_postgres, postgres_url):
    assert levels_read(postgres_url, table=load_postgres(levels_rows(), "odd_levels")) == ONCE
    with pytest.raises(dc.TableError, match="levels of 'w'"):  # PostgreSQL has no NUL
        Table.open(postgres_url, table="odd_levels", schema={"w": Categories(["a\0"])})


def test_levels_on_spark(spark, tmp_path):
    """Spark puts in what it finds for ${…}, in every text of a query, unless it is told not to."""
    import ibis

    rows = levels_rows().rename_columns(["w", "${b}"]).append_column("b", levels_rows()["b"])
    pq.write_table(rows, tmp_path / "rows.parquet")
    spark.read.parquet(str(tmp_path / "rows.parquet")).createOrReplaceTempView("odd_levels")
    table = ibis.pyspark.connect(spark).table("odd_levels")
    assert levels_read(table) == ONCE
    other = Table.open(table, schema={"${b}": Binary(true="${x}")}, n=len(LEVELS) + 3)
    assert values_of(other["${b}"].bounded(dc.BetaBernoulli(1, 1))) == [9]
    assert spark.conf.get("spark.sql.variable.substitute") == "true"  # as the session had it


def test_truths_among_levels():
    """Where NULL counts as true, a truth is an “or”, which Ibis leaves without brackets before “in”."""
    rows = pa.table({"b": ["yes", "no", None, "no"], "x": [1.5, 0.0, None, 0.0]})
    schema = {"b": Binary(true="yes", missing=True), "x": Binary(true=1.5, missing=True)}
    table = Table.open(rows, schema=schema)
    for name, other in (("b", "x"), ("x", "b")):
        some = table.where(~col(other) & col(name).isin([True, False]))
        assert some[name].bounded(dc.BetaBernoulli(1, 1), ADD).read().n == 2


# --- one value far from others ------------
HUGE = "x" * 1_000_000
SCHEMA = {
    "w": Categories(["A", "B"], unknown="(unknown)"),
    "x": Bounded(0, 100, missing=7),
    "t": Count(9),
    "h": Categories([0.5], unknown="(unknown)"),
}


def answers(source, **where):
    each = Table.open(source, schema=SCHEMA, **where)
    one = Table.open(source, schema=SCHEMA, **where, unit="who", rows_per_unit=1)
    asked = [
        counts(one, ["w", "h"]),
        one["x"].bounded(MEAN),
        each["t"].bounded(dc.GammaPoisson(1, 1, upper=9)),
    ]
    return [values_of(statistic) for statistic in asked]


WANTED = [[1, 0, 2, 1, 2], [107], [18]]  # of (A, 0, 9, 0.5), one far from all, and one that is nothing


def test_object_columns():
    far = [10**400, decimal.Decimal("1e400"), fractions.Fraction(10**400), np.float64("inf")]
    nothing = [None, float("nan"), decimal.Decimal("sNaN"), pd.NaT, "text", b"bytes", {}, 1j, object()]
    for big, none in zip(itertools.cycle(far), nothing, strict=False):
        columns = {
            "who": [HUGE, "b", 3],
            "w": ["A", HUGE, 5 if isinstance(none, str) else none],
            "x": [0, big, none],
            "t": [9.0, big, none],
            "h": [0.5, big, none],
        }
        assert answers(columns if none is None else pd.DataFrame(columns, dtype=object)) == WANTED


TYPED_TEXTS = [
    pd.array(["1", "2", None], dtype="string[python]"),
    pd.array(["1", "2", None], dtype="string[pyarrow]"),
    pd.array(["1", "2", None], dtype=pd.StringDtype("python", na_value=np.nan)),
    pd.array(["1", "2", None], dtype=pd.ArrowDtype(pa.string())),
    pd.Categorical(pd.array(["1", "2", None], dtype="string[python]")),
    np.array(["1", "2", ""]),
]


@pytest.mark.parametrize("texts", TYPED_TEXTS, ids=lambda x: str(getattr(x, "dtype", "")))
@pytest.mark.parametrize("of", [dict, pd.DataFrame])
def test_columns_of_texts_are_no_numbers(texts, of):
    """They have a type: declared as numbers they are refused, and not one by one missing."""
    with pytest.raises(TypeError, match="Bounded cannot read"):
        Table.open(of({"x": texts}), schema={"x": Bounded(0, 9)})
    table = Table.open(of({"x": texts}), schema={"x": Binary(true="1")})
    assert values_of(table["x"].bounded(dc.BetaBernoulli(1, 1))) == [1]


@pytest.mark.parametrize("values", [pd.interval_range(0, 3), pd.period_range("2020", periods=3, freq="D")])
@pytest.mark.parametrize("of", [dict, pd.DataFrame])
def test_types_of_pandas_that_nothing_reads(values, of):
    """Every one of their values was missing, in silence."""
    with pytest.raises(dc.TableError, match="of a type that cannot be read here"):
        Table.open(of({"x": values}), schema={"x": Bounded(0, 9)})


@pytest.mark.parametrize(
    "values", [pa.array([["1"], None]), pa.array([{"k": "1"}, None])], ids=["list", "struct"]
)
def test_datasets_of_lists_are_refused_before_they_are_read(values):
    """A list of texts passed for a text when the dataset was opened, and failed after the charge."""
    with pytest.raises(TypeError, match="of a type that cannot be read here"):
        Table.open(dataset.dataset(pa.table({"x": values})), schema={"x": Binary(true="1")}, n=2)


def test_datasets_of_runs():
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], ["1", "x"])
    table = Table.open(dataset.dataset(pa.table({"x": runs})), schema={"x": Binary(true="1")}, n=3)
    assert values_of(table["x"].bounded(dc.BetaBernoulli(1, 1))) == [2]


def test_numbers_of_arrow_in_pandas_keep_their_type():
    wide = pd.array([decimal.Decimal("0.5"), None], dtype=pd.ArrowDtype(pa.decimal128(38, 1)))
    for source in ({"x": wide}, pd.DataFrame({"x": wide})):
        table = Table.open(source, schema={"x": Bounded(0, 100, missing=7)})
        assert values_of(table["x"].bounded(MEAN)) == [8]


def test_units_in_object_columns():
    """1 and "1" are one unit, as they would be in a CSV; what is neither is nobody's."""
    who = [1, "1", np.int64(1), 2.0, None, True, b"1", decimal.Decimal(1), "\ud800", 2**70]
    frame = pd.DataFrame({"who": pd.Series(who, dtype=object), "b": True})
    table = Table.open(frame, schema={"b": Binary()}, unit="who", rows_per_unit=1)
    assert table.size() == 2
    assert values_of(table["b"].bounded(dc.BetaBernoulli(1, 1))) == [2]


@pytest.mark.parametrize("of", [dict, pd.DataFrame])
def test_uuids_of_python_are_units_as_an_engine_s_are(of):
    """Before, every row was nobody's, in silence."""
    who = [uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001", uuid.UUID(int=2), None]
    frame = of({"who": who, "b": [True] * 4})
    table = Table.open(frame, schema={"b": Binary()}, unit="who", rows_per_unit=1)
    assert values_of(table["b"].bounded(dc.BetaBernoulli(1, 1))) == [2]


def test_decimals_of_arrow_and_parquet(tmp_path):
    context = decimal.Context(prec=38)
    wide = [decimal.Decimal("0.5"), context.create_decimal("9" * 37 + ".5"), None]
    for precision, scale in ((38, 1), (38, 37)):
        some = [x if x is None or x < 9 or scale == 1 else decimal.Decimal("9.5") for x in wide]
        column = pa.array(some, pa.decimal128(precision, scale))
        rows = pa.table({"x": column})
        pq.write_table(rows, tmp_path / "rows.parquet")
        for source in (rows, tmp_path / "rows.parquet"):
            table = Table.open(source, schema={"x": Bounded(0, 5, missing=2)})
            five = dc.NormalMean(50, 1, variance=9, lower=0, upper=5, grid=0.5)
            assert values_of(table["x"].bounded(five)) == [1 + 10 + 4]
            codes = Table.open(source, schema={"x": Categories([0.5, 10**12], unknown="(unknown)")})
            assert values_of(counts(codes, ["x"])) == [1, 0, 2]


def test_bytes_that_are_no_utf8_in_arrow_and_parquet(tmp_path):
    """Text columns of Arrow and Parquet may hold any bytes; whether they do is private."""
    from pyarrow import dataset

    texts = pa.Array.from_buffers(pa.string(), 3, pa.array([b"A", b"\xff\xfe", b"B"]).buffers())
    rows = pa.table({"w": texts, "who": texts})
    pq.write_table(rows, tmp_path / "rows.parquet")
    for source in (rows, tmp_path / "rows.parquet", dataset.dataset(tmp_path / "rows.parquet")):
        table = Table.open(
            source, schema={"w": Categories(["A", "B"], unknown="(unknown)")}, unit="who", rows_per_unit=1
        )
        assert values_of(counts(table, ["w"])) == [1, 1, 1]


def test_postgres(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for i, limit in enumerate(["", "(5, 2)"]):  # NaN is in both, what exceeds doubles only in the first
            big = "999.99" if limit else "1e400"
            number = f"numeric{limit}"
            connection.execute(f"create table far_{i} (who text, w text, x {number}, t {number}, h {number})")
            connection.execute(
                f"insert into far_{i} values (%s, 'A', 0, 9, 0.5), ('b', %s, '{big}', '{big}', '{big}'), "  # noqa: S608
                "('c', null, 'NaN', 'NaN', 'NaN')",
                (HUGE, HUGE),
            )
            assert answers(postgres_url, table=f"far_{i}") == WANTED
            missing = Table.open(postgres_url, table=f"far_{i}", schema={"x": Binary(true=0, missing=True)})
            assert values_of(missing["x"].bounded(dc.BetaBernoulli(1, 1))) == [2]


def test_one_long_observation_takes_no_room_of_others():
    """A column of 10^5 rows and one text of 10^6 letters was an array of 4·10^11 bytes."""
    from discreet.line.local import _places
    from discreet.tables.opening.sources import column_reader

    frame = pa.table({"level": [*["low"] * 99_999, HUGE], "role": ["a\0"] * 50_000 + ["a"] * 50_000})
    found = column_reader(frame, ("level", "role"))()
    assert np.bincount(_places(found["level"], ("high", "low")) + 1).tolist() == [1, 0, 99_999]
    assert np.bincount(_places(found["role"], ("a",)) + 1).tolist() == [50_000, 50_000]


# ── types and names that the engine cannot take ─────────────────────────────────────────────────────

HALF = np.array([0.5, np.nan, 2.0, -np.inf], np.float16)


@pytest.mark.parametrize(
    "frame", [pa.table, pd.DataFrame, dict, lambda given: dataset.dataset(pa.table(given))]
)
def test_half_precision_is_read(frame):
    table = dc.Table.open(frame({"x": HALF}), schema={"x": dc.Bounded(0, 1)}, n=4)["x"]
    read = bounded(table, dc.NormalMean(0, 1, 1, 0, 1, grid=2**-4)).read()
    assert read.values.tolist() == [8 + 0 + 16 + 0]  # noqa: PD011 - no frame


def test_wide_decimals_are_refused_with_advice():
    column = pa.array([decimal.Decimal(1)], pa.decimal256(50, 2))
    with pytest.raises(TableError, match=r"decimal256\(50, 2\); cast it to float64"):
        dc.Table.open(pa.table({"x": column}), schema={"x": dc.Bounded(0, 1)})


@pytest.mark.parametrize("declared", [("a", "A"), ("A", "a")])
def test_names_that_differ_in_case_alone_are_called_so(declared, tmp_path):
    """DuckDB renames one of them: “the table has no column 'A'” was not true."""
    frame = pa.table({"a": [0.5], "A": [0.25]})
    pq.write_table(frame, tmp_path / "both.parquet")
    for source in (frame, str(tmp_path / "both.parquet")):
        with pytest.raises(ValueError, match=r"no column '[aA]', but one that differs from it only in case"):
            dc.Table.open(source, schema=dict.fromkeys(declared, dc.Bounded(0, 1)))
    with pytest.raises(ValueError, match="has no column 'b'"):  # control
        dc.Table.open(frame, schema={"b": dc.Bounded(0, 1)})
