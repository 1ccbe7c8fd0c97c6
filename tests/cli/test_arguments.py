"""What users type: promises, priors, options, names; each refused in words that say what to type instead."""

from fractions import Fraction

import pytest

from discreet.cli.printed.errors import reworded
from discreet.cli.typed.arguments import (
    COUNTED,
    MECHANISMS,
    MODELS,
    OF_COUNTS,
    OF_REGRESSIONS,
    REGRESSIONS,
    RELATIONS,
    assignments,
    one_of,
    promise,
)
from discreet.families.registry import FAMILIES
from discreet.mechanisms.registry import OF_COUNTS as REGISTERED_OF_COUNTS
from discreet.mechanisms.registry import OF_FAMILIES
from discreet.mechanisms.registry import OF_REGRESSIONS as REGISTERED_OF_REGRESSIONS
from discreet.models.registry import MODELS as COUNT_MODELS
from discreet.models.registry import REGRESSIONS as REGISTERED_REGRESSIONS
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP


def test_lists_for_completion_are_the_registries():
    assert set(MODELS) == set(FAMILIES)
    assert set(MECHANISMS) == set(OF_FAMILIES)
    assert set(COUNTED) == set(COUNT_MODELS)
    assert set(OF_COUNTS) == set(REGISTERED_OF_COUNTS)
    assert set(REGRESSIONS) == set(REGISTERED_REGRESSIONS)
    assert tuple(OF_REGRESSIONS) == tuple(REGISTERED_OF_REGRESSIONS)
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
    assert one_of("model", "beta-bernoulli", MODELS) == "beta_bernoulli"
    with pytest.raises(ValueError, match="there are"):
        one_of("model", "beta", MODELS)


def test_rationals_are_shown_as_decimals_where_these_are_short():
    assert reworded("PureDP(Fraction(1, 10))\n  left") == "PureDP(0.1) left"
    assert reworded("PureDP(Fraction(1, 3))") == "PureDP(1/3)"
