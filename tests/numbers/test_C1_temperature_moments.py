"""Reference C1 (mpmath, 40 digits): sensitivity, temperature and moments of one posterior sample."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.privacy.arithmetic.ball import settle
from discreet.privacy.worst_pairs.tempered_posterior import log_normaliser, log_odds_range

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "C1_ops_sensitivity_temperature_moments.json").read_text()
)
UNIFORM = BetaBernoulli(1, 1)


def _moments(law):
    """Mean and variance of the truncated Beta from ratios of certified normalisers."""
    (a, b), lower = law.entries, law.lower

    def power(k):
        upper = 1 - lower
        return (log_normaliser(a + k, b, lower, upper) - log_normaliser(a, b, lower, upper)).exp()

    mean, square = (float(settle(lambda k=k: power(k)).mid()) for k in (1, 2))
    return mean, square - mean**2


@pytest.mark.parametrize(("a0", "sensitivity"), REFERENCE["sensitivity"].items())
def test_sensitivity_of_the_log_likelihood(a0, sensitivity):
    assert float(settle(lambda: log_odds_range(Fraction(a0), 2)).mid()) == pytest.approx(
        sensitivity, rel=1e-14
    )


@pytest.mark.parametrize(("setting", "temperature"), REFERENCE["temperature"].items())
def test_temperature_of_the_simple_bound(setting, temperature):
    """T = 2Δ/ε: at that temperature the simple bound is ε, for every n."""
    a0, epsilon = (Fraction(part.split("=")[1]) for part in setting.split(","))
    mechanism = OnePosteriorSample(UNIFORM, n=10**6, truncation=a0, temperature=temperature)
    assert mechanism.bounded_range.loss == pytest.approx(float(epsilon), rel=1e-14)


@pytest.mark.parametrize("row", REFERENCE["truncated_beta_moments_a0=0.2_eps=1_N=20"])
def test_posterior_parameters_and_moments_in_both_conventions(row):
    temperature = REFERENCE["temperature"]["a0=0.2,eps=1"]
    for key, temper, heat in (
        ("A_lebesgue_p", "joint", temperature),
        ("A_lebesgue_p", "likelihood", temperature),  # the same law, because the prior is uniform in θ
        ("B_eq4.13_logit_measure", "natural", temperature),
        ("nonprivate_truncated", "joint", 1),
    ):
        mechanism = OnePosteriorSample(
            UNIFORM, n=20, truncation=Fraction(1, 5), temperature=heat, temper=temper
        )
        law = mechanism._private_posterior([row["n_plus"]])
        expected = row[key]
        assert [float(x) for x in law.entries] == pytest.approx(
            [expected["beta_a"], expected["beta_b"]], rel=1e-14
        )
        mean, variance = _moments(law)
        assert mean == pytest.approx(expected["mean"], rel=1e-12)
        assert variance == pytest.approx(expected["var"], rel=1e-10)
