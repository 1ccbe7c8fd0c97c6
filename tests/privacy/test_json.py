"""Guarantees as JSON: equal after the round trip, of every kind, through real text."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.families.registry import EXAMPLES
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.privacy.accounting.composition import compose, parallel, repeat
from discreet.privacy.divergence_bounds import RenyiDP
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, NotProved
from discreet.privacy.json import from_json, to_json
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, ZeroCDP

PLAIN = [
    PureDP(0.1),
    PureDP(Fraction(1, 3), relation=ADD_REMOVE),
    ApproxDP(1, 1e-6),
    ApproxDP(Fraction(2, 7), 0),
    BoundedRange(Fraction(5, 11)),
    ZeroCDP(Fraction(1, 10)),
    GaussianDP(0.3),
    GaussianDP.from_square(2),
    RenyiDP.at(2, 0.5),
    RenyiDP.points({1.5: 0.1, 2: 0.25, 32: 3.0}, relation=ADD_REMOVE),
    RenyiDP.points({2: 0.5}).group(1),
]


def through_text(guarantee):
    return from_json(json.loads(json.dumps(to_json(guarantee), allow_nan=False)))


@pytest.mark.parametrize("guarantee", PLAIN, ids=repr)
def test_the_round_trip_gives_an_equal_guarantee(guarantee):
    again = through_text(guarantee)
    assert again == guarantee
    assert type(again) is type(guarantee)
    assert hash(again) == hash(guarantee)
    assert again.relation is guarantee.relation


def draws():
    for model, _ in EXAMPLES:
        for relation, n in ((SUBSTITUTE, 20), (ADD_REMOVE, None)):
            try:
                yield DirectPosterior(model, n=n, relation=relation).guarantee
            except NotProved:
                continue


def test_guarantees_of_posterior_draws_keep_their_exact_pairs():
    found = list(draws())
    assert len(found) >= 8
    worst = {type(g.curve.worst).__name__ for g in found if isinstance(g, RenyiDP)}
    pairs = {"BetaPairs", "DirichletPairs", "GammaShapePairs", "GammaRatePairs", "BetaSidePairs"}
    assert worst == pairs  # NormalPair becomes GaussianDP
    for guarantee in found:
        again = through_text(guarantee)
        assert again == guarantee
        assert again.renyi(1.5) == guarantee.renyi(1.5)
        assert again.delta(1) == guarantee.delta(1)


def test_groups_of_draws_and_compositions_keep_their_parts():
    draw = DirectPosterior(EXAMPLES[0][0], n=20).guarantee
    beyond = DirectPosterior(EXAMPLES[0][0].scale_prior(Fraction(1, 12)), n=20).guarantee
    assert beyond.order_limit < 2
    cases = [
        draw.group(3),
        beyond.group(3),  # no order is left, only the profile
        compose(draw, draw, PureDP(0.1), ZeroCDP(0.25)),
        repeat(ApproxDP(0.1, 1e-9), 17),
        parallel(draw, PureDP(0.5)),
        parallel(compose(PureDP(1), ApproxDP(0.5, 1e-6)), ZeroCDP(0.1)).group(2),
    ]
    for guarantee in cases:
        again = through_text(guarantee)
        assert again == guarantee
        assert repr(again) == repr(guarantee)


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**6), st.floats(1e-300, 0.5))
@settings(deadline=None, max_examples=60)
def test_no_digit_is_lost(epsilon, delta):
    for guarantee in (
        PureDP(epsilon),
        ApproxDP(epsilon, delta),
        ZeroCDP(delta),
        ApproxDP(delta, Fraction(1, 3)),
    ):
        assert through_text(guarantee) == guarantee


def test_a_double_is_written_as_it_is_read_and_never_as_a_decimal_fraction():
    assert to_json(ApproxDP(0.5, 1e-6)) == {
        "kind": "ApproxDP",
        "epsilon": 0.5,
        "delta": 1e-06,
        "relation": "substitute",
    }
    assert to_json(PureDP(Fraction(1, 3)))["epsilon"] == "1/3"
    draw = to_json(DirectPosterior(EXAMPLES[0][0], n=20).guarantee)
    assert draw["curve"]["worst"] == {
        "kind": "BetaPairs",
        "alpha": "6",
        "beta": "12",
        "step": "1",
        "others": "19",
        "unit": "1",
    }


@pytest.mark.parametrize(
    ("data", "match"),
    [
        ({"kind": "MagicDP", "relation": "substitute"}, "unknown kind of guarantee 'MagicDP'"),
        ({}, "unknown kind of guarantee None"),
        ([], "unknown kind of guarantee None"),
        ({"kind": "Points", "known": []}, "unknown kind of guarantee 'Points'"),
        ({"kind": "PureDP", "relation": "substitute"}, "a PureDP holds epsilon, relation"),
        ({"kind": "PureDP", "epsilon": 1, "relation": "friends"}, "friends"),
        ({"kind": "PureDP", "epsilon": -1, "relation": "substitute"}, "positive"),
        (
            {
                "kind": "RenyiDP",
                "curve": {"kind": "eval"},
                "order_limit": 2,
                "profile": None,
                "relation": "substitute",
            },
            "unknown kind 'eval' inside",
        ),
    ],
)
def test_what_is_not_a_guarantee_is_refused(data, match):
    with pytest.raises(ValueError, match=match):
        from_json(data)


def test_curves_of_ones_own_are_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"RenyiDP\.points"):
        to_json(RenyiDP(math.sqrt))
    with pytest.raises(TypeError, match="known guarantees"):
        to_json("PureDP")
