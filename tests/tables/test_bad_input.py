"""What is wrong is said, with what to do; from metadata and public declarations alone."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import discreet as dc
from discreet.statistics.cells import counts
from discreet.tables.derived.columns import col, constant
from discreet.tables.schema import Binary, Bounded, Categories, Count, Label
from discreet.tables.table import Table, TableError

ROWS = pa.table(
    {"who": [1, 1, 2], "b": [True, False, None], "w": ["A", "B", None], "x": [1.0, 2.0, None], "t": [1, 2, 3]}
)
SCHEMA = {"b": Binary(), "w": Categories(["A", "B"], unknown="(unknown)"), "x": Bounded(0, 10), "t": Count(5)}
TABLE = Table.open(ROWS, schema=SCHEMA)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Bounded(10, 0), "lower < upper"),
        (lambda: Bounded(0, float("nan")), "lower < upper"),
        (lambda: Bounded(0, float("inf")), "finite"),
        (lambda: Bounded(0, 1, missing=2), "missing must lie within"),
        (lambda: Bounded(0, 1, grid=0.3), "power of two"),
        (lambda: Bounded("?", "?"), "public knowledge"),
        (lambda: Count(0), "from 1"),
        (lambda: Count(2.5), "whole number"),
        (lambda: Count(5, missing=6), "missing"),
        (lambda: Categories([]), "at least one"),
        (lambda: Categories(["A", "A"]), "each once"),
        (lambda: Categories("AB"), "list of values"),
        (lambda: Categories(["A", 1]), "one type"),
        (lambda: Categories([float("nan")]), "finite"),
        (lambda: Label(["A"], unknown="B"), "one of the levels"),
        (lambda: Binary(true=float("nan")), "can equal"),
        (lambda: Binary(missing="yes"), "true or false"),
    ],
)
def test_kinds(make, says):
    with pytest.raises((ValueError, TypeError), match=says):
        make()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"schema": {"nope": Binary()}}, "no column 'nope'"),
        ({"schema": {}}, "at least one column"),
        ({"schema": {"b": "binary"}}, "needs one of Binary"),
        ({"schema": {"w": Bounded(0, 1)}}, "type string"),
        ({"schema": {"w": Binary()}}, "true="),
        ({"schema": {"x": Categories(["A"])}}, "levels of that type"),
        ({"schema": {"b": Count(3)}}, "Count cannot read"),
        ({"unit": "who"}, "go together"),
        ({"rows_per_unit": 2}, "go together"),
        ({"unit": "who", "rows_per_unit": 0}, "whole number"),
        ({"unit": "who", "rows_per_unit": 1.5}, "whole number"),
        ({"unit": "x", "rows_per_unit": 1}, "unit column 'x'"),
        ({"unit": "nope", "rows_per_unit": 1}, "no column 'nope'"),
        ({"n": 0}, "whole number"),
        ({"table": "t"}, "table="),
    ],
)
def test_opening(given, says):
    with pytest.raises((ValueError, TypeError), match=says):
        Table.open(ROWS, **({"schema": SCHEMA} | given))


def test_sources(tmp_path):
    for source, error, says in [
        ("nowhere.parquet", TableError, "no file"),
        ("rows.xlsx", ValueError, "cannot tell"),
        ("postgresql://127.0.0.1/db", ValueError, "table="),
        (3.5, TypeError, "a source is"),
        (pa.RecordBatchReader.from_batches(ROWS.schema, ROWS.to_batches()), TableError, "only once"),
    ]:
        with pytest.raises(error, match=says):
            Table.open(source, schema=SCHEMA)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(TableError, match="opening"):
        Table.open(tmp_path / "broken.parquet", schema=SCHEMA)
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    with pytest.raises(TableError, match="each once"):
        Table.open(tmp_path / "twice.csv", schema=SCHEMA)
    import duckdb

    duckdb.connect(tmp_path / "empty.duckdb").close()
    with pytest.raises(ValueError, match="no table 'visits'"):
        Table.open(tmp_path / "empty.duckdb", table="visits", schema=SCHEMA)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: TABLE["nope"], "no column 'nope'"),
        (lambda: TABLE["b", "b"], "each once"),
        (lambda: TABLE.bounded(dc.BetaBernoulli(1, 1)), "reads 1 column"),
        (lambda: TABLE["w"].bounded(dc.BetaBernoulli(1, 1)), "Count or Binary"),
        (lambda: TABLE["x"].bounded(dc.GammaPoisson(1, 1, upper=3)), "Count or Binary"),
        (lambda: TABLE["w"].bounded(dc.DirichletCategorical([1, 1])), "column 'w' has 3"),
        (lambda: TABLE["x"].bounded(dc.DirichletCategorical([1, 1])), "cut"),
        (lambda: TABLE["x", "t"].bounded(dc.DirichletMultinomial([1, 1], trials=2)), "Count or Binary"),
        (lambda: counts(TABLE, []), "at least one feature"),
        (lambda: counts(TABLE, ["b"], by=["b"]), "each column once"),
        (lambda: TABLE.where(col("x") >= 1).bounded(dc.BetaBernoulli(1, 1)), "ADD_REMOVE"),
        (lambda: TABLE.where(col("x") >= 1).size(), "ADD_REMOVE"),
        (lambda: TABLE.where(col("x")), "predicate"),
        (lambda: TABLE.where(col("w") >= "A"), "== or isin"),
        (lambda: TABLE.where(col("w") == "Z"), "not a declared level"),
        (lambda: TABLE.where(col("x").between(0, float("nan"))), "finite"),
        (lambda: TABLE.where(col("b") & col("x")), "combine predicates"),
        (lambda: TABLE.where(col("b") and col("b")), "not a single true"),
        (lambda: TABLE.derive(b=col("x") + 1), "there already"),
        (lambda: TABLE.derive(y=col("w") + 1), "arithmetic needs numbers"),
        (lambda: TABLE.derive(y=col("x") * 0), "slope"),
        (lambda: TABLE.derive(y=col("x").cut([3, 1])), "rising"),
        (lambda: TABLE.derive(y=col("b").cut([3])), "cut needs numbers"),
        (lambda: constant(float("inf")), "finite"),
        (lambda: col("x").isin("AB"), "list"),
        (
            lambda: TABLE["x"].bounded(
                dc.NormalMean(0, 1, variance=1, lower=0, upper=10, grid=2**-40), dc.ADD_REMOVE
            ),
            "coarser",
        ),
    ],
)
def test_questions(ask, says):
    with pytest.raises((ValueError, TypeError, KeyError), match=says):
        ask()


def test_several_rows_a_unit_make_n_private():
    table = Table.open(ROWS, schema=SCHEMA, unit="who", rows_per_unit=2)
    with pytest.raises(ValueError, match="ADD_REMOVE"):
        table["b"].bounded(dc.BetaBernoulli(1, 1))
    assert table["b"].bounded(dc.BetaBernoulli(1, 1), dc.ADD_REMOVE).n is None


def test_an_empty_table(tmp_path):
    pq.write_table(ROWS.slice(0, 0), tmp_path / "none.parquet")
    table = Table.open(tmp_path / "none.parquet", schema=SCHEMA)
    with pytest.raises(ValueError, match="empty"):
        table["b"].bounded(dc.BetaBernoulli(1, 1))
    # where n is private, that there are no rows is private too: zeros, and no error
    for columns, model in [
        ("b", dc.BetaBernoulli(1, 1)),
        ("w", dc.DirichletCategorical([1] * 3)),
        ("x", dc.NormalInverseGamma(0, 1, shape=1, scale=1, lower=0, upper=10)),
        (("x", "t"), dc.NormalInverseWishart([0, 0], 1, degrees=4, scale=[[1, 0], [0, 1]], radius=3)),
    ]:
        for unit in ({}, {"unit": "who", "rows_per_unit": 2}):
            opened = Table.open(tmp_path / "none.parquet", schema=SCHEMA, **unit)
            got = opened[columns].bounded(model, dc.ADD_REMOVE, clip=True).read()
            assert got.n == 0
            assert got.values.shape == model.units.shape
            assert not np.any(got.values)
