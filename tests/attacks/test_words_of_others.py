"""Words that somebody else chose: passwords stay secret, terminals obey nothing, spreadsheets run nothing."""

import csv
import io
import json
import re
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.ledger import Ledger, LedgerError
from discreet.privacy.kinds import PureDP
from discreet.release.certificate_text import certificate_text
from discreet.release.release import Release
from discreet.shown import address, cell, visible, without_secrets
from discreet.tables.opening.sources import open_source

from .conftest import FIT

SECRET = "hunter2"  # noqa: S105 - not one of ours
ADDRESSES = [
    f"postgresql://me:{SECRET}@nowhere.invalid/base",
    f"postgresql://{SECRET}@nowhere.invalid/base",
    f"postgres://me:{SECRET}@nowhere.invalid:1/base?sslmode=require",
    f"postgresql://nowhere.invalid/base?user=me&password={SECRET}",
    f"postgresql://me:x@nowhere.invalid/base?password=a@{SECRET}",
    f"postgresql://me:{SECRET}@{SECRET}@nowhere.invalid/base",
    f"postgresql://me:a/{SECRET}@nowhere.invalid/base",
    f"postgresql://me:a?{SECRET}@nowhere.invalid/base",
    f"postgresql://me:a#{SECRET}@nowhere.invalid/base",
    f"postgresql://me:{SECRET}",
    f"postgresql:/me:{SECRET}@nowhere.invalid/base",
    f"postgresql:me:{SECRET}@nowhere.invalid/base",
    f"postgresql+psycopg://me:{SECRET}@nowhere.invalid/base",
    f"mysql://me:{SECRET}@nowhere.invalid/base",
    f"sc://nowhere.invalid:1/;token={SECRET};user_id=me",
    f"https://nowhere.invalid/rows.txt?sig={SECRET}",
    f"s3://me:{SECRET}@bucket/rows.txt",
    f"host=nowhere.invalid user=me password={SECRET}",
    f"host=nowhere.invalid password = '{SECRET} {SECRET}'",
    f"md:base?motherduck_token={SECRET}",
    f"postgresql://me:'{SECRET}'@nowhere.invalid/base",
    f'postgresql://me:"{SECRET}"@nowhere.invalid/base',
    f"host=nowhere.invalid password='a b\\'{SECRET}' user=me",
    f"//me:{SECRET}@nowhere.invalid/base",
]


@pytest.mark.parametrize("where", ADDRESSES)
def test_an_address_is_shown_without_its_secrets(where):
    assert SECRET not in address(where)
    assert SECRET not in address(Path(where))
    assert SECRET not in without_secrets(f"there is no ledger at {where}; start one")
    assert SECRET not in without_secrets(f"cannot tell what {where!r} is.")
    assert address(where).startswith(re.match(r"//|[a-z0-9+]+", where)[0])  # and still says what it is


@pytest.mark.parametrize(
    "plain",
    ["rows.parquet", "/data/v=1/rows.csv", "spark://host:7077", "spark://local[2]", "postgresql://host:5432/base",
     "duckdb:///tmp/x.db", r"C:\data\me@home.csv", "me@home.csv", "data/key=5/*.parquet", "postgresql://[::1]/b"],
)  # fmt: skip
def test_an_address_without_secrets_is_shown_as_it_is(plain):
    assert address(plain) == plain


COMMANDS = {
    "schema init": lambda where: ("schema", "init", where, "--table", "t"),
    "schema check": lambda where: ("schema", "check", "schema.toml", where, "--table", "t", "--json"),
    "schema check, swapped": lambda where: ("schema", "check", where),
    "too many words": lambda where: ("schema", "check", "schema.toml", where, where),
    "no such command": lambda where: (where,),
    "ledger show": lambda where: ("ledger", "show", where, "--json"),
    "ledger init": lambda where: ("ledger", "init", where, "--budget", "pure:1"),
    "ledger init, swapped": lambda where: ("ledger", "init", "b.db", "--budget", where),
    "fit": lambda where: ("fit", where, *FIT[2:], "--table", "t", "--out", "r", "--json"),
    "fit with =": lambda where: (*FIT, f"--ledger={where}", "--out", "r"),
    "a folder": lambda where: (*FIT, "--out", where, "--target", "nonsense"),
}
SOME = (ADDRESSES[0], ADDRESSES[10], ADDRESSES[-3])


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("where", SOME)
def test_no_command_repeats_a_secret(run, budget, command, where):
    done = run("--debug", *COMMANDS[command](where))
    assert done.code in {2, 3}, done.out  # bad input, or nobody is there
    assert SECRET not in done.out + done.err


def test_the_next_step_after_a_template_repeats_no_secret(run, home, monkeypatch):
    monkeypatch.setattr("discreet.tables.template.schema_template", lambda *_, **__: "")
    where = ADDRESSES[0]
    done = run("schema", "init", where, "--table", "t", "--out", "s.toml")
    assert done.code == 0, done.err
    assert SECRET not in done.out
    assert "schema check s.toml postgresql://***@nowhere.invalid/base" in done.out


def test_a_schema_held_against_a_base_repeats_no_secret(run, home, monkeypatch):
    monkeypatch.setattr("discreet.tables.table.Table.open", lambda *_, **__: None)
    done = run("schema", "check", "schema.toml", ADDRESSES[0], "--table", "t", "--json")
    assert json.loads(done.out)["held_against"] == "postgresql://***@nowhere.invalid/base"


OPENERS = (
    lambda where: open_source(where, "t", ()),
    lambda where: open_source(where, None, ()),
    Ledger.open,
    Release.load,
)


def test_the_library_repeats_no_secret_either(home):
    for where in ADDRESSES:
        for attempt in OPENERS:
            with pytest.raises(Exception) as said:
                attempt(where)
            assert SECRET not in f"{said.value} {said.value!r}"
    assert not [path for path in home.iterdir() if SECRET in path.name]  # nor a file named by one


# ── control characters ──────────────────────────────────────────────────────────────────────────────

EVIL = "\x1b]0;owned\x07\x1b[2J\r\nleft     default: of PureDP(9) there fits PureDP(9)\x9b31m\u202e\u2028"


@pytest.mark.parametrize(
    "bad", ["\x1b[31m", "a\nb", "a\rb", "\x00", "\x7f", "\x9b31m", "\u202e", "\u2028", "\t"]
)
def test_control_characters_are_refused_in_names(home, bad):
    ledger = Ledger.open("b.db", PureDP(1))
    for attempt in (
        lambda: ledger.charge(PureDP(0.1), charge_id=f"id{bad}"),
        lambda: ledger.add_scope(f"scope{bad}", PureDP(1)),
    ):
        with pytest.raises(LedgerError) as refused:
            attempt()
        assert bad not in str(refused.value)


def clean(text):
    """Nothing that a terminal obeys, in lines of ours."""
    return all(visible(line) == line for line in text.split("\n"))


def test_notes_hold_any_text_and_are_shown_escaped(run, home):
    Ledger.open("b.db", PureDP(1)).charge(PureDP(0.1), note=EVIL)
    for words in (("history", "b.db"), ("history", "b.db", "--json")):
        done = run("ledger", *words)
        assert done.code == 0
        assert clean(done.out)
        assert not any(line.startswith("left") for line in done.out.splitlines())
    assert json.loads(done.out)[-1]["note"] == EVIL  # and JSON is exact
    for name in ("h.csv", "h.json"):
        assert run("ledger", "export", "b.db", name).code == 0
        assert clean((home / name).read_text())
    assert json.loads((home / "h.json").read_text())["entries"][-1]["note"] == EVIL


def test_names_of_columns_and_levels_are_shown_escaped(run, home, budget):
    parquet.write_table(pa.table({EVIL: ["a", EVIL] * 50}), home / "rows.parquet")
    schema = {"columns": {EVIL: {"kind": "binary", "true": EVIL}}}
    (home / "schema.json").write_text(json.dumps(schema))
    fit = [w.replace("schema.toml", "schema.json").replace("smoker", EVIL) for w in FIT]
    seen = [
        run("schema", "init", "rows.parquet"),
        run("schema", "check", "schema.json"),
        run("schema", "check", "schema.json", "--json"),
        run(*fit, "--out", "r"),
        run(*FIT, "--out", "s"),  # a column that the table lacks
        run(*fit[:-4], "--target", "pure:0.1", "--out", f"{EVIL}/r"),
    ]
    assert [done.code for done in seen] == [0, 0, 0, 0, 2, seen[-1].code]
    assert all(clean(done.out) and clean(done.err) for done in seen)
    assert all(clean((home / "r" / name).read_text()) for name in ("release.json", "certificate.json"))
    release = Release.load(home / "r")
    assert clean(repr(release))
    assert clean(certificate_text(release.certificate()))
    assert tomllib.loads(seen[0].out)["columns"].keys() == {EVIL}  # a template that is read as it is shown


# ── spreadsheets ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        " =1+1",
        "\t=1",
        "\r=1",
        "\n=1",
        "＝1+1",
        "x;=1+1;y",
        "=1",
        "--1",
        "-a",
    ],
)
def test_no_cell_is_a_formula(text):
    written = cell(text)
    assert not re.search(r"(^|[;\t\r\n])\s*[=+\-@＝＋－＠\t\r\n]", written)
    assert written.replace("'", "") == visible(text)


@pytest.mark.parametrize("text", ["-1", "+1.5", "-2e-07", "low", "a=b", "x-y", "", "{}", "2026-11-18"])
def test_other_cells_stay_as_they_are(text):
    assert cell(text) == text


def test_an_exported_history_is_safe_to_open(run, home):
    ledger = Ledger.open("b.db", PureDP(1), scope="=scope")
    ledger.charge(PureDP(0.1), charge_id='=HYPERLINK("http://x","y")', note="@SUM(A1);=cmd|' /C calc'!A0")
    assert run("ledger", "export", "b.db", "h.csv").code == 0
    for separator in ",;\t":
        rows = csv.reader(io.StringIO((home / "h.csv").read_text()), delimiter=separator)
        assert not [c for row in rows for c in row if re.match(r"\s*[=+\-@]", c)]


GRAPH = """labels = ["=1+1", "-1"]
edges = [["a", "b"]]
[profiles]
a = [0.5, 0.5]
b = [0.3, 0.7]
"""


def test_released_observations_are_safe_to_open_and_exact_as_parquet(run, home):
    (home / "graph.toml").write_text(GRAPH)
    parquet.write_table(pa.table({"@x": ["=1+1", "-1"] * 40}), home / "rows.parquet")
    assert run("ledger", "init", "b.db", "--budget", "pure:1", "--graph", "graph.toml").code == 0
    words = [
        "local",
        "rows.parquet",
        "--column",
        "@x",
        "--profile",
        "a",
        "--graph",
        "graph.toml",
        "--ledger",
        "b.db",
    ]
    for name, seen, column in (("r.csv", {"'=1+1", "-1"}, "'@x"), ("r.parquet", {"=1+1", "-1"}, "@x")):
        done = run(*words, "--epsilon", "0.4", "--observations", name, "--out", name)
        assert done.code == 0, done.err
        if name.endswith("csv"):
            header, *rows = csv.reader(io.StringIO((home / name).read_text()))
            assert (header, {row[0] for row in rows}) == ([column], seen)
        else:
            table = parquet.read_table(home / name)
            assert (table.column_names, set(table[column].to_pylist())) == ([column], seen)


# --- what goes into the ledger is there for good ------------
@pytest.mark.parametrize("where", [f"postgresql://me:{SECRET}@h/base", f"host=h password={SECRET}"])
def test_no_password_is_written_into_a_ledger(run, home, budget, where):
    """A script that says --label "$URL" must not put its password into a chain that cannot be changed."""
    fit = [word if word != "monday" else "one" for word in FIT]
    done = run(*fit, "--out", "out", "--label", where, "--actor", f"Zoë {where}", "--note", f"from {where}")
    assert done.code == 0, done.err
    assert run(*fit[:-1], "two", "--out", "two", "--label", where).code == 0
    assert run("ledger", "require", budget, where, "--scope", "default").code == 0
    assert run("ledger", "close", budget, "default", "--reason", f"moved to {where}").code == 0
    assert run("ledger", "export", budget, "h.json").code == 0
    run("ledger", "show", budget, "--picture", "s.svg")
    files = [path for path in home.rglob("*") if path.is_file()]
    assert len(files) > 8
    assert [path.name for path in files if SECRET.encode() in path.read_bytes()] == []
