"""A schema is the same in Python, TOML and JSON; a template holds names and types only."""

import hashlib
import pickle

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet as pq

from discreet.posteriors.labels import Labels
from discreet.tables.derived.columns import col
from discreet.tables.schema import Binary, Bounded, Categories, Count, Label, Schema
from discreet.tables.table import Table
from discreet.tables.template import schema_template

FINITE = st.floats(-1e9, 1e9)
KINDS = st.one_of(
    st.builds(
        Binary,
        st.one_of(st.booleans(), st.text(min_size=1).filter(lambda t: t != "?"), st.integers(-5, 5)),
        st.booleans(),
    ),
    st.builds(Count, st.integers(1, 2**40)),
    st.tuples(FINITE, FINITE).filter(lambda p: p[0] < p[1]).map(lambda p: Bounded(*p)),
    st.lists(st.text().filter(lambda t: t != "?"), min_size=1, max_size=4, unique=True).map(Categories),
    st.lists(st.text().filter(lambda t: t != "?"), min_size=1, max_size=4, unique=True).map(
        lambda levels: Categories(levels, unknown="(unknown)")
    ),
    st.lists(st.integers(), min_size=1, max_size=4, unique=True).map(
        lambda levels: Label(levels, unknown=levels[-1])
    ),
)


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.text(min_size=1), KINDS, min_size=1, max_size=4))
def test_toml_json_and_pickle_bring_it_back(columns):
    schema = Schema(columns)
    pickled = pickle.loads(pickle.dumps(schema))  # noqa: S301 - our own
    for twin in (Schema.from_toml(schema.to_toml()), Schema.from_json(schema.to_json()), pickled):
        assert dict(twin) == dict(schema)
        assert twin.hash == schema.hash


def test_the_hash_is_of_what_is_declared():
    canonical = '{"columns":{"a":{"kind":"binary"}}}'
    assert Schema({"a": Binary()}).hash == hashlib.sha256(canonical.encode()).hexdigest()
    assert Schema({"a": Binary()}).hash == Schema({"a": Binary(true=True, missing=False)}).hash
    assert Schema({"a": Binary(), "b": Count(3)}).hash == Schema({"b": Count(3), "a": Binary()}).hash
    assert Schema({"a": Binary()}).hash != Schema({"a": Binary(missing=True)}).hash
    assert Schema({"a": Bounded(0, 1)}).hash != Schema({"a": Bounded(0, 2)}).hash


def test_files(tmp_path):
    schema = Schema({"age": Bounded(0, 100), "ward": Categories(["A", "é"])})
    (tmp_path / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")
    (tmp_path / "schema.json").write_text(schema.to_json(), encoding="utf-8")
    rows = pa.table({"age": [1.0], "ward": ["A"]})
    assert Schema.load(tmp_path / "schema.json") == schema
    assert Table.open(rows, schema=tmp_path / "schema.toml").schema == schema


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[columns.a]\n",
        '[columns.a]\nkind = "?"\n',
        '[columns.a]\nkind = "bounded"\nlower = 0\n',
        '[columns.a]\nkind = "binary"\nmax = 3\n',
    ],
)
def test_what_is_not_filled_in_is_refused(text):
    with pytest.raises(ValueError, match=r"column|TOML|table"):
        Schema.from_toml(text)


def test_a_template_is_to_be_filled_in(tmp_path):
    rows = pa.table({"b": [True], "x": [17.5], "w": ["secret"], "k": [4]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    (tmp_path / "rows.csv").write_text("b,x,w,k\ntrue,17.5,secret,4\n")
    for source in (tmp_path / "rows.parquet", rows, rows.to_pandas(), tmp_path / "rows.csv"):
        text = schema_template(source)
        assert "17.5" not in text
        assert "secret" not in text
        with pytest.raises(ValueError, match=r"\?|fill"):
            Schema.from_toml(text)
    typed = schema_template(tmp_path / "rows.parquet")
    filled = (
        typed.replace('lower = "?"', "lower = 0")
        .replace('upper = "?"', "upper = 20")
        .replace('["?"]', '["a", "b"]')
        .replace('unknown = "?"', 'unknown = "b"')
    )
    assert Table.open(rows, schema=Schema.from_toml(filled)).size() == 1


@pytest.mark.parametrize(
    ("unknown", "labels", "place"),
    [(None, ("A", "B"), "A"), ("B", ("A", "B"), "B"), ("(unknown)", ("A", "B", "(unknown)"), "(unknown)")],
)
def test_all_that_the_levels_leave_out_has_one_declared_place(unknown, labels, place):
    """No category is added unless it is asked for; what is stored says the place, also where it was left."""
    kind = Categories(["A", "B"], unknown=unknown)
    assert (kind.labels, kind.size, kind.labels[kind.elsewhere]) == (labels, len(labels), place)
    assert kind.described() == {"kind": "categories", "levels": ("A", "B"), "unknown": place}
    schema = Schema({"w": kind})
    assert Labels(("w",), schema.to_dict()).declared("w") == labels
    with pytest.raises(
        ValueError, match="adds that category" if place != "(unknown)" else "is not a declared"
    ):
        kind.code("(unknown)" if place != "(unknown)" else "C")


def test_a_stored_schema_without_the_place_is_of_an_older_version():
    said = {"columns": {"w": {"kind": "categories", "levels": ["A", "B"]}}}
    assert Labels(("w",), said).declared("w") == ("A", "B", "(unknown)")


def test_bounds_of_derived_columns_are_known():
    schema = Schema({"age": Bounded(0, 100), "visits": Count(7), "ward": Categories(["A", "B"])})
    assert (2 * col("age") - 50).kind(schema) == Bounded(-50.0, 150.0)
    assert (10 - col("visits") / 2).kind(schema) == Bounded(6.5, 10.0)
    assert (col("age") >= 18).kind(schema) == Binary()
    cut = col("age").cut([18, 65]).kind(schema)
    assert (cut.size, cut.labels) == (3, ("below 18", "18 to 65", "from 65"))
    assert (~col("ward").isin(["A", "B"]) | (col("age") < 3)).names() == {"ward", "age"}
