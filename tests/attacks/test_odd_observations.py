"""One odd value among observations: `discreet local` releases the others as if it were any stranger."""

import tracemalloc

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import discreet as dc
from discreet.ledger import Ledger
from discreet.line.local import release_observations
from discreet.mechanisms.local.profile_categorical import SmoothCategorical
from discreet.privacy.kinds import PureDP
from discreet.privacy.profile_graph import ProfileGraph
from discreet.sampling.source import SeededSource

ROWS = 400
LONG = "x" * 2**20
ODD = (LONG, "1e400", "\x1b[2J\0", "\U0001f600", "")
GRAPH = """labels = ["1", "2", "3"]
edges = [["a", "b"]]
[profiles]
a = [0.2, 0.3, 0.5]
b = [0.6, 0.3, 0.1]
"""


@pytest.fixture
def mechanism(home):
    (home / "graph.toml").write_text(GRAPH)
    return SmoothCategorical.solve(ProfileGraph.load("graph.toml"), 0.5)


def written(table, kind, name):
    if kind == "csv":
        csv.write_csv(table, name)
    elif kind == "parquet":
        parquet.write_table(table, name)
    return table.to_pandas() if kind == "objects" else name


def released(mechanism, data, name):
    """The values that leave, drawn from one seed."""
    ledger = Ledger.open(f"{name}.db", PureDP(1, relation=mechanism.guarantee.relation))
    made = release_observations(
        data, mechanism, column="x", profile="who", unknown="b", observations="march", ledger=ledger,
        source=SeededSource(7),
    )  # fmt: skip
    return made.values.tolist()  # noqa: PD011 - not of pandas


def rows(odd, where):
    columns = {"x": ["1", "2", "3", "2"] * (ROWS // 4), "who": ["a", "b"] * (ROWS // 2)}
    columns[where][17] = odd
    return pa.table(columns)


@pytest.mark.parametrize("kind", ["csv", "parquet", "objects"])
@pytest.mark.parametrize("where", ["x", "who"])
def test_an_odd_value_leaves_as_any_stranger_does(home, mechanism, kind, where):
    plain = released(mechanism, written(rows("stranger", where), kind, f"rows.{kind}"), "plain")
    assert len(plain) == ROWS
    for i, odd in enumerate(ODD):
        data = written(rows(odd, where), kind, f"rows{i}.{kind}")
        tracemalloc.start() if odd is LONG else None
        assert released(mechanism, data, f"odd{i}") == plain
        if odd is LONG:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 100 * len(LONG)  # not every text as wide as the widest, which was 4·400 times


def test_numbers_that_no_double_holds_are_strangers_too(home, mechanism):
    """A column of Python's objects, among them 10^400, NaN and things that are no value at all."""
    odd = [10**400, -(10**400), float("nan"), float("inf"), None, object(), [1], b"1"]
    answers = []
    for i, value in enumerate(["stranger", *odd]):
        frame = pd.DataFrame({"x": ["1", "2", "3", "2"] * 25, "who": ["a", "b"] * 50}, dtype=object)
        frame.at[17, "x"] = value  # noqa: PD008 - a list is one value here
        answers.append(released(mechanism, frame, f"n{i}"))
    assert all(answer == answers[0] for answer in answers)


def test_cells_of_a_table_whose_levels_hold_commas_stay_apart(tmp_path):
    """The cell of "A, B" and C is not that of A and "B, C"."""
    rows = pd.DataFrame({"a": ["A, B", "A", "A"] * 40, "b": ["C", "B, C", "C"] * 40})
    schema = {"a": dc.Categories(["A, B", "A"]), "b": dc.Categories(["C", "B, C"])}
    table = dc.Table.open(rows, schema=schema)
    with dc.Ledger.open(tmp_path / "b.db", budget=dc.PureDP(10**6)) as ledger:
        ask = {"target": dc.PureDP(1000), "ledger": ledger}
        release = dc.privatise(table["a", "b"], dc.DirichletCategorical([1] * 4), **ask)
    assert release.value.noisy == (40, 0, 40, 40)
    assert list(release.posterior.names) == ["'A, B', C", "'A, B', 'B, C'", "A, C", "A, 'B, C'"]
