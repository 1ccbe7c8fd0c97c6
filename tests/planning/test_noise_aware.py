"""Plans of the noise-aware reading: its intervals cover, its point is no worse, and it says which it is."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.mechanisms.regression.adassp import AdaSSP
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.planning import plan, predict
from discreet.planning.predicted_release import predict_release
from discreet.planning.simulated_data import cases
from discreet.posteriors.scalar import read as scalar
from discreet.posteriors.scalar.contour import LogTransform, ceiling, log_likelihood
from discreet.posteriors.scalar.likelihood import Likelihood
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import ApproxDP, PureDP
from discreet.sampling.source import SeededSource

LINE = BayesianLinearRegression([0, 0], [[1, 0], [0, 1]], 3, Fraction(1, 2), radius=3)


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
    made = plan(LINE, 300, ApproxDP(0.5, 1e-6), simulations=16, reading="naive")
    assert any(row.coverage < 0.85 for row in made.rows if row.reading)
    assert made.cautions
    assert all("read naively" in words for words in made.cautions)
    wide = BayesianLinearRegression([0, 0], [[1, 0], [0, 1]], 3, 8, radius=3)
    clipped = plan(wide, 300, ApproxDP(9, 1e-6), simulations=16, reading="naive")
    assert any("the public bounds clip" in words for words in clipped.cautions)
    assert "naive" in made.table()
    assert "CAUTION" in made.table()
    assert made.to_json()["cautions"] == list(made.cautions)
    aware = plan(BetaBernoulli(2, 3), 200, PureDP(0.5))  # the control: these cover
    assert not aware.cautions
    assert "noise-aware" in aware.table()


def test_a_plan_of_linear_regression_is_read_with_the_noise_in_mind_and_adassp_has_no_interval():
    """32 worlds of two weights: coverage of 90 % to 3.8 % at most, so 78 % is beyond 3.1 standard errors."""
    made = plan(LINE, 3000, ApproxDP(0.5, 1e-6), simulations=32)
    rows = {row.name: row for row in made.rows}
    noisy = [row for name, row in rows.items() if name.startswith("noisy_statistics")]
    assert {row.reading for row in noisy} == {"noise_aware"}
    assert all(row.coverage >= 0.78 for row in noisy)
    naive = predict(rows["noisy_statistics (gaussian)"].mechanism, simulations=32, reading="naive")
    assert naive.coverage < 0.6
    point = predict(AdaSSP.calibrate(LINE, n=3000, target=ApproxDP(0.5, 1e-6)), simulations=32)
    assert (point.width, point.coverage) == (None, None)
    assert "test error" in made.table()
    assert all(row.test_error >= made.exact.test_error for row in made.rows)


def test_the_test_error_is_that_of_new_rows():
    """A million rows: the mean square to 0.14 %. The imagined rows are clipped a little, hence 2 %."""
    truth = np.array([0.5, -0.3, 0.2])
    mechanism = AdaSSP.calibrate(LINE, n=300, target=ApproxDP(1, 1e-6))
    fits = predict_release(mechanism, cases(LINE, 300, truth=truth, simulations=16), 0.9).point.mean[:, :2]
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1_000_000, 2)) * 3 / 2 / np.sqrt(2)
    y = x @ truth[:2] + np.sqrt(truth[2]) * rng.normal(size=len(x))
    found = np.mean([np.mean((y - x @ w) ** 2) for w in fits]) ** 0.5
    assert predict(mechanism, truth=truth, simulations=16).test_error == pytest.approx(found, rel=0.02)
    assert found > 1.1 * truth[2] ** 0.5  # noise alone would not do
    assert predict(NoisyStatistics(BetaBernoulli(2, 3), n=9, scale=2)).test_error is None


def test_a_plan_can_be_asked_for_it_and_falls_back_aloud():
    made = plan(BetaBernoulli(2, 3), 200, PureDP(0.5), reading="noise_aware")
    rows = [row for row in made.rows if row.name.startswith("noisy_statistics")]
    assert {row.reading for row in rows} == {"noise_aware"}
    assert all(0.88 <= row.coverage <= 0.92 for row in rows)
    assert "—" in made.table()
    die = NoisyStatistics.calibrate(DirichletCategorical([1, 1, 1]), n=100, target=PureDP(0.1))
    aware, naive = (predict(die, reading=name, simulations=16) for name in ("noise_aware", "naive"))
    assert (aware.reading, naive.reading) == ("noise_aware", "naive")
    assert aware.coverage > naive.coverage + 0.1  # wide noise: at 16 data sets the gap is beyond chance
    assert aware.width > naive.width
    with pytest.raises(ValueError, match="naive"):
        predict(die, reading="wishful")


@pytest.mark.parametrize("noise", ["discrete_laplace", "gaussian"])
def test_a_plan_reads_a_private_n_in_less_detail_and_finds_the_same(noise):
    """Mean and both ends to a hundredth of the width, from a third of the nodes."""
    model = GammaPoisson(2, 1, upper=20)
    ready = NoisyStatistics.calibrate(
        model, n=None, target=ApproxDP(1, 1e-6, relation=ADD_REMOVE), noise=noise
    )
    release = ready.release(np.array([1000]), SeededSource(3), count=500)
    fit, planned = (scalar.read(release, model, detail=detail) for detail in (scalar.FULL, scalar.PLANNED))
    low, high = fit.flat_interval(0.9)[0]
    assert np.abs(planned.flat_interval(0.9)[0] - [low, high]).max() < 0.01 * (high - low)
    assert abs(planned.flat_mean()[0] - fit.flat_mean()[0]) < 0.01 * (high - low)
    assert planned.nodes.size < 0.6 * fit.nodes.size


def test_where_a_private_n_decides_nothing_less_is_computed():
    """Within 14 nats of the top as without a top; below, below: and nothing exceeds its ceiling."""
    model = GammaPoisson(2, 1, upper=20)
    ready = NoisyStatistics.calibrate(
        model, n=None, target=ApproxDP(1, 1e-6, relation=ADD_REMOVE), noise="discrete_laplace"
    )
    release = ready.release(np.array([1000]), SeededSource(3), count=500)
    likelihood, noisy = Likelihood.of(release, model), np.array(release.noisy)
    theta = np.array([0.3, 1.0, 2.0, 3.0, 8.0])
    exact = likelihood.log(noisy[None], theta)[0]
    bounded = likelihood.log(noisy[None], theta, np.log(np.full(5, 0.2)), top=exact.max())[0]
    near = exact > exact.max() - 14
    assert near.tolist() == [False, False, True, False, False]
    assert np.allclose(bounded[near], exact[near], atol=1e-5)
    assert np.all(bounded[~near] < exact.max() - 14)
    each = np.full(5, 500.0)
    line = LogTransform(likelihood.record, theta, each, likelihood.weights(noisy, each))
    assert np.all(ceiling(line) >= log_likelihood(line)[0])
