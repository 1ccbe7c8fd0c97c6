"""CSV files with anything in them: every record counts once, and nothing about values makes an error."""

import gzip
import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.statistics.cells import counts
from discreet.tables.opening.csv_file import CsvFile
from discreet.tables.opening.csv_kernel import LONGEST
from discreet.tables.schema import Binary, Bounded, Categories
from discreet.tables.table import Table, TableError

SCHEMA = {
    "smoker": Binary(true="yes"),
    "age": Bounded(0, 100),
    "ward": Categories(["A", "B"], unknown="(unknown)"),
}
GOOD = b"yes,50,A\n"
MEAN = dc.NormalMean(40, 1, variance=200, lower=0, upper=100, grid=1)

# the grammar of docs/tables.md once more, as a pattern and not as a machine
FIELD = rb'"(?P<quoted>(?:[^"]|"")*)"(?=DELIMITER|\r?\n|\Z)|(?P<plain>[^DELIMITER\n]*?)(?=DELIMITER|\r?\n|\Z)'


def grammar(data, delimiter=b","):
    """Records as lists of fields, None for what is missing."""
    pattern, at, records = re.compile(FIELD.replace(b"DELIMITER", delimiter)), 0, []
    data = data.removeprefix(b"\xef\xbb\xbf")
    while at < len(data):
        record = []
        while True:
            found = pattern.match(data, at)
            at = found.end()
            quoted = found["quoted"]
            record.append(text(found["plain"] if quoted is None else quoted.replace(b'""', b'"')))
            if data[at : at + 1] != delimiter:
                break
            at += 1
        at += len(re.compile(rb"\r?\n|\Z").match(data, at)[0])
        records.append(record)
    return records


def text(field):
    try:
        return field.decode() or None
    except UnicodeDecodeError:
        return None


def read(path, block):
    file = CsvFile.open(str(path), ("a", "b"))
    return [tuple(row.values()) for batch in file.batches(block) for row in batch.to_pylist()]


TOKENS = [
    b",",
    b"\n",
    b"\r",
    b"\r\n",
    b'"',
    b'""',
    b"\x00",
    b"\xff",
    b"\xc3\xa9",
    b"\xed\xa0\x80",
    b"\t",
    b"7",
]


@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(TOKENS) | st.binary(max_size=3), max_size=24).map(b"".join),
    st.sampled_from(["t.csv", "t.tsv", "t.csv.gz"]),
    st.integers(1, 9),
)
@example(b'1,"x\n2,y\n', "t.csv", 1)
@example(b'1,"x"\r', "t.csv", 1)
@example(b'"""\n"""\n"', "t.csv", 2)
def test_any_bytes_are_the_records_that_the_grammar_says(tmp_path, body, name, block):
    delimiter, path = b"\t" if ".tsv" in name else b",", tmp_path / name
    data = b"a" + delimiter + b"b\n" + body
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    expected = [(*record, None)[:2] for record in grammar(data, delimiter)[1:]]
    assert read(path, block) == expected
    assert read(path, 2**20) == expected


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=12), st.integers(0, 5))
def test_a_record_without_line_break_and_quote_moves_no_other(tmp_path, bad, place):
    lines = [b"%d,x" % i for i in range(6)]
    lines[place] = bad.replace(b"\n", b"").replace(b'"', b"")
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"\n".join([*lines, b""]))
    got = read(tmp_path / "t.csv", 2**20)
    assert len(got) == 6
    assert all(row == (str(i), "x") for i, row in enumerate(got) if i != place)


BAD = {
    "no UTF-8": b"y\xffs,\xfe,\xc3\n",
    "a lone CR": b"yes,50,A\rB\n",
    "an open quote": b'"yes,50,A\n',
    "an open quote at the end": b'yes,50,"A\n',
    "a quote that ends within": b'yes,50,"A"B\n',
    "a quoted line break": b'yes,50,"A\nB"\n',
    "three megabytes": b"yes,50," + b"A" * 3_000_000 + b"\n",
    "three megabytes of quotes": b"yes,50," + b'"' * 3_000_001 + b"\n",
    "nothing": b"\n",
    "too few": b"yes\n",
    "too many": b"yes,50,A,A,A,A\n",
    "NUL": b"y\x00s,\x00,\x00\n",
    "UTF-16": "yes,50,A".encode("utf-16") + b"\n",
    "no number": b"yes,fifty,A\n",
    "beyond doubles": b"yes,1e400,A\n",
    "many digits": b"yes," + b"9" * 5000 + b",A\n",
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("where", [0, 3, 5])
def test_one_odd_record_counts_once_and_changes_no_other(tmp_path, name, where):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"smoker,age,ward\n" + GOOD * where + BAD[name] + GOOD * (5 - where))
    table = Table.open(path, schema=SCHEMA)
    assert table.size() == 6
    smokers, wards = (counts(table, [x]).read().values for x in ("smoker", "ward"))
    assert smokers[1] >= 5
    assert wards[0] >= 5
    assert 250 <= table["age"].bounded(MEAN).read().values[0] <= 350
    declared = Table.open(path, schema=SCHEMA, n=6)
    assert declared["ward"].bounded(dc.DirichletCategorical([1, 1, 1])).read().n == 6


def test_what_cannot_be_read_is_missing(tmp_path):
    path = tmp_path / "rows.csv"
    schema = {"b": Binary(true="yes", missing=True), "x": Bounded(0, 100, missing=7)}
    path.write_bytes(b"b,x\n\xff,\xff\n,\nno,1e400\nno,-1e400\n" + b"n" * (LONGEST + 1) + b",5\n")
    table = Table.open(path, schema=schema)
    assert table["b"].bounded(dc.BetaBernoulli(1, 1)).read().values.tolist() == [3]  # two bad, one too long
    assert table["x"].bounded(MEAN).read().values.tolist() == [7 + 7 + 100 + 0 + 5]


def test_a_quote_that_closes_too_late_does_not_close(tmp_path):
    for size, records in ((LONGEST, 1), (LONGEST + 1, 2)):
        body = b'"' + b"x" * (size - 1) + b"\n" + b'",1\n'
        (tmp_path / "t.csv").write_bytes(b"a,b\n" + body)
        assert len(read(tmp_path / "t.csv", 2**20)) == records


def test_many_open_quotes_take_no_longer(tmp_path):
    """Each is looked up to the next alone: 10^5 of them would otherwise read 10^10 bytes."""
    lines = [b'%d,"x' % i for i in range(100_000)]
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"\n".join(lines))
    assert len(read(tmp_path / "t.csv", 2**20)) == 100_000


def test_a_unit_that_is_no_text_is_nobody(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"who,smoker\n1,yes\n1,yes\n\xff,yes\n,yes\n2,no\n")
    table = Table.open(path, schema={"smoker": SCHEMA["smoker"]}, unit="who", rows_per_unit=1)
    assert table.size() == 2
    assert table["smoker"].bounded(dc.BetaBernoulli(1, 1)).read().values.tolist() == [1]


def test_files_of_one_table(tmp_path):
    for i in range(3):
        (tmp_path / f"part{i}.csv").write_bytes(b"smoker,age,ward\n" + GOOD * i)
    assert Table.open(f"{tmp_path}/part*.csv", schema=SCHEMA).size() == 3
    (tmp_path / "part3.csv").write_bytes(b"age,smoker,ward\n")
    with pytest.raises(TableError, match="first lines differ"):
        Table.open(f"{tmp_path}/part*.csv", schema=SCHEMA)


def test_headers(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b'\xef\xbb\xbf"smoker",,age,"wa""rd",\xff\r\nyes,1,2,B,3\r\n')
    table = Table.open(path, schema={"smoker": SCHEMA["smoker"], 'wa"rd': SCHEMA["ward"]})
    assert counts(table, ["smoker", 'wa"rd']).read().values.tolist() == [0, 1, 0, 1, 0]
    for bad in (b"", b"\n1,2\n", b"age,age\n"):
        path.write_bytes(bad)
        with pytest.raises(TableError, match="name its columns"):
            Table.open(path, schema=SCHEMA)
