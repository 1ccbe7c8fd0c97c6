"""Published statements that are wrong as printed, against the right ones (errata 6, 14, 23, 24).

Numbers: reference G (mpmath, 40 digits).
"""

import json
import math
from pathlib import Path

import pytest

from discreet.privacy.accounting.composition import compose, repeat
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP

G = json.loads((Path(__file__).parents[1] / "reference" / "G_basic_mechanisms.json").read_text())


def normal_cdf(x):
    return math.erfc(-x / math.sqrt(2)) / 2


# ── 6: "(ε, δ)-DP is: the loss exceeds ε with probability at most δ" is sufficient only ──


@pytest.mark.parametrize(("mu", "eps"), [(1.0, 1.0), (0.3, 0.5), (2.0, 4.0)])
def test_erratum_06_a_loss_above_epsilon_more_often_than_delta_is_allowed(mu, eps):
    printed = normal_cdf(mu / 2 - eps / mu)  # P(loss > ε) for the Gaussian pair
    right = GaussianDP(mu).delta(eps)
    assert right < 0.75 * printed  # (ε, δ)-DP holds, although the loss exceeds ε with probability above δ
    assert GaussianDP(mu) <= ApproxDP(eps, right)


def test_erratum_06_pure_is_not_approximate_and_renyi_is_not_differential_privacy():
    # Def. 1 prints (ε, δ) where ε-DP is meant, Obs. 4 prints DP where Rényi DP is meant: they differ
    assert not ApproxDP(1, 1e-12) <= PureDP(1)
    assert not RenyiDP.at(2, 0.01) <= PureDP(10)


# ── 14: random scan, and total variation ──


def random_scan(gap, share):
    """ε = ln(1 + (Q/N)(e^{2Δ} − 1)): with probability Q/N the record is touched by a 2Δ-DP update."""
    return math.log1p(share * math.expm1(gap))


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1])
def test_erratum_14_random_scan_needs_small_steps_for_the_printed_bound(share):
    printed = lambda gap: 2 * gap * share  # noqa: E731 - 4ΔQ/N with gap = 2Δ
    assert random_scan(1.25, share) <= printed(1.25)  # e^x − 1 ≤ 2x up to x = 1.2564…
    assert random_scan(3.0, share) > printed(3.0)
    # the exact value is attained: outcome of ratio e^{2Δ} under the touched law, and 1 otherwise
    attained = math.log(share * math.exp(3.0) + (1 - share))
    assert random_scan(3.0, share) == pytest.approx(attained, rel=1e-12)


def test_erratum_14_total_variation_enters_with_one_plus_exp_epsilon():
    # exact sampler: randomised response of ε; approximate one: within τ in total variation on both data sets
    eps, tau = 1.0, 1e-3
    p, q = math.exp(eps) / (1 + math.exp(eps)), 1 / (1 + math.exp(eps))
    attained = (p + tau) - math.exp(eps) * (q - tau)
    printed = 1 + math.exp(eps) * tau  # without the bracket: no promise at all
    right = (1 + math.exp(eps)) * tau
    assert printed > 1
    assert attained == pytest.approx(right, rel=1e-9)
    assert attained > math.exp(eps) * tau  # one side alone is not enough
    l1_norm = 2 * tau
    assert attained == pytest.approx((1 + math.exp(eps)) * l1_norm / 2, rel=1e-9)


# ── 23: Def. 2.15 keeps δ at every distance ──


@pytest.mark.parametrize("row", G["def2.15_constant_delta"]["rows"], ids=lambda r: f"{r['sigma']}-{r['eps']}")
def test_erratum_23_delta_must_grow_with_the_group(row):
    eps, delta = float(row["eps"]), row["delta"]
    sigmas = next(r for r in G["gaussian"]["rows"] if r["eps"] == row["eps"] and r["delta"] == delta)
    one = GaussianDP(1 / sigmas[f"sigma_{row['sigma']}"])
    for k, reference in zip(row["k"], row["delta_k(k eps)"], strict=True):
        right = one.group(k).delta(k * eps)
        assert right == pytest.approx(reference, rel=1e-10)
        if one.delta(eps) * math.expm1(k * eps) / math.expm1(eps) < 1:
            group = ApproxDP(eps, one.delta(eps)).group(k)
            assert right <= group.slack * (1 + 1e-12)  # the right group bound holds
    printed = delta * (1 + 1e-9)  # the reference's analytic σ is a rounded double
    first = next(k for k in range(1, 100) if one.group(k).delta(k * eps) > printed)
    assert first == row["first_k_violating"]  # from here on the printed constant δ is violated


# ── 24: Lemma 2.24 and Claim 2.30 ──


def test_erratum_24_approximate_divergences_do_not_add_at_the_same_delta():
    row = G["lemma2.24_counterexample"]
    one = PureDP(math.log(3))  # randomised response, keep with 0.75
    two = repeat(one, 2)
    assert one.epsilon(0.1) == pytest.approx(row["D_single"], rel=1e-10)
    assert two.epsilon(0.1) == pytest.approx(row["D_joint_same_delta"], rel=1e-10)
    assert two.epsilon(0.2) == pytest.approx(row["D_joint_2delta"], rel=1e-10)
    printed = 2 * one.epsilon(0.1)
    assert printed == pytest.approx(row["sum_of_two"], rel=1e-10)
    assert two.epsilon(0.1) > printed  # the printed lemma fails
    assert two.epsilon(0.2) <= printed  # what holds: δs add too
    assert two == compose(one, one)


@pytest.mark.parametrize("row", G["claim2.30"], ids=lambda r: f"{r['eps']}-{r['k']}")
def test_erratum_24_claim_2_30_forgets_the_drift(row):
    many = repeat(PureDP(float(row["eps"])), row["k"])
    claimed = float(row["delta_prime"])
    true = many.delta(row["claim2.30_eps"])
    assert true == pytest.approx(row["true_delta_at_claim2.30"], rel=1e-10)
    assert many.delta(row["claim2.31_eps"]) == pytest.approx(row["true_delta_at_2.31"], rel=1e-10)
    assert many.delta(row["claim2.31_eps"]) <= claimed  # the corrected theorem holds
    if float(row["eps"]) >= 1:
        assert true > 10 * claimed  # the printed claim fails by far
    assert many.epsilon(claimed) < row["claim2.31_eps"]


@pytest.mark.parametrize("row", G["gaussian"]["rows"], ids=lambda r: f"{r['eps']}-{r['delta']}")
def test_erratum_25_gaussian_profile_at_the_classic_scale(row):
    one = GaussianDP(1 / row["sigma_classic"])
    assert one.delta(float(row["eps"])) == pytest.approx(row["delta_at_classic"], rel=1e-9)
    assert (one.delta(float(row["eps"])) <= row["delta"]) == row["classic_valid"]
