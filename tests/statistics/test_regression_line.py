"""A regression on PostgreSQL and on Spark, from the ledger to the posterior: one query, one pass, one row."""

import numpy as np
import psycopg
import pytest
from pyarrow import parquet as pq

import discreet as dc
from discreet.release.certificate import certificate_text

pytestmark = [
    # pandas 4 warns of what pyspark 4.0 and Ibis still ask of it; neither is our call
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated"),
    # py4j leaves its sockets to the collector
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]
NAME, N = "walked", 300  # the table's name, sought in what is sent
SCHEMA = {"age": dc.Bounded(0, 100), "smoker": dc.Binary(), "region": dc.Categories(range(4))}
MODEL = dc.BayesianLogisticRegression("region", ("age", "smoker"), norm=1.3, radius=3, labels=(1, 3))
TARGET = dc.ApproxDP(3, 1e-6, relation=dc.ADD_REMOVE)


@pytest.fixture(scope="module")
def few(make_rows):
    return make_rows(N, 5)


@pytest.fixture(scope="module")
def loaded(few, load_postgres):
    return load_postgres(few, NAME)


@pytest.fixture
def ledger(tmp_path):
    with dc.Ledger.open(tmp_path / "budget.db", budget=dc.ApproxDP(9, 1e-4, relation=dc.ADD_REMOVE)) as book:
        yield book


def walked(table, ledger, **given):
    ask = {"mechanism": "polynomial_statistics", "target": TARGET, "ledger": ledger, **given}
    return dc.privatise(table, MODEL, source=dc.SeededSource(7), **ask)


def held_to(release, ledger, few):
    """The same noise on the same integers as from memory; paid, certified and read."""
    same = walked(dc.Table.open(few, schema=SCHEMA), ledger)
    assert np.array_equal(release.value.first, same.value.first)
    assert np.array_equal(release.value.second, same.value.second)
    assert np.array_equal(release.posterior.mean(), same.posterior.mean())
    assert ledger.receipt(release.receipt.id).computed
    assert release.n is None
    assert release.guarantee <= TARGET
    words = " ".join(certificate_text(release.certificate()).split())
    assert "the norm 1.3, to which longer rows are scaled down" in words
    low, high = release.posterior.interval(0.9).T
    assert (low < high).all()
    (p,) = release.posterior.probability_of({"age": [70], "smoker": [True]})
    assert 0 < p < 1


def sent(patch, method, *homes):
    """Queries that name the table, each with what it gave, from now on; PREPARE runs none."""
    told = []

    def watching(send):
        def watched(self, query, *given, **named):
            result = send(self, query, *given, **named)
            runs = NAME in str(query) and not str(query).startswith("PREPARE")
            told.extend([(str(query), result)] if runs else [])
            return result

        return watched

    for home in homes:
        patch.setattr(home, method, watching(getattr(home, method)))
    return told


CURSORS = (psycopg.Cursor, psycopg.ServerCursor)


@pytest.mark.slow
def test_postgres(few, loaded, postgres_url, ledger, monkeypatch):
    table = dc.Table.open(postgres_url, table=loaded, schema=SCHEMA)
    with monkeypatch.context() as patch:
        queries = sent(patch, "execute", *CURSORS)
        release = walked(table, ledger)
    ((query, _),) = queries
    with psycopg.connect(postgres_url) as connection:
        assert len(connection.execute(query).fetchall()) == 1
        plan = str(connection.execute(f"explain {query}").fetchall())
    assert plan.count(f"Seq Scan on {NAME}") == 1
    held_to(release, ledger, few)


def test_a_mechanism_of_rows_is_seen_to_fetch_them(loaded, postgres_url, ledger, monkeypatch):
    """The control of the test above."""
    with monkeypatch.context() as patch:
        queries = sent(patch, "execute", *CURSORS)
        walked(
            dc.Table.open(postgres_url, table=loaded, schema=SCHEMA), ledger, mechanism="tuned", most=2 * N
        )
    with psycopg.connect(postgres_url) as connection:
        assert max(len(connection.execute(query).fetchall()) for query, _ in queries) == N


def test_spark(few, spark, ledger, tmp_path, monkeypatch):
    import ibis

    pq.write_table(few, tmp_path / "rows.parquet")
    spark.read.parquet(str(tmp_path / "rows.parquet")).createOrReplaceTempView(NAME)
    table = dc.Table.open(ibis.pyspark.connect(spark).table(NAME), schema=SCHEMA)
    with monkeypatch.context() as patch:
        queries = sent(patch, "sql", type(spark))
        release = walked(table, ledger)
    (first, _), (second, answer) = queries  # Spark parses the query before the charge, and runs it after
    assert first == second
    plan = answer._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("Relation [") == 1
    assert plan.startswith("Aggregate [")  # of everything, hence one row
    held_to(release, ledger, few)
