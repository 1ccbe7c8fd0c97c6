"""Reference A3: KL(P ‖ A) of the true posterior P = Beta(44, 74) against what each mechanism draws from."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior, largest_share
from discreet.mechanisms.posterior.diffused import DiffusedPosterior, largest_weight
from discreet.privacy.kinds import RenyiDP

A3 = json.loads((Path(__file__).parents[1] / "reference" / "A3_kl_figs_5_3_5_4.json").read_text())
MODEL, N, K = BetaBernoulli(6, 12), A3["n"], A3["k"]
CASES = [(order, i, float(eps)) for order in (2, 15) for i, eps in enumerate(A3["eps"])]


def kl(p, q):
    """KL(Beta(a, b) ‖ Beta(c, d)) in closed form; the log-beta difference by mpmath, for it cancels."""
    import mpmath

    with mpmath.workdps(40):
        (a, b), (c, d) = (
            [mpmath.mpf(x.numerator) / x.denominator for x in (law.alpha, law.beta)] for law in (p, q)
        )
        psi = mpmath.digamma
        log_ratio = mpmath.log(mpmath.beta(c, d) / mpmath.beta(a, b))
        return float(log_ratio + (a - c) * psi(a) + (b - d) * psi(b) + (c - a + d - b) * psi(a + b))


@pytest.mark.parametrize(("order", "i", "eps"), CASES)
def test_diffused_and_concentrated(order, i, eps):
    truth = MODEL.update([K], N)
    target = RenyiDP.at(order, eps)
    row = A3[f"lambda={order}"]
    diffused = DiffusedPosterior(MODEL, n=N, r=largest_weight(MODEL, n=N, target=target, bits=53))
    concentrated = ConcentratedPosterior(MODEL, n=N, m=largest_share(MODEL, n=N, target=target, bits=53))
    assert kl(truth, diffused._private_posterior([K])) == pytest.approx(row["KL_diffused"][i], rel=1e-10)
    assert kl(truth, concentrated._private_posterior([K])) == pytest.approx(
        row["KL_concentrated"][i], rel=1e-10
    )


def gaussian_kl(sigma, nodes=400):
    """KL(Beta(44,74) ‖ E_t Beta(6+t, 112−t)), t = clip(38 + N(0, σ²), 0, 100), by Gauss–Legendre twice."""
    x, w = special.roots_legendre(nodes)
    low, high = max(0.0, K - 9 * sigma), min(float(N), K + 9 * sigma)
    t = low + (high - low) * (x + 1) / 2
    mass = w * (high - low) / 2 * np.exp(-((t - K) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
    t = np.concatenate([[0.0], t, [float(N)]])
    mass = np.concatenate([[special.ndtr(-K / sigma)], mass, [special.ndtr((K - N) / sigma)]])
    p, v = 0.05 + 0.75 * (x + 1) / 2, w * 0.75 / 2  # P has 1e-16 of its mass outside [0.05, 0.8]
    log_a = (
        special.xlogy(5 + t, p[:, None])
        + special.xlog1py(111 - t, -p[:, None])
        - special.betaln(6 + t, 112 - t)
    )
    log_p = special.xlogy(43, p) + special.xlog1py(73, -p) - special.betaln(44, 74)
    log_mix = special.logsumexp(log_a, b=mass, axis=1)
    return float(np.sum(v * np.exp(log_p) * (log_p - log_mix)))


@pytest.mark.parametrize(("order", "i", "eps"), CASES)
@pytest.mark.parametrize(("convention", "divisor"), [("correct", 2), ("thesis_text", 1)])
def test_gaussian_baseline_with_both_conventions(order, i, eps, convention, divisor):
    row = A3[f"lambda={order}"]
    sigma = math.sqrt(order / (divisor * eps))  # Δ = 1; the divisor 2 is the right one
    assert sigma == pytest.approx(row[f"sigma_{convention}"][i], rel=1e-14)
    # quadrature in doubles on both sides: 1e-8 relative, 1e-12 absolute
    assert gaussian_kl(sigma) == pytest.approx(row[f"KL_gaussian_{convention}"][i], rel=1e-8, abs=1e-12)


def test_the_printed_convention_over_noises():
    for order in (2, 15):
        row = A3[f"lambda={order}"]
        for correct, printed in zip(row["KL_gaussian_correct"], row["KL_gaussian_thesis_text"], strict=True):
            assert printed > correct
