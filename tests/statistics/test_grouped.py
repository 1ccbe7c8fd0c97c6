"""Statistics of every group in one pass: what each group gives alone, on every engine; how far they move."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.catalogue import ROWS, names
from discreet.statistics.bounded_statistic import bounded
from discreet.tables.derived.columns import col
from discreet.tables.table import Table

NAN, INF = float("nan"), float("inf")
SCHEMA = {
    "ward": dc.Categories(["A", "B"], unknown="(unknown)"),
    "sex": dc.Binary(),
    "b": dc.Binary(),
    "c": dc.Count(5),
    "w": dc.Categories(["u", "v"], unknown="u"),
    "x": dc.Bounded(-2, 3),
    "y": dc.Bounded(-9, 9),
}
TYPES = pa.schema(
    [
        *(("user", pa.int64()), ("ward", pa.string()), ("sex", pa.bool_()), ("b", pa.bool_())),
        *(("c", pa.int64()), ("w", pa.string()), ("x", pa.float64()), ("y", pa.float64())),
    ]
)
# every corner of every column; the wildest double that each engine takes
CORNERS = [
    {"b": True, "c": 0, "w": "u", "x": -2.0, "y": 9.0},
    {"b": False, "c": 5, "w": "v", "x": 3.0, "y": -9.0},
    {"b": None, "c": None, "w": None, "x": None, "y": None},
    {"b": True, "c": 10**12, "w": "z", "x": INF, "y": NAN},
    {"b": False, "c": -7, "w": "v", "x": -INF, "y": 5e-324},
    {"b": True, "c": 2, "w": "u", "x": 1e308, "y": -1e308},
]
WARDS = ["A", "B", None]
FAMILIES = {
    "bernoulli": ("b", dc.BetaBernoulli(1, 1)),
    "poisson": ("c", dc.GammaPoisson(1, 1, upper=5)),
    "mean": ("x", dc.NormalMean(0, 1, variance=1, lower=-2, upper=3, grid=2**-3)),
    "moments": ("x", dc.NormalInverseGamma(0, 1, shape=2, scale=1, lower=-2, upper=3, grid=2**-3)),
    "categories": ("w", dc.DirichletCategorical([1, 1])),
    "items": (("c", "b"), dc.DirichletMultinomial([1, 1], trials=5)),
    "covariance": (
        ("x", "y"),
        dc.NormalInverseWishart([0, 0], 1, degrees=4, scale=[[1, 0], [0, 1]], radius=12, grid=0.5),
    ),
    "regression": (
        ("x", "y"),
        dc.BayesianLinearRegression([0], [[1]], shape=2, scale=1, radius=12, grid=0.5),
    ),
}
pytestmark = [
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]
every_family = pytest.mark.parametrize("name", FAMILIES)


def rows_of(size, seed):
    rng = np.random.default_rng(seed)
    return pa.Table.from_pylist(
        [
            {
                **CORNERS[rng.integers(6)],
                "user": int(rng.integers(size // 3)),
                "ward": WARDS[rng.integers(3)],
                "sex": bool(rng.integers(2)),
            }
            for _ in range(size)
        ],
        schema=TYPES,
    )


def grouped(table, name, relation=dc.ADD_REMOVE, **more):
    columns, family = FAMILIES[name]
    return bounded(table[columns], dc.Grouped(family, ("ward", "sex"), **more), relation)


@pytest.fixture(scope="module")
def rows():
    return rows_of(90, 4)


@pytest.fixture(scope="module")
def table(rows):
    return Table.open(rows, schema=SCHEMA)


@every_family
def test_each_group_is_what_it_is_alone(table, name):
    columns, family = FAMILIES[name]
    found = grouped(table, name).read()
    for i, (ward, sex) in enumerate(itertools.product(["A", "B", "(unknown)"], [False, True])):
        alone = table.where((col("ward") == ward) & (col("sex") == sex))[columns]
        counted = alone.bounded(family, dc.ADD_REMOVE).read()
        assert found.values[i].tolist() == [*counted.values.tolist(), counted.n]
    assert found.n == 90


@every_family
def test_at_most_k_rows_of_a_unit_count_over_all_groups(rows, name):
    units = Table.open(rows, schema=SCHEMA, unit="user", rows_per_unit=2)
    found = grouped(units, name).read()
    most = np.minimum(np.unique(rows["user"].to_numpy(), return_counts=True)[1], 2).sum()
    assert found.n == found.values[:, -1].sum() == most


@pytest.mark.slow
def test_the_same_integers_on_postgres(rows, load_postgres, postgres_url):
    name = load_postgres(rows, "grouped")
    check_engine(rows, lambda **unit: Table.open(postgres_url, schema=SCHEMA, table=name, **unit))


@pytest.mark.slow
def test_the_same_integers_on_spark(rows, spark, tmp_path):
    import ibis
    import pyarrow.parquet as pq

    pq.write_table(rows, tmp_path / "grouped.parquet")
    spark.read.parquet(str(tmp_path / "grouped.parquet")).createOrReplaceTempView("grouped_rows")
    source = ibis.pyspark.connect(spark).table("grouped_rows")
    few = ("moments", "categories", "covariance")  # Spark takes seconds for each
    check_engine(rows, lambda **unit: Table.open(source, schema=SCHEMA, **unit), few)


def check_engine(rows, opened, families=tuple(FAMILIES)):
    """One unit suffices: which rows of a unit count is the same question for every family."""
    for name in families:
        here, there = (grouped(one, name).read() for one in (Table.open(rows, schema=SCHEMA), opened()))
        assert np.array_equal(here.values, there.values), name
    unit = {"unit": "user", "rows_per_unit": 2}
    here, there = (
        grouped(one, "mean").read() for one in (Table.open(rows, schema=SCHEMA, **unit), opened(**unit))
    )
    assert np.array_equal(here.values, there.values)


# ── how far one record moves what is noised
def claimed(model, relation):
    one = model.sensitivity(relation)
    return np.array([one.l1, one.l2, one.linf])


def distance(ours, theirs):
    gap = np.abs(ours - theirs)
    return np.array([gap.sum(), np.sqrt((gap.astype(float) ** 2).sum()), gap.max()])


def single(family, columns):
    """What each corner adds to a group: its row (S, 1), read off a table of that record alone."""
    found = []
    for corner in CORNERS:
        one = pa.Table.from_pylist([{**corner, "ward": "A", "sex": False, "user": 1}], schema=TYPES)
        table = Table.open(one, schema=SCHEMA)[columns]
        found.append(table.bounded(family, dc.ADD_REMOVE).read().values)
    return found


@every_family
def test_no_record_moves_the_groups_further_than_is_paid_for(name):
    """Over every pair of corners, and every way to stay in a group or to change it: exhaustive."""
    columns, family = FAMILIES[name]
    model = dc.Grouped(family, "ward", columns, sizes=(2,))
    nothing = 0 * single(family, columns)[0]
    each = [np.append(s, 1) for s in single(family, columns)]
    base, none = np.append(each[0][:-1], 1), np.append(nothing, 0)
    seen = {kind: np.zeros(3) for kind in ("added", "replaced")}
    for u, v in itertools.product(each, each):
        stay = [np.array([base + w, base]) for w in (u, v)]
        move = [np.array([base + u, base]), np.array([base, base + v])]
        empty = [np.array([u, none]), np.array([none, none])]
        for kind, relation, pair in (
            ("added", dc.ADD_REMOVE, empty),
            ("replaced", dc.SUBSTITUTE, stay),
            ("replaced", dc.SUBSTITUTE, move),
        ):
            found = distance(*(model.vector(side) for side in pair))
            bound = claimed(model, relation)
            assert np.all(found <= bound * (1 + 1e-15)), (kind, found, bound)
            seen[kind] = np.maximum(seen[kind], found / bound)
    assert min(seen["replaced"][1], seen["added"][1]) > 0.6  # the claims are not vacuous


@every_family
def test_two_records_never_point_apart(name):
    """⟨u, v⟩ ≥ 0 for what any two records add to a group, so that a record replaced moves √2 at most."""
    columns, family = FAMILIES[name]
    each = [family.joint(s, 1).astype(object) for s in single(family, columns)]
    assert all(u @ v >= 0 for u, v in itertools.product(each, each))


def test_groups_that_cannot_be_are_refused_before_anything_is_read(table):
    ask = dc.BetaBernoulli(1, 1)
    with pytest.raises(ValueError, match="each column once"):
        dc.Grouped(ask, ())
    with pytest.raises(TypeError, match="one more feature"):
        dc.Grouped(dc.NaiveBayes("b", ["w"]), "ward")
    with pytest.raises(TypeError, match="counting needs categories"):
        bounded(table["b"], dc.Grouped(ask, "x"))
    with pytest.raises(ValueError, match="cut off silently"):
        bounded(table["y"], dc.Grouped(FAMILIES["mean"][1], "ward"))
    with pytest.raises(ValueError, match="makes one group"):
        dc.Grouped(ask, "ward").bind(("b",), (1,))


def test_every_family_has_a_grouped_statistic():
    from discreet.families.dirichlet_categorical import DirichletCategorical
    from discreet.statistics.grouped import terms_of

    kinds = [ROWS[name].load("model") for name in names("family")]
    fallback = terms_of.dispatch(object)
    assert all(k is DirichletCategorical or terms_of.dispatch(k) is not fallback for k in kinds)
