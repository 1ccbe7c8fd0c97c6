"""The same integers from every engine, and from a plain NumPy oracle that shares no code with the library."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from pyarrow import parquet as pq

import discreet as dc
from discreet.statistics.cells import counts
from discreet.tables.derived.columns import col, constant
from discreet.tables.schema import Binary, Bounded, Categories, Count, Label
from discreet.tables.table import Table, TableError

pytestmark = [
    # pandas 4 warns of what pyspark 4.0 and Ibis still ask of it; neither is our call
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated"),
    # py4j leaves its sockets to the collector
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

WARD = ["A", "\u00e9", "\u0430"]  # NFC e-acute and a Cyrillic letter: their look-alikes are unknown
SCHEMA = {
    "smoker": Binary(),
    "flag": Binary(missing=True),
    "age": Bounded(0, 100),
    "warmth": Bounded(-50.3, 49.9, grid=2**-4, missing=20.1),
    "visits": Count(20, missing=3),
    "hours": Count(7, missing=2),
    "ward": Categories(WARD, unknown="(unknown)"),
    "region": Label(range(5), unknown=2),
    "half": Categories([0, 2.5, 0.49999999999999994]),
    "x0": Bounded(-1e300, 1e300),
    "x1": Bounded(-1e300, 1e300, missing=0.1),
    "x2": Bounded(-0.3, 0.3),
    "p0": Count(2),
    "p1": Count(2),
}
BALL = {"radius": 2.5, "grid": 2**-9}
MEAN = dc.NormalMean(50, 1, variance=9, lower=0, upper=100)
NIG = dc.NormalInverseGamma(0, 1, shape=3, scale=2, lower=-40.25, upper=60)
NIW = dc.NormalInverseWishart([0] * 3, 1, degrees=5, scale=np.eye(3).tolist(), **BALL)
WIDE = dc.BayesianLinearRegression([0] * 8, np.eye(8).tolist(), shape=3, scale=2, **BALL)
LINE = dc.BayesianLinearRegression([0] * 3, np.eye(3).tolist(), shape=3, scale=2, **BALL)
EXPONENTIAL = dc.GammaExponential(2, 3, upper=90, grid=2)
FINE = dc.NormalMean(
    50, 1, variance=9, lower=0, upper=100, grid=2**-30
)  # sums beyond 2^53: integers, not doubles


# --- the oracle: NumPy and plain Python ------------
def doubles(rows, name):
    return rows[name].to_numpy(zero_copy_only=False).astype(np.float64)  # NULL → NaN


def clipped(x, lower, upper, missing):
    return np.where(np.isnan(x), missing, np.clip(x, lower, upper))


def oracle(rows):
    """Clean columns, as the schema's docstrings say."""
    smoker, visits, region = doubles(rows, "smoker"), doubles(rows, "visits"), doubles(rows, "region")
    flag = [True if x is None else x for x in rows["flag"].to_pylist()]
    warmth = clipped(doubles(rows, "warmth"), -50.3, 49.9, 20.1)
    half, code = doubles(rows, "half"), {w: i for i, w in enumerate(WARD)}
    return {
        "smoker": (smoker == 1).astype(np.int64),
        "flag": np.array(flag, dtype=np.int64),
        "age": clipped(doubles(rows, "age"), 0, 100, 0),
        "warmth": np.clip(np.floor(warmth * 16 + 0.5) / 16, -50.3, 49.9),
        "visits": clipped(visits, 0, 20, 3).astype(np.int64),
        "hours": np.floor(clipped(doubles(rows, "hours"), 0, 7, 2) + 0.5).astype(np.int64),
        "ward": np.array([code.get(w, 3) for w in rows["ward"].to_pylist()]),
        "region": np.where(np.isin(region, range(5)), region, 2).astype(np.int64),
        "half": np.select([half == 2.5, half == 0.49999999999999994], [1, 2], 0),
        "x0": clipped(doubles(rows, "x0"), -1e300, 1e300, -1e300),
        "x1": clipped(doubles(rows, "x1"), -1e300, 1e300, 0.1),
        "x2": clipped(doubles(rows, "x2"), -0.3, 0.3, -0.3),
        "p0": clipped(doubles(rows, "p0"), 0, 2, 0).astype(np.int64),
        "p1": clipped(doubles(rows, "p1"), 0, 2, 0).astype(np.int64),
    }


def lattice_sum(x, grid, low, high):
    return int(np.clip(np.floor(x / grid + 0.5), low, high).astype(np.int64).sum())


def moments(columns):
    x = np.ascontiguousarray(np.stack(columns, axis=1)) / 2**-9
    x = np.sign(x) * np.clip(np.abs(x), 2.0**-400, 2.0**400)
    square = np.square(x).sum(axis=1)
    y = x * (1280 / np.maximum(np.sqrt(square), 1280))[:, None]
    q, less = np.floor(y + 0.5), np.trunc(y * (1 - (x.shape[1] + 8) * 2.0**-50))
    least = np.clip((1 - 2.0**-9 + 2.0**-19) * square, 0.5, 1279**2)
    more = np.where(y > 0, np.ceil(y), np.floor(y))
    for i in range(x.shape[1]):  # one entry after another, until the row fits, or has kept its length
        long, short = np.square(q).sum(axis=1) > 1280**2, np.square(q).sum(axis=1) < least
        q[long, i], q[short, i] = less[long, i], more[short, i]
    q = q.astype(np.int64)
    return q.sum(axis=0), np.array(
        [int((q[:, i] * q[:, j]).sum()) for i in range(q.shape[1]) for j in range(i, q.shape[1])]
    )


P = 2**31 - 1


@cache
def mixed(unit):
    if isinstance(unit, int):
        h = unit % P
    else:
        h = len(unit)
        for back in range(4):
            h = (h * 1_114_129 + (ord(unit[-1 - back]) if back < len(unit) else 0)) % P
    h = (h * 1_588_635_695 + 1_013_904_223) % (2**31 - 1)
    h = (h * 1_117_695_901 + 1_664_525_881) % (2**31 - 19)
    return (h * 1_703_900_269 + 374_761_393) % (2**31 - 61)


def kept(units, cells, k):
    """Positions of at most k rows a unit: a systematic sample of its cells, sorted column by column."""
    units = units.combine_chunks().dictionary_encode()
    start = np.array([mixed(unit) for unit in units.dictionary.to_pylist()])
    who = units.indices.fill_null(-1).to_numpy()
    order = np.lexsort((*reversed(cells), who))
    order = order[who[order] >= 0]  # rows of nobody are left out
    who = who[order]
    total = np.bincount(who)
    rank = np.arange(len(who)) - (np.cumsum(total) - total)[who]
    total = total[who]
    return order[(total <= k) | ((rank * k + start[who] % total) % total < k)]


def expected(rows):
    """Name → (values, n), from NumPy alone."""
    clean, n = oracle(rows), rows.num_rows
    ones, found = np.ones(n), {}

    def tell(name, values, count=n):
        found[name] = (np.asarray(values, dtype=np.int64), int(count))

    tell("bernoulli", [clean["smoker"].sum()])
    tell("missing is true", [clean["flag"].sum()])
    tell("binomial", [clean["visits"].sum()])
    tell("geometric, clipped again", [np.minimum(clean["visits"], 9).sum()])
    tell("poisson of doubles", [clean["hours"].sum()])
    tell("exponential, coarse grid", [lattice_sum(clean["age"], 2, 0, 45)])
    tell("mean", [lattice_sum(clean["age"], 2**-8, 0, 25600)])
    tell("mean, fine grid", [lattice_sum(clean["age"], 2**-30, 0, 100 * 2**30)])
    low, high = math.floor(-40.25 * 256 + 0.5), 60 * 256
    q = np.clip(np.floor(clean["warmth"] * 256 + 0.5), low, high).astype(np.int64) - (low + high) // 2
    tell("mean and variance", [8192 * q.sum(), (q * q).sum()])
    tell("categories", np.bincount(clean["ward"], minlength=4))
    tell("number levels", np.bincount(clean["half"], minlength=3))
    tell("unknown is a level", np.bincount(clean["region"], minlength=5))
    right = clean["p0"] + clean["p1"] == 2
    tell("items", [np.where(right, clean["p0"], 0).sum(), np.where(right, clean["p1"], 2).sum()])
    first, second = moments([clean["x0"], clean["x1"], clean["x2"]])
    tell("covariance", [*(1024 * first), *second])
    tell("regression", moments([ones, clean["x0"], clean["x2"], clean["x1"]])[1])
    tell("nine columns", moments([*(clean[e].astype(float) for e in EIGHT), ones])[1])
    wards = np.bincount(clean["region"] * 4 + clean["ward"], minlength=20)
    tell("counts by region", [*wards, *np.bincount(clean["region"] * 2 + clean["smoker"], minlength=10)])
    chosen = (clean["age"] >= 65) & ~(clean["ward"] == 1) | (clean["visits"] == 3)
    derived = (0.1 * clean["age"] + 0.3)[chosen]
    tell("filtered and derived", [lattice_sum(derived, 2**-10, 0, 20480)], chosen.sum())
    band = np.digitize(clean["age"], [18, 65])[chosen]
    tell("bands", np.bincount(band, minlength=3), chosen.sum())
    among = np.isin(clean["ward"], [0, 3]) & ~np.isin(clean["half"], [1, 2]) | np.isin(
        clean["visits"], [3, 4]
    )
    tell("of several levels", [clean["smoker"][among].sum()], among.sum())
    packed, q = clean["ward"] * 5 + clean["region"], np.floor(clean["age"] * 256 + 0.5).astype(np.int64)
    for unit, k in UNITS:

        def chosen(cell, unit=unit, k=k):
            return cell[kept(rows[unit], [cell], k)]

        seen = chosen(packed)
        pair = [*np.bincount(seen // 5, minlength=4), *np.bincount(seen % 5, minlength=5)]
        tell(f"{k} a {unit}: two features", pair, len(seen))
        seen = chosen(clean["smoker"])
        tell(f"{k} a {unit}: truths", [seen.sum()], len(seen))
        seen = chosen(clean["ward"])
        tell(f"{k} a {unit}: categories", np.bincount(seen, minlength=4), len(seen))
        seen = chosen(q)
        tell(f"{k} a {unit}: sums", [seen.sum()], len(seen))
    three = [clean[x] for x in ("x0", "x1", "x2")]
    seen = kept(rows["user"], three, 2)
    first, second = moments([x[seen] for x in three])
    tell("2 a user: covariance", [*(1024 * first), *second], len(seen))
    return found


EIGHT = ["x0", "x1", "x2", "age", "warmth", "visits", "hours", "smoker"]
UNITS = [("user", 1), ("user", 5), ("name", 3)]
MIX3, MIX4, MIX5 = (dc.DirichletCategorical([1] * size) for size in (3, 4, 5))
TRUTH = dc.BetaBernoulli(1, 1)
# One of each kind of query. Where a million rows take seconds a query, these are read from them; the others,
# which differ in columns and families, from a few rows on the same engine. DuckDB reads all from a million.
KINDS = {
    "bernoulli",
    "mean, fine grid",
    "mean and variance",
    "regression",
    "counts by region",
    "bands",
    "5 a user: categories",
    "5 a user: sums",
    "3 a name: truths",
}
ON_SPARK = {"bernoulli", "regression", "counts by region", "5 a user: categories"}  # of them: it is slowest


# --- the library ------------
def statistics(opened):
    """Name → statistic, unread; `opened` opens the table with a unit or without."""
    table, add = opened(), dc.ADD_REMOVE
    yield "bernoulli", table["smoker"].bounded(TRUTH)
    yield "missing is true", table["flag"].bounded(TRUTH)
    yield "binomial", table["visits"].bounded(dc.BetaBinomial(1, 1, trials=20))
    yield "geometric, clipped again", table["visits"].bounded(dc.BetaGeometric(1, 1, upper=9), clip=True)
    yield "poisson of doubles", table["hours"].bounded(dc.GammaPoisson(1, 1, upper=7))
    yield "exponential, coarse grid", table["age"].bounded(EXPONENTIAL, clip=True)
    yield "mean", table["age"].bounded(MEAN)
    yield "mean, fine grid", table["age"].bounded(FINE)
    yield "mean and variance", table["warmth"].bounded(NIG, clip=True)
    yield "categories", table["ward"].bounded(MIX4)
    yield "number levels", table["half"].bounded(MIX3)
    yield "unknown is a level", table["region"].bounded(MIX5)
    yield "items", table["p0", "p1"].bounded(dc.DirichletMultinomial([1, 1], trials=2))
    yield "covariance", table["x0", "x1", "x2"].bounded(NIW, clip=True)
    with_one = table.derive(one=constant(1))
    yield "regression", with_one["one", "x0", "x2", "x1"].bounded(LINE, clip=True)
    yield "nine columns", with_one[(*EIGHT, "one")].bounded(WIDE, clip=True)
    yield "counts by region", counts(table, ["ward", "smoker"], by=["region"])
    predicate = ((col("age") >= 65) & ~(col("ward") == "\u00e9")) | (col("visits") == 3)
    some = table.derive(tenth=0.1 * col("age") + 0.3, band=col("age").cut([18, 65])).where(predicate)
    mean = dc.NormalMean(5, 1, variance=9, lower=0, upper=20, grid=2**-10)
    yield "filtered and derived", some["tenth"].bounded(mean, add)
    yield "bands", some["band"].bounded(dc.DirichletCategorical([1] * 3), add)
    unknown = table.schema["ward"].labels[3]
    few = (col("ward").isin([WARD[0], unknown]) & ~col("half").isin([2.5, 0.49999999999999994])) | col(
        "visits"
    ).isin([3, 4.0])
    yield (
        "of several levels",
        table.where(few & col("flag").isin([True, False]))["smoker"].bounded(TRUTH, add),
    )
    for unit, k in UNITS:
        of_unit = opened(unit=unit, rows_per_unit=k)
        yield f"{k} a {unit}: two features", counts(of_unit, ["ward", "region"], relation=add)
        yield f"{k} a {unit}: truths", of_unit["smoker"].bounded(TRUTH, add)
        yield f"{k} a {unit}: categories", of_unit["ward"].bounded(MIX4, add)
        yield f"{k} a {unit}: sums", of_unit["age"].bounded(MEAN, add)
    pair = opened(unit="user", rows_per_unit=2)
    yield "2 a user: covariance", pair["x0", "x1", "x2"].bounded(NIW, add, clip=True)


@pytest.fixture(scope="module")
def answers(rows):
    return expected(rows)


@pytest.fixture(scope="module")
def few(make_rows):
    return make_rows(3000, 2)


@pytest.fixture(scope="module")
def few_answers(few):
    return expected(few)


@pytest.fixture
def small(few, few_answers):
    """A few rows, their answers, and the statistics that are not asked of a million."""
    return few, few_answers, few_answers.keys() - KINDS


def wrong(opened, answers, only=None):
    """Names of the statistics, or of those `only`, that differ from the oracle's."""
    asked = dict(statistics(opened))
    assert asked.keys() == answers.keys()
    only = asked.keys() if only is None else only
    assert only <= asked.keys()
    found = {name: asked[name].read() for name in only}
    return [
        name
        for name, got in found.items()
        if got.n != answers[name][1]
        or got.values.dtype != np.int64
        or not np.array_equal(got.values, answers[name][0])
    ]


def opener(source, **where):
    return lambda **unit: Table.open(source, schema=SCHEMA, **where, **unit)


def test_the_oracle_notices_missing_rows(few, few_answers):
    other = expected(few.slice(500))
    assert all(not np.array_equal(values, other[name][0]) for name, (values, _) in few_answers.items())


def test_duckdb_on_a_million_rows_of_parquet(parquet, answers):
    assert not wrong(opener(parquet), answers)


def test_postgres_on_a_million_rows(rows, answers, small, load_postgres, postgres_url):
    assert not wrong(opener(postgres_url, table=load_postgres(rows, "million")), answers, KINDS)
    few, few_answers, others = small
    assert not wrong(opener(postgres_url, table=load_postgres(few, "few")), few_answers, others)


def test_spark_on_a_million_rows(rows, parquet, answers, small, spark):
    import ibis

    connection = ibis.pyspark.connect(spark)
    spark.read.parquet(str(parquet)).createOrReplaceTempView("million")
    assert not wrong(spark_opener(connection.table("million"), rows), answers, ON_SPARK)
    few, few_answers, _ = small
    pq.write_table(few, parquet.with_name("few.parquet"))
    spark.read.parquet(str(parquet.with_name("few.parquet"))).createOrReplaceTempView("few")
    assert not wrong(spark_opener(connection.table("few"), few), few_answers, few_answers.keys() - ON_SPARK)


def spark_opener(table, rows):
    """With n declared, because counting costs one more query for each statistic."""
    return lambda **unit: Table.open(table, schema=SCHEMA, **(unit or {"n": rows.num_rows}))


def test_polars_frame_of_a_million_rows(rows, answers, few, few_answers):
    pl = pytest.importorskip("polars")
    assert not wrong(opener(pl.from_arrow(rows)), answers, KINDS)
    assert not wrong(opener(pl.from_arrow(few).lazy()), few_answers)


def test_polars_as_the_engine_on_a_million_rows(rows, answers):
    """Ibis on Polars has no window functions: with a unit it is refused, before anything is charged."""
    pl = pytest.importorskip("polars")
    import ibis

    table = ibis.polars.connect({"rows": pl.from_arrow(rows)}).table("rows")
    asked = statistics(opener(table))
    found = {name: statistic.read() for name, statistic in itertools.islice(asked, 20)}
    with pytest.raises(TableError, match="compiling for polars"):
        next(asked)
    for name, got in found.items():
        assert got.n == answers[name][1], name
        assert np.array_equal(got.values, answers[name][0]), name


def test_pandas_frame(few, few_answers):
    frame = few.to_pandas()  # whole numbers with NULL become doubles with NaN
    assert not wrong(opener(frame.astype({"user": "Int64"})), few_answers)
    with pytest.raises(TypeError, match="unit column 'user'"):
        opener(frame)(unit="user", rows_per_unit=1)


def test_arrow_table(few, few_answers):
    assert not wrong(opener(few), few_answers)


def test_memtable(few, few_answers):
    import ibis

    assert not wrong(opener(ibis.memtable(few)), few_answers)


def test_duckdb_file(few, few_answers, tmp_path):
    import duckdb

    with duckdb.connect(tmp_path / "rows.duckdb") as connection:
        connection.register("few", few)
        connection.execute("create table visits as from few")
    assert not wrong(opener(tmp_path / "rows.duckdb", table="visits"), few_answers)


def test_csv(few, few_answers, tmp_path):
    import duckdb

    path = tmp_path / "rows.csv"
    with duckdb.connect() as connection:
        connection.register("few", few)
        connection.execute(f"copy few to '{path}' (force_quote (ward, name))")
    # a unit is text in a CSV, so its rows start elsewhere than those of the same number in a typed table
    assert all(" a user: " in name for name in wrong(opener(path), few_answers))


def test_the_layout_of_the_file_does_not_matter(few, few_answers):
    order = np.random.default_rng(3).permutation(few.num_rows)
    assert not wrong(opener(few.take(order)), few_answers)


def test_the_family_says_the_same(few):
    """Bit for bit what model.statistic gives on the clean column."""
    clean, table = oracle(few), opener(few)()
    for column, model in [
        ("age", MEAN),
        ("age", FINE),
        ("age", EXPONENTIAL),
        ("warmth", NIG),
        ("smoker", TRUTH),
        ("ward", MIX4),
    ]:
        assert np.array_equal(
            table[column].bounded(model, clip=True).read().values, model.statistic(clean[column])
        )
    together = np.stack([clean[x] for x in ("x0", "x1", "x2")], axis=1)
    assert np.array_equal(
        table["x0", "x1", "x2"].bounded(NIW, clip=True).read().values, NIW.statistic(together)
    )
