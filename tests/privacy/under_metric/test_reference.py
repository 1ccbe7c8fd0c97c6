"""Every number of reference F, and the errata of D14: printed beside right."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import gammainc, gammaln

from discreet.privacy.under_metric import concentration, distinguishing, lipschitz
from discreet.privacy.under_metric.distances import AbsoluteDifference, Hamming, Weighted
from discreet.privacy.under_metric.relaxed import (
    KAPPA,
    OMEGA,
    GammaPair,
    jeffreys_bound,
    one_wait,
    worst_waits,
)


@pytest.fixture(scope="module")
def numbers():
    return json.loads((Path(__file__).parents[2] / "reference" / "F_dimitrakakis.json").read_text())


def pairs(numbers):
    for row in numbers["exponential_family_example"]["rows"]:
        pair = GammaPair(row["n"], row["lambda(c)"], row["sum_x"], row["sum_x"] + row["rho"])
        yield row, pair


def test_the_constants(numbers):
    assert float(numbers["omega"]) == pytest.approx(OMEGA, rel=1e-15)
    assert float(numbers["kappa"]) == pytest.approx(KAPPA, rel=1e-15)
    assert math.exp(OMEGA) == pytest.approx(2 * OMEGA + 1)
    least = min(2 * a / (1 - math.exp(-a)) ** 2 for a in np.linspace(1.2, 1.3, 10_001))
    assert KAPPA <= least < KAPPA * (1 + 1e-8)


def test_the_exponential_example(numbers):
    """KL both ways and total variation to the reference's digits; where the printed theorems hold."""
    for row, pair in pairs(numbers):
        assert pair.kl == pytest.approx(row["KL_x||y"], rel=1e-11)
        assert pair.backwards.kl == pytest.approx(row["KL_y||x"], rel=1e-10)
        assert pair.total_variation == pytest.approx(row["TV"], rel=1e-9)
        printed = KAPPA * row["rho"] / row["lambda(c)"]
        assert printed == pytest.approx(row["thm1ii_bound"])
        assert (pair.kl <= printed) == row["thm1ii_holds"]
        assert (pair.total_variation <= math.sqrt(printed / 2)) == row["thm2ii_holds"]


def test_erratum_21_relaxed_theorems_average_over_the_wrong_law(numbers):
    """n = 1000 waits of 0, prior Exp(1), one changed by 0.1: printed 0.491 and 0.496, right 4.69, 0.868."""
    pair = GammaPair(1000, 1.0, 0.0, 0.1)
    assert pair.kl > 9 * KAPPA * 0.1
    assert pair.total_variation > 1.7 * math.sqrt(KAPPA * 0.1 / 2)
    for _, other in pairs(numbers):  # the true form, for every n
        assert other.kl + other.backwards.kl <= other.bound * (1 + 1e-12)
        assert other.bound == pytest.approx(
            jeffreys_bound(
                (other.n + 1) / (other.prior_rate + other.total),
                (other.n + 1) / (other.prior_rate + other.other),
                other.distance,
            )
        )


@pytest.mark.parametrize("distance", [0.01, 0.5, 1, 9, 1000])
@pytest.mark.parametrize("rate", [0.25, 1, 7])
def test_of_one_wait_theorem_1ii_holds_and_of_many_it_does_not(rate, distance):
    """A grid of x and y at this distance or less: none above the closed form, which one pair attains."""
    for n in (1, 30):
        totals = np.linspace(0, 5, 11)
        found = max(
            max(GammaPair(n, rate, x, x + d).kl, GammaPair(n, rate, x + d, x).kl)
            for x in totals
            for d in np.linspace(distance / 4, distance, 4)
        )
        assert found == pytest.approx(worst_waits(n, rate, distance))
    assert one_wait(rate, distance) <= KAPPA * distance / rate
    assert worst_waits(1000, rate, 9) > KAPPA * 9 / rate  # a broken twin: the same claim of many waits


def test_several_draws_are_told_apart_as_their_sum_is():
    """TV of q draws by Gamma(q(n + 1), ·), against an integral of the densities of the sum."""
    pair = GammaPair(3, 1.0, 2.0, 3.0)
    for draws in (1, 4):
        shape = draws * 4

        def density(t, rate, shape=shape):
            return math.exp(shape * math.log(rate) + (shape - 1) * math.log(t) - rate * t - gammaln(shape))

        direct, _ = integrate.quad(
            lambda t, density=density: abs(density(t, 3.0) - density(t, 4.0)) / 2, 0, 40, limit=200
        )
        assert pair.total_variation_of(draws) == pytest.approx(direct, abs=1e-7)
    assert pair.total_variation_of(4) > pair.total_variation


# ── Assumption 1: exact posteriors over a grid ──────────────────────────────────────────────────────
def test_truncated_bernoulli(numbers):
    told = numbers["truncated_bernoulli_thm1i_2i"]
    constant = lipschitz.bernoulli(told["a"])
    assert constant.constant == pytest.approx(told["L"], rel=1e-15)
    for row in told["rows"]:
        assert constant.one_draw.epsilon(0) == pytest.approx(row["bound_2Lrho"])
        assert constant.one_draw.kl() == pytest.approx(row["improved_KL_bound_eps*tanh(eps/2)"])
        ratio, kl = truncated_beta_pair(row["n1"], row["n0"], told["a"])
        assert ratio == pytest.approx(row["max_abs_log_ratio"], rel=1e-7)
        assert kl == pytest.approx(row["KL"], rel=1e-6)


def truncated_beta_pair(ones, zeros, a):
    """Return max |ln p/q| and KL of posteriors on [a, 1 − a], uniform prior, one record flipped."""
    t = a + (1 - 2 * a) * (np.arange(200_000) + 0.5) / 200_000

    def density(k, m):
        weight = np.exp(
            k * np.log(t) + m * np.log1p(-t) - (k * np.log(np.mean(t)) + m * np.log1p(-np.mean(t)))
        )
        return weight / weight.mean()

    p = density(ones, zeros)
    q = density(ones + 1, zeros - 1) if zeros else density(ones - 1, zeros + 1)
    ends = np.abs(np.log(p / q))
    edge = 1.5 * ends[[0, -1]] - 0.5 * ends[[1, -2]]  # to the very ends
    return max(ends.max(), edge.max()), float((p * np.log(p / q)).mean())


def test_bounds_on_exact_posteriors_over_a_grid():
    """Bernoulli, n ≤ 12, three truncations: log ratio and KL never above, and at large n close."""
    closest = 0.0
    for a in (0.05, 0.2, 0.4):
        promise = lipschitz.bernoulli(a).one_draw
        for n in (1, 4, 12):
            for ones in range(n + 1):
                ratio, kl = truncated_beta_pair(ones, n - ones, a)
                assert ratio <= promise.epsilon(0) * (1 + 1e-9)
                assert kl <= promise.kl()
                closest = max(closest, ratio / promise.epsilon(0))
    assert closest > 0.8
    assert truncated_beta_pair(12, 0, 0.05)[0] > lipschitz.bernoulli(0.05).constant  # L alone would be wrong


def test_bounds_on_exact_posteriors_of_three_categories():
    """Dirichlet on θ_i ≥ a, every two tables of n ≤ 3 at Hamming distance 1, on a grid of the simplex."""
    a = 0.1
    first, second = np.meshgrid(np.linspace(a, 1 - 2 * a, 141), np.linspace(a, 1 - 2 * a, 141))
    inside = first + second <= 1 - a + 1e-9
    theta = np.stack([first[inside], second[inside], 1 - first[inside] - second[inside]])
    promise, closest = lipschitz.categorical(a, 3).one_draw, 0.0
    for n in (1, 3):
        for counts in np.ndindex(n + 1, n + 1):
            rest = n - 1 - sum(counts)
            if rest < 0:
                continue
            base = np.array([*counts, rest])
            laws = [np.prod(theta ** (base + np.eye(3)[i])[:, None], axis=0) for i in range(3)]
            logs = [np.log(law / law.sum()) for law in laws]
            ratio = max(np.abs(p - q).max() for p in logs for q in logs)
            assert ratio <= promise.epsilon(0)
            closest = max(closest, ratio / promise.epsilon(0))
    assert closest > 0.5


def test_theta_l_holds_the_mass_that_is_told():
    for found, law in (
        (concentration.bernoulli(2, 3), stats.beta(2, 3)),
        (concentration.waits(1.5, 2), stats.gamma(1.5, scale=0.5)),
    ):
        for constant in (0.1, 1.0, 4.0):
            low, high = found.region(constant)
            assert law.cdf(high) - law.cdf(low) == pytest.approx(found.inside(constant))
            assert found.inside(constant) + found.outside(constant) == pytest.approx(1)
            assert found.inside(constant) >= 1 - math.exp(-found.c * constant) - 1e-12


GRID = np.linspace(-3, 3, 9)
DECLARED = {
    "exponential": (
        lipschitz.exponential(2.5),
        lambda x, t: np.sum(np.log(t) - t * x),
        (0.1, 1, 2.5),
        np.abs(GRID),
    ),
    "laplace": (
        lipschitz.laplace(0.5),
        lambda x, t: -np.sum(np.abs(x - t[0]) / t[1]),
        [(m, s) for m in (-1, 0, 2) for s in (0.5, 1)],
        GRID,
    ),
    "normal": (
        lipschitz.normal(0.25, 3),
        lambda x, t: -np.sum((x - t[0]) ** 2) / (2 * t[1]),
        [(m, v) for m in (-3, 0, 3) for v in (0.25, 1)],
        GRID,
    ),
    "categorical": (
        lipschitz.categorical(0.1, 3),
        lambda x, t: np.log(t)[x].sum(),
        [(0.8, 0.1, 0.1)],
        np.arange(3),
    ),
}


@pytest.mark.parametrize("name", DECLARED)
def test_constants_hold_on_samples_and_are_attained(name):
    found, log_likelihood, thetas, values = DECLARED[name]
    data = [np.array([u, v]) for u in values for v in values]
    assert found.check(log_likelihood, data, thetas) <= 1e-9
    half = lipschitz.declared(found.constant / 1.05, found.metric, "5 % too small")
    assert half.check(log_likelihood, data, thetas) > 0.01
    assert found.tempered(2).constant == pytest.approx(found.constant / 2)
    assert found.one_draw.epsilon(0) <= 2 * found.constant * (1 + 1e-15)
    assert found.kl(3) <= 6 * found.constant * (1 + 1e-15)


def test_erratum_27_lemma_7_needs_the_degrees():
    """Chain A→B with entries .1/.9: log ratio 4.394 at Hamming distance 1, printed at most ln 10 = 2.303."""
    told = lipschitz.network(0.1, {"A": 2, "B": 2}, {"A": [], "B": ["A"]})
    ratio = math.log(0.9 * 0.9 / (0.1 * 0.1))  # (A, B) = (0, 0) against (1, 0)
    x, y = np.array([[0, 0]]), np.array([[1, 0]])
    assert ratio == pytest.approx(4.394, abs=1e-3)
    assert ratio > math.log(1 / 0.1) * Hamming().between(x, y)
    assert ratio <= told.constant * told.metric.between(x, y) * (1 + 1e-12)
    assert told.metric == Weighted({"A": 2, "B": 1})
    assert told.constant == pytest.approx(math.log(9))
    degrees = Weighted({"A": 2, "B": 2})  # the proof's, which counts parents too, holds as well and says less
    assert degrees.between(x, y) >= told.metric.between(x, y)


# ── Assumption 2 ────────────────────────────────────────────────────────────────────────────────────
def test_erratum_22_c_of_the_beta_prior_grows_like_a_root(numbers):
    """c = 2^{1−2a}/B(a, a) ~ √(a/π); printed O(a)."""
    for row in numbers["beta_bernoulli_c"]["rows"]:
        c = concentration.bernoulli(row["alpha"], row["alpha"]).c
        assert c == pytest.approx(row["c_smallL_limit_2^{1-2a}/B(a,a)"], rel=1e-9)
        assert c == pytest.approx(row["c_numeric"], rel=1e-5)
        assert c < row["sqrt(alpha/pi)"]
    assert concentration.bernoulli(1000, 1000).c / concentration.bernoulli(10, 10).c < 11


def test_erratum_22_of_more_than_one_trial_no_c_exists():
    assert concentration.binomial(1, 2, 2).c == concentration.bernoulli(2, 2).c > 0
    assert concentration.binomial(2, 2, 2).c == 0
    assert concentration.binomial(5, 2, 2).region(math.log(5)) is None


def test_erratum_22_lemma_6_needs_the_prior_on_the_precision(numbers):
    assert concentration.normal(1, 1, 1).c == pytest.approx(2)
    assert concentration.normal(1, 3, 4).c == pytest.approx(1.5)
    for row in numbers["normal_tail_check_mu<=1_lambda=1"]:
        assert concentration.normal(1, 1, 1).outside(row["L"]) == pytest.approx(
            row["tail_precision_prior_exp(-2 lam L)"]
        )
        variance_prior = -math.expm1(-1 / (2 * row["L"]))
        assert variance_prior == pytest.approx(row["tail_variance_prior"])
    assert -math.log(-math.expm1(-1 / 100)) / 50 < 0.1  # of the printed prior c falls to 0


def test_erratum_22_lemma_4_holds_for_scales_above_1_over_L():
    assert concentration.laplace(1, 2).c == pytest.approx(2)
    assert concentration.laplace(1, 2).region(4.0) == (0.0, 4.0)  # of 1/s: s ≥ 1/4, printed s ≥ 4


def test_erratum_22_lemma_1_needs_no_factor_n():
    """ln p(x)/p(y) of n waits is at most L Σ|x_i − y_i|, with the L of one wait; printed L·n."""
    x, y = np.zeros(50), np.full(50, 2.0)
    ratio = 1.5 * abs(x.sum() - y.sum())
    assert ratio == pytest.approx(lipschitz.exponential(1.5).constant * AbsoluteDifference().between(x, y))


def test_erratum_22_theorem_3_is_only_if(numbers):
    for row in numbers["theorem3"]["rows"]:
        t = math.exp(-row["rho_threshold_A1=3/(4Ln) ln(1/delta)"] * 4 * row["L"] * row["n_samples"] / 3)
        assert t == pytest.approx(row["delta"])
        told = distinguishing.told_by_frequencies(row["L"], row["n_samples"], row["delta"])
        assert told == pytest.approx(row["rho_threshold_A1=3/(4Ln) ln(1/delta)"])
        assert distinguishing.draws_to_tell(row["L"], told * 1.0001, row["delta"]) == row["n_samples"]
    # above the threshold telling is still impossible: at t = 0.49 any test errs more often than that
    told = distinguishing.told_by_frequencies(1.0, 10, 0.49)
    promise = lipschitz.declared(1, Hamming(), "one").one_draw
    assert distinguishing.errors_at_least(promise, told * 1.01, 1) > 0.45


def test_other_c(numbers):
    """Exponential and Laplace: c = λ; a Gamma prior of shape above 1 has none."""
    assert "c=lambda (exact)" in numbers["other_c"]["exponential(Lemma3)"]
    for rate in (0.5, 1, 20):
        assert concentration.waits(1, rate).c == pytest.approx(rate)
    assert concentration.waits(2, 1).c == 0
    assert concentration.waits(0.5, 3).c == pytest.approx(3, rel=1e-2)
    assert concentration.waits(1, 2).lipschitz_at(0.05) == pytest.approx(math.log(20) / 2)
    with pytest.raises(ValueError, match="share"):
        concentration.waits(1, 2).lipschitz_at(0)


def test_a_larger_c_protects_more_and_in_the_end_teaches_less():
    """The curve that D14 §6 asks for, exact for Bernoulli: KL falls with c; the error has a minimum."""
    found = concentration.bernoulli_curve([0.5, 1, 4, 32, 256], n=20, truth=0.3)
    assert all(a.c < b.c and a.kl > b.kl for a, b in pairwise(found))
    assert found[2].rmse < found[0].rmse < found[-1].rmse
    exact = math.sqrt(0.3 * 0.7 / 20) * 20 / 21  # of Beta(½, ½): variance part alone
    assert found[0].rmse == pytest.approx(math.hypot(exact, 0.2 / 21), rel=1e-9)
    waits = concentration.waits_curve([0.1, 1, 10, 100], n=20, truth=2.0)
    assert all(a.c < b.c and a.kl > b.kl for a, b in pairwise(waits))
    assert waits[-1].rmse > waits[0].rmse
    mean = 21 / 20 * 40 / 19  # as λ → 0 the posterior mean is (n + 1)/Σx, Σx ~ Gamma(20, 2)
    second = (21 / 20) ** 2 * (40 / 19) ** 2 * 19 / 18
    limit = math.sqrt(second - 2 * mean * 2 + 4)
    assert concentration.waits_curve([1e-9], n=20, truth=2.0)[0].rmse == pytest.approx(limit, rel=0.01)


# ── what can be told ────────────────────────────────────────────────────────────────────────────────
def test_frequencies_stay_within_lemma_2():
    """P(‖P_n − P‖₁ > bound) ≤ t, simulated: 1500 runs at t = 0.01 (m ≤ 3); half the bound is exceeded."""
    t, n, runs = 0.01, 200, 1500
    cells = distinguishing.finest_partition(t)
    assert cells == 3
    rng = np.random.default_rng(5)
    p = np.full(cells, 1 / cells)
    far = np.abs(rng.multinomial(n, p, runs) / n - p).sum(axis=1)
    bound = distinguishing.empirical_error(n, t)
    exceeded = np.mean(far > bound)
    assert exceeded <= t
    assert np.mean(far > bound / 4) > t  # the control
    assert distinguishing.error_exceeded(cells, n, bound) <= t


def test_no_test_beats_the_bound_and_le_cam_holds_exactly():
    """Exponential waits on θ ≤ M: exact TV of posteriors is below the promise's, and the best guess errs."""
    pair = GammaPair(5, 1.0, 3.0, 3.5)
    promise = lipschitz.exponential(4.0, AbsoluteDifference()).one_draw
    for draws in (1, 3, 20):
        at_most = distinguishing.total_variation_at_most(promise, 0.5, draws)
        assert pair.total_variation_of(draws) <= at_most
    assert distinguishing.total_variation_at_most(promise, 0.5, 100) == 1.0
    assert distinguishing.total_variation_at_most(promise, 0, 100) == 0.0
    # Le Cam: the best deterministic guess between x and y by a threshold on θ has at least that risk
    bound = distinguishing.guess_at_least(0.5, pair.total_variation)
    cuts = np.linspace(0.01, 8, 4000)
    risks = 0.5 * np.maximum(gammainc(6, 4.0 * cuts), 1 - gammainc(6, 4.5 * cuts))  # say y above the cut
    other = 0.5 * np.maximum(1 - gammainc(6, 4.0 * cuts), gammainc(6, 4.5 * cuts))
    best = min(risks.min(), other.min())
    assert best >= bound * (1 - 1e-9)
    assert best <= bound * 1.05  # tight: twice the bound would be false
    with pytest.raises(ValueError, match="total variation"):
        distinguishing.guess_at_least(1, 1.5)


def test_told_after_puts_both_together():
    constant = lipschitz.bernoulli(0.1)
    told = distinguishing.told_after(constant.constant, constant.one_draw, 0.01, 10, 0.05)
    assert told.frequencies == pytest.approx(3 / (4 * constant.constant * 10) * math.log(20))
    assert 0 < told.error < 0.5
    assert told.guess == pytest.approx(0.01 * told.error)
    for wrong in (0, True, 1.5, 10**7):
        with pytest.raises(ValueError, match="number of answers"):
            distinguishing.told_by_frequencies(1, wrong, 0.1)
