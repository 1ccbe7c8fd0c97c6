"""Rows of the user's own are encoded as the engine encodes private ones; what is no label is refused."""

import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.encoding.encoder import Encoder
from discreet.tables.derived.joint import Joint
from discreet.tables.engine import prepared
from discreet.tables.rows import clean_rows
from discreet.tables.schema import Binary

NAN = float("nan")
SCHEMA = {
    "ward": dc.Categories(["A", "B", "c d"], unknown="(unknown)"),
    "first": dc.Categories(["z", "y"]),
    "grade": dc.Categories([1, 2, 5], unknown=2),
    "flag": dc.Categories([True, False], unknown="(unknown)"),
    "smoker": dc.Binary(true="yes", missing=True),
    "ill": dc.Binary(),
    "one": dc.Binary(true=1),
    "age": dc.Bounded(0, 100, missing=40),
    "coarse": dc.Bounded(-1, 1, grid=2**-2),
    "wide": dc.Bounded(-64, 64, grid=16),
    "visits": dc.Count(7, missing=2),
}
ROWS = {
    "ward": ["A", "c d", None, "a", "B", ""],
    "first": ["y", "z", "x", None, "y", "y"],
    "grade": [1, 5, 3, 2, None, -1],
    "flag": [True, False, None, True, False, True],
    "smoker": ["yes", "no", None, "Yes", "yes", "no"],
    "ill": [True, False, None, True, True, False],
    "one": [1.0, 0.0, NAN, 2.0, 1.0, 0.5],
    "age": [-3.0, 1e9, NAN, 55.5, 0.0, 100.0],
    "coarse": [0.125, -0.125, NAN, 0.374, -0.9, 7.0],
    "wide": [8.0, -8.0, NAN, 23.9, 24.0, -70.0],
    "visits": [0.5, 1.5, NAN, 6.49, 6.5, 400.0],
}
DERIVED = {
    "band": dc.col("age").cut([18, 65]),
    "old": (dc.col("age") >= 55.5) & ~(dc.col("ward") == "A"),
    "either": dc.col("ward").isin(["A", "B"]) | dc.col("ill"),
    "near": dc.col("age").between(0, 60),
    "fahrenheit": 1.8 * dc.col("coarse") + 32,
    "late": dc.col("fahrenheit") > 32,
    "bad": dc.col("grade") != 5,
    "cell": Joint(("ward", "smoker", "first")),
}


def private():
    """The same rows behind a table, derived columns one after the other."""
    frame = pd.DataFrame({name: pd.Series(x, dtype=dtype(name)) for name, x in ROWS.items()})
    table = dc.Table.open(frame, schema=SCHEMA)
    for name, expression in DERIVED.items():
        table = table.derive(**{name: expression})
    return table, frame


def dtype(name):
    return {"grade": "Int64", "flag": "boolean", "ill": "boolean"}.get(
        name, "object" if name in {"ward", "first", "smoker"} else "float64"
    )


def engine_values(table):
    names = tuple(table.schema)
    rows = prepared(clean_rows(table, {name: name for name in names}))().to_pydict()
    return {name: np.array(rows[name], dtype=float) for name in names}


def test_every_kind_and_expression_is_encoded_as_the_engine_encodes_it():
    table, frame = private()
    wanted, found = engine_values(table), Encoder(dc.Schema(SCHEMA), DERIVED).encode(frame)
    assert set(wanted) == set(found.columns)
    for name, values in wanted.items():
        assert np.asarray(found.columns[name], dtype=float).tolist() == values.tolist(), name


def test_what_a_release_says_in_public_is_enough_to_build_the_encoder():
    from discreet.line.calibrate import provenance

    table, frame = private()
    facts = provenance(table.where(dc.col("ward") == "A"))
    import json

    again = Encoder.of(json.loads(facts["schema_text"]), facts["selection"])
    wanted = Encoder(dc.Schema(SCHEMA), DERIVED).encode(frame)
    assert set(again.derived) == set(DERIVED)
    for name, values in wanted.columns.items():
        assert again.encode(frame, [name]).columns[name].tolist() == values.tolist()


def test_a_level_with_semicolons_quotes_and_equals_does_not_break_the_words_of_a_selection():
    level = """a; b = 'c' ; "d\\"""
    schema = dc.Schema({"x": dc.Categories([level, "y"], unknown="y")})
    table = dc.Table.open({"x": [level, "y"]}, schema=schema).derive(
        odd=dc.col("x") == level, more=dc.col("x").isin(["y", level])
    )
    from discreet.line.calibrate import provenance

    again = Encoder.of(table.schema.to_dict(), provenance(table)["selection"])
    assert again.encode({"x": [level, "y"]}, ["odd", "more"]).columns["odd"].tolist() == [1, 0]


def test_a_stored_schema_without_a_place_has_one_category_more_as_it_had():
    old = {"columns": {"ward": {"kind": "categories", "levels": ["A", "B"]}}}
    assert Encoder.of(old).labels("ward") == ("A", "B", "(unknown)")
    assert Encoder.of(old).encode({"ward": ["B", "C"]}).columns["ward"].tolist() == [1, 2]


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "dict", "rows", "category", "objects"])
def test_every_form_of_rows_gives_the_same_codes(form):
    names = ("ward", "grade", "age", "ill")
    frame = pd.DataFrame({name: pd.Series(ROWS[name], dtype=dtype(name)) for name in names})
    plain = {name: ROWS[name] for name in names}
    rows = {
        "pandas": lambda: frame,
        "polars": lambda: pl.DataFrame(plain, strict=False),
        "arrow": lambda: pa.table(plain),
        "dict": lambda: plain,
        "rows": lambda: [dict(zip(names, row, strict=True)) for row in zip(*plain.values(), strict=True)],
        "category": lambda: frame.assign(ward=frame["ward"].astype("category")),
        "objects": lambda: frame.astype(object),
    }[form]()
    encoder = Encoder(dc.Schema(SCHEMA))
    found, wanted = encoder.encode(rows, names), encoder.encode(frame, names)
    for name in names:
        assert found.columns[name].tolist() == wanted.columns[name].tolist()


def test_a_data_frame_keeps_what_its_rows_are_called_and_one_record_is_one_row():
    encoder = Encoder(dc.Schema(SCHEMA))
    frame = pd.DataFrame({"ward": ["A", "B"]}, index=["ann", "bob"])
    assert encoder.encode(frame, ["ward"]).index.tolist() == ["ann", "bob"]
    assert encoder.encode({"ward": "B", "age": Decimal(7)}, ["ward", "age"]).columns["age"].tolist() == [7.0]


@pytest.mark.parametrize("name", ["ward", "smoker"])
def test_integer_codes_are_no_labels(name):
    codes = pd.DataFrame({name: [0, 1, 0]})
    with pytest.raises(TypeError, match=rf"{name}.*holds numbers.*expects.*integer codes are not labels"):
        Encoder(dc.Schema(SCHEMA)).encode(codes, [name])


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("grade", ["1", "2"], "holds texts.*expects 1, 2, 5"),
        ("grade", [True, False], "holds truths"),
        ("age", ["40"], "holds texts.*expects numbers from 0 to 100"),
        ("visits", ["3"], "whole numbers from 0 to 7"),
        ("ill", ["True"], "holds texts"),
        ("age", [b"3"], "holds others"),
        ("nothing", [1], "no column 'nothing' is declared"),
    ],
)
def test_errors_name_the_column_what_was_got_and_what_is_expected(name, values, words):
    with pytest.raises((TypeError, KeyError), match=words) as refused:
        Encoder(dc.Schema(SCHEMA)).encode({name: values}, [name])
    assert "b'3'" not in str(refused.value)


def test_rows_without_names_and_missing_columns_are_refused():
    encoder = Encoder(dc.Schema(SCHEMA))
    with pytest.raises(TypeError, match="codes=True"):
        encoder.encode(np.zeros((2, 2)), ["ward"])
    with pytest.raises(ValueError, match=r"no column 'ward'.*there is 'Ward'"):
        encoder.encode({"Ward": ["A"]}, ["ward"])
    with pytest.raises(ValueError, match="one length, got 1, 2"):
        encoder.encode({"ward": ["A"], "age": [1, 2]}, ["ward"])
    with pytest.raises(ValueError, match="two columns called 'ward'"):
        encoder.encode(pd.DataFrame([["A", "B"]], columns=["ward", "ward"]), ["ward"])


def test_mostly_unlisted_values_are_said_aloud_and_a_few_are_not():
    encoder = Encoder(dc.Schema(SCHEMA))
    with pytest.warns(
        RuntimeWarning, match=r"2 of 3 values in column 'ward' are not declared.*\(unknown\)"
    ) as heard:
        encoder.encode({"ward": [" A", "b", "A"]}, ["ward"])
    assert " A" not in str(heard[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encoder.encode({"ward": ["A", "b", None]}, ["ward"]).columns["ward"].tolist() == [0, 3, 3]


def test_a_derived_column_may_be_given_itself_where_its_own_columns_are_not():
    encoder = Encoder(dc.Schema(SCHEMA), DERIVED)
    assert encoder.encode({"band": ["from 65", "18 to 65"]}, ["band"]).columns["band"].tolist() == [2, 1]
    both = {"band": ["from 65"], "age": [3]}
    assert encoder.encode(both, ["band"]).columns["band"].tolist() == [0]


def test_labels_come_back():
    encoder = Encoder(dc.Schema(SCHEMA))
    assert encoder.decode("ward", [0, 3]).tolist() == ["A", "(unknown)"]
    assert encoder.decode("grade", [2, 0]).tolist() == [5, 1]
    assert encoder.labels("ill") == (False, True)
    assert encoder.labels("one") == (0, 1)
    assert encoder.labels("smoker") == ("not yes", "yes")
    assert [encoder.code("visits", 3), encoder.code("ill", True), encoder.code("smoker", True)] == [3, 1, 1]  # noqa: FBT003
    with pytest.raises(ValueError, match=r"'D' is not a label of column 'ward'; its labels are 'A', 'B'"):
        encoder.code("ward", "D")
    with pytest.raises(ValueError, match="not a label"):
        encoder.code("grade", True)  # noqa: FBT003
    with pytest.raises(TypeError, match="holds numbers"):
        encoder.labels("age")


def test_texts_of_a_csv_file_are_read_as_the_engine_reads_them(tmp_path):
    texts = {
        "grade": ["1", " 5", "x", "", "2.0", "1_0"],
        "flag": ["true", "F", "maybe", "", "FALSE", "t"],
        "age": ["7", "1e1", "inf", "", "-4", "nan"],
        "ill": ["True", "false", "1", "", "0", "T"],
        "ward": ["A", "B", " A", "", "c d", "A"],
        "visits": ["0", "1", "2", "3", "4", "5"],  # an engine may scan rows in any order
    }
    schema = {name: SCHEMA[name] if name != "ill" else Binary() for name in texts}
    path = tmp_path / "rows.csv"
    path.write_text(
        "\n".join([",".join(texts), *(",".join(row) for row in zip(*texts.values(), strict=True))])
    )
    wanted = engine_values(dc.Table.open(path, schema=schema))
    wanted = {name: values[np.argsort(wanted["visits"])] for name, values in wanted.items()}
    encoder = Encoder(dc.Schema(schema))
    held = {name: [x or None for x in column] for name, column in texts.items()}
    found = encoder.encode(encoder.typed(held))
    for name, values in wanted.items():
        assert np.asarray(found.columns[name], dtype=float).tolist() == values.tolist(), name


def test_the_encoder_loads_no_engine_and_only_what_is_public_of_tables():
    script = "import sys, discreet.encoding.encoder\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    loaded = set(done.stdout.split())
    inside = {name for name in loaded if name.startswith("discreet.tables.")}
    assert inside <= {
        "discreet.tables.schema",
        *(
            f"discreet.tables.derived{x}"
            for x in ("", ".columns", ".demands", ".joint", ".parsed", ".written")
        ),
    }
    assert not loaded & {"ibis", "duckdb", "pandas", "pyarrow", "sqlalchemy", "discreet.ledger"}
