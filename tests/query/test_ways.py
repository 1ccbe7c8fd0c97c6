"""The three ways of D14 §4.2, charged questions, and the picture of what can be told."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.posteriors.conjugate import ConjugatePosterior
from discreet.posteriors.network.posterior import NetworkDirichlet
from discreet.privacy import distinguishing, lipschitz
from discreet.sampling.source import SeededSource

BETA = ConjugatePosterior(dc.BetaBernoulli(1, 1), dc.BetaBernoulli(8, 4))
NETWORK = dc.BayesianNetwork({"b": ["a"]}).bind({"a": 2, "b": 2})


def parsed(text, posterior):
    return dc.query.parse(text, dc.query.Vocabulary.of(posterior))


def test_marginal_maximum_and_draw_of_a_public_posterior():
    ways = dc.query.compare(parsed("p ** 2", BETA), BETA)
    assert ways.marginal == pytest.approx(8 * 9 / (12 * 13), abs=0.01)
    assert ways.maximum == pytest.approx(0.49, abs=1e-6)  # the mode is 7/10
    assert 0 < ways.draw < 1


def test_the_maximum_of_a_network_is_that_of_its_rows():
    posterior = NetworkDirichlet(NETWORK, np.array([3.0, 2, 5, 1, 2, 2]), "naive")
    assert dc.query.maximum(posterior) == pytest.approx([2 / 3, 1 / 3, 1, 0, 0.5, 0.5])
    ways = dc.query.compare(parsed("E[b]", posterior), posterior)
    assert ways.maximum == pytest.approx(2 / 3 * 0 + 1 / 3 * 0.5)
    flat = NetworkDirichlet(NETWORK, np.full(6, 0.5), "naive")
    assert "no single largest" in dc.query.compare(parsed("E[b]", flat), flat).maximum


def test_other_posteriors_are_refused_with_the_reason():
    bayes = dc.posteriors.exact_naive_bayes(
        dc.NaiveBayes("a", ("b",)).bind({"a": 2, "b": 2}), np.array([3, 1, 2, 2])
    )
    assert "no density" in dc.query.compare(parsed("E[a]", bayes), bayes).maximum
    several = ConjugatePosterior(dc.DirichletCategorical([1, 1, 1]), dc.DirichletCategorical([4, 3, 2]))
    text = dc.query.quoted(several.names[0])
    assert "one parameter" in dc.query.compare(parsed(text, several), several).maximum


@pytest.fixture
def table():
    frame = pd.DataFrame({"smoker": np.arange(200) % 3 == 0, "old": np.arange(200) % 2 == 0})
    return dc.Table.open(frame, schema={"smoker": dc.Binary(), "old": dc.Binary()})


ASKED = {"mechanism": "one_posterior_sample", "truncation": 0.1, "target": dc.PureDP(1)}


def test_a_question_is_charged_as_one_draw_and_answered_at_it(table, tmp_path):
    with dc.Ledger.open(tmp_path / "b.db", budget=dc.PureDP(1)) as ledger:
        with pytest.raises(dc.QueryError, match="no parameter"):
            dc.ask("q > 0.5", table["smoker"], dc.BetaBernoulli(1, 1), ledger=ledger, **ASKED)
        assert ledger.remaining().share == 1.0  # a question that is refused costs nothing
        one = {**ASKED, "ledger": ledger, "charge_id": "k", "source": SeededSource(1)}
        found = dc.ask("p / (1 - p)", table["smoker"], dc.BetaBernoulli(1, 1), **one)
        theta = float(found.release.value.sample()[0])
        assert found.answer.each == (pytest.approx(theta / (1 - theta)),)
        again = dc.ask("p / (1 - p)", table["smoker"], dc.BetaBernoulli(1, 1), **one)
        assert again.answer == found.answer
        with pytest.raises(dc.Overspent):
            dc.ask("p", table["smoker"], dc.BetaBernoulli(1, 1), ledger=ledger, **ASKED)
        ways = dc.query.compare(dc.query.parse("p", ["p"]), found.release.posterior)
        assert "without any randomness" in ways.marginal
        assert "maximum" in ways.maximum
        assert ways.draw == theta
        with pytest.raises(ValueError, match="releases none"):
            dc.ask("p", table["smoker"], dc.BetaBernoulli(1, 1), ledger=ledger, mechanism="noisy_statistics",
                   target=dc.PureDP(1))  # fmt: skip


def test_a_network_is_asked_by_its_labels_before_any_release(table, tmp_path):
    model = dc.BayesianNetwork({"smoker": ["old"]})
    with dc.Ledger.open(tmp_path / "b.db", budget=dc.PureDP(1)) as ledger:
        found = dc.ask(
            "E[smoker | old = yes]",
            table,
            model,
            mechanism="one_network_sample",
            truncation=0.05,
            target=dc.PureDP(1),
            ledger=ledger,
            source=SeededSource(5),
        )
    own = found.release.posterior.table("smoker").sel(old="yes").isel(smoker=1).item()
    assert found.answer.each == (pytest.approx(own),)


def test_the_picture_tells_more_with_more_answers(tmp_path):
    constant = lipschitz.bernoulli(0.3)
    rows = dc.query.told(constant, 0.1, most=200)
    assert [rows[0].draws, rows[-1].draws] == [1, 200]
    assert all(a.frequencies > b.frequencies and a.error >= b.error for a, b in pairwise(rows))
    assert rows[-1].frequencies == distinguishing.told_by_frequencies(constant.constant, 200, 0.05)
    assert 0 < rows[0].error < 0.5
    assert (
        dc.query.draw_told(constant, tmp_path / "told.svg", far=0.1, most=50).read_text().count("<path") > 10
    )
