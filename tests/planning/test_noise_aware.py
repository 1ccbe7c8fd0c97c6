"""Plans of the noise-aware reading: its intervals cover, its point is no worse, and it says which it is."""

import math

import pytest

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.mechanisms.noisy_statistics import NoisyStatistics
from discreet.planning import plan, predict
from discreet.privacy.guarantees import ApproxDP, PureDP


@pytest.mark.parametrize("model", [BetaBernoulli(2, 3), GammaPoisson(3, 1, upper=6)], ids=lambda m: m.name)
def test_the_noise_aware_reading_covers_and_its_mean_is_nearer(model):
    """5000 stratified nodes: a coverage of 90 % to 0.42 %, so that 88.5–91.5 % is 3.5 standard errors."""
    mechanism = NoisyStatistics.calibrate(model, n=100, target=PureDP(0.1))
    aware, naive = predict(mechanism, reading="noise_aware"), predict(mechanism, reading="naive")
    assert (aware.reading, naive.reading) == ("noise_aware", "naive")
    assert 0.885 <= aware.coverage <= 0.915
    assert naive.coverage < 0.7
    assert aware.error < naive.error
    assert aware.width > naive.width
    assert math.isnan(aware.kl)
    assert aware.to_json()["kl"] is None


def test_a_plan_says_how_it_read_and_warns_where_that_covers_too_rarely():
    line = BayesianLinearRegression([0, 0], [[1, 0], [0, 1]], 3, 2, radius=3)
    made = plan(line, 300, ApproxDP(0.5, 1e-6), simulations=16)
    assert any(row.coverage < 0.85 for row in made.rows)
    assert all("read naively" in words for words in made.cautions)
    assert "naive" in made.table()
    assert "CAUTION" in made.table()
    assert made.to_json()["cautions"] == list(made.cautions)
    aware = plan(BetaBernoulli(2, 3), 200, PureDP(0.5))  # the control: these cover
    assert not aware.cautions
    assert "noise-aware" in aware.table()


def test_a_plan_can_be_asked_for_it_and_falls_back_aloud():
    made = plan(BetaBernoulli(2, 3), 200, PureDP(0.5), reading="noise_aware")
    rows = [row for row in made.rows if row.name.startswith("noisy_statistics")]
    assert {row.reading for row in rows} == {"noise_aware"}
    assert all(0.88 <= row.coverage <= 0.92 for row in rows)
    assert "—" in made.table()
    die = NoisyStatistics.calibrate(DirichletCategorical([1, 1, 1]), n=100, target=PureDP(1))
    assert predict(die, reading="noise_aware").reading == "naive"
    with pytest.raises(ValueError, match="naive"):
        predict(die, reading="wishful")
