"""Every mechanism of a regression walks the line: DuckDB, ledger, release, files, posterior, page."""

import json

import numpy as np
import pandas as pd
import pytest

from discreet.audit.registry import CASES
from discreet.families.normal_mean import NormalMean
from discreet.ledger import Ledger
from discreet.line.choose import mechanism_names
from discreet.mechanisms.mechanism import shared
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.registry import MECHANISMS, offered_to
from discreet.mechanisms.regression.draws import DiffusedRegression
from discreet.models.generalized_linear import BayesianLogisticRegression, GeneralizedLinear
from discreet.models.margin_losses import ClippedPoisson, DeclaredLoss
from discreet.planning import split
from discreet.posteriors.read import OnlyDraws
from discreet.privacy.accounting.composition import compose
from discreet.privacy.accounting.filters import Overspent
from discreet.privacy.group_privacy import per_draw, per_row
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import ApproxDP, GaussianDP
from discreet.privatise import ChargeKept, privatise
from discreet.release.certificate import audits, certificate_text
from discreet.release.release import Release
from discreet.report import report
from discreet.sampling.source import SeededSource
from discreet.tables.derived.columns import col
from discreet.tables.schema import Binary, Bounded, Categories, Count, Label
from discreet.tables.table import Table


@pytest.fixture(autouse=True)
def page():
    """The real one."""


OF_REGRESSIONS = offered_to("regression")

SCHEMA = {
    "age": Bounded(0, 100),
    "ward": Categories(["A", "B"], unknown="A"),
    "constant": Bounded(0, 1),
    "ill": Binary(),
    "stays": Count(8),
    "risk": Label(["low", "high"]),
}
FEATURES = ("age", "ward", "constant")
MODEL = BayesianLogisticRegression("ill", FEATURES, norm=1.5, radius=5)
N = 2000
DRAWS = ("tuned", "diffused", "concentrated", "direct", "one_posterior_sample")
EASY = {
    "direct": ApproxDP(400, 1e-6),
    "one_posterior_sample": ApproxDP(50, 1e-6),
}  # they have no knob, or a weak one


def people(n=N, seed=5):
    rng = np.random.default_rng(seed)
    age, ward = rng.uniform(0, 100, n), rng.choice(["A", "B"], n)
    odds = 3 * (age - 50) / 50 - 1.5 * (ward == "B") + 0.5
    ill = rng.random(n) < 1 / (1 + np.exp(-odds))
    return pd.DataFrame(
        {
            "age": age,
            "ward": ward,
            "constant": np.ones(n),
            "ill": ill,
            "stays": rng.poisson(np.exp(odds / 3)),
            "risk": np.where(ill, "high", "low"),
            "person": np.arange(n) // 2,
        }
    )


@pytest.fixture(scope="module")
def rows():
    return people()


@pytest.fixture
def ledgers(tmp_path):
    budget = {r: ApproxDP(1000, 1e-2, relation=r) for r in (SUBSTITUTE, ADD_REMOVE)}
    opened = {r: Ledger.open(tmp_path / f"{r.value}.db", budget=budget[r]) for r in budget}
    yield opened
    for ledger in opened.values():
        ledger.close()


def asked(name, relation):
    target = EASY.get(name, ApproxDP(2, 1e-6))
    capped = name in DRAWS and relation is ADD_REMOVE
    return {
        "mechanism": name,
        "target": ApproxDP(target.epsilon(1e-6), 1e-6, relation=relation),
        **({"most": 2 * N} if capped else {}),
    }


@pytest.mark.parametrize("relation", [SUBSTITUTE, ADD_REMOVE])
@pytest.mark.parametrize("name", OF_REGRESSIONS)
def test_the_straight_line(name, relation, rows, ledgers, tmp_path):
    table = Table.open(rows, schema=SCHEMA)
    wanted = asked(name, relation)
    release = privatise(table, MODEL, ledger=ledgers[relation], source=SeededSource(3), **wanted)
    assert release.guarantee <= wanted["target"] or release.guarantee == wanted["target"]
    assert release.n == (N if relation is SUBSTITUTE else None)
    assert release.mechanism == OF_REGRESSIONS[name]
    assert ledgers[relation].receipt(release.receipt.id).computed

    posterior = release.posterior
    assert posterior.names == ("age", "ward = B", "constant", "(intercept)")
    # ε = 2 on 2000 rows: age is far from 0, whatever the draw; the seeds are fixed
    assert posterior.encoded_mean()[0] > 0.5
    old, young = posterior.probability_of({"age": [95, 5], "ward": ["A", "B"], "constant": [1, 1]})
    assert 0 < young < old < 1

    loaded = Release.load(release.save(tmp_path / name, draws=20))
    assert loaded == release
    assert np.array_equal(loaded.posterior.mean(), posterior.mean())
    assert loaded.model.design == release.model.design
    assert (tmp_path / name / "posterior.nc").exists()
    assert "weight in predicting" in (tmp_path / name / "report.html").read_text()
    assert audits(release)
    assert set(audits(release)) <= set(CASES)
    words = " ".join(certificate_text(release.certificate()).split())
    assert "the norm 1.5, to which longer rows are scaled down" in words


@pytest.mark.parametrize("name", ["objective_perturbation", "polynomial_statistics", "tuned"])
def test_units_with_several_rows(name, rows, ledgers):
    """A unit of two rows gets the target: a row is calibrated to less."""
    table = Table.open(rows, schema=SCHEMA, unit="person", rows_per_unit=2)
    wanted = asked(name, ADD_REMOVE)
    release = privatise(table, MODEL, ledger=ledgers[ADD_REMOVE], source=SeededSource(3), **wanted)
    assert release.rows_per_unit == 2
    assert release.guarantee <= wanted["target"] or release.guarantee == wanted["target"]


def test_names_and_default():
    assert mechanism_names(MODEL) == tuple(OF_REGRESSIONS)
    assert mechanism_names(MODEL)[0] == "objective_perturbation"
    assert set(OF_REGRESSIONS.values()) <= set(MECHANISMS)


def test_draws_refuse_intervals_and_may_be_several(rows, ledgers):
    table = Table.open(rows, schema=SCHEMA)
    ask = {"mechanism": "tuned", "target": GaussianDP(1), "ledger": ledgers[SUBSTITUTE]}
    several = privatise(table, MODEL, draws=4, **ask)
    assert several.posterior.sample().shape == (4, 4)
    assert several.guarantee <= GaussianDP(1)
    with pytest.raises(OnlyDraws, match="objective_perturbation"):
        several.posterior.interval(0.9)
    assert "draw" in report(several)
    with pytest.raises(ValueError, match="tuned, diffused"):
        privatise(table, MODEL, draws=4, **{**ask, "mechanism": "objective_perturbation"})


@pytest.mark.parametrize(("sampler", "gaussian"), [("langevin", True), ("rejection", False)])
def test_draws_share_the_target_by_the_square_root_where_they_are_gaussian(rows, ledgers, sampler, gaussian):
    """Four draws of μ-GDP cost 2μ: by (ε/4, δ/4) each, what a record counts would be about half."""
    target = ApproxDP(1, 1e-6)
    ask = {"mechanism": "diffused", "target": target, "ledger": ledgers[SUBSTITUTE], "sampler": sampler}
    release = privatise(Table.open(rows, schema=SCHEMA), MODEL, draws=4, **ask)
    counts = dict(release.parameters)["rho"]
    even = DiffusedRegression.calibrate(
        release.model, n=release.n, target=per_draw(target, 4), sampler=sampler
    )
    assert release.guarantee <= target
    if gaussian:
        assert release.guarantee.epsilon(1e-6) > 0.999  # nothing is left over
        assert even.draws(4).guarantee.epsilon(1e-6) < 0.5
        assert counts > 1.9 * even.rho
    else:
        assert counts == even.rho


def test_units_share_what_draws_leave():
    """A unit of two rows and four draws: μ/(2·√4) a row and draw."""
    target = ApproxDP(1, 1e-6)
    mean = NormalMean(0, 1, 1, -1, 1)
    four = shared(lambda each: DiffusedPosterior.calibrate(mean, n=9, target=per_row(each, 2)), target, 4, 2)
    assert 0.999 < four.guarantee.group(2).epsilon(1e-6) <= 1


@pytest.mark.parametrize(
    ("mechanism", "home"), [("tuned", "tuned_regression"), ("direct", "direct_regression")]
)
def test_errors_name_the_mechanism_as_it_was_asked_for(rows, ledgers, mechanism, home):
    with pytest.raises(ValueError, match=f"^{mechanism} takes the options: most, sampler") as refused:
        privatise(
            Table.open(rows, schema=SCHEMA),
            MODEL,
            mechanism=mechanism,
            target=GaussianDP(1),
            ledger=ledgers[SUBSTITUTE],
            nonsense=1,
        )
    assert home not in str(refused.value)
    with pytest.raises(ValueError, match=r"^one_posterior_sample makes one release per charge"):
        privatise(
            Table.open(rows, schema=SCHEMA),
            MODEL,
            mechanism="one_posterior_sample",
            target=GaussianDP(1),
            ledger=ledgers[SUBSTITUTE],
            draws=2,
        )


def test_other_priors_and_readings(rows, ledgers):
    release = privatise(
        Table.open(rows, schema=SCHEMA), MODEL, target=ApproxDP(2, 1e-6), ledger=ledgers[SUBSTITUTE]
    )
    aware, naive = release.posterior, release.read(reading="naive")
    assert (naive.reading, aware.reading) == ("naive", "noise_aware")
    assert (naive.variance() <= aware.variance()).all()
    tight = release.read(model=BayesianLogisticRegression("ill", FEATURES, norm=1.5, radius=0.5))
    assert np.linalg.norm(tight.mean()) < np.linalg.norm(aware.mean())
    with pytest.raises(ValueError, match="radius"):
        release.read(model=BayesianLogisticRegression("ill", FEATURES, norm=3))
    with pytest.raises((TypeError, ValueError)):
        release.read(nonsense=1)
    assert aware.interval(0.9).shape == (4, 2)


def test_counts_and_declared_losses(rows, ledgers, tmp_path):
    table = Table.open(rows, schema=SCHEMA)
    target = ApproxDP(4, 1e-6)
    poisson = GeneralizedLinear("stays", ("age",), norm=1, radius=3, loss=ClippedPoisson(8))
    square = DeclaredLoss(
        lambda s, y: np.logaddexp(0, s) - (y + 1) / 2 * s,
        lambda s, y: 1 / (1 + np.exp(-s)) - (y + 1) / 2,
        lambda s, y: np.exp(-np.abs(s)) / (1 + np.exp(-np.abs(s))) ** 2 + 0 * y,
        1,
        0.25,
    )
    declared = GeneralizedLinear("ill", ("age",), norm=1, radius=3, loss=square)
    for model in (poisson, declared):
        release = privatise(table, model, target=target, ledger=ledgers[SUBSTITUTE], source=SeededSource(1))
        assert release.posterior.mean()[0] > 0
        loaded = Release.load(release.save(tmp_path / model.loss.name, draws=0))
        assert loaded == release
        assert loaded.posterior.mean()[0] == release.posterior.mean()[0]
        assert "depend on?" in report(loaded)
    with pytest.raises(ValueError, match="declare it again"):
        privatise(table, loaded.model, target=target, ledger=ledgers[SUBSTITUTE])


POISSON = GeneralizedLinear("stays", ("age",), norm=1, radius=3, loss=ClippedPoisson(8))


@pytest.mark.parametrize("name", [name for name in OF_REGRESSIONS if name != "objective_perturbation"])
def test_counts_by_every_mechanism_that_takes_them(name, rows, ledgers):
    """The default is above; polynomial statistics are of labels, and say so before anything is paid."""
    direct = name == "direct"  # it has no knob, and takes steps in proportion to the rows
    table = Table.open(rows.head(200) if direct else rows, schema=SCHEMA)
    target = ApproxDP(2000, 1e-6) if direct else ApproxDP(4, 1e-6)
    ask = {"mechanism": name, "target": target, "ledger": ledgers[SUBSTITUTE], "source": SeededSource(1)}
    if name == "polynomial_statistics":
        with pytest.raises(ValueError, match=r"know the logistic loss.*choose objective_perturbation"):
            privatise(table, POISSON, **ask)
        assert not any(entry.kind == "charge" for entry in ledgers[SUBSTITUTE].history())
        return
    release = privatise(table, POISSON, **ask)
    assert release.mechanism == OF_REGRESSIONS[name]
    assert release.guarantee <= target
    assert 50 * release.posterior.mean()[0] > 0.3  # 1 in truth in 50 years; prior deviation 2, seed fixed
    young, old = release.posterior.probability_of({"age": [5, 95]})
    assert 0 < young < old <= 8


def test_classes_one_against_the_rest_cost_together_what_one_budget_holds(rows, tmp_path):
    """K fits at μ/√K compose to μ: the ledger admits K and no further one [DRS22 Cor. 3.3]."""
    bands = ["below 33", "33 to 66", "from 66"]
    table = Table.open(rows, schema=SCHEMA).derive(band=col("age").cut([33, 66]))
    parts = split(GaussianDP(2), bands)
    assert all(float(part.mu) == pytest.approx(2 / 3**0.5) for part in parts.values())
    with Ledger.open(tmp_path / "three.db", budget=GaussianDP(2)) as ledger:

        def fit(band):
            each = table.derive(own=col("band") == band)
            model = BayesianLogisticRegression("own", ("age", "ward"), norm=1.5, radius=5)
            by = {"mechanism": "polynomial_statistics", "source": SeededSource(bands.index(band))}
            return privatise(each, model, target=parts[band], ledger=ledger, **by)

        fits = [fit(band) for band in bands]
        with pytest.raises(Overspent):
            fit(bands[0])
    assert compose(*(release.guarantee for release in fits)) <= GaussianDP(2)
    assert "own = " in fits[0].selection
    seen = {"age": [5, 95], "ward": ["A", "A"]}
    each = np.array([release.posterior.probability_of(seen) for release in fits])
    assert each.argmax(axis=0).tolist() == [0, 2]


@pytest.mark.parametrize("name", ["objective_perturbation", "polynomial_statistics", "tuned"])
def test_hard_data(name, ledgers):
    """Separable answers, fewer rows than weights, labels that nobody declared, and nobody at all."""
    separable = people(60).assign(risk=lambda x: np.where(x.age > 50, "high", "low"))
    cases = (separable, people(3), people(50).assign(risk="neither"))
    for rows in cases:
        model = BayesianLogisticRegression("risk", FEATURES, norm=1.5, radius=5, labels=("low", "high"))
        table = Table.open(rows, schema=SCHEMA)
        release = privatise(table, model, ledger=ledgers[SUBSTITUTE], **asked(name, SUBSTITUTE))
        assert np.isfinite(release.posterior.mean()).all()
    nobody = Table.open(people(50), schema=SCHEMA).where(col("age") > 100)
    release = privatise(nobody, MODEL, ledger=ledgers[ADD_REMOVE], **asked(name, ADD_REMOVE))
    assert np.isfinite(release.posterior.mean()).all()
    with pytest.raises(ValueError, match="empty"):
        privatise(
            Table.open(people(50).head(0), schema=SCHEMA),
            MODEL,
            ledger=ledgers[SUBSTITUTE],
            **asked(name, SUBSTITUTE),
        )


def test_a_private_number_of_records_needs_a_public_cap_for_langevin(rows, ledgers):
    table = Table.open(rows, schema=SCHEMA)
    ask = {**asked("tuned", ADD_REMOVE), "ledger": ledgers[ADD_REMOVE]}
    del ask["most"]
    with pytest.raises(ValueError, match="public"):
        privatise(table, MODEL, **ask)


def test_nothing_private_shows_when_reading_fails(rows, ledgers, monkeypatch):
    def broken(*_):
        raise RuntimeError("age 93.25 of person 17")

    monkeypatch.setattr("discreet.models.regression_records.Records.of", broken)
    with pytest.raises(ChargeKept) as caught:
        privatise(
            Table.open(rows, schema=SCHEMA), MODEL, target=ApproxDP(1, 1e-6), ledger=ledgers[SUBSTITUTE]
        )
    assert "93.25" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_how_many_rows_were_clipped_is_not_told(rows, ledgers, tmp_path):
    """Two tables that differ only in how many rows are too long give records of the same words."""
    texts = []
    for norm in (0.1, 10):
        model = BayesianLogisticRegression("ill", FEATURES, norm=norm, radius=5)
        release = privatise(
            Table.open(rows, schema=SCHEMA), model, target=ApproxDP(2, 1e-6), ledger=ledgers[SUBSTITUTE]
        )
        folder = release.save(tmp_path / str(norm), draws=0)
        texts.append(json.loads((folder / "release.json").read_text())["release"])
    assert texts[0].keys() == texts[1].keys()
    assert texts[0]["value"].keys() == texts[1]["value"].keys()
    assert texts[0]["schema"] == texts[1]["schema"]  # says clips: what the user declared
    assert "clip" not in json.dumps([{**text, "schema": ""} for text in texts])
