"""Canaries: values planted in the data are looked for in everything that comes out, also on failure."""

import io
import json
import logging
import pickle
import sys
import traceback
import warnings

import pandas as pd
import pytest

from discreet.families import BetaBernoulli, DirichletCategorical, GammaPoisson, NormalMean
from discreet.ledger import Ledger
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import ApproxDP, PureDP
from discreet.privatise import ChargeKept, privatise
from discreet.release.certificate import certificate_text
from discreet.sampling.source import SeededSource
from discreet.statistics import BoundedStatistic
from discreet.tables.schema import Binary, Bounded, Categories, Count
from discreet.tables.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis calls DuckDB so
# long enough not to turn up in a hash by chance: 16^-13 for each place where one could start
CANARIES = ("canary-71993", "8765432109123", "0.91827364554637", "7131988230917")
SCHEMA = {
    "smoker": Binary(),
    "ward": Categories(["A", "B"], unknown="(unknown)"),
    "age": Bounded(0, 100),
    "visits": Count(20),
}
LINES = [
    ("smoker", BetaBernoulli(1, 1), "noisy_statistics"),
    ("smoker", BetaBernoulli(1, 1), "diffused"),
    ("ward", DirichletCategorical([1, 1, 1]), "noisy_statistics"),
    ("age", NormalMean(50, 1, variance=100, lower=0, upper=100), "concentrated"),
    ("visits", GammaPoisson(1, 1, upper=20), "noisy_statistics"),
]


@pytest.fixture
def table():
    frame = pd.DataFrame(
        {
            "smoker": [True, False, True, None] * 25,
            "ward": ["A", "canary-71993", "B", None] * 25,
            "age": [0.91827364554637, 8765432109123.0, 7131988230917.0, float("nan")] * 25,
            "visits": [7131988230917, 8765432109123, 3, 0] * 25,
        }
    )
    return Table.open(frame, schema=SCHEMA)


@pytest.fixture
def heard():
    """Everything said: log records of every logger at every level, warnings, standard streams."""
    stream, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(stream), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    out, err, sys.stdout, sys.stderr = sys.stdout, sys.stderr, stream, stream
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield lambda: stream.getvalue() + "".join(str(w.message) for w in caught)
    sys.stdout, sys.stderr = out, err
    root.removeHandler(handler)
    root.setLevel(level)


def assert_silent(*texts):
    for text in texts:
        for canary in CANARIES:
            assert canary not in text


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line[0]}-{line[2]}")
def test_a_succeeding_run_shows_no_record(table, ledger, heard, tmp_path, line):
    column, model, mechanism = line
    release = privatise(
        table[column], model, mechanism=mechanism, target=ApproxDP(0.5, 1e-6), ledger=ledger, note="a note"
    )
    files = release.save(tmp_path / "out").iterdir()
    assert_silent(
        repr(release),
        repr(table),
        str(pickle.dumps(release)),
        certificate_text(release.certificate()),
        repr(ledger.history()),
        heard(),
        *(path.read_bytes().decode("latin-1") for path in files),
    )


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line[0]}-{line[2]}")
def test_a_failing_run_shows_no_record(table, ledger, heard, monkeypatch, line):
    column, model, mechanism = line

    def failing(self):
        rows = self.query()
        raise ValueError(f"could not convert {CANARIES} near {vars(rows)}")

    monkeypatch.setattr(BoundedStatistic, "read", failing)
    with pytest.raises(ChargeKept) as caught:
        privatise(table[column], model, mechanism=mechanism, target=ApproxDP(0.5, 1e-6), ledger=ledger)
    with_locals = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert_silent(
        str(caught.value),
        "".join(traceback.format_exception(caught.value)),
        "".join(line for line in with_locals.format() if "tests/release" not in line),
        repr(ledger.history()),
        heard(),
        str(pickle.dumps(caught.value.args)),
    )


def test_the_search_finds_a_canary_where_there_is_one(heard):
    logging.getLogger("anything").debug("near %s", CANARIES[0])
    with pytest.raises(AssertionError):
        assert_silent(heard())
    with pytest.raises(AssertionError):
        assert_silent(str(pickle.dumps(ValueError(CANARIES[1]))))


def test_the_exact_statistic_and_a_private_n_are_not_kept(tmp_path):
    """n = 31337 rows, all true, under ADD_REMOVE: the number is nowhere in what is saved."""
    frame = pd.DataFrame({"smoker": [True] * 31337})
    ledger = Ledger.open(tmp_path / "b.db", budget=PureDP(9, relation=ADD_REMOVE))
    table = Table.open(frame, schema={"smoker": Binary()})["smoker"]
    target = PureDP(0.001, relation=ADD_REMOVE)
    # the noise is 0 with probability 1/2000 in each coordinate: a fixed seed, so that this never happens
    release = privatise(table, BetaBernoulli(1, 1), target=target, ledger=ledger, source=SeededSource(8))
    saved = release.save(tmp_path / "out", draws=0)
    for name in ("certificate.json", "release.json"):
        found = list(numbers(json.loads((saved / name).read_text())))
        assert len(found) > 5
        assert 31337 not in found
    assert 31337 not in numbers(vars(release.value))


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, int | float):
        yield value
