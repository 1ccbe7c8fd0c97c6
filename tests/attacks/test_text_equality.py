"""Texts that an engine calls equal and that are not: units and levels are told apart by code points."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.statistics.cells import counts
from discreet.tables.derived.columns import col
from discreet.tables.schema import Binary, Bounded, Categories
from discreet.tables.table import Table

pytestmark = [
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

# sixteen spellings of one name, é as one and as two code points, and look-alikes of width and kind
NAMES = ["".join(x) for x in itertools.product("aA", "nN", "eE", "sS")] + [
    "\u00e9",
    "e\u0301",
    "\uff41",
    "ß",
    "ss",
]
SCHEMA = {
    "ward": Categories(["anes", "ANES", "\u00e9"], unknown="(unknown)"),
    "smoker": Binary(true="yes"),
    "age": Bounded(0, 100),
}


def rows():
    rng = np.random.default_rng(5)
    n = 6 * len(NAMES)
    return pa.table(
        {
            "who": NAMES * 6,
            "ward": rng.choice(NAMES, n),
            "smoker": rng.choice(["yes", "YES", "Yes", "no"], n),
            "age": rng.integers(0, 100, n).astype(float),
        }
    )


ROWS = rows()
TUPLES = [tuple(row.values()) for row in ROWS.to_pylist()]


def statistics(source, **where):
    """Everything that compares texts: levels, filters, and in three ways which row of a unit counts."""
    add, mean = dc.ADD_REMOVE, dc.NormalMean(50, 1, variance=9, lower=0, upper=100)
    each = Table.open(source, schema=SCHEMA, **where)
    one = Table.open(source, schema=SCHEMA, **where, unit="who", rows_per_unit=1)
    some = each.where((col("ward") == "anes") | col("ward").isin(["ANES", "\u00e9"]))
    asked = [
        each["ward"].bounded(dc.DirichletCategorical([1] * 4), add),
        some["smoker"].bounded(dc.BetaBernoulli(1, 1), add),
        counts(one, ["ward", "smoker"], relation=add),
        one["smoker"].bounded(dc.BetaBernoulli(1, 1), add),
        one["age"].bounded(mean, add),
    ]
    answers = [statistic.read() for statistic in asked]
    return [one.size(), *((got.n, *got.values.tolist()) for got in answers)]


@pytest.fixture(scope="module")
def expected():
    """What a frame gives, whose texts have no other equality; and that is counted by hand."""
    found = statistics(ROWS)
    wards = ROWS["ward"].to_pylist()
    by_hand = [wards.count(x) for x in ("anes", "ANES", "\u00e9")]
    assert found[1] == (len(wards), *by_hand, len(wards) - sum(by_hand))
    assert found[2][0] == sum(by_hand)
    assert [found[0], *(each[0] for each in found[3:])] == [len(NAMES)] * 4  # one row a unit
    return found


@pytest.mark.parametrize("collation", ["nocase", "nocase.noaccent"])
def test_duckdb_collations(expected, tmp_path, collation):
    import duckdb

    with duckdb.connect(tmp_path / "rows.duckdb") as connection:
        text = f"varchar collate {collation}"
        connection.execute(f"create table t (who {text}, ward {text}, smoker {text}, age double)")
        connection.executemany("insert into t values (?, ?, ?, ?)", TUPLES)
        assert connection.sql("select count(distinct who) from t").fetchall()[0][0] < len(
            NAMES
        )  # the control
    assert statistics(tmp_path / "rows.duckdb", table="t") == expected


def test_a_default_collation_of_a_connection(expected):
    import ibis

    connection = ibis.duckdb.connect()
    connection.con.register("frame", ROWS)
    connection.con.execute("create table t as from frame")
    connection.con.execute("set default_collation = 'nocase'")
    assert statistics(connection.table("t")) == expected


def test_enums_of_duckdb(expected, tmp_path):
    import duckdb

    with duckdb.connect(tmp_path / "rows.duckdb") as connection:
        connection.register("frame", ROWS)
        connection.execute("create type name as enum (select distinct who from frame order by who desc)")
        connection.execute(
            "create table t as select who::name as who, ward::name as ward, smoker, age from frame"
        )
    assert statistics(tmp_path / "rows.duckdb", table="t") == expected


@pytest.mark.parametrize("frame", ["categories", "dictionary", "objects", "polars"])
def test_frames(expected, frame):
    import pandas as pd

    pl = pytest.importorskip("polars")
    texts = ["who", "ward", "smoker"]
    whole = ROWS.to_pandas()
    made = {
        "categories": lambda: whole.astype(dict.fromkeys(texts, "category")),
        "objects": lambda: pd.DataFrame({x: whole[x].astype(object) for x in whole}),
        "dictionary": lambda: pa.table(
            {x: ROWS[x].dictionary_encode() if x in texts else ROWS[x] for x in ROWS.column_names}
        ),
        "polars": lambda: pl.from_arrow(ROWS).with_columns(pl.col(texts).cast(pl.Categorical)),
    }
    assert statistics(made[frame]()) == expected


def fill(url, table, texts):
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"create table {table} (who {texts}, ward {texts}, smoker {texts}, age float8)")
        cursor.executemany(f"insert into {table} values (%s, %s, %s, %s)", TUPLES)  # noqa: S608 - ours
        return cursor.execute(f"select count(distinct who) from {table}").fetchone()[0]  # noqa: S608


TYPES = {
    "citext": "citext",
    "a domain of citext": "nickname",
    "letters alone": 'text collate "letters"',
    "any case": 'varchar(9) collate "anycase"',
}


@pytest.fixture(scope="module")
def icu(debian_postgres_url):
    import psycopg

    with psycopg.connect(debian_postgres_url, autocommit=True) as connection:
        connection.execute("create extension citext")
        connection.execute("create domain nickname as citext")
        for name, level in (("letters", 1), ("anycase", 2)):
            locale = f"und-u-ks-level{level}"
            connection.execute(
                f"create collation {name} (provider = icu, locale = '{locale}', deterministic = false)"
            )
    return debian_postgres_url


@pytest.mark.parametrize("name", TYPES)
def test_postgres_with_icu_and_citext(expected, icu, name):
    table = f"rows_{list(TYPES).index(name)}"
    assert fill(icu, table, TYPES[name]) < len(NAMES)  # the control
    assert statistics(icu, table=table) == expected


def test_a_table_of_ibis_on_postgres(expected, icu):
    import ibis

    fill(icu, "of_ibis", "citext")
    connection = ibis.connect(icu.replace("postgresql://", "postgres://"))
    assert statistics(connection.table("of_ibis")) == expected
    connection.disconnect()


@pytest.mark.parametrize("texts", ["text", "char(9)", "spelling"])
def test_postgres_of_the_wheel(expected, postgres_url, texts):
    """char(n) fills up with blanks, which are no part of the text; enums are read as their names."""
    import psycopg

    if texts == "spelling":
        names = ", ".join(f"'{x}'" for x in [*NAMES, "yes", "YES", "Yes", "no"])
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"create type spelling as enum ({names})")
    table = f"equal_{texts[:4]}"
    assert fill(postgres_url, table, texts) == len(NAMES)
    assert statistics(postgres_url, table=table) == expected


def test_spark(expected, spark, tmp_path):
    import ibis
    from pyarrow import parquet as pq

    pq.write_table(ROWS, tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    collated = [f"{x} collate UTF8_LCASE as {x}" for x in ("who", "ward", "smoker")]
    frame.selectExpr(*collated, "age").createOrReplaceTempView("lower_case")
    assert spark.sql("select count(distinct who) from lower_case").collect()[0][0] < len(NAMES)  # the control
    assert statistics(ibis.pyspark.connect(spark).table("lower_case")) == expected


def test_char_of_spark(expected, spark, tmp_path):
    """Spark fills CHAR(n) up with blanks, as PostgreSQL does, and compares them."""
    import ibis
    from pyarrow import parquet as pq

    pq.write_table(ROWS, tmp_path / "rows.parquet")
    spark.read.parquet(str(tmp_path / "rows.parquet")).createOrReplaceTempView("unpadded")
    spark.sql(f"create table padded (ward char(9)) using parquet location '{tmp_path}/padded'")
    spark.sql("insert into padded select ward from unpadded")
    assert spark.sql("select min(length(ward)) from padded").collect()[0][0] == 9  # the control
    table = Table.open(
        ibis.pyspark.connect(spark).table("padded"), schema={"ward": SCHEMA["ward"]}, n=len(TUPLES)
    )
    got = table["ward"].bounded(dc.DirichletCategorical([1] * 4)).read()
    assert (got.n, *list(got.values)) == expected[1]
    spark.sql("drop table padded")
