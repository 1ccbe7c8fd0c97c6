"""Predictions against references A3, C3 and C4, against sums done apart, and against simulation."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior, largest_share
from discreet.mechanisms.posterior.diffused import DiffusedPosterior, largest_weight
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.planning import predict
from discreet.planning.marginals import QUANTILE, masses
from discreet.planning.posterior_arrays import kl, log_partition, marginals, read, updated
from discreet.planning.prediction import predicted
from discreet.privacy.kinds import PureDP, RenyiDP

FOLDER = Path(__file__).parents[1] / "reference"
A3 = json.loads((FOLDER / "A3_kl_figs_5_3_5_4.json").read_text())
C3 = json.loads((FOLDER / "C3_fig4_2_L1_error.json").read_text())
C4 = json.loads((FOLDER / "C4_ARE.json").read_text())
MODEL, N, K = BetaBernoulli(6, 12), A3["n"], A3["k"]
UNIFORM = BetaBernoulli(1, 1)
CASES = [(order, i, float(eps)) for order in (2, 15) for i, eps in enumerate(A3["eps"])]


def kl_of_one_draw(mechanism, statistic, nodes=400):
    """KL(P ‖ E_noise naive(S + Z)) for a given S: the law of ONE draw of the noisy posterior, by quadrature

    Comparable with one draw of Diffused and Concentrated; less than the expected KL of a posterior that is
    read, by convexity.
    """
    model, n, scale = mechanism.model, mechanism.n, float(mechanism.scale)
    s = np.asarray(model.check(statistic, n), dtype=np.float64)[None]
    if mechanism.noise.startswith("discrete"):
        support, mass = masses(mechanism.noise, scale)
    else:
        u = (np.arange(2**12) + 0.5) / 2**12
        support, mass = QUANTILE[mechanism.noise](scale, u), np.full(u.size, 1 / u.size)
    eta, true = read(model, s + support[:, None], mechanism.as_release((), seeded=True)), updated(model, s, n)
    law, (x, w) = marginals(model, true), np.polynomial.legendre.leggauss(nodes)
    low, high = law.quantile(1e-15)[0, 0], law.quantile(1 - 1e-15)[0, 0]
    sufficient = model.sufficient(low + (high - low) * (x + 1) / 2)
    base = model.log_base(low + (high - low) * (x + 1) / 2)
    log_p = sufficient @ true[0] - log_partition(model, true)[0]
    log_mix = logsumexp(sufficient @ eta.T - log_partition(model, eta), b=mass, axis=1)
    return float((w * (high - low) / 2 * np.exp(log_p + base)) @ (log_p - log_mix))


# --- A3: KL(true posterior ‖ law released), closed form and quadrature ------------------------------------
@pytest.mark.parametrize(("order", "i", "eps"), CASES)
def test_closed_form_divergence(order, i, eps):
    row, target, count = A3[f"lambda={order}"], RenyiDP.at(order, eps), np.array([[float(K)]])
    true = updated(MODEL, count, N)
    mechanisms = {
        "KL_diffused": DiffusedPosterior(MODEL, n=N, r=largest_weight(MODEL, n=N, target=target, bits=53)),
        "KL_concentrated": ConcentratedPosterior(
            MODEL, n=N, m=largest_share(MODEL, n=N, target=target, bits=53)
        ),
    }
    for key, mechanism in mechanisms.items():
        drawn = updated(mechanism.prior, count, N, mechanism.weight)
        # doubles cancel: 1e-12 absolute of log-partitions near 100
        assert kl(MODEL, true, drawn)[0] == pytest.approx(row[key][i], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("order", "i", "eps"), CASES)
def test_divergence_of_one_noisy_draw(order, i, eps):
    row = A3[f"lambda={order}"]
    noisy = NoisyStatistics(MODEL, n=N, noise="gaussian", scale=row["sigma_correct"][i])
    # noise by 4096 equally likely strata: 1e-3
    assert kl_of_one_draw(noisy, [K]) == pytest.approx(row["KL_gaussian_correct"][i], rel=1e-3, abs=1e-9)


def test_a_reading_diverges_more_than_one_draw():
    """Jensen: E KL(P ‖ Q_z) ≥ KL(P ‖ E Q_z), both at the mean data set."""
    noisy = NoisyStatistics(MODEL, n=N, noise="discrete_laplace", scale=5)
    support = np.arange(-200, 201.0)
    mass = np.exp(-np.abs(support) / 5)
    true = updated(MODEL, np.array([[float(K)]]), N)
    q = updated(MODEL, np.clip(K + support, 0, N)[:, None], N)
    expected = mass @ kl(MODEL, np.repeat(true, support.size, axis=0), q) / mass.sum()
    assert expected > kl_of_one_draw(noisy, [K]) > 0


# --- C3 and C4: error of one draw, exact sums over data ----------------------------------------------------
@pytest.mark.parametrize("n", [1, 3, 10, 30, 100, 300, 1000, 3000])
def test_mean_absolute_error_of_one_draw(n):
    found = predict(DirectPosterior(UNIFORM, n=n), truth=0.1)
    assert found.by == "exact sum"
    assert found.absolute == pytest.approx(C3["results"][str(n)]["nonprivate"], rel=1e-9)


@pytest.mark.parametrize("n", [1, 10, 100, 1000])
@pytest.mark.parametrize(("temper", "key"), [("joint", "ops_A"), ("natural", "ops_B")])
def test_mean_absolute_error_of_one_tempered_draw(n, temper, key):
    mechanism = OnePosteriorSample(UNIFORM, n=n, truncation=0.05, temperature=C3["T"], temper=temper)
    found = predict(mechanism, truth=0.1)
    assert found.absolute == pytest.approx(C3["results"][str(n)][key], rel=2e-4)  # tabulated law


@pytest.mark.parametrize("case", C4["cases"], ids=lambda c: f"a0={c['a0']},eps={c['eps']}")
def test_relative_efficiency(case):
    p, temperature = case["p0"], case["T"]
    for row in case["rows"]:
        n = row["N"]
        scale = n / (p * (1 - p))
        draw = predict(DirectPosterior(UNIFORM, n=n), truth=p)
        if draw.by != "exact sum":
            continue  # too many data sets to sum over
        assert draw.error**2 * scale == pytest.approx(row["nonprivate"], rel=1e-9)
        setting = {"truncation": case["a0"], "temperature": temperature, "temper": "joint"}
        tempered = predict(OnePosteriorSample(UNIFORM, n=n, **setting), truth=p)
        assert tempered.error**2 * scale == pytest.approx(row["ops"], rel=5e-4)
        assert tempered.limit == pytest.approx(case["limit_ops"], rel=1e-9)


def test_limits_are_two_one_plus_t_and_one():
    """At n = 1e5 each efficiency is within 1 % of its limit [F16 Thm 4–5]: 2, 1 + 1/r, 1 + T, 1."""
    n, truth = 10**5, 0.3
    mechanisms = [
        (DirectPosterior(UNIFORM, n=n), 2),
        (DiffusedPosterior(UNIFORM, n=n, r=0.25), 5),
        (ConcentratedPosterior(UNIFORM, n=n, m=0.5), 2),
        (OnePosteriorSample(UNIFORM, n=n, truncation=0.05, temperature=3), 4),
        (NoisyStatistics(UNIFORM, n=n, noise="discrete_laplace", scale=2), 1),
    ]
    for mechanism, limit in mechanisms:
        found = predict(mechanism, truth=truth)
        assert found.limit == limit
        assert found.efficiency == pytest.approx(limit, rel=0.01)


# --- coverage: the naive reading is too sure of itself -----------------------------------------------------
def brute_coverage(n, p, scale, level=0.9):
    """P(p in the naive interval of Beta(1 + ŝ, 1 + n − ŝ)), ŝ = clip(Binomial + noise), by scipy."""
    s, z = np.arange(n + 1), np.arange(-int(40 * scale), int(40 * scale) + 1)
    noise = np.exp(-np.abs(z) / scale)
    mass = np.zeros(n + 1)
    data = stats.binom.pmf(s, n, p)
    for k, weight in zip(z, noise / noise.sum(), strict=True):
        np.add.at(mass, np.clip(s + k, 0, n), weight * data)
    low, high = (stats.beta.ppf(q, 1 + s, 1 + n - s) for q in ((1 - level) / 2, (1 + level) / 2))
    return float(mass @ ((low <= p) & (p <= high)))


@pytest.mark.parametrize(("n", "covered"), [(1000, 0.77), (100, 0.48)])
def test_naive_intervals_under_cover(n, covered):
    """Uniform prior, θ = 0.3, ε = 0.1: 90 % intervals cover 77 % at n = 1000, and 48 % at n = 100.

    The design notes say 55 % at n = 100 without their setting; other priors and θ give 45 to 53 %.
    """
    mechanism = NoisyStatistics.calibrate(UNIFORM, n=n, target=PureDP(0.1))
    found = predict(mechanism, truth=0.3, reading="naive")
    assert found.by == "exact sum"
    assert found.coverage == pytest.approx(brute_coverage(n, 0.3, float(mechanism.scale)), abs=1e-9)
    assert found.coverage == pytest.approx(covered, abs=0.005)


def test_without_privacy_coverage_is_the_level_on_average():
    """Over the prior predictive a credible interval covers exactly 90 %; 20000 nodes, 5 standard errors."""
    from discreet.planning.simulated_data import cases

    found = predicted(None, cases(MODEL, 50, simulations=20_000), 0.9)
    assert abs(found.coverage - 0.9) < 5 * math.sqrt(0.09 / 20_000)
    assert abs(found.coverage - 0.92) > 5 * math.sqrt(0.09 / 20_000)  # negative control


# --- simulation agrees with exact sums ---------------------------------------------------------------------
class Unenumerated:
    """The same family, with the exact enumeration refused."""

    @staticmethod
    def install(monkeypatch):
        monkeypatch.setattr("discreet.planning.simulated_data.enumerated", lambda *_: None)


@pytest.mark.parametrize(
    "mechanism",
    [
        DirectPosterior(MODEL, n=200),
        OnePosteriorSample(MODEL, n=200, truncation=0.05, temperature=5),
        NoisyStatistics(MODEL, n=200, noise="discrete_laplace", scale=10),
        NoisyStatistics(MODEL, n=200, noise="discrete_gaussian", scale=10),
        NoisyStatistics(MODEL, n=200, noise="laplace", scale=10),
    ],
    ids=lambda m: getattr(m, "noise", m.name),
)
def test_simulation_agrees_with_the_sum(mechanism, monkeypatch):
    """10⁴ nodes: each number within 5 %, which is more than 5 of its standard errors."""
    summed = predict(mechanism, truth=0.3, reading="naive")
    Unenumerated.install(monkeypatch)
    drawn = predict(mechanism, truth=0.3, simulations=10_000, reading="naive")
    assert drawn.by.startswith("simulation")
    for key in ("error", "absolute", "honest_width"):
        assert getattr(drawn, key) == pytest.approx(getattr(summed, key), rel=0.05)
    if summed.coverage is not None:
        assert drawn.coverage == pytest.approx(summed.coverage, abs=0.03)
        assert drawn.kl == pytest.approx(summed.kl, rel=0.07)


def test_gamma_poisson_draw_against_quadrature():
    """E(draw − λ)² at λ = 3 summed over Poisson(nλ), whose clipping at 40 is below 1e-30."""
    model, n, truth = GammaPoisson(3.5, 1.25, upper=40), 30, 3.0
    s = np.arange(400)
    shape, rate = 3.5 + s, 1.25 + n
    exact = math.sqrt(stats.poisson.pmf(s, n * truth) @ (shape / rate**2 + (shape / rate - truth) ** 2))
    found = predict(DirectPosterior(model, n=n), truth=truth, simulations=10_000)
    assert found.error == pytest.approx(exact, rel=0.03)  # 5 standard errors
    assert found.error != pytest.approx(1.1 * exact, rel=0.03)  # negative control


@pytest.mark.parametrize("n", [50, 10**6])
def test_normal_mean_in_closed_form(n):
    """One draw: Var = σ²/(κ+n) + nσ²/(κ+n)² + bias²; both by records one by one and by the central limit."""
    model, truth = NormalMean(0, 2, 1, -10, 10), 0.5
    total = 2 + n
    exact = math.sqrt(1 / total + n / total**2 + (2 * truth / total) ** 2)
    found = predict(DirectPosterior(model, n=n), truth=truth, simulations=10_000)
    assert found.error == pytest.approx(exact, rel=0.03)
    assert found.honest_width == pytest.approx(2 * 1.6448536 * math.sqrt(1 / total + n / total**2), rel=0.04)


def test_honest_intervals_of_one_draw_cover():
    """Draw ± half the width covers 90 % of fresh data sets: 4000 of them, 5 standard errors."""
    n, truth, runs = 300, 0.3, 4000
    half = predict(DiffusedPosterior(MODEL, n=n, r=0.2), truth=truth).honest_width / 2
    rng = np.random.default_rng(7)
    s = rng.binomial(n, truth, runs)
    gaps = np.abs(rng.beta(6 + 0.2 * s, 12 + 0.2 * (n - s)) - truth)
    assert abs(np.mean(gaps <= half) - 0.9) < 5 * math.sqrt(0.09 / runs)
    assert abs(np.mean(gaps <= 0.8 * half) - 0.9) > 5 * math.sqrt(0.09 / runs)  # negative control


def test_a_lucky_prior_makes_no_honest_interval():
    """θ at the prior mean, two records: the point hardly errs, but nobody can know that."""
    found = predict(NoisyStatistics(MODEL, n=2, scale=5), truth=1 / 3)
    assert found.honest_width > 5 * found.error
