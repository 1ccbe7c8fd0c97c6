"""Reference A6: only two pairs can be worst for n ≥ 2, and Lemma 17 is false as stated below order 2."""

import json
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.special import polygamma

from discreet.privacy.arithmetic.ball import settle
from discreet.privacy.worst_pairs.divergences import beta_renyi
from discreet.privacy.worst_pairs.pairs import BetaPairs

A6 = json.loads((Path(__file__).parents[1] / "reference" / "A6_two_pair_and_lemma17.json").read_text())


def test_the_two_pair_claim_on_random_settings():
    generator = random.Random(6)
    for _ in range(200):
        a, b = (Fraction(10 ** generator.uniform(-1, 2)) for _ in "ab")
        r, n = Fraction(generator.uniform(0.05, 1)), generator.randint(2, 200)
        order = 1 + Fraction(generator.uniform(0.01, 0.99)) * min(a, b) / r
        top = r * (n - 1)
        exact = settle(lambda: BetaPairs(a, b, r, top, r).renyi(order))  # noqa: B023
        two = settle(lambda: beta_renyi(b + top, a, r, order).max(beta_renyi(a + top, b, r, order)))  # noqa: B023
        assert exact.overlaps(two)
    assert A6["two_pair_claim"]["violations"] == 0


def test_lemma_17_fails_below_order_2():
    claim = A6["lemma17_counterexample"]  # P = Beta(1, 999), Q = Beta(.001, 999.999), λ = 1.01
    step, order = Fraction(999, 1000), Fraction(101, 100)
    true = float(settle(lambda: beta_renyi(Fraction(1, 1000), Fraction(999), step, order)))
    assert true == pytest.approx(claim["R"], rel=1e-10)
    # the printed hypothesis bounds the Hessian only within (λ−1) of η_P, which does not contain η_Q
    # (spectral norm in the coordinates (α, α+β))
    shift = 0.01 * 0.999
    a, b = polygamma(1, 1 - shift), polygamma(1, 999 + shift)
    hessian = np.array([[a + b, -b], [-b, b - polygamma(1, 1000)]])
    assert np.linalg.norm(hessian, 2) == pytest.approx(claim["H"], rel=1e-12)
    assert float(order) * claim["H"] * 0.999**2 == pytest.approx(claim["claimed_bound"], rel=1e-10)
    assert true > 3 * claim["claimed_bound"]
    # with the range widened to contain η_Q, half the constant is enough
    wide = float(polygamma(1, 0.001) + polygamma(1, 999))
    assert true <= float(order) * wide * 0.999**2 / 2
