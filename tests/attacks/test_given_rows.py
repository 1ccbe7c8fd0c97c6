"""A file that is predicted for is read as the private file was: text by text, whatever a text looks like."""

import csv

import pytest

import discreet as dc
from discreet.cli.predict import rows_of
from discreet.encoding.encoder import Encoder
from discreet.tables.engine import prepared
from discreet.tables.rows import clean_rows

BLANKS = ["{} ", "\t{}", "{}\u00a0", "\u2003{}", "\x1c{}", "{}\x85", "{}\x0b", "{}\x00"]
NUMBERS = [
    *(
        "0x10",
        "1_000",
        "1e1_0",
        "1__0",
        "_1",
        "1_",
        "١٢",
        "٥",
        "５",
        "−5",
        "+5",
        "++5",
        "5.",
        ".5",
        "5e",
        "1e2",
    ),
    *(
        "1e 2",
        "1e400",
        "-1e400",
        "1e-400",
        "inf",
        "+inf",
        "Infinity",
        "nan",
        "-nan",
        "nan(1)",
        "5,0",
        "5f",
        "5%",
    ),
    *("½", "-0", "0b1", "99999999999999999999", ""),
]
TRUTHS = ["TRUE", "tRuE", "yes", "Y", "on", "off", "no", "t", "f", "0", "1", "1.0", "00", "ＴＲＵＥ"]
TEXTS = [*NUMBERS, *TRUTHS, *(blank.format(word) for blank in BLANKS for word in ("5", "true"))]
KINDS = {
    "bounded": dc.Bounded(-100, 1000),
    "count": dc.Count(200, missing=3),
    "truth": dc.Binary(),
    "one": dc.Binary(true=1),
    "truths": dc.Categories([True, False], unknown="(unknown)"),
    "whole": dc.Categories([0, 1, 5, 10, 12, 100, 1000], unknown="(unknown)"),
    "halves": dc.Categories([0.5, 1.0, 5.0], unknown="(unknown)"),
    "texts": dc.Categories(["5", "1.0", "true"], unknown="(unknown)"),
}


@pytest.mark.filterwarnings("ignore:.* are not declared levels")
@pytest.mark.parametrize("name", KINDS)
def test_every_text_is_the_same_to_both(tmp_path, name):
    path, schema = tmp_path / "rows.csv", {name: KINDS[name], "row": dc.Count(1000)}
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[name, "row"], *([text, i] for i, text in enumerate(TEXTS))])
    table = dc.Table.open(path, schema=schema)
    private = prepared(clean_rows(table, {x: x for x in schema}))().to_pydict()
    engine = dict(zip(map(int, private["row"]), map(float, private[name]), strict=True))
    encoder = Encoder(table.declared)
    given = encoder.encode(rows_of(path, encoder)).columns
    ours = dict(zip(map(int, given["row"]), map(float, given[name]), strict=True))
    assert len(engine) == len(TEXTS)
    assert {TEXTS[i]: (engine[i], ours[i]) for i in engine if engine[i] != ours[i]} == {}
