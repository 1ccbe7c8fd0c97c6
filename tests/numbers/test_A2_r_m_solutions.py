"""Reference A2 (25 digits): the largest r and m for an RDP point, Beta(6, 12), n = 100."""

import json
import math
from pathlib import Path

import pytest

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior, largest_share
from discreet.mechanisms.posterior.diffused import DiffusedPosterior, largest_weight
from discreet.privacy.kinds import RenyiDP

A2 = json.loads((Path(__file__).parents[1] / "reference" / "A2_r_m_solutions.json").read_text())
SOLUTIONS = A2["eta0=(6,18)"]
CASES = [(order, i, float(eps)) for order in (2, 15) for i, eps in enumerate(A2["eps"])]
MODEL = BetaBernoulli(6, 12)


@pytest.mark.parametrize(("order", "i", "eps"), CASES)
@pytest.mark.parametrize(("kind", "solve"), [("diffused", largest_weight), ("concentrated", largest_share)])
def test_the_53_bit_solution_is_the_reference(order, i, eps, kind, solve):
    expected = float(SOLUTIONS[f"lambda={order}"][kind][i])
    got = solve(MODEL, n=100, target=RenyiDP.at(order, eps), bits=53)
    assert got == pytest.approx(expected, rel=1e-10)
    assert got <= expected * (1 + 1e-15)


@pytest.mark.parametrize(("order", "i", "eps"), CASES)
def test_the_calibrated_knob_is_rounded_down_by_at_most_its_last_bit(order, i, eps):
    target = RenyiDP.at(order, eps)
    solution = SOLUTIONS[f"lambda={order}"]
    diffused = DiffusedPosterior.calibrate(MODEL, n=100, target=target)
    concentrated = ConcentratedPosterior.calibrate(MODEL, n=100, target=target)
    for knob, exact in ((diffused.r, solution["diffused"][i]), (concentrated.m, solution["concentrated"][i])):
        assert float(exact) * (1 - 2.0**-23) <= knob <= float(exact)
        assert math.frexp(knob)[0] * 2**24 == int(math.frexp(knob)[0] * 2**24)
    assert diffused.guarantee <= target
    assert concentrated.guarantee <= target


@pytest.mark.parametrize("order", [2, 15])
def test_the_printed_corollary_gives_an_r_that_is_not_private(order):
    solution = SOLUTIONS[f"lambda={order}"]
    for i, eps in enumerate(map(float, A2["eps"])):
        r = solution["diffused_literal_cor16_r"][i]
        if r < min(1.0, solution["sup_limit"]) - 1e-12:  # apart from the asymptote, where doubles end
            true = DiffusedPosterior(MODEL, n=100, r=r).guarantee
            assert not true <= RenyiDP.at(order, eps)
            expected = solution["diffused_literal_cor16_true_eps_at_that_r"][i]
            # near the asymptote the last bit of r moves ε by (λ−1)·ulp/(6−14r)/14 relatively
            assert true.renyi(order) == pytest.approx(
                expected, rel=1e-10 + 1e-15 / (solution["sup_limit"] - r)
            )


def test_nothing_beyond_the_asymptote():
    r = DiffusedPosterior.calibrate(MODEL, n=100, target=RenyiDP.at(15, 10.0)).r
    assert r < SOLUTIONS["lambda=15"]["sup_limit"]
