"""Reference C2 (mpmath, 40 digits): exact worst case at finite n, and the temperature that it affords."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.privacy.arithmetic.ball import settle
from discreet.privacy.kinds import PureDP
from discreet.privacy.worst_pairs.tempered_posterior import beta_pair_epsilon

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "C2_adversarial_local_eps.json").read_text()
)
UNIFORM, A0 = BetaBernoulli(1, 1), Fraction(1, 10)
DIGITS = 1e-14


def _cost(successes, failures):
    """ε between the posteriors that one more success and one more failure give."""
    one = Fraction(1)
    return float(settle(lambda: beta_pair_epsilon(one + successes, one + failures, one, A0)).mid())


@pytest.mark.parametrize("n", range(1, 101))
def test_local_epsilon_of_the_adversarial_data_sets(n):
    row = REFERENCE["variant1_local_eps_over_all_substitutions_of_dataset"][n - 1]
    newest = REFERENCE["variant2_cost_of_newest_point"][n - 1]
    assert (row["N"], newest["N"]) == (n, n)
    assert _cost(row["n_plus"] - 1, row["n_minus"]) == pytest.approx(row["eps"], rel=DIGITS)
    before = newest["n_plus_before"]
    assert _cost(before, n - 1 - before) == pytest.approx(newest["eps"], rel=DIGITS)


@pytest.mark.parametrize(
    ("n", "epsilon"), REFERENCE["exact_worst_case_eps_over_all_datasets_of_size_N_T=1"].items()
)
def test_worst_case_over_all_data_sets(n, epsilon):
    mechanism = OnePosteriorSample(UNIFORM, n=int(n), truncation=A0, temperature=1)
    assert mechanism.guarantee.loss == pytest.approx(epsilon, rel=DIGITS)
    assert mechanism.guarantee.loss < REFERENCE["worst_case_2Delta"]  # approached from below, never attained
    assert mechanism.bounded_range.loss == pytest.approx(REFERENCE["worst_case_2Delta"], rel=DIGITS)


@pytest.mark.parametrize(("setting", "expected"), REFERENCE["exact_temperature_for_target_eps"].items())
def test_exact_temperature(setting, expected):
    a0, epsilon, n = (Fraction(part.split("=")[1]) for part in setting.split(","))
    target = PureDP(epsilon)
    mechanism = OnePosteriorSample.calibrate(UNIFORM, n=int(n), target=target, truncation=a0)
    assert mechanism.temperature == pytest.approx(expected["T_exact"], rel=1e-10)
    assert mechanism.temperature < expected["T_bound"]
    assert mechanism.guarantee <= target
    cooler = OnePosteriorSample(
        UNIFORM, n=int(n), truncation=a0, temperature=mechanism.temperature * (1 - 1e-11)
    )
    assert not cooler.guarantee <= target
