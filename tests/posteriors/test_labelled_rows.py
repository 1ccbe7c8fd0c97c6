"""Labels in, labels out, for every posterior that predicts: against brute force, and saved and loaded."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.posteriors.counts import naive_bayes
from discreet.posteriors.labels import Labels
from discreet.posteriors.mixture import read as mixture
from discreet.posteriors.network import read as network
from discreet.posteriors.network.posterior import NetworkDraws
from discreet.posteriors.posterior import Diagnostics
from discreet.sampling.source import SeededSource

SCHEMA = dc.Schema(
    {
        "ill": dc.Label(["healthy", "ill"], unknown="healthy"),
        "ward": dc.Categories(["A", "B", "C"], unknown="C"),
        "old": dc.Binary(),
    }
)
LABELS = Labels(tuple(SCHEMA), SCHEMA.to_dict())
COUNTS = np.array([[[9, 2], [3, 4], [1, 1]], [[1, 8], [5, 0], [2, 4]]])  # ill, ward, old
CELLS = list(itertools.product(("healthy", "ill"), "ABC", (False, True)))
FRAME = pd.DataFrame(CELLS, columns=["ill", "ward", "old"], index=[f"row {i}" for i in range(12)])
RECORDS = FRAME.loc[np.repeat(FRAME.index, COUNTS.reshape(-1))]


def bayes():
    model = dc.NaiveBayes("ill", ("ward", "old")).bind({"ill": 2, "ward": 3, "old": 2})
    counts = np.concatenate([COUNTS.sum(axis=2).reshape(-1), COUNTS.sum(axis=1).reshape(-1)])
    return naive_bayes.exact(model, counts).labelled(LABELS)


def net(reading="exact"):
    model = dc.BayesianNetwork([("ward", "ill"), ("old", "ill")], nodes=("ward", "old")).bind(
        {"ill": 2, "ward": 3, "old": 2}
    )
    parts = {
        "ward": COUNTS.sum(axis=(0, 2)),
        "old": COUNTS.sum(axis=(0, 1)),
        "ill": np.moveaxis(COUNTS, 0, -1),
    }
    found = network.exact(np.concatenate([parts[name].reshape(-1) for name in model.nodes]), model)
    if reading == "draws":
        drawn = found.flat_sample(500, SeededSource(4)).reshape(2, 250, -1).astype(np.float32)
        found = NetworkDraws(model, drawn, "noise_aware", Diagnostics("x"), np.full((2, 250), 40))
    return found.labelled(LABELS)


def mixed():
    model = dc.Mixture(components=2, features=("ill", "ward", "old")).bind({"ill": 2, "ward": 3, "old": 2})
    rng = np.random.default_rng(3)
    draws = (2, 5)
    theta = np.concatenate([rng.dirichlet(np.ones(k), size=(*draws, 2)) for k in (2, 3, 2)], axis=-1)
    return mixture.MixturePosterior(
        model, "exact", rng.dirichlet([1, 1], size=draws), theta, np.zeros(draws), np.full(draws, 40)
    ).labelled(LABELS)


def joint(posterior):
    """p(ill, ward, old) of a posterior, cell by cell, from its log predictive of labelled records."""
    return np.exp(np.asarray(posterior.log_predictive(FRAME))).reshape(COUNTS.shape)


@pytest.mark.parametrize(
    "posterior", [bayes(), net(), net("draws"), mixed()], ids=["bayes", "net", "draws", "mixture"]
)
def test_the_log_predictive_of_labelled_records_is_a_law(posterior):
    assert joint(posterior).sum() == pytest.approx(1, rel=1e-6)


def test_naive_bayes_predicts_the_label_that_its_joint_law_favours():
    posterior = bayes()
    table = joint(posterior)
    wanted = table / table.sum(axis=0)
    found = posterior.predict_proba(FRAME)
    assert found.dims == ("row", "ill")
    assert found["ill"].to_numpy().tolist() == ["healthy", "ill"]
    assert found["row"].to_numpy().tolist() == FRAME.index.tolist()
    assert found.to_numpy()[:6] == pytest.approx(np.moveaxis(wanted, 0, -1).reshape(6, 2), rel=1e-9)
    likeliest = np.where(wanted[1] > 0.5, "ill", "healthy").reshape(-1)
    assert posterior.predict(FRAME[:6]).tolist() == likeliest.tolist()
    assert posterior.held_out(FRAME) == pytest.approx(np.log(table).mean())


@pytest.mark.parametrize("reading", ["exact", "draws"])
def test_a_network_predicts_any_column_from_all_or_from_some(reading):
    posterior = net(reading)
    table = joint(posterior)
    for axis, target in enumerate(("ill", "ward", "old")):
        wanted = np.moveaxis(table / table.sum(axis=axis, keepdims=True), axis, -1)
        found = posterior.predict_proba(FRAME, target)
        at = [
            tuple(SCHEMA[c].labels.index(x) if c != "old" else int(x) for c, x in row.items() if c != target)
            for _, row in FRAME.iterrows()
        ]
        assert found.to_numpy() == pytest.approx(np.array([wanted[i] for i in at]), rel=1e-5)
    margin = table.sum(axis=2)
    some = posterior.predict_proba(FRAME, "ill", given=["ward"])
    assert some.sel(row="row 0").to_numpy() == pytest.approx(margin[:, 0] / margin[:, 0].sum(), rel=1e-5)
    assert (
        posterior.predict(FRAME[:1], "ill", given=["ward"])[0]
        == ("healthy", "ill")[int(margin[1, 0] > margin[0, 0])]
    )


def test_conditional_probabilities_are_asked_by_names_and_labels():
    for posterior in (net(), net("draws"), mixed()):
        table = joint(posterior)
        found = posterior.probability("ill", given={"ward": "B", "old": True})
        assert found.to_numpy() == pytest.approx(table[:, 1, 1] / table[:, 1, 1].sum(), rel=1e-5)
        assert found["ill"].to_numpy().tolist() == ["healthy", "ill"]
        both = posterior.probability(["old", "ward"], given={"ill": "ill"})
        assert both.dims == ("old", "ward")
        assert both.sel(old=True, ward="C") == pytest.approx(table[1, 2, 1] / table[1].sum(), rel=1e-5)
        assert posterior.probability("ward").to_numpy() == pytest.approx(table.sum(axis=(0, 2)), rel=1e-5)
        with pytest.raises(ValueError, match="'D' is not a label of column 'ward'"):
            posterior.probability("ill", given={"ward": "D"})
        with pytest.raises(ValueError, match=r"columns .*asked for"):
            posterior.probability("ill", given={"ill": "ill"})


def test_a_network_says_which_columns_it_can_predict():
    with pytest.raises(ValueError, match=r"say target=, one of ward, old, ill; got ''"):
        net().predict(FRAME)
    with pytest.raises(ValueError, match="rows have no column 'ward'"):
        net().predict(FRAME[["old"]], "ill")


def test_a_mixture_predicts_the_class():
    posterior = mixed()
    best = posterior.best
    weights, theta = best.weights.reshape(-1, 2), best.theta.reshape(-1, 2, 7)
    cell = (weights * theta[:, :, 1] * theta[:, :, 2 + 0] * theta[:, :, 5 + 1]).mean(axis=0)  # ill, A, True
    found = posterior.predict_proba({"ill": "ill", "ward": "A", "old": True})
    assert found.dims == ("row", "class")
    assert found.to_numpy()[0] == pytest.approx(cell / cell.sum())
    assert (
        posterior.predict({"ill": "ill", "ward": "A", "old": True})[0]
        == f"class {1 + int(cell[1] > cell[0])}"
    )


@pytest.mark.parametrize("posterior", [bayes(), net(), mixed()], ids=["bayes", "network", "mixture"])
def test_synthetic_records_carry_labels_and_follow_the_law(posterior):
    """Records of 20 data sets, each of its own draw of θ: a margin within 5 standard errors (6e-7)."""
    parts = [posterior.synthetic(1000, SeededSource(i)) for i in range(20)]
    frame = pd.concat(parts)
    assert set(frame["ward"]) == {"A", "B", "C"}
    assert set(frame["old"]) == {False, True}
    shares = np.array([(part["ward"] == "B").mean() for part in parts])
    wanted = joint(posterior).sum(axis=(0, 2))[1]
    assert abs(shares.mean() - wanted) < 5 * shares.std(ddof=1) / np.sqrt(20)
    assert abs(shares.mean() - wanted - 0.2) > 5 * shares.std(ddof=1) / np.sqrt(20)
    codes = posterior.synthetic(5, SeededSource(0), codes=True)
    assert SCHEMA["ward"].labels[codes["ward"][0]] == parts[0]["ward"][0] or posterior.model.name == "mixture"


@pytest.mark.parametrize("posterior", [bayes(), net(), mixed()], ids=["bayes", "network", "mixture"])
def test_bare_codes_are_refused_unless_they_are_asked_for(posterior):
    asked = ("ill",) if posterior.model.name == "bayesian_network" else ()
    factorised = FRAME.apply(lambda column: pd.factorize(column)[0])
    with pytest.raises(TypeError, match="integer codes are not labels"):
        posterior.predict(factorised, *asked)
    with pytest.raises(TypeError, match="codes=True"):
        posterior.predict(factorised.to_numpy(), *asked)
    bare = type(posterior).__name__ == "NaiveBayesPosterior"
    codes = (
        factorised[["ward", "old"]].to_numpy() if bare else {c: factorised[c].to_numpy() for c in factorised}
    )
    said = posterior.predict(codes, *asked, codes=True)
    assert said.dtype.kind == "i"
    levels = {"naive_bayes": ["healthy", "ill"], "bayesian_network": ["healthy", "ill"]}.get(
        posterior.model.name, ["class 1", "class 2"]
    )
    assert [levels[code] for code in said] == posterior.predict(FRAME, *asked).tolist()


def test_without_a_schema_the_error_says_what_to_do():
    with pytest.raises(ValueError, match=r"read it from a release, or give integer codes with codes=True"):
        bayes().labelled(Labels()).predict(FRAME)


# ── through the line, saved and loaded ──────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    opened = dc.Ledger.open(tmp_path_factory.mktemp("labels") / "wide.db", budget=dc.ApproxDP(1e5, 0.1))
    yield opened
    opened.close()


def people(n=3000):
    rng = np.random.default_rng(8)
    age, ward = rng.uniform(0, 100, n).round(), rng.choice(list("ABC"), n)
    ill = rng.random(n) < 1 / (1 + np.exp(-(age - 50) / 8 - 2 * (ward == "B")))
    return pd.DataFrame(
        {
            "age": age,
            "ward": ward,
            "state": np.where(ill, "bad", "good"),
            "visits": rng.poisson(np.exp(age / 50)),
        }
    )


DECLARED = {
    "age": dc.Bounded(0, 100),
    "ward": dc.Categories(["A", "B", "C"], unknown="C"),
    "state": dc.Label(["good", "bad"], unknown="good"),
    "visits": dc.Count(30),
}
LOGISTIC = dc.BayesianLogisticRegression(
    target="state", features=("age", "ward", "old"), labels=("good", "bad"), norm=2
)


@pytest.mark.parametrize(
    "model",
    [dc.NaiveBayes("state", ("band", "ward", "old")), LOGISTIC],
    ids=["naive_bayes", "logistic"],
)
def test_a_saved_release_predicts_labels_from_raw_columns(ledger, tmp_path, model):
    frame = people()
    table = dc.Table.open(frame, schema=DECLARED).derive(
        band=dc.col("age").cut([30, 50, 70]), old=dc.col("age") >= 50
    )
    release = dc.privatise(table, model, target=dc.ApproxDP(50, 1e-6), ledger=ledger, source=SeededSource(1))
    loaded = dc.Release.load(release.save(tmp_path / "saved", draws=0))
    said = loaded.posterior.predict(frame[["age", "ward"]])
    assert (said == frame["state"]).mean() > 0.8  # the true law has .86, guessing .5
    shares = loaded.posterior.predict_proba(frame[["age", "ward"]])
    assert shares["state"].to_numpy().tolist() == ["good", "bad"]
    assert np.where(shares.sel(state="bad") > 0.5, "bad", "good").tolist() == said.tolist()
    held = loaded.posterior.log_predictive(frame)
    if model is LOGISTIC:
        each = [float(shares.to_numpy()[i, int(s == "bad")]) for i, s in enumerate(frame["state"])]
        assert held.to_numpy() == pytest.approx(np.log(each))
    else:
        assert held.mean() > np.log(1 / (2 * 4 * 3 * 2))
    again = dc.Release.load(tmp_path / "saved").read(reading="naive").predict(frame[["age", "ward"]])
    assert (again == said).mean() > 0.95


def test_counts_as_answers_are_expected_and_have_no_labels(ledger):
    frame = people()
    model = dc.GeneralizedLinear(
        target="visits", features=("age",), norm=1, radius=4, loss=dc.ClippedPoisson(upper=30)
    )
    table = dc.Table.open(frame, schema=DECLARED)
    release = dc.privatise(table, model, target=dc.ApproxDP(50, 1e-6), ledger=ledger, source=SeededSource(1))
    said = release.posterior.predict({"age": [10.0, 90.0]})
    assert said[1] > 2 * said[0] > 0
    with pytest.raises(TypeError, match="predict gives their expectation"):
        release.posterior.predict_proba({"age": [10.0]})


def test_linear_regression_predicts_in_the_units_of_its_answer(ledger, tmp_path):
    """The true line is 3·age + 40 [ward B]; least squares on 3000 rows has it to within 2."""
    frame = people().assign(pay=lambda x: 3 * x["age"] + 40 * (x["ward"] == "B"))
    schema = {**DECLARED, "pay": dc.Bounded(0, 400)}
    table = dc.Table.open(frame, schema=schema)
    model = dc.BayesianLinearRegression(target="pay", features=("age", "ward"))
    ask = {"target": dc.ApproxDP(50, 1e-6), "ledger": ledger, "source": SeededSource(1)}
    release = dc.Release.load(dc.privatise(table, model, **ask).save(tmp_path / "line", draws=0))
    rows = pd.DataFrame({"age": [20.0, 80.0, 80.0], "ward": ["A", "A", "B"]})
    assert release.posterior.predict(rows) == pytest.approx([60, 240, 280], abs=12)
    with pytest.raises(TypeError, match="are numbers: predict gives their expectation"):
        release.posterior.predict_proba(rows)
    with pytest.raises(TypeError, match="integer codes are not labels"):
        release.posterior.predict(rows.assign(ward=[0, 0, 1]))


def test_hidden_states_are_told_by_label():
    from discreet.models.hidden_markov import HiddenMarkov
    from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior

    schema = {
        "place": dc.Categories(["N", "S"], unknown="N"),
        "month": dc.Categories([1, 2, 3], unknown=1),
        "a": dc.Binary(),
    }
    model = HiddenMarkov(states=2, chain="place", step="month", features=("a",)).bind(
        {"place": 2, "month": 3, "a": 2}
    )
    z = np.array([[[0, 0, 1, 1, 1, 0]] * 3 + [[0, 1, 1, 1, 1, 0]]], dtype=np.int16)
    theta = np.tile([[0.9, 0.1], [0.2, 0.8]], (1, 4, 1, 1))
    moves = np.full((1, 4, 3, 2), 0.5)
    posterior = HiddenMarkovPosterior(model, "exact", "x", z, theta, moves, np.zeros((1, 4)), 0).labelled(
        Labels(("place", "month", "a"), dc.Schema(schema).to_dict())
    )
    shares = posterior.state_probabilities()
    assert shares.dims == ("place", "month", "state")
    assert shares.sel(place="N", month=2, state="state 2") == pytest.approx(0.25)
    states = posterior.states()
    assert states.sel(place="S", month=3) == "state 1"
    assert states.sel(place="S", month=1) == "state 2"
    rows = {"place": ["S", "N"], "month": [1, 2]}
    assert posterior.predict(rows).tolist() == ["state 2", "state 1"]
    assert posterior.predict_proba(rows).sel(row=1).to_numpy() == pytest.approx([0.75, 0.25])
    records = pd.DataFrame({"place": ["S", "S"], "month": [1, 1], "a": [True, True]})
    counts = np.zeros((2, 3, 2))
    counts[1, 0, 1] = 2
    assert posterior.log_predictive(records) == pytest.approx(posterior.log_predictive(counts.reshape(-1)))
    assert posterior.log_predictive(records)[0] == pytest.approx(2 * np.log(0.8))


def test_a_release_knows_its_encoder_and_json_of_it_is_public(ledger):
    table = dc.Table.open(people(), schema=DECLARED).derive(old=dc.col("age") > 50)
    release = dc.privatise(table["old"], dc.BetaBernoulli(1, 1), target=dc.PureDP(1), ledger=ledger)
    assert release.encoder.encode({"age": [51, 50]}, ["old"]).columns["old"].tolist() == [1, 0]
    assert json.loads(release.schema_text) == release.schema
    with pytest.raises(TypeError, match="no column to predict"):
        release.posterior.predict(people())
