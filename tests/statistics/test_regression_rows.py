"""The same rows and answers of a regression from every engine, bit for bit, on nasty values."""

import os

import numpy as np
import pytest
from pyarrow import parquet as pq

from discreet.models.generalized_linear import BayesianLogisticRegression
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.statistics import bounded
from discreet.tables.schema import Binary, Bounded, Categories, Count, Label
from discreet.tables.table import Table

pytestmark = [
    # pandas 4 warns of what pyspark 4.0 and Ibis still ask of it; neither is our call
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated"),
    # py4j leaves its sockets to the collector
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]
SCHEMA = {
    "age": Bounded(0, 100),
    "x1": Bounded(-3, 3, missing=0.1),
    "visits": Count(20, missing=3),
    "flag": Binary(missing=True),
    "ward": Categories(["A", "\u00e9", "\u0430"], unknown="(unknown)"),
    "region": Label(range(5), unknown="(unknown)"),
}
MODEL = BayesianLogisticRegression(
    "region", ("age", "x1", "visits", "flag", "ward"), norm=1.25, labels=(1, 3)
)
UNIT = {"unit": "name", "rows_per_unit": 3}


@pytest.fixture(scope="module")
def few(make_rows):
    return make_rows(3000, 8)


def read(source, **given):
    """All rows with their answers, in an order that does not depend on the engine's."""
    statistic = bounded(Table.open(source, schema=SCHEMA, **given), MODEL, ADD_REMOVE)
    records = statistic.read().values
    whole = np.column_stack([records.rows, records.answers])
    return whole[np.lexsort(whole.T)]


@pytest.fixture(scope="module")
def answers(few):
    return read(few), read(few, **UNIT)


def test_the_oracle_sees_every_kind_of_row(few, answers):
    rows, units = answers
    region = few["region"].to_pylist()
    assert len(rows) == 3000 > len(units)
    assert (rows[:, -1] == 1).sum() == region.count(3)
    assert (rows[:, -1] == -1).sum() == region.count(1)
    assert (rows[:, 4:8].sum(axis=1) > 0).all()  # a level, or the unknown one
    assert (np.linalg.norm(rows[:, :-2], axis=1) <= 1.25).all()


def test_parquet(few, answers, tmp_path):
    pq.write_table(few, tmp_path / "few.parquet")
    assert np.array_equal(read(str(tmp_path / "few.parquet")), answers[0])


def test_postgres(few, answers, load_postgres, postgres_url):
    name = load_postgres(few, "regression")
    assert np.array_equal(read(postgres_url, table=name), answers[0])
    assert np.array_equal(read(postgres_url, table=name, **UNIT), answers[1])


@pytest.mark.skipif(not os.environ.get("DISCREET_SLOW"), reason="30 s; DISCREET_SLOW=1 runs it")
def test_spark(few, answers, spark, tmp_path):
    import ibis

    pq.write_table(few, tmp_path / "few.parquet")
    table = ibis.pyspark.connect(spark).read_parquet(str(tmp_path / "few.parquet"))
    assert np.array_equal(read(table), answers[0])
    assert np.array_equal(read(table, **UNIT), answers[1])
