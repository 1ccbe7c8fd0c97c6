"""Reference G (mpmath, 40 digits): Gaussian σ, tails 3.3, 3.7, 3.12, 3.16, localised and smooth noise."""

import json
import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from mpmath import erfc, exp, inf, log, mp, mpf, sqrt

from discreet.mechanisms.choice.exponential import Exponential
from discreet.mechanisms.local.randomised_response import RandomizedResponse
from discreet.mechanisms.noise.gaussian import Gaussian, classic_sigma
from discreet.mechanisms.noise.laplace import Laplace
from discreet.mechanisms.sensitivity.median import Interval, SortedSample
from discreet.mechanisms.sensitivity.smooth_sensitivity import SmoothSensitivityMedian, published_gaussian
from discreet.privacy.kinds import ApproxDP, GaussianDP

G = json.loads((Path(__file__).parents[1] / "reference" / "G_basic_mechanisms.json").read_text())
DIGITS = 1e-10


def close(x, y, tolerance=DIGITS):
    return math.isclose(x, y, rel_tol=tolerance, abs_tol=0.0)


def printed_classic(epsilon, delta):
    """The formula as printed, with no condition on ε."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def rows(*path):
    table = G
    for key in path:
        table = table[key]
    return table


@pytest.mark.parametrize("row", rows("gaussian", "rows"))
def test_analytic_sigma_and_what_the_classic_one_gives(row):
    epsilon, delta = float(row["eps"]), row["delta"]
    target = ApproxDP(Fraction(row["eps"]), delta)
    mechanism = Gaussian.calibrate(target=target, sensitivity=1)
    assert close(mechanism.sigma, row["sigma_analytic"])
    assert mechanism.guarantee <= target
    assert not Gaussian(1, math.nextafter(mechanism.sigma, 0)).guarantee <= target  # the least double
    classic = printed_classic(epsilon, delta)
    assert close(classic, row["sigma_classic"])
    assert close(
        Gaussian(1, row["sigma_classic"]).guarantee.delta(Fraction(row["eps"])), row["delta_at_classic"], 1e-9
    )
    assert (Gaussian(1, classic).guarantee.delta(epsilon) <= delta) == row["classic_valid"]
    if epsilon <= 1:
        assert close(classic_sigma(Fraction(row["eps"]), delta), row["sigma_classic"])
    else:
        with pytest.raises(ValueError, match="ε ≤ 1"):
            classic_sigma(epsilon, delta)


@pytest.mark.parametrize(("delta", "limit"), rows("gaussian", "classic_formula_valid_up_to_eps").items())
def test_where_the_classic_formula_first_fails(delta, limit):
    delta = float(delta)

    def true_delta(epsilon):
        return GaussianDP(1 / printed_classic(epsilon, delta)).delta(epsilon)

    assert close(true_delta(limit), delta, 1e-9)
    assert true_delta(limit * (1 - 1e-6)) < delta < true_delta(limit * (1 + 1e-6))


@pytest.mark.parametrize("row", rows("prop3.16_fill_in", "rows"))
def test_gaussian_tail(row):
    mechanism, k, t = Gaussian(1, 2.5), row["k"], row["delta"]
    assert close(mechanism.tail_probability(2.5 * row["exact_quantile_over_sigma"], k), t)
    assert close(k * mechanism.tail_probability(2.5 * row["union_bound"]), t)
    bound = mechanism.tail_bound(t, k) - float(mechanism.step / 2)
    assert close(bound / 2.5, math.sqrt(2 * math.log(k / t)))
    assert (
        row["union_bound"] <= bound / 2.5 <= row["chernoff_sqrt(2 ln(2k/delta))"]
    )  # valid, and below the printed one
    assert mechanism.tail_probability(bound, k) <= t


@pytest.mark.parametrize("row", rows("prop3.3"))
def test_flip_count_tail(row):
    mechanism = RandomizedResponse(Fraction(str(row["p"])), Fraction(str(row["q"])))
    exact = mechanism.flips_probability(row["k0"], row["k1"], row["j"])
    bound = mechanism.flips_bound(row["k0"] + row["k1"], row["j"])
    assert close(exact, row["exact"])
    assert close(bound, row["bound"])
    assert exact <= bound
    assert row["holds"]


@pytest.mark.parametrize("row", rows("prop3.7"))
def test_laplace_tail(row):
    mechanism, k, t = Laplace(1, row["beta"]), row["k"], row["delta"]
    if row["threshold"] > 0:
        assert close(mechanism.tail_probability(row["threshold"], k), row["exact_prob"])
    assert row["exact_prob"] <= row["bound"] == t
    if t < 1:  # at t = 1 there is nothing to bound, and the method refuses
        assert close(mechanism.tail_bound(t, k) - float(mechanism.step / 2), row["threshold"])


@pytest.mark.parametrize("row", rows("prop3.12"))
def test_exponential_utility(row):
    scores = row["scores"]
    mechanism = Exponential(1, 2 * row["lambda"])  # λ = ε/(2Δ)
    best = scores.count(max(scores))
    assert close(mechanism.tail_bound(math.exp(-row["delta"]), len(scores), best), row["threshold"])
    worse = [
        p for p, s in zip(mechanism.law(scores), scores, strict=True) if max(scores) - s >= row["threshold"]
    ]
    assert close(sum(worse), row["exact_prob"]) or sum(worse) == row["exact_prob"] == 0
    assert close(math.exp(-row["delta"]), row["bound"])
    assert sum(worse) <= row["bound"]


# ── localised noise: not private ────────────────────────────────────────────────────────────────────


def normal_hockey_stick(left, right, epsilon):
    """∫ (p − e^ε q)₊ for two normals (mean, sd), split at the roots of the log-ratio; mpmath, 30 digits"""
    with mp.workdps(30):
        (m, s), (n, t) = (tuple(map(mpf, pair)) for pair in (left, right))
        epsilon = mpf(epsilon)
        a, b = 1 / (2 * t**2) - 1 / (2 * s**2), m / s**2 - n / t**2
        c = n**2 / (2 * t**2) - m**2 / (2 * s**2) + log(t / s) - epsilon
        discriminant = b**2 - 4 * a * c
        if a:
            roots = (
                sorted((-b + sign * sqrt(discriminant)) / (2 * a) for sign in (-1, 1))
                if discriminant > 0
                else []
            )
        else:
            roots = [-c / b]

        def mass(mean, sd, low, high):  # differences of upper tails keep the digits there
            return (erfc((low - mean) / (sd * sqrt(2))) - erfc((high - mean) / (sd * sqrt(2)))) / 2

        gaps = (mass(m, s, x, y) - exp(epsilon) * mass(n, t, x, y) for x, y in pairwise([-inf, *roots, inf]))
        return float(sum(g for g in gaps if g > 0))


@pytest.mark.parametrize("row", rows("localized_gaussian", "counterexample_def2.9", "rows"))
def test_localised_gaussian_leaks_across_a_jump(row):
    wide, narrow = row["sigma(n=m)"], row["sigma(n=m-1)"]
    assert close(wide, printed_classic(float(row["eps"]), float(row["delta_claimed"])))
    assert close(narrow, wide / 2)
    one = normal_hockey_stick((0, wide), (0, mpf(wide) / 2), row["eps"])
    two = normal_hockey_stick((0, mpf(wide) / 2), (0, wide), row["eps"])
    assert close(one, row["true_delta_dir1"])
    assert close(two, row["true_delta_dir2"]) or two == row["true_delta_dir2"] == 0
    root = math.sqrt(8 * (float(row["eps"]) + math.log(2)) / 3)
    closed = math.erfc(root / 2 / math.sqrt(2)) - math.exp(float(row["eps"])) * math.erfc(root / math.sqrt(2))
    assert close(closed, row["true_delta_dir1"])
    assert one > 1e4 * float(row["delta_claimed"])


@pytest.mark.parametrize("row", rows("localized_gaussian", "example_2.11"))
def test_localised_gaussian_leaks_on_four_points(row):
    f = (0, 1, 2, 5)  # κ(x) = max_y |f(x) − f(y)|/|x − y| = 5/3, 2, 3, 3
    kappa = [max(Fraction(abs(f[x] - f[y]), abs(x - y)) for y in range(4) if y != x) for x in range(4)]
    x, y, unit = row["x"], row["y"], Fraction(printed_classic(float(row["eps"]), 1e-5))
    pair = [(f[z], mpf((kappa[z] * unit).numerator) / (kappa[z] * unit).denominator) for z in (x, y)]
    delta = normal_hockey_stick(*pair, row["eps"])
    assert close(delta, row["true_delta"], 1e-9) or delta == row["true_delta"] == 0


@pytest.mark.parametrize("row", rows("localized_gaussian", "smooth_sensitivity_NRS07"))
def test_smooth_sensitivity_of_a_jump(row):
    epsilon, delta = float(row["eps"]), row["delta"]
    alpha, beta = published_gaussian(Fraction(row["eps"]), delta)
    assert close(alpha, row["alpha"])
    assert close(beta, row["beta"])
    assert close(1 / alpha, row["sigma_at_jump"])
    assert close(printed_classic(epsilon, delta), row["sigma_global_classic"])
    analytic = Gaussian.calibrate(target=ApproxDP(epsilon, delta), sensitivity=1).sigma
    assert close(analytic, row["sigma_global_analytic"])
    assert (
        math.ceil(math.log(row["sigma_at_jump"] / row["sigma_global_classic"]) / beta)
        == row["distance_where_smooth<classic_global"]
    )
    # neighbours at the jump share σ and differ by 1; elsewhere only σ changes, by e^β
    at_jump = Gaussian(1, 1 / alpha).guarantee.delta(epsilon)
    wide_first = normal_hockey_stick((0, exp(mpf(beta))), (0, 1), row["eps"])
    worst = max(at_jump, wide_first)
    assert close(worst, row["worst_true_delta_over_neighbours"], 1e-9)
    assert worst <= delta
    assert row["holds"]


def test_median_next_to_a_point_mass_is_told_apart_surely():
    """Local sensitivity gives {0,0,0,0,1} no noise and {0,0,0,1,1} some: δ(ε) = 1 for every ε."""
    unit = Interval(0, 1, 1)
    still, moving = (SortedSample.of(unit, data) for data in ((0, 0, 0, 0, 1), (0, 0, 0, 1, 1)))
    assert (still.median, still.reach(0)) == (0, 0)
    assert (moving.median, moving.reach(0)) == (0, 1)
    # limit of vanishing noise on one side: the narrow normal against the wide one
    assert normal_hockey_stick((0, 1e-12), (0, 9.69), 5) > 1 - 1e-8
    # smooth sensitivity never vanishes, and its neighbours are within e^β
    private = SmoothSensitivityMedian(0, 1, 1, 1e-5, grid=1)
    first, second = (private.sensitivity(data) for data in ((0, 0, 0, 0, 1), (0, 0, 0, 1, 1)))
    assert 0 < first <= second <= first * math.exp(private.beta)


def test_remark_kappa_is_far_rougher_than_smooth():
    """κ of the jump at m is 1/(m+1−n) up to m, 1/(n−m) after: a ratio of 2, where e^β allows 1.0095"""
    m = 10
    kappa = [Fraction(1, m + 1 - n) if n <= m else Fraction(1, n - m) for n in range(2 * m)]
    worst = max(max(a / b, b / a) for a, b in pairwise(kappa))
    _, beta = published_gaussian(Fraction(1, 2), 1e-5)
    assert math.exp(beta) < 1.0096
    assert worst == 2  # the remark's bound is 3
