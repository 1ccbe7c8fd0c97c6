"""One draw under a metric: the claim on exact posteriors over a grid, the walk, what is refused."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import gammainc

import discreet as dc
from discreet.mechanisms.for_unit import calibrated_for_unit
from discreet.mechanisms.posterior.metric_sample import MetricSample, waits_drawn
from discreet.privacy import AbsoluteDifference, Hamming, Steps, TotalDifference, Weighted
from discreet.privacy.guarantee import MixedRelations
from discreet.sampling.source import SeededSource

WAITS = dc.GammaExponential(2, 1, upper=4, grid=Fraction(1, 4))
ON_GRID = AbsoluteDifference(WAITS.grid)


def truncated_ratio(shape, rate, far, largest):
    """Return max |ln p/q| of Gamma(shape, rate) and Gamma(shape, rate + far) on (0, M]."""
    masses = [gammainc(shape, r * largest) for r in (rate, rate + far)]
    constant = shape * math.log(rate / (rate + far)) - math.log(masses[0] / masses[1])
    return max(abs(constant), abs(far * largest + constant))


@pytest.mark.parametrize("temperature", [1, Fraction(5, 2)])
def test_no_pair_on_a_grid_exceeds_the_claim(temperature):
    """Exponential waits, n ≤ 20, sums and distances of a grid; close to the claim, which is L, not 2L."""
    closest, t = 0.0, float(temperature)
    for largest in (0.5, 2, 8):
        mechanism = MetricSample(
            model=WAITS, n=3, truncation=largest, temperature=temperature, relation=ON_GRID.relation
        )
        assert mechanism.lipschitz.constant == mechanism.lipschitz.spread == largest
        for n in (1, 5, 20):
            for total in np.linspace(0, 4 * n, 9):
                for far in (0.25, 1, 4):
                    exact = truncated_ratio(2 + n / t, 1 + total / t, far / t, largest)
                    claimed = mechanism.guarantee.epsilon(0, distance=far)
                    assert exact <= claimed * (1 + 1e-9)
                    closest = max(closest, exact / claimed)
    assert closest > 0.9


def test_the_draw_has_the_law_that_is_promised_for():
    """KS on 2000 draws of rate | 3 waits with T = 2: false alarm 1e-6; the posterior untempered is caught."""
    mechanism = MetricSample(model=WAITS, n=3, truncation=1, temperature=2, relation=ON_GRID.relation)
    drawn = waits_drawn(WAITS, mechanism, [44], 2000, SeededSource(3))  # Σx = 44/4

    def p_value(shape, rate):
        return stats.kstest(gammainc(shape, rate * drawn) / gammainc(shape, rate), "uniform").pvalue

    assert drawn.max() <= 1
    assert p_value(2 + 1.5, 1 + 5.5) > 1e-6
    assert p_value(2 + 3, 1 + 11) < 1e-6
    one = mechanism.release([20], SeededSource(3))
    assert 0 < one <= 1


def test_calibration_takes_the_least_temperature():
    target = dc.MetricDP(0.5, metric=ON_GRID)
    found = MetricSample.calibrate(WAITS, n=5, target=target, truncation=3)
    assert found.temperature == 6
    assert found.guarantee == target
    warm = MetricSample.calibrate(WAITS, n=5, target=dc.MetricDP(9, metric=ON_GRID), truncation=3)
    assert warm.temperature == 1
    assert warm.guarantee == dc.MetricDP(3, metric=ON_GRID)
    shared = calibrated_for_unit(dc.OnePosteriorSample, WAITS, target, n=5, truncation=3)
    assert shared == found  # as the registry says
    with pytest.raises(MixedRelations):
        dc.OnePosteriorSample.calibrate(dc.BetaBernoulli(1, 1), n=5, target=target, truncation=0.1)


def test_constants_go_with_the_model_and_the_metric():
    def epsilon(model, metric, truncation=0.1):
        sample = MetricSample(model=model, n=4, truncation=truncation, relation=metric.relation)
        return sample.guarantee.epsilon(0)

    both = 2 * math.log(9)
    assert epsilon(dc.BetaBernoulli(1, 1), Hamming()) < 0.9 * both  # at n = 4 one record does less
    assert epsilon(dc.BetaBernoulli(1, 1, grid=Fraction(1, 4)), AbsoluteDifference(Fraction(1, 4))) == (
        pytest.approx(both)
    )
    assert epsilon(dc.BetaBinomial(1, 1, trials=5), TotalDifference(1)) == pytest.approx(both)
    assert epsilon(dc.DirichletCategorical([1, 1, 1]), Hamming()) <= 2 * math.log(8)
    assert epsilon(WAITS, Steps(0.5), truncation=3) == 1.5
    network = dc.BayesianNetwork({"b": ["a"]}).bind({"a": 2, "b": 3})
    assert epsilon(network, Weighted.of_network(network.parents)) == pytest.approx(both)


@pytest.mark.parametrize("metric", [Hamming(), TotalDifference(1), AbsoluteDifference(1)])
def test_one_record_of_few_costs_its_exact_worst_case(metric):
    """All pairs of sums, in doubles: none above the claim at its distance, and one that reaches it."""
    for n, a, b, low, heat in ((1, 1, 1, 0.1, 1), (4, 1, 1, 0.1, 1), (4, 0.5, 3, 0.02, 2), (9, 2, 5, 0.2, 3)):
        model = dc.BetaBernoulli(a, b)
        sample = MetricSample(model=model, n=n, truncation=low, temperature=heat, relation=metric.relation)
        claim = sample.guarantee.epsilon(0)
        laws = [stats.beta(a + k / heat, b + (n - k) / heat) for k in range(n + 1)]
        logs = [law.logpdf([low, 1 - low]) - np.log(law.cdf(1 - low) - law.cdf(low)) for law in laws]
        rates = [
            np.abs(logs[i] - logs[j]).max() / abs(i - j) for i in range(n + 1) for j in range(n + 1) if i != j
        ]
        assert max(rates) <= claim * (1 + 1e-9)
        assert max(rates) == pytest.approx(claim, rel=1e-9)
        assert claim < float(sample.lipschitz.spread) / heat


def test_calibration_uses_what_one_record_does():
    target = dc.MetricDP(1, metric=Hamming())
    found = MetricSample.calibrate(dc.BetaBernoulli(1, 1), n=4, target=target, truncation=0.1)
    assert found.guarantee <= target
    assert found.temperature < Fraction(found.lipschitz.spread) * Fraction(9, 10)  # T = W would be needed


@pytest.mark.parametrize(
    ("model", "metric"),
    [
        (WAITS, Hamming()),
        (WAITS, AbsoluteDifference()),  # of real waits, which are rounded: at small distances nothing holds
        (WAITS, Steps(0.3)),  # no multiple of the grid
        (dc.BetaBinomial(1, 1, trials=5), Hamming()),
        (dc.GammaPoisson(1, 1, upper=3), AbsoluteDifference(1)),
    ],
)
def test_what_is_not_proved_is_refused(model, metric):
    with pytest.raises(dc.NotProved, match="proved"):
        MetricSample(model=model, n=4, truncation=0.1, relation=metric.relation)


def test_other_targets_and_mechanisms_are_refused():
    with pytest.raises(dc.NotProved, match="one_posterior_sample"):
        MetricSample.calibrate(WAITS, n=4, target=dc.PureDP(1), truncation=1)
    with pytest.raises(dc.MixedRelations, match="MetricDP"):
        dc.NoisyStatistics.calibrate(WAITS, n=4, target=dc.MetricDP(1, metric=ON_GRID))
    with pytest.raises(dc.MixedRelations, match="MetricDP"):
        dc.RenyiDP.at(2, 1, relation=Hamming().relation)
    mechanism = MetricSample(model=WAITS, n=3, truncation=1, relation=ON_GRID.relation)
    with pytest.raises(ValueError, match="public"):
        mechanism.release([3], count=3)
    with pytest.raises(ValueError, match="at least 1"):
        MetricSample(model=WAITS, n=3, truncation=1, temperature=0.5, relation=ON_GRID.relation)


# ── the walk ────────────────────────────────────────────────────────────────────────────────────────
CASES = {
    "waits": ("wait", WAITS, ON_GRID, 2),
    "steps": ("wait", WAITS, Steps(Fraction(1, 2)), 2),
    "bits": ("smoker", dc.BetaBernoulli(1, 1), Hamming(), 0.1),
    "network": (
        ("old", "smoker"),
        dc.BayesianNetwork({"smoker": ["old"]}),
        Weighted({"old": 2, "smoker": 1}),
        0.1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_walks_the_line(name, tmp_path):
    columns, model, metric, truncation = CASES[name]
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"wait": rng.exponential(1, 90), "smoker": rng.random(90) < 0.3, "old": rng.random(90) < 0.5}
    )
    schema = {"wait": dc.Bounded(0, 4), "smoker": dc.Binary(), "old": dc.Binary()}
    table, target = dc.Table.open(frame, schema=schema), dc.MetricDP(1, metric=metric)
    mechanism = "one_network_sample" if name == "network" else "one_posterior_sample"
    asked = {"mechanism": mechanism, "truncation": truncation, "target": target, "charge_id": "one"}
    with dc.Ledger.open(tmp_path / "b.db", budget=target) as ledger:
        release = dc.privatise(table[columns], model, ledger=ledger, source=SeededSource(1), **asked)
        again = dc.privatise(table[columns], model, ledger=ledger, source=SeededSource(2), **asked)
        assert again.body == release.body
        assert ledger.verify(release)
        with pytest.raises(dc.Overspent, match="distance"):
            dc.privatise(table[columns], model, ledger=ledger, **{**asked, "charge_id": "two"})
    assert release.guarantee <= target
    text = dc.certificate_text(release.certificate())
    assert metric.words in " ".join(text.split())
    assert "two tables at distance 1" in " ".join(text.split())
    saved = release.save(tmp_path / "saved", draws=0)
    page = (saved / "report.html").read_text()
    assert "Somebody tests which of two tables at distance 1 it is" in page
    assert "one row or another" not in page
    assert dc.Release.load(tmp_path / "saved") == release
    assert len(release.posterior.names) == {"waits": 1, "steps": 1, "bits": 1, "network": 6}[name]
