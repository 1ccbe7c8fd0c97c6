"""Types that an engine has and others have not: each is read, or is refused before anything is charged."""

import pytest

import discreet as dc
from discreet.statistics.cells import counts
from discreet.tables.schema import Binary, Bounded, Categories, Count
from discreet.tables.table import Table

pytestmark = [
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]
KINDS = {
    "truth": Binary(),
    "number": Bounded(0, 100),
    "count": Count(9),
    "codes": Categories([0, 1], unknown="(unknown)"),
    "halves": Categories([0.5, 1.5], unknown="(unknown)"),
    "texts": Categories(["a", "b"], unknown="(unknown)"),
}
MEAN = dc.NormalMean(50, 1, variance=9, lower=0, upper=100, grid=1)


def fate(source, kind, **where):
    """What becomes of column x: refused when it is opened or asked, or read without an error."""
    try:
        table = Table.open(source, schema={"x": kind}, n=1, **where)
        asked = (
            table["x"].bounded(MEAN) if isinstance(kind, Bounded) else counts(table, ["x"])
        )  # a charge would come here
    except TypeError as error:
        return "refused" if "column 'x'" in str(error) else str(error)
    asked.read()
    return "read"


READ = {  # a type by its literal, and the kinds that read it
    "duckdb": {
        "true": {"truth"},
        "1::tinyint": {"truth", "number", "count", "codes", "halves"},
        "1::ubigint": {"truth", "number", "count", "codes", "halves"},
        "1::hugeint": {"truth", "number", "count", "codes", "halves"},
        "1.5::decimal(38, 37)": {"truth", "number", "count", "codes", "halves"},
        "1.5::float": {"truth", "number", "count", "codes", "halves"},
        "'a'::varchar": {"texts"},
        "'a'::enum ('a', 'B')": {"texts"},
        "1::uhugeint": set(),
        "1::bignum": set(),
        "'a'::blob": set(),
        "'1'::bit": set(),
        "'1'::json": set(),
        "interval 1 day": set(),
        "date '2020-01-01'": set(),
        "time '10:00'": set(),
        "timestamp '2020-01-01'": set(),
        "timestamptz '2020-01-01'": set(),
        "[1]": set(),
        "{'a': 1}": set(),
        "map {1: 1}": set(),
        "uuid()": set(),
    },
    "postgres": {
        "true": {"truth"},
        "1::int2": {"truth", "number", "count", "codes", "halves"},
        "1.5::float4": {"truth", "number", "count", "codes", "halves"},
        "1.5::numeric": {"truth", "number", "count", "codes", "halves"},
        "'NaN'::numeric(5, 2)": {"truth", "number", "count", "codes", "halves"},
        "'1e400'::numeric": {"truth", "number", "count", "codes", "halves"},
        "'a'::text": {"texts"},
        "'a'::varchar(3)": {"texts"},
        "'a'::char(3)": {"texts"},
        "'a'::name": {"texts"},
        "'a'::letter": {"texts"},  # an enum
        "'a'::\"char\"": set(),
        "1::money": set(),
        "1::oid": set(),
        "'pg_class'::regclass": set(),
        "'a'::bytea": set(),
        "'1'::bit": set(),
        "'1'::json": set(),
        "'1'::jsonb": set(),
        "interval '1 day'": set(),
        "date '2020-01-01'": set(),
        "timestamptz '2020-01-01'": set(),
        "'{1}'::int[]": set(),
        "'10.0.0.1'::inet": set(),
        "int4range(1, 2)": set(),
        "point(1, 1)": set(),
        "gen_random_uuid()": set(),
        "row(1, 2)": set(),
    },
    "spark": {
        "true": {"truth"},
        "cast(1 as tinyint)": {"truth", "number", "count", "codes", "halves"},
        "cast(1.5 as decimal(38, 37))": {"truth", "number", "count", "codes", "halves"},
        "cast('NaN' as float)": {"truth", "number", "count", "codes", "halves"},
        "'a' collate UTF8_LCASE": {"texts"},
        "cast('a' as binary)": set(),
        "interval 1 day": set(),
        "date '2020-01-01'": set(),
        "timestamp '2020-01-01'": set(),
        "array(1)": set(),
        "map('a', 1)": set(),
        "named_struct('a', 1)": set(),
    },
}


def fates(source, **where):
    return {name for name, kind in KINDS.items() if fate(source, kind, **where) == "read"}


@pytest.mark.parametrize("literal", READ["duckdb"])
def test_duckdb(literal):
    import ibis

    connection = ibis.duckdb.connect()
    connection.con.execute(f"create table t as select {literal} as x")
    assert fates(connection.table("t")) == READ["duckdb"][literal]


def test_postgres(postgres_url):
    """In one table, so that types that Ibis does not know stand beside those that are read."""
    import psycopg

    types = READ["postgres"]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create type letter as enum ('a', 'b')")
        columns = ", ".join(f"{literal} as c{i}" for i, literal in enumerate(types) if "row(" not in literal)
        connection.execute(f"create table sorts as select {columns}")
        connection.execute("create type couple as (a int, b int)")
        connection.execute("alter table sorts add column z couple default row(1, 2)::couple")
        for i, literal in enumerate(types):
            column = "z" if "row(" in literal else f"c{i}"
            connection.execute(f"create view sort_{i} as select {column} as x from sorts")  # noqa: S608 - ours
            assert fates(postgres_url, table=f"sort_{i}") == types[literal], literal
    undeclared = Table.open(postgres_url, table="sorts", schema={"c0": Binary()})
    assert undeclared["c0"].bounded(dc.BetaBernoulli(1, 1)).read().values.tolist() == [1]


def test_spark(spark):
    import ibis

    connection = ibis.pyspark.connect(spark)
    for i, (literal, kinds) in enumerate(READ["spark"].items()):
        spark.sql(f"select {literal} as x").createOrReplaceTempView(f"sort_{i}")
        table = connection.table(f"sort_{i}")
        refused = {name for name, kind in KINDS.items() if name not in kinds}
        assert not {name for name in refused if fate(table, KINDS[name]) == "read"}, literal
        if kinds:
            assert fate(table, KINDS[max(kinds)]) == "read"


@pytest.mark.parametrize(
    "literal", ["1.5", "1::decimal(9, 0)", "true", "'a'::blob", "date '2020-01-01'", "[1]"]
)
def test_units_are_whole_numbers_texts_or_uuids(literal):
    import ibis

    connection = ibis.duckdb.connect()
    connection.con.execute(f"create table t as select {literal} as u, true as x")
    with pytest.raises(TypeError, match="column 'u'"):
        Table.open(connection.table("t"), schema={"x": Binary()}, unit="u", rows_per_unit=1)
    connection.con.execute("create table v as select uuid() as u, true as x from range(3)")
    table = Table.open(connection.table("v"), schema={"x": Binary()}, unit="u", rows_per_unit=1)
    assert table["x"].bounded(dc.BetaBernoulli(1, 1)).read().values.tolist() == [3]


def test_texts_of_an_engine_whose_equality_is_not_known(tmp_path):
    """SQLite compares texts as their column says; numbers are numbers everywhere."""
    import ibis

    connection = ibis.sqlite.connect(tmp_path / "rows.db")
    connection.raw_sql("create table t (who text collate nocase, x integer)").close()
    connection.raw_sql("insert into t values ('a', 1), ('A', 0)").close()
    table = connection.table("t")
    for asked in (
        {"schema": {"who": Categories(["a"])}},
        {"schema": {"x": Binary()}, "unit": "who", "rows_per_unit": 1},
    ):
        with pytest.raises(TypeError, match="other than by code points"):
            Table.open(table, **asked)
    assert Table.open(table, schema={"x": Binary()})["x"].bounded(
        dc.BetaBernoulli(1, 1)
    ).read().values.tolist() == [1]
    connection.disconnect()
