"""Values planted in the data are searched for in everything that succeeding and failing calls say."""

import copy
import io
import logging
import pickle
import traceback
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import discreet as dc
from discreet.statistics.cells import counts
from discreet.tables.derived.columns import col
from discreet.tables.schema import Binary, Bounded, Categories, Count
from discreet.tables.table import MissingExtra, Table, TableError
from discreet.tables.template import schema_template

TEXT, NUMBER, WHOLE = "CANARY", 31337.0625, 271828182
SCHEMA = {"b": Binary(), "w": Categories(["A"], unknown="(unknown)"), "c": Count(5), "x": Bounded(0, 100)}
ROWS = pa.table(
    {
        "u": [WHOLE, WHOLE, 5, None],
        "b": [True, None, False, True],
        "w": [TEXT, "A", None, TEXT],
        "c": [WHOLE, None, 2, -WHOLE],
        "x": [NUMBER, None, float("nan"), -NUMBER],
    }
)
SUM = 100 * 256 + 0  # what the clipped x add up to on the default grid: private too


@pytest.fixture
def heard(capfd):
    """Collect logs, warnings and both streams; fail if a canary was heard."""
    log, told = io.StringIO(), []
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    root.addHandler(handler)
    level, root.level = root.level, logging.DEBUG
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield told
    root.level = level
    root.removeHandler(handler)
    streams = capfd.readouterr()
    said = "\n".join(
        [*map(str, told), log.getvalue(), streams.out, streams.err, *(str(w.message) for w in caught)]
    )
    for canary in (TEXT, "31337", str(WHOLE)):
        assert canary not in said


def told_by(call, told):
    """Everything that a failure carries: its chain, its traceback, and the locals of our frames."""
    with pytest.raises(Exception) as failure:
        call()
    error = failure.value
    assert error.__cause__ is None
    assert error.__context__ is None
    told += [repr(error), str(error), error.args, "".join(traceback.format_exception(error))]
    return error


def test_reprs_and_pickles_of_what_succeeds(heard, tmp_path):
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    for source in (ROWS, ROWS.to_pandas(), tmp_path / "rows.parquet"):
        table = Table.open(source, schema=SCHEMA)
        bounded = table["x"].bounded(dc.NormalMean(0, 1, variance=1, lower=0, upper=100))
        both = counts(table, ["w", "b"])
        for thing in (
            table,
            table["x"].where(col("w") == "A"),
            bounded,
            both,
            bounded.read(),
            both.read(),
            table.source,
        ):
            heard += [repr(thing), str(thing), f"{thing}"]
            for copier in (pickle.dumps, copy.deepcopy):
                with pytest.raises((TypeError, pickle.PicklingError, AttributeError)) as refused:
                    copier(thing)
                heard.append(str(refused.value))
    assert repr(bounded.read()) == "PrivateValue()"
    assert pickle.loads(pickle.dumps(table.schema)) == table.schema  # noqa: S301 - our own; the schema is public


def test_a_table_gives_no_rows():
    table = Table.open(ROWS, schema=SCHEMA)
    for takes in (iter, list, len, np.asarray(0).__class__.tolist):
        with pytest.raises((TypeError, AttributeError)):
            takes(table)


def test_files_that_are_not_what_they_say(heard, tmp_path):
    for name in ("rows.parquet", "rows.duckdb"):
        (tmp_path / name).write_text(f"{TEXT} {NUMBER} {WHOLE}" * 9)
        where = {"table": "t"} if name.endswith("duckdb") else {}
        error = told_by(lambda n=name, w=where: Table.open(tmp_path / n, schema=SCHEMA, **w), heard)
        assert isinstance(error, TableError)


def test_a_file_that_breaks_after_opening(heard, tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(ROWS, path)
    table = Table.open(path, schema=SCHEMA, n=4)
    ready = [
        table["x"].bounded(dc.NormalMean(0, 1, variance=1, lower=0, upper=100)),
        counts(table, ["w", "b"]),
    ]
    path.write_bytes(path.read_bytes()[:-9] + TEXT.encode())
    for statistic in ready:
        error = told_by(statistic.read, heard)
        assert isinstance(error, TableError)
        shown = traceback.TracebackException.from_exception(error, capture_locals=True)
        heard.append("".join(shown.format()))
    path.unlink()
    for statistic in ready:
        assert isinstance(told_by(statistic.read, heard), TableError)


def test_n_that_differs(heard):
    table = Table.open(ROWS, schema=SCHEMA, n=3)
    error = told_by(table["b"].bounded(dc.BetaBernoulli(1, 1)).read, heard)
    assert "4" not in str(error)


def test_frames_of_mixed_types_are_read_as_declared(heard):
    frame = pd.DataFrame(
        {"b": [True, TEXT], "w": [WHOLE, TEXT], "c": [1, 2], "x": [TEXT, NUMBER]}, dtype=object
    )
    table = Table.open(frame, schema=SCHEMA)
    heard.append(repr(table))
    both = counts(table, ["w", "b"]).read()
    assert list(both.values) == [0, 2, 1, 1]
    mean = table["x"].bounded(dc.NormalMean(0, 1, variance=1, lower=0, upper=100)).read()
    assert list(mean.values) == [100 * 256]


def test_broken_csv_is_read_as_missing(heard, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(
        f'b,w,c,x\ntrue,A,{TEXT},{TEXT}\n1,"{TEXT}\n{TEXT}",{WHOLE},{NUMBER}\nno,A\n\n{TEXT}\n',
        encoding="utf-8",
    )
    table = Table.open(path, schema=SCHEMA)
    assert table.size() == 5  # the blank line too
    both = counts(table, ["w", "b"]).read()
    heard += [repr(table), both]
    assert list(both.values) == [2, 3, 3, 2]
    mean = table["x"].bounded(dc.NormalMean(0, 1, variance=1, lower=0, upper=100)).read()
    assert list(mean.values) == [100 * 256]  # four of five are missing, and are read as the lower bound


def test_bad_questions(heard):
    table = Table.open(ROWS, schema=SCHEMA)
    for ask in (
        lambda: table["nope"],
        lambda: table["w"].bounded(dc.BetaBernoulli(1, 1)),
        lambda: table["w"].bounded(dc.DirichletCategorical([1, 1, 1])),
        lambda: table["x"].bounded(dc.GammaPoisson(1, 1, upper=3)),
        lambda: table["x", "c"].bounded(dc.BetaBernoulli(1, 1)),
        lambda: table.where(col("w") == "Z"),
        lambda: table.where(col("b") == True)["b"].bounded(dc.BetaBernoulli(1, 1)),  # noqa: E712
        lambda: Table.open(ROWS, schema={"w": Bounded(0, 1)}),
        lambda: counts(table, ["x"]),
    ):
        told_by(ask, heard)


def test_the_template_reads_names_and_types_only(heard, tmp_path):
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    for source in (ROWS, ROWS.to_pandas(), tmp_path / "rows.parquet"):
        text = schema_template(source)
        heard.append(text)
        assert '[columns."x"]' in text


def test_postgres_says_nothing_either(heard, postgres_url):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create table leaky (b boolean, w text, c int8, x numeric)")
        connection.execute(
            "insert into leaky values (true, %s, %s, %s), (null, 'A', 1, 'NaN'), "
            "(true, null, null, '1e400'), "
            "(true, '', 1, '1e-400'), (true, '', 1, '-Infinity')",
            (TEXT, WHOLE, NUMBER),
        )
        table = Table.open(postgres_url, table="leaky", schema=SCHEMA)
        heard.append(repr(table))
        mean = table["x"].bounded(dc.NormalMean(0, 1, variance=1, lower=0, upper=100))
        assert list(mean.read().values) == [2 * 100 * 256]
        connection.execute("drop table leaky")
        assert isinstance(told_by(mean.read, heard), TableError)


@pytest.mark.filterwarnings("ignore:The copy keyword is deprecated")
@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated")
def test_spark_says_nothing_either(heard, spark):
    """PySpark 4 logs the words of a failed query, which quote the value; so would it here, unhushed."""
    import ibis

    from discreet.tables.engine import SPARK, nothing

    numbers = spark.range(3).selectExpr(f"concat('{TEXT}', id) as t")
    numbers.selectExpr("cast(t as double) as x").createOrReplaceTempView("leaky")
    table = Table.open(ibis.pyspark.connect(spark).table("leaky"), schema={"x": Bounded(0, 100)}, n=3)
    mean = table["x"].bounded(dc.NormalMean(0, 1, variance=1, lower=0, upper=100))
    assert isinstance(told_by(mean.read, heard), TableError)
    quoted = io.StringIO()
    handler = logging.StreamHandler(quoted)
    for name in SPARK:  # the control: what the hush holds back
        logger = logging.getLogger(name)
        logger.removeFilter(nothing)
        kept, logger.handlers = logger.handlers, [handler]
        told_by(mean.read, heard)
        logger.handlers = kept
        logger.addFilter(nothing)
    assert TEXT in quoted.getvalue()


def test_a_password_is_not_repeated(heard):
    for url in (
        f"postgresql://user:{TEXT}@127.0.0.1:1/db",
        f"postgresql://user:{TEXT}/{TEXT}@127.0.0.1:1/db",  # a driver takes a part for a port, and quotes it
        f"postgresql://user@127.0.0.1:1/db?password={TEXT}",
        f"postgresql://user:{TEXT}@127.0.0.1:1/db?sslmode={TEXT}",  # quoted as no mode that there is
    ):
        assert isinstance(
            told_by(lambda url=url: Table.open(url, table="t", schema=SCHEMA), heard), TableError
        )


def test_a_failed_connection_says_why(heard):
    url = f"postgresql://user:{TEXT}@127.0.0.1:1/db"
    assert "onnection refused" in str(told_by(lambda: Table.open(url, table="t", schema=SCHEMA), heard))


def test_a_missing_driver_names_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"discreet\[postgres\]"):
        Table.open("postgresql://localhost/db", table="t", schema=SCHEMA)
