"""What is counted, and how far a record moves it: by brute force, and the same integers as NumPy."""

import itertools
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from discreet.catalogue import ROWS, classes
from discreet.models.count_model import CountModel
from discreet.models.naive_bayes import NaiveBayes
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.statistics import bounded
from discreet.tables.schema import Binary, Categories, Count, Schema
from discreet.tables.table import Table


@dataclass(frozen=True, repr=False)
class Overlapping(CountModel):
    """Tables that share columns in no common order: a; (a, b); (c, a)."""

    name: ClassVar[str] = "overlapping"

    @property
    def layout(self):
        return ("a", ("a",)), ("ab", ("a", "b")), ("ca", ("c", "a"))


BAYES = NaiveBayes("a", ("b", "c"))
SIZES = {"a": 2, "b": 3, "c": 2}


@pytest.fixture(autouse=True)
def row_for_overlapping(monkeypatch):
    monkeypatch.setitem(ROWS, Overlapping.name, replace(ROWS["naive_bayes"], name=Overlapping.name))


BOTH = pytest.mark.parametrize("model", [BAYES, Overlapping()], ids=["naive_bayes", "overlapping"])


def counted(model, rows):
    """The oracle: one record at a time."""
    tables = {cells.name: np.zeros(cells.shape, int) for cells in model.cells}
    for row in rows:
        for cells in model.cells:
            tables[cells.name][tuple(row[column] for column in cells.columns)] += 1
    return np.concatenate([table.reshape(-1) for table in tables.values()])


# ── sensitivity ─────────────────────────────────────────────────────────────────────────────────────


@BOTH
@pytest.mark.parametrize("relation", [SUBSTITUTE, ADD_REMOVE])
def test_no_record_moves_the_counts_further_than_claimed_and_some_record_does_move_them_so_far(
    model, relation
):
    model = model.bind(SIZES)
    records = [
        dict(zip(SIZES, codes, strict=True)) for codes in itertools.product(*map(range, SIZES.values()))
    ]
    after = [[one] for one in records] if relation is SUBSTITUTE else [[]]
    rest = [records[0], records[-1]]
    moves = [
        counted(model, [*rest, one]) - counted(model, [*rest, *other]) for one in records for other in after
    ]
    claimed = model.sensitivity(relation)
    assert max(np.abs(m).sum() for m in moves) == claimed.l1
    assert max((m**2).sum() for m in moves) == pytest.approx(claimed.l2**2, rel=1e-15)
    assert max(np.abs(m).max() for m in moves) == claimed.linf
    parts = [part for m in moves for part in model.split(m).values()]
    assert max(np.abs(part).sum() for part in parts) == model.table_sensitivity(relation).l1


# ── the same integers as NumPy ──────────────────────────────────────────────────────────────────────

SCHEMA = Schema({"a": Binary(), "b": Categories(["x", "y"], unknown="(unknown)"), "c": Count(1)})


def frame(rows, *, seed, units=None):
    rng = np.random.default_rng(seed)
    made = {
        "a": rng.choice(np.array([True, False, None], dtype=object), rows),
        "b": rng.choice(np.array(["x", "y", "X", "ｘ", None], dtype=object), rows),
        "c": rng.choice(np.array([0, 1, 7, None], dtype=object), rows),
    }
    return pd.DataFrame(made | ({"who": rng.integers(0, units, rows)} if units else {}))


def codes(data):
    b = {"x": 0, "y": 1}
    return [
        {"a": int(a is True), "b": b.get(x, 2), "c": 0 if pd.isna(c) else min(int(c), 1)}
        for a, x, c in zip(data["a"], data["b"], data["c"], strict=True)
    ]


@BOTH
def test_counts_are_those_of_a_loop_over_the_records(model):
    data = frame(300, seed=1)
    statistic = bounded(Table.open(data, schema=SCHEMA, n=300), model)
    assert statistic.model.sizes == tuple(SIZES[column] for column in model.columns)
    assert statistic.table.columns == model.columns
    read = statistic.read()
    assert read.n == statistic.n == 300
    assert (read.values == counted(statistic.model, codes(data))).all()  # noqa: PD011 - no frame


@BOTH
def test_removing_a_unit_moves_no_table_by_more_than_its_rows(model):
    data = frame(40, seed=2, units=6)

    def counts(rows):
        table = Table.open(rows, schema=SCHEMA, unit="who", rows_per_unit=3)
        read = bounded(table, model, ADD_REMOVE)
        return read.model.split(read.read().values)

    whole = counts(data)
    assert all(table.sum() <= 3 * 6 for table in whole.values())
    for who in range(6):
        less = counts(data[data["who"] != who])
        assert all(np.abs(whole[name] - less[name]).sum() <= 3 for name in whole)
        assert (
            len({int((whole[name] - less[name]).sum()) for name in whole}) == 1
        )  # the same rows in each table


def test_tables_with_nobody_in_them_are_zeros():
    data = pd.DataFrame({"a": [True], "b": ["x"], "c": [0]})
    table = Table.open(data, schema=SCHEMA, n=1)
    read = bounded(table, BAYES).read()
    assert sorted(read.values.tolist()) == [0] * 8 + [1, 1]  # noqa: PD011


# ── what a model refuses ────────────────────────────────────────────────────────────────────────────


def test_a_model_says_its_shape_once_it_is_bound():
    with pytest.raises(ValueError, match="bind"):
        _ = BAYES.cells
    bound = BAYES.bind(SIZES)
    assert [cells.shape for cells in bound.cells] == [(2, 3), (2, 2)]
    assert bound.size == 10
    assert list(bound.split(range(10))) == ["b", "c"]
    assert bound.split(range(10))["c"].tolist() == [[6, 7], [8, 9]]
    assert bound == NaiveBayes("a", ("b", "c"), sizes=(2, 3, 2))
    assert hash(bound) != hash(BAYES)
    assert repr(bound) == "NaiveBayes(label='a', features=('b', 'c'), prior=1)"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NaiveBayes("a", ("b", "a")), "cannot predict itself"),
        (lambda: NaiveBayes("a", ()), "at least one column"),
        (lambda: NaiveBayes("a", ("b", "b")), "each once"),
        (lambda: NaiveBayes("a", ("b",), prior=0), "above 0"),
        (lambda: NaiveBayes("a", ("b",), prior=float("nan")), "finite"),
        (lambda: BAYES.bind({"a": 2, "b": 3}), "reads c"),
        (lambda: NaiveBayes("a", ("b",), sizes=(2,)), "one positive number"),
        (lambda: NaiveBayes("a", ("b",), sizes=(2, 0)), "one positive number"),
        (lambda: BAYES.bind(SIZES).split([1, 2]), "10 cells"),
    ],
)
def test_bad_models_are_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("wrong", [[4] * 10, [-1, 5] + [0] * 8, [1.5] * 10, [1, 2], [777777] * 10])
def test_impossible_counts_are_refused_and_not_shown(wrong):
    with pytest.raises(ValueError, match="counts must") as refused:
        BAYES.bind(SIZES).check(wrong, 4)
    assert "777777" not in str(refused.value)
    assert "5" not in str(refused.value)


def test_the_registry_knows_models_by_their_names(monkeypatch):
    monkeypatch.delitem(ROWS, Overlapping.name)
    models = classes("counts")
    assert all(models[name].name == name for name in models)
    with pytest.raises(KeyError, match="naive_bayes"):
        models["nonsense"]
