"""Published statements that are wrong as printed, against the right ones (numbers of docs/errata.md)."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import integrate, special

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior
from discreet.mechanisms.posterior.diffused import DiffusedPosterior, largest_weight
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.privacy.arithmetic.ball import settle
from discreet.privacy.kinds import GaussianDP, RenyiDP
from discreet.privacy.worst_pairs.divergences import beta_renyi

BETA = BetaBernoulli(6, 12)


def beta_divergence(p, q, order):
    """D_α(Beta(p) ‖ Beta(q)) in 30 digits, ∞ where not normalizable."""
    with mpmath.workdps(30):
        mixed = [order * x + (1 - order) * y for x, y in zip(p, q, strict=True)]
        if min(*p, *q, *mixed) <= 0:
            return math.inf

        def c(v):
            return mpmath.loggamma(v[0]) + mpmath.loggamma(v[1]) - mpmath.loggamma(v[0] + v[1])

        return float((c(mixed) - order * c(p)) / (order - 1) + c(q))


def corollary_16(prior, r, total, order):
    """Printed: P ∈ η₀ + {(0, N), (N, N)}, Q = P ± (r, 0); N = n as printed, N = rn as it should be."""
    alpha, beta = map(mpmath.mpf, prior)
    found = []
    for successes in (0, total):
        p = (alpha + successes, beta + total - successes)
        found += [beta_divergence(p, (p[0] + s, p[1] - s), mpmath.mpf(order)) for s in (r, -r)]
    return max(found)


# ── Geumlek 2020, Corollary 16 (item 1) ─────────────────────────────────────────────────────────────


def test_erratum_01_a_the_printed_set_under_reports():
    # prior Beta(6, 12), n = 100, r = .1, λ = 30: printed .03491, true .04027
    true = DiffusedPosterior(BETA, n=100, r=Fraction(1, 10)).guarantee.renyi(30)
    with mpmath.workdps(30):
        printed = corollary_16((6, 12), mpmath.mpf("0.1"), 100, 30)
    assert true == pytest.approx(0.04027, abs=5e-6)
    assert printed == pytest.approx(0.03491, abs=5e-6)


@pytest.mark.parametrize(("order", "ratio"), [("1.2", 1.0), ("1.5", 1.0), (2, None), (5, None)])
def test_erratum_01_b_the_corrected_set_is_not_equivalent_below_order_2(order, ratio):
    with mpmath.workdps(30):
        superset = corollary_16((6, 12), mpmath.mpf("0.5"), 50, order)
    true = DiffusedPosterior(BETA, n=100, r=Fraction(1, 2)).guarantee.renyi(Fraction(order))
    assert superset == pytest.approx(true, rel=1e-12) if ratio is None else superset > true * 1.005


def test_erratum_01_b_and_is_infinite_when_a_prior_entry_is_within_a_step():
    with mpmath.workdps(30):
        assert corollary_16(("0.5", 2), mpmath.mpf(1), 10, mpmath.mpf("1.1")) == math.inf
    assert DirectPosterior(BetaBernoulli(0.5, 2), n=10).guarantee.renyi(1.1) < math.inf


def test_erratum_01_c_trigamma_bounds_and_digamma_does_not():
    a, b, r, order = Fraction(6), Fraction(111), Fraction(1), 2
    true = float(settle(lambda: beta_renyi(b, a, r, Fraction(order))))
    trigamma = order / 2 * float(special.polygamma(1, 111) + special.polygamma(1, 5))
    digamma = order / 2 * float(special.digamma(6) - special.digamma(111))
    assert true <= trigamma < 1.3 * true
    assert digamma < true


# ── item 3: the Gaussian mechanism ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", [1.5, 2, 8])
def test_erratum_03_gaussian_renyi_has_a_two_below(order):
    sigma = 1.7
    log_density = [
        lambda x, m=m: -((x - m) ** 2) / (2 * sigma**2) - math.log(sigma * math.sqrt(2 * math.pi))
        for m in (0, 1)
    ]
    integral, _ = integrate.quad(
        lambda x: math.exp(order * log_density[0](x) + (1 - order) * log_density[1](x)),
        -40,
        40,
        points=[-order, 0, 1],
    )
    right, printed = order / (2 * sigma**2), order / sigma**2
    assert math.log(integral) / (order - 1) == pytest.approx(right, rel=1e-8)
    assert GaussianDP(1 / sigma).renyi(order) == pytest.approx(right, rel=1e-14)
    assert printed == 2 * right


# ── item 4: Lemma 17 (the number itself is in test_A6) ──────────────────────────────────────────────


def test_erratum_04_the_available_square_gives_a_larger_r():
    # (5.32): D ≤ λ r²Δ²H/2, so r = √(2ε/(λΔ²H)) is private where the printed linear r = ε/(λΔ²H) wastes data
    order, eps = 2, 0.01
    hessian = float(
        special.polygamma(1, 6 - 1) + special.polygamma(1, 12)
    )  # sup over the widened range, r ≤ 1
    squared, printed = math.sqrt(2 * eps / (order * hessian)), eps / (order * hessian)
    assert DiffusedPosterior(BETA, n=100, r=squared).guarantee <= RenyiDP.at(order, eps)
    assert squared > 5 * printed


# ── item 5: where the prior of Figure 5.8 concentrates ──────────────────────────────────────────────


def test_erratum_05_the_prior_1_2_concentrates_at_one_half():
    prior = BetaBernoulli(1, 1)  # η₀ = (1, 2) in the printed coordinates (α, α+β)
    mechanism = ConcentratedPosterior(prior, n=100, m=2.0**-20)
    law = mechanism._private_posterior([20])  # the data's share is 0.2
    assert law.mean() == pytest.approx(0.5, abs=1e-4)
    assert abs(law.mean() - 0.2) > 0.29


# ── item 7: bisection near the asymptote ────────────────────────────────────────────────────────────


def test_erratum_07_at_the_asymptote_doubles_end_before_the_target():
    def at(r):
        return DiffusedPosterior(BETA, n=100, r=r).guarantee.renyi(15)

    last = 6 / 14  # as a double 2.4e-17 below 6/14, so still finite
    assert Fraction(last) < Fraction(6, 14)
    assert at(math.nextafter(last, 0)) < at(last) < 3.0  # ε = 10 is out of reach
    assert at(Fraction(6, 14)) == at(math.nextafter(last, 1)) == math.inf
    assert DiffusedPosterior.calibrate(BETA, n=100, target=RenyiDP.at(15, 10.0)).r < last


def test_erratum_07_cancellation_in_doubles_is_visible_one_step_away():
    r = math.nextafter(6 / 14, 0)
    rest, cancelled = float(6 - 14 * Fraction(r)), 6 - 14 * r
    assert cancelled < 0.85 * rest
    exact = DiffusedPosterior(BETA, n=100, r=r).guarantee.renyi(15)
    assert exact == pytest.approx(2.8896, abs=5e-5)
    assert exact + math.log(rest / cancelled) / 14 == pytest.approx(2.906, abs=5e-4)  # what doubles report


def test_erratum_07_sixty_halvings_exhaust_a_double():
    low, high, halvings = 0.0, 1.0, 0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if middle <= 0.2174707746067767 else (low, middle)
        halvings += 1
    assert low == largest_weight(BETA, n=100, target=RenyiDP.at(2, 0.01), bits=53)
    assert halvings < 60


# ── item 8: Dirichlet ───────────────────────────────────────────────────────────────────────────────


def test_erratum_08_vertices_under_estimate():
    # prior (3, 3.5, 9), n = 10, λ = 2: vertex pairs .482, true .657
    true = DirectPosterior(DirichletCategorical([3, 3.5, 9]), n=10).guarantee.renyi(2)
    prior = [Fraction(3), Fraction(7, 2), Fraction(9)]
    vertices = max(
        float(settle(lambda x=x, y=y: beta_renyi(x, y, Fraction(1), Fraction(2))))
        for i in range(3)
        for j in range(3)
        if i != j
        for x, y in ((prior[i] + 9, prior[j]), (prior[j], prior[i] + 9))  # all the others in category i
    )
    assert true == pytest.approx(0.6567795363890705, rel=1e-12)
    assert vertices == pytest.approx(0.4824261492442927, rel=1e-12)


# ── item 9: clipping to [−D, D] ─────────────────────────────────────────────────────────────────────


def test_erratum_09_clipping_to_plus_minus_d_moves_the_mean_by_twice_d():
    D, n, kappa = 1.0, 10, 4
    mechanism = DirectPosterior(NormalMean(0, kappa, 1, -D, D), n=n)
    sd = 1 / math.sqrt(kappa + n)
    shift = (D - (-D)) / (kappa + n)  # posterior means of two neighbours at opposite bounds
    assert mechanism.guarantee.mu == pytest.approx(shift / sd, rel=1e-14)
    assert mechanism.guarantee.mu == pytest.approx(2 * D / math.sqrt(kappa + n), rel=1e-14)  # printed: D/√…


# ── item 10: the appendix's logistic example ────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("variance", "order", "right", "printed"),
    [
        (0.25, 2, 1.2662969061336526, 0.26629690613365264),
        (0.25, 3, 2.0311456352666037, 3.0311456352666037),
        (1.0, 2, 2.2974425414002564, 1.2974425414002564),
        (1.0, 5, 5794.362381138874, 5795.362381138874),
    ],
)
def test_erratum_10_the_zeroth_term_has_weight_one_half(variance, order, right, printed):
    # reference X: ∫P^λ Q^{1−λ} for one record with its label flipped, w ~ N(0, σ²): 2E[e^{λw}/(1+e^w)]
    def series(first):
        signs = [(-1) ** (order - 1 - i) * (first if i == 0 else 1) for i in range(order)]
        return 2 * sum(s * math.exp(i * i * variance / 2) for i, s in enumerate(signs))

    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    w = math.sqrt(variance) * nodes
    quadrature = 2 * float(weights @ (np.exp(order * w) * special.expit(-w))) / math.sqrt(2 * math.pi)
    assert quadrature == pytest.approx(right, rel=1e-7)
    assert series(0.5) == pytest.approx(right, rel=1e-13)
    assert series(1.0) == pytest.approx(printed, rel=1e-12)
    if printed < 1:
        assert (
            right >= 1
        )  # a Rényi integral of order above 1 never falls below 1: the printed one cannot be right


# ── item 13: the law of a tempered draw ─────────────────────────────────────────────────────────────


def test_erratum_13_the_theorem_states_the_marginal_not_the_posterior():
    # temperature T = 1/r: given the data a draw has variance T·I⁻¹/N; over data and draw (1+T)·I⁻¹/N
    n, p, r = 20000, 0.3, 0.25
    mechanism = DiffusedPosterior(BetaBernoulli(1, 1), n=n, r=r)
    inverse_information, temperature = p * (1 - p), 1 / r
    k = np.arange(n + 1)
    chance = np.exp(
        special.gammaln(n + 1)
        - special.gammaln(k + 1)
        - special.gammaln(n - k + 1)
        + k * math.log(p)
        + (n - k) * math.log(1 - p)
    )
    a, b = 1 + r * k, 1 + r * (n - k)
    law = mechanism._private_posterior([6000])
    assert (float(law.alpha), float(law.beta)) == (a[6000], b[6000])
    mean, variance = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
    marginal = chance @ variance + chance @ mean**2 - (chance @ mean) ** 2
    assert n * law.variance() / inverse_information == pytest.approx(temperature, rel=2e-3)
    assert n * marginal / inverse_information == pytest.approx(1 + temperature, rel=2e-3)
