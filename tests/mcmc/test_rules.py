"""Two rules of accounting: random scans, and samplers that are only nearly exact."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.amplification.mixing import approximate, secret_scan, visible_scan
from discreet.privacy.guarantee import ADD_REMOVE, NotProved
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP


@pytest.mark.parametrize(("chosen", "records"), [(1, 1000), (1, 100), (1, 10)])
def test_erratum_14_a_secret_scan_costs_the_exact_logarithm_not_4_delta_q_over_n(chosen, records):
    for gap in (0.1, 1.25):  # 2Δ up to 1.256: the printed bound is true, and loose
        exact = secret_scan(PureDP(gap), chosen, records).epsilon(0)
        assert exact <= 2 * gap * chosen / records
    assert secret_scan(PureDP(3), chosen, records).epsilon(0) > 2 * 3 * chosen / records  # and false beyond
    assert secret_scan(PureDP(3), chosen, records).epsilon(0) == pytest.approx(
        math.log1p(chosen / records * math.expm1(3)), rel=1e-12
    )


def test_a_secret_scan_is_attained_and_never_exceeded():
    # Exponential mechanism over 2 outcomes on Q = 1 of N = 3 secret bits, enumerated over all neighbours.
    epsilon = 2.0
    p = np.array([[1, 0], [0, 1]]) * (math.exp(epsilon) - 1) + 1
    laws = p / p.sum(axis=1, keepdims=True)  # reading bit b gives law b: the two are ε apart
    bound = secret_scan(PureDP(epsilon), 1, 3).epsilon(0)
    worst = 0.0
    for x in itertools.product(range(2), repeat=3):
        for i in range(3):
            y = (*x[:i], 1 - x[i], *x[i + 1 :])
            worst = max(worst, np.abs(np.log(laws[list(x)].mean(axis=0) / laws[list(y)].mean(axis=0))).max())
    assert 0.999 * bound < worst <= bound * (1 + 1e-12)


def test_a_secret_scan_needs_a_pure_promise_and_a_public_number_of_records():
    with pytest.raises(NotProved, match="pure"):
        secret_scan(GaussianDP(1), 1, 10)
    with pytest.raises(NotProved, match="SUBSTITUTE"):
        visible_scan(BoundedRange(1, relation=ADD_REMOVE), 1, 10)
    for chosen in (0, 11):
        with pytest.raises(ValueError, match="between 1 and all of 10"):
            visible_scan(BoundedRange(1), chosen, 10)


def test_a_visible_scan_of_everyone_is_the_update_itself():
    one, all_of_them = BoundedRange(1), visible_scan(BoundedRange(1), 10, 10)
    for order, bound in all_of_them.curve.known:
        assert bound == pytest.approx(one.renyi(order), rel=1e-12)
    tenth = visible_scan(BoundedRange(1), 1, 10)
    assert isinstance(tenth, RenyiDP)
    assert tenth.renyi(1.25) < 0.12 * one.renyi(1.25)
    assert tenth.epsilon(0) == math.inf  # a Rényi curve says nothing about the pure ε, which stays 1


# ── total variation ──


@given(
    eps=st.floats(0.1, 3),
    tau=st.floats(1e-6, 0.01),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=60)
def test_erratum_14_samplers_within_tau_keep_the_promise_with_1_plus_exp_epsilon(eps, tau, seed):
    """Random pairs of laws at exactly ε, each moved by τ against the promise: never exceeded."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(5))
    ratio = np.exp(rng.uniform(-eps, eps, 5))
    p = q * ratio / (q * ratio).sum()
    loss = np.abs(np.log(p / q)).max()
    claim = approximate(PureDP(loss), tau)
    up, down = int(np.argmax(p / q)), int(np.argmin(p / q))
    p_moved, q_moved = p.copy(), q.copy()
    for law, sign in ((p_moved, 1), (q_moved, -1)):
        amount = sign * min(tau, law.min() / 2)
        law[up] += amount
        law[down] -= amount
    excess = np.maximum(p_moved - math.exp(loss) * q_moved, 0).sum()
    assert excess <= claim.slack + 1e-12


def test_erratum_14_the_total_variation_rule_is_attained():
    eps, tau = 1.0, 1e-3
    p, q = math.exp(eps) / (1 + math.exp(eps)), 1 / (1 + math.exp(eps))
    attained = (p + tau) - math.exp(eps) * (q - tau)
    assert float(approximate(PureDP(eps), tau).slack) == pytest.approx(attained, rel=1e-9)
    assert attained > math.exp(eps) * tau  # e^ε τ alone is not enough


def test_approximate_starts_from_any_promise():
    assert approximate(PureDP(1), 0).slack == 0
    start = ApproxDP(1, 1e-5)
    assert approximate(start, 1e-6).slack == pytest.approx(1e-5 + (1 + math.e) * 1e-6, rel=1e-12)
    assert approximate(GaussianDP(1), 1e-6, epsilon=2).loss == 2
    assert approximate(BoundedRange(1, relation=ADD_REMOVE), 1e-6).relation is ADD_REMOVE
    with pytest.raises(NotProved, match="epsilon="):
        approximate(GaussianDP(1), 1e-6)
    with pytest.raises(NotProved, match="reaches 1"):
        approximate(PureDP(8), 1e-3)
    with pytest.raises(ValueError, match="total_variation"):
        approximate(PureDP(1), float("nan"))
