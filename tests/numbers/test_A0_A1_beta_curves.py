"""Reference A0 and A1 (mpmath, 40 digits): the exact Rényi curves of Beta posterior draws, n = 100."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.privacy.arithmetic.ball import settle
from discreet.privacy.worst_pairs.divergences import beta_renyi
from discreet.privacy.worst_pairs.pairs import BetaPairs

REFERENCE = Path(__file__).parents[1] / "reference"
A0 = json.loads((REFERENCE / "A0_crosschecks.json").read_text())
A1 = json.loads((REFERENCE / "A1_beta_rdp_curves.json").read_text())
CURVES = A1["eta0=(6,18)"]  # the prior Beta(6, 12)
N, ORDERS = A1["n"], A1["lambda"]


def number(x):
    return math.inf if x == "inf" else float(x)


@pytest.mark.parametrize("row", A0["renyi_three_ways"])
def test_A0_one_divergence_agrees_with_loggamma_balls_and_quadrature(row):
    a, b, r = Fraction(row["a0"]), Fraction(row["b0"]), Fraction(repr(row["step"]))
    # P0 against Q1: all records are failures, one becomes a success
    value = settle(lambda: beta_renyi(b + r * (row["n"] - 1), a, r, Fraction(row["lambda"])), bits=100)
    for way in ("mp", "quadrature"):
        assert float(value) == pytest.approx(float(row[way]), rel=1e-15)
    assert value.overlaps(type(value)(row["mp"])) or abs(value - type(value)(row["mp"])) < 1e-29


def test_A0_counts_and_the_reference_search_agree_with_the_claim():
    assert A0["random_search"]["cor16_corrected_below_exact"] == 0
    assert A0["continuous_grid_max_excess_over_4pairs"] < 1e-14


def mechanism(kind, par):
    model = BetaBernoulli(6, 12)
    exact = Fraction(par)  # the decimal, not the double
    return (
        DiffusedPosterior(model, n=N, r=exact)
        if kind == "diffused"
        else ConcentratedPosterior(model, n=N, m=exact)
    )


@pytest.mark.parametrize("kind", ["diffused", "concentrated"])
@pytest.mark.parametrize("par", ["0.1", "0.3", "0.5", "0.7", "0.9", "1.0"])
def test_A1_every_exact_curve(kind, par):
    row = CURVES[kind][par]
    guarantee = mechanism(kind, par).guarantee
    assert guarantee.order_limit == pytest.approx(row["lambda_star"], rel=1e-15)
    for order, expected in zip(ORDERS, map(number, row["eps_exact"]), strict=True):
        got = guarantee.renyi(order)
        assert got == pytest.approx(expected, rel=1e-10)
        assert not got < expected * (
            1 - 1e-15
        )  # rounded to the private side, up to the reference's own rounding


@pytest.mark.parametrize("kind", ["diffused", "concentrated"])
def test_A1_direct_is_the_knob_at_one(kind):
    direct = DirectPosterior(BetaBernoulli(6, 12), n=N).guarantee
    assert [direct.renyi(a) for a in ORDERS] == [mechanism(kind, "1.0").guarantee.renyi(a) for a in ORDERS]


@pytest.mark.parametrize("par", ["0.1", "0.3", "0.5", "0.7", "0.9", "1.0"])
def test_A1_the_worst_pair_is_one_of_the_two(par):
    r = Fraction(par)
    top = r * (N - 1)
    named = {"P0Q1": (12 + top, Fraction(6)), "PnQn-1": (6 + top, Fraction(12))}
    row = CURVES["diffused"][par]
    worst = BetaPairs(6, 12, r, top, r)
    for order, pair, eps in zip(ORDERS, row["argmax_pair"], map(number, row["eps_exact"]), strict=True):
        if eps < math.inf:
            a, b = named[pair]
            value = settle(lambda a=a, b=b, order=order: beta_renyi(a, b, r, Fraction(order)))
            assert float(value) == float(settle(lambda order=order: worst.renyi(order)))


def test_A1_printed_corollary_16_under_reports_below_full_weight():
    for par in ("0.1", "0.3", "0.5"):
        row = CURVES["diffused"][par]
        guarantee = mechanism("diffused", par).guarantee
        for order, printed in zip(ORDERS, map(number, row["eps_cor16_literal_N=n"]), strict=True):
            if order >= 2 and printed < math.inf:
                assert printed < guarantee.renyi(order) * (1 - 1e-3)


def test_A1_corrected_corollary_16_is_exact_from_order_2_and_loose_below():
    row = CURVES["diffused"]["0.5"]
    guarantee = mechanism("diffused", "0.5").guarantee
    for order, superset in zip(ORDERS, map(number, row["eps_cor16_corrected_N=rn"]), strict=True):
        exact = guarantee.renyi(order)
        assert superset == pytest.approx(exact, rel=1e-12) if order >= 2 else superset > exact * 1.01
