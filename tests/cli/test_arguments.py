"""What users type: promises, priors, options, names; each refused in words that say what to type instead."""

from fractions import Fraction

import pytest

from discreet.catalogue import names
from discreet.cli.printed.errors import reworded
from discreet.cli.typed.arguments import (
    RELATIONS,
    assignments,
    mechanisms,
    one_of,
    promise,
)
from discreet.cli.typed.job import read_job
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP


def test_names_that_users_type_stay():
    assert set(names("family")) >= {
        *("beta_bernoulli", "beta_binomial", "beta_geometric", "dirichlet_categorical", "gamma_poisson"),
        *("dirichlet_multinomial", "gamma_exponential", "normal_mean", "normal_inverse_gamma"),
        *("normal_inverse_wishart", "bayesian_linear_regression"),
    }
    assert set(names("counts")) >= {"naive_bayes", "bayesian_network", "mixture", "hidden_markov"}
    assert set(names("regression")) >= {"bayesian_logistic_regression", "generalized_linear"}
    drawn = ("direct", "diffused", "concentrated", "one_posterior_sample")
    assert mechanisms("family")[:5] == ("noisy_statistics", *drawn)
    assert mechanisms("counts")[:2] == ("noisy_counts", "one_network_sample")
    fits = ("objective_perturbation", "polynomial_statistics", "tuned")
    assert mechanisms("regression")[:7] == (
        *fits,
        "diffused",
        "concentrated",
        "direct",
        "one_posterior_sample",
    )
    assert set(RELATIONS) == {r.value for r in (SUBSTITUTE, ADD_REMOVE)}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("pure:1", PureDP(1)),
        ("pure:1/3", PureDP(Fraction(1, 3))),
        ("approx:0.5,1e-6", ApproxDP(Fraction(1, 2), Fraction(1, 10**6))),
        ("zcdp:0.1", ZeroCDP(Fraction(1, 10))),
        ("gdp:0.5", GaussianDP(0.5)),
        ("renyi:2,0.25", RenyiDP.at(2, 0.25)),
    ],
)
def test_promises(words, expected):
    assert promise(words) == expected
    assert promise(words, "add_remove").relation is ADD_REMOVE


@pytest.mark.parametrize(
    "words", ["", "pure", "pure:", "pure:x", "approx:1", "pure:1,2", "renyi:2", "nice:1", "pure:1/0"]
)
def test_a_promise_that_is_none_is_refused_with_the_grammar(words):
    with pytest.raises(ValueError, match=r"approx:"):
        promise(words)


def test_decimals_are_exact_so_that_ten_tenths_are_one():
    assert promise("pure:0.1").loss == Fraction(1, 10)


def test_assignments():
    assert assignments("alpha=1, beta=0.1", "--prior") == {"alpha": 1, "beta": Fraction(1, 10)}
    assert assignments("alpha=[1, 2.5]", "--prior") == {"alpha": [1, Fraction(5, 2)]}
    assert assignments(["noise=discrete_gaussian", "truncation=0.05"], "--option") == {
        "noise": "discrete_gaussian",
        "truncation": Fraction(1, 20),
    }
    with pytest.raises(ValueError, match="name=value"):
        assignments("alpha", "--prior")


def test_names_may_be_typed_with_hyphens():
    assert one_of("model", "beta-bernoulli", names()) == "beta_bernoulli"
    with pytest.raises(ValueError, match="there are"):
        one_of("model", "beta", names())


def test_rationals_are_shown_as_decimals_where_these_are_short():
    assert reworded("PureDP(Fraction(1, 10))\n  left") == "PureDP(0.1) left"
    assert reworded("PureDP(Fraction(1, 3))") == "PureDP(1/3)"


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ({"epsilon": "0.4", "delta": "1e-7"}, "approx:0.4,1e-7"),
        ({"epsilon": "0.4"}, "pure:0.4"),
        ({"epsilon": "1/3", "delta": "0"}, "pure:1/3"),
        ({"target": "gdp:1"}, "gdp:1"),
    ],
)
def test_epsilon_and_delta_are_a_target(given, target):
    assert read_job(None, given).target == target


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"epsilon": "1", "target": "pure:1"}, "the command line says what to promise twice"),
        ({"delta": "1e-6"}, "in part"),
        ({"delta": "1e-6", "target": "pure:1"}, "twice"),
    ],
)
def test_two_ways_at_once_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        read_job(None, given)


def test_a_job_file_says_epsilon_and_the_command_line_wins(tmp_path):
    job = tmp_path / "job.toml"
    job.write_text('data = "x.csv"\nepsilon = 0.1\ndelta = 1e-6\n')
    assert read_job(str(job), {}).target == "approx:1/10,1/1000000"
    assert read_job(str(job), {"target": "pure:1"}).target == "pure:1"
    assert read_job(str(job), {"epsilon": "2"}).target == "pure:2"
