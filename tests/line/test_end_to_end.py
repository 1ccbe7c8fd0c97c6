"""The straight line on real tables: DuckDB through pandas and Parquet, SQLite for the budget."""

import json

import numpy as np
import pandas as pd
import pytest

from discreet.families import BetaBernoulli, DirichletCategorical, NormalMean
from discreet.ledger import Ledger
from discreet.privacy.accounting.filters import Overspent
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import ApproxDP, PureDP
from discreet.privatise import ChargeKept, privatise
from discreet.release.certificate import certificate_text
from discreet.release.release import Release
from discreet.sampling.source import SeededSource
from discreet.tables.derived.columns import col
from discreet.tables.schema import Binary, Bounded, Categories
from discreet.tables.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis calls DuckDB so
SCHEMA = {"smoker": Binary(), "age": Bounded(0, 100), "ward": Categories(["A", "B", "C"], unknown="C")}
TARGET = ApproxDP(0.5, 1e-6)


@pytest.fixture(autouse=True)
def page():
    """Write the real report."""


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(3)
    n = 2000
    return pd.DataFrame(
        {
            "patient": np.arange(n) // 4,
            "smoker": rng.random(n) < 0.3,
            "age": rng.normal(50, 15, n),
            "ward": rng.choice(["A", "B", "C", "D", None], n),
        }
    )


@pytest.fixture(params=["pandas", "parquet"])
def table(request, visits, tmp_path):
    source = visits
    if request.param == "parquet":
        source = tmp_path / "visits.parquet"
        visits.to_parquet(source)
    return Table.open(source, schema=SCHEMA)


def test_walk_save_load_and_the_second_run_refused(table, visits, tmp_path):
    ledger = Ledger.open(tmp_path / "budget.db", budget=ApproxDP(0.6, 1e-6))
    model = BetaBernoulli(6, 12)
    release = privatise(table["smoker"], model, target=TARGET, ledger=ledger, source=SeededSource(11))
    truth = model.update(model.statistic(visits.smoker), len(visits))
    # discrete Laplace of scale 2 moves the count by more than 60 with probability e^-30
    assert abs(release.posterior.mean().item() - truth.mean()) < 60 / 2000
    assert release.columns == ("smoker",)
    assert release.schema_hash == table.schema.hash
    loaded = Release.load(release.save(tmp_path / "out"))
    assert loaded == release
    assert json.loads((tmp_path / "out" / "certificate.json").read_text()) == release.certificate()
    assert "<html" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "PRIVACY CERTIFICATE" in certificate_text(release.certificate())
    with pytest.raises(Overspent, match="what fits"):
        privatise(table["smoker"], model, target=TARGET, ledger=ledger)
    ledger.verify(loaded.receipt)


def test_other_families_and_draws(table, tmp_path):
    ledger = Ledger.open(tmp_path / "budget.db", budget=ApproxDP(9, 1e-4))
    wards = privatise(table["ward"], DirichletCategorical([1, 1, 1]), target=TARGET, ledger=ledger)
    assert wards.posterior.mean().shape == (3,)
    age = NormalMean(50, 1, variance=225, lower=0, upper=100)
    draw = privatise(table["age"], age, mechanism="diffused", target=TARGET, ledger=ledger)
    assert 0 < draw.posterior.mean() < 100


def test_filtered_tables_and_units_speak_of_added_records(visits, tmp_path):
    ledger = Ledger.open(tmp_path / "budget.db", budget=PureDP(9, relation=ADD_REMOVE))
    target = PureDP(1, relation=ADD_REMOVE)
    old = Table.open(visits, schema=SCHEMA).where(col("age") >= 65)["smoker"]
    release = privatise(old, BetaBernoulli(1, 1), target=target, ledger=ledger)
    assert release.n is None
    assert "age" in release.selection
    assert any(release.selection in line for line in release.certificate()["assumed_public"])
    units = Table.open(visits, schema=SCHEMA, unit="patient", rows_per_unit=2)["smoker"]
    four = privatise(units, BetaBernoulli(1, 1), target=target, ledger=ledger)
    assert (four.unit, four.rows_per_unit) == ("patient", 2)
    assert four.value.guarantee == PureDP(0.5, relation=ADD_REMOVE)
    assert four.guarantee == target
    for sensitive in (old, units):
        with pytest.raises(ValueError, match="ADD_REMOVE"):
            privatise(sensitive, BetaBernoulli(1, 1), target=PureDP(1), ledger=ledger)
    assert [entry.kind for entry in ledger.history()].count("charge") == 2


def test_a_misdeclared_n_keeps_the_charge_and_says_why(visits, tmp_path):
    ledger = Ledger.open(tmp_path / "budget.db", budget=PureDP(9))
    table = Table.open(visits, schema=SCHEMA, n=1999)["smoker"]
    with pytest.raises(ChargeKept, match=r"public number of records.*'mine' is kept"):
        privatise(table, BetaBernoulli(1, 1), target=PureDP(1), ledger=ledger, charge_id="mine")
    ledger.refund("mine", "misdeclared n")


def test_mistakes_with_tables_cost_nothing(visits, tmp_path):
    ledger = Ledger.open(tmp_path / "budget.db", budget=PureDP(9))
    table = Table.open(visits, schema=SCHEMA)
    for wrong, model in (
        (table, BetaBernoulli(1, 1)),  # three columns for a model of one
        (table["age"], BetaBernoulli(1, 1)),
        (table["ward"], DirichletCategorical([1, 1])),
    ):
        with pytest.raises((ValueError, TypeError)):
            privatise(wrong, model, target=PureDP(1), ledger=ledger)
    assert [entry.kind for entry in ledger.history()] == ["scope"]


@pytest.mark.parametrize(
    "mechanism", ["noisy_statistics", "diffused", "concentrated", "one_posterior_sample"]
)
def test_an_empty_selection_looks_like_any_other(visits, tmp_path, mechanism):
    """Nobody is older than 100: whether a filter leaves rows is private, so the walk must not stumble."""
    ledger = Ledger.open(tmp_path / "budget.db", budget=ApproxDP(9, 1e-3, relation=ADD_REMOVE))
    nobody = Table.open(visits, schema=SCHEMA).where(col("age") > 100)["smoker"]
    options = {"truncation": 0.05} if mechanism == "one_posterior_sample" else {}
    target = ApproxDP(1, 1e-6, relation=ADD_REMOVE)
    release = privatise(
        nobody, BetaBernoulli(2, 2), mechanism=mechanism, target=target, ledger=ledger, **options
    )
    assert 0 < release.posterior.mean() < 1
    for model in (DirichletCategorical([1, 1, 1]), DirichletCategorical([2, 2, 2])):
        wards = Table.open(visits, schema=SCHEMA).where(col("age") > 100)["ward"]
        privatise(wards, model, target=target, ledger=ledger)
