"""References A4 (exact sums) and A5 (4e5-run Monte Carlo): −log p(X_H | p) with p drawn by each mechanism."""

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior, largest_share
from discreet.mechanisms.posterior.diffused import DiffusedPosterior, largest_weight
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.privacy.kinds import RenyiDP

REFERENCE = Path(__file__).parents[1] / "reference"
A4 = json.loads((REFERENCE / "A4_nll_figs_5_5_to_5_8.json").read_text())
A5 = json.loads((REFERENCE / "A5_montecarlo_check_of_A4.json").read_text())
FIGURES = [name for name in A4 if name.startswith("fig")]
N = A4["n"]
COUNTS = np.arange(N + 1)


def binomial(rho):
    log = special.gammaln(N + 1) - special.gammaln(COUNTS + 1) - special.gammaln(N - COUNTS + 1)
    return np.exp(log + special.xlogy(COUNTS, rho) + special.xlog1py(N - COUNTS, -rho))


def moments(a, b, weight, rho):
    """Mean and sd of −(k_H ln p + (n−k_H) ln(1−p)), p ~ Σ weight·Beta(a, b), k_H ~ Bin(n, ρ), exactly."""
    s = a + b
    x, y = special.digamma(a) - special.digamma(s), special.digamma(b) - special.digamma(s)
    xx = special.polygamma(1, a) - special.polygamma(1, s) + x * x
    yy = special.polygamma(1, b) - special.polygamma(1, s) + y * y
    xy = -special.polygamma(1, s) + x * y
    m, v = N * rho, N * rho * (1 - rho)
    mean = -(m * x + (N - m) * y)
    square = (v + m * m) * xx + 2 * (N * m - v - m * m) * xy + (v + (N - m) ** 2) * yy
    first = float(weight @ mean)
    return first, math.sqrt(float(weight @ square) - first**2)


def draw_moments(mechanism, rho):
    laws = [mechanism._private_posterior([k]) for k in COUNTS]
    a, b = (np.array([float(getattr(law, name)) for law in laws]) for name in ("alpha", "beta"))
    return moments(a, b, binomial(rho), rho)


@cache
def our_moments(figure, eps, kind):
    row = A4[figure]
    model, rho = BetaBernoulli(*row["prior_alpha_beta"]), row["rho"]
    target = RenyiDP.at(row["lambda"], float(eps))
    if kind == "diffused":
        return draw_moments(
            DiffusedPosterior(model, n=N, r=largest_weight(model, n=N, target=target, bits=53)), rho
        )
    if kind == "concentrated":
        return draw_moments(
            ConcentratedPosterior(model, n=N, m=largest_share(model, n=N, target=target, bits=53)), rho
        )
    return gaussian_moments(figure, math.sqrt(row["lambda"] / (2 * float(eps))))


def gaussian_moments(figure, sigma, nodes=300):
    """The statistic with N(0, σ²) added and clipped to [0, n]: Gauss–Legendre over the noise for every k."""
    (alpha, beta), rho = A4[figure]["prior_alpha_beta"], A4[figure]["rho"]
    x, w = special.roots_legendre(nodes)
    k, chance = COUNTS[:, None].astype(float), binomial(rho)[:, None]
    low, high = np.maximum(0.0, k - 9 * sigma), np.minimum(float(N), k + 9 * sigma)
    t = low + (high - low) * (x + 1) / 2
    density = np.exp(-((t - k) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
    inside = chance * w * (high - low) / 2 * density
    ends = np.array(
        [
            float(np.sum(chance * special.ndtr(-k / sigma))),
            float(np.sum(chance * special.ndtr((k - N) / sigma))),
        ]
    )
    points, mass = np.concatenate([t.ravel(), [0.0, float(N)]]), np.concatenate([inside.ravel(), ends])
    return moments(alpha + points, beta + N - points, mass, rho)


@pytest.mark.slow
@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("eps", A4["eps"])
def test_A4_mean_and_sd_of_our_mechanisms(figure, eps):
    row = A4[figure][f"eps={eps}"]
    for kind in ("diffused", "concentrated"):
        mean, sd = our_moments(figure, eps, kind)
        assert mean == pytest.approx(row[kind][0], rel=1e-10)
        assert sd == pytest.approx(
            row[kind][1], rel=1e-9
        )  # a difference of squares near 5000: 1e-13·5000/sd²


@pytest.mark.slow
@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("eps", A4["eps"])
def test_A4_gaussian_baseline(figure, eps):
    mean, sd = our_moments(figure, eps, "gaussian_correct")
    expected = A4[figure][f"eps={eps}"]["gaussian_correct"]
    assert (mean, sd) == (pytest.approx(expected[0], rel=1e-8), pytest.approx(expected[1], rel=1e-7))


@pytest.mark.parametrize("figure", FIGURES)
def test_A4_limits(figure):
    row = A4[figure]
    (alpha, beta), rho = row["prior_alpha_beta"], row["rho"]
    direct = draw_moments(DirectPosterior(BetaBernoulli(alpha, beta), n=N), rho)
    assert direct == pytest.approx(row["nonprivate_mean_sd"], rel=1e-10)
    prior = moments(np.array([float(alpha)]), np.array([float(beta)]), np.ones(1), rho)
    assert prior[0] == pytest.approx(row["prior_sample_limit_r->0_mean"], rel=1e-10)
    p = alpha / (alpha + beta)
    assert -N * (rho * math.log(p) + (1 - rho) * math.log(1 - p)) == pytest.approx(
        row["prior_mean_limit_m->0_mean"], rel=1e-10
    )


@pytest.mark.parametrize("run", A5, ids=lambda run: f"{run['fig']}-{run['mech']}")
def test_A5_monte_carlo_agrees_and_would_reject_a_shift(run):
    # 12 runs at |z| < 4: false alarms in 8e-4 of all sets of runs; the stored runs are fixed
    mean, _ = our_moments(run["fig"], run["eps"], run["mech"])
    assert abs(mean - run["mc_mean"]) < 4 * run["se"]
    shifted = mean * (1 + 0.003)  # negative control: three parts in a thousand off
    assert abs(shifted - run["mc_mean"]) > 4 * run["se"]
