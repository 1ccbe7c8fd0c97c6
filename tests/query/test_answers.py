"""Answers from releases: of a closed form, of draws, of released draws; labels and completion."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discreet as dc
from discreet.posteriors.conjugate import ConjugatePosterior

SCHEMA = {
    "smoker": dc.Binary(),
    "ward": dc.Categories(["A", "B", "(other)"], unknown="(other)"),
    "age": dc.Binary(),
}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    old = rng.random(600) < 0.4
    return pd.DataFrame(
        {"smoker": rng.random(600) < np.where(old, 0.7, 0.2), "ward": rng.choice(["A", "B"], 600), "age": old}
    )


def released(frame, tmp_path, model, column=None, target=dc.PureDP(50), **options):  # noqa: B008
    table = dc.Table.open(frame, schema=SCHEMA)
    with dc.Ledger.open(tmp_path / "b.db", budget=target) as ledger:
        chosen = table if column is None else table[column]
        return dc.privatise(chosen, model, target=target, ledger=ledger, source=dc.SeededSource(4), **options)


def ask(text, posterior, **options):
    return dc.query.parse(text, dc.query.Vocabulary.of(posterior)).of(posterior, **options)


def test_a_number_and_a_claim_of_a_closed_form():
    law = dc.BetaBernoulli(8, 4)
    posterior = ConjugatePosterior(dc.BetaBernoulli(1, 1), law)
    alone = ask("p", posterior)
    assert (alone.mean, alone.error) == (pytest.approx(8 / 12), 0.0)
    assert [alone.lower, alone.upper] == pytest.approx(stats.beta(8, 4).interval(0.9), rel=1e-9)
    odds = ask("p / (1 - p)", posterior, draws=20_000)  # Beta′(8, 4) has mean 8/3
    assert abs(odds.mean - 8 / 3) < 5 * odds.error  # 5σ: wrong one time in a million
    assert abs(odds.mean - 2.4) > 5 * odds.error
    sure = ask("p > 0.5", posterior, draws=20_000)
    assert sure.kind == "probability"
    assert sure.lower is None
    assert abs(sure.mean - stats.beta(8, 4).sf(0.5)) < 5 * sure.error


def test_asked_twice_the_answer_is_the_same():
    posterior = ConjugatePosterior(dc.BetaBernoulli(1, 1), dc.BetaBernoulli(8, 4))
    assert ask("p ** 2", posterior) == ask("p ** 2", posterior)
    assert ask("p ** 2", posterior) != ask("p ** 2 ", posterior, source=dc.SeededSource(1))


def test_what_is_undefined_is_counted():
    posterior = ConjugatePosterior(dc.BetaBernoulli(1, 1), dc.BetaBernoulli(1, 1))
    half = ask("log(p - 0.5)", posterior)
    assert half.undefined == pytest.approx(0.5, abs=0.05)
    assert "give no finite number" in half.words
    with pytest.raises(dc.QueryError, match="no θ"):
        ask("log(p - 2)", posterior)


def test_a_network_answers_by_labels(frame, tmp_path):
    posterior = released(frame, tmp_path, dc.BayesianNetwork({"smoker": ["age"], "ward": []})).posterior
    found = ask("E[smoker | age = yes] - E[smoker | age = no]", posterior)
    truth = frame.smoker[frame.age].mean() - frame.smoker[~frame.age].mean()
    assert found.lower < truth < found.upper  # ε = 50: hardly any noise
    own = posterior.probability("smoker", given={"age": True}).isel(smoker=1).item()
    assert ask("E[smoker | age = 1]", posterior).mean == pytest.approx(own, abs=0.01)
    with pytest.raises(dc.QueryError, match="not all numbers"):
        ask("E[ward]", posterior)
    assert ask('P[ward = "(other)"]', posterior).mean < 0.05


def test_naive_bayes_answers_and_mixed_up_parameters_are_refused(frame, tmp_path):
    posterior = released(frame, tmp_path, dc.NaiveBayes("smoker", ("age", "ward"))).posterior
    found = ask("P[smoker = yes | age = yes, ward = A]", posterior)
    assert found.mean == pytest.approx(0.7, abs=0.1)
    with pytest.raises(dc.QueryError, match="other parameters"):
        dc.query.parse("p", ("p",)).of(posterior)


def test_released_draws_are_answered_one_by_one(frame, tmp_path):
    """Algorithm 1 of D14: q(θ_k), each draw paid for; no interval, for none was released."""
    release = released(
        frame,
        tmp_path,
        dc.BetaBernoulli(6, 6),
        "smoker",
        dc.ApproxDP(2, 1e-5),
        mechanism="concentrated",
        draws=3,
    )
    drawn = np.ravel(release.value.sample())
    found = ask("1 - p", release.posterior)
    assert found.each == pytest.approx(tuple(1 - drawn))
    assert (found.lower, found.sd) == (None, None)
    assert ask("p < 2", release.posterior).each == (1.0, 1.0, 1.0)


def test_vocabulary_of_a_model_is_that_of_its_posteriors(frame, tmp_path):
    model = dc.BayesianNetwork({"smoker": ["age"]})
    release = released(frame, tmp_path, model)
    before = dc.query.Vocabulary.of_model(release.model, release.labels)
    assert before == dc.query.Vocabulary.of(release.posterior)
    query = dc.query.parse("E[smoker | age = yes]", before)
    assert query.names == ("smoker", "age")
    assert query.of(release.posterior).draws == 4000
    with pytest.raises(dc.QueryError, match="not of Mixture"):
        dc.query.Vocabulary.of_model(dc.Mixture(2, ("a", "b")))


def test_completion_offers_what_may_stand_there(frame, tmp_path):
    model = dc.BayesianNetwork({"smoker": ["age"], "ward": []}).bind({"smoker": 2, "age": 2, "ward": 3})
    schema = {"columns": {"smoker": {"kind": "binary"}, "age": {"kind": "binary"}}}
    words = dc.query.Vocabulary.of_model(model, dc.query.vocabulary.Labels(("smoker", "age", "ward"), schema))
    assert dc.query.complete("E[", words) == ["age", "smoker", "ward"]
    assert dc.query.complete("E[smoker | ag", words) == ["age"]
    assert dc.query.complete("E[smoker | age = ", words) == ["no", "yes"]
    assert dc.query.complete("1 + sq", words) == ["sqrt("]
    assert dc.query.complete('2 * "smoker = y', words) == [
        '"smoker = yes | age = no"',
        '"smoker = yes | age = yes"',
    ]
    assert dc.query.complete("E[smoker]", words, at=2) == ["age", "smoker", "ward"]
