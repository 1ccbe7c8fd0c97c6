"""Noisy Lipschitz steps: reference D2, the exact law of linear maps, and what the papers printed."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from discreet.privacy.amplification.couplings import GaussianShift, LaplaceShift, TwoSteps, two_steps
from discreet.privacy.amplification.iteration import Step, geometric, iterate, published_iteration
from discreet.privacy.amplification.noisy_sgd import NoisySGD
from discreet.privacy.guarantee import NotProved
from discreet.privacy.json import from_json, to_json

D2 = json.loads((Path(__file__).parents[2] / "reference" / "D2_coupling_iteration_ou.json").read_text())


@pytest.mark.parametrize("row", D2["theorem21"]["rows"])
def test_erratum_16_our_split_is_the_reference_s_optimum_and_the_printed_one_is_looser(row):
    ours = iterate([Step(row["L"], row["sigma"] ** 2)] * row["r"], start=row["Delta"]).renyi(row["alpha"])
    printed = published_iteration(row["r"], row["L"], row["Delta"], row["sigma"], row["alpha"])
    assert ours == pytest.approx(row["optimal_of_eq6.4"], rel=1e-13)
    assert printed == pytest.approx(row["eq6.5"], rel=1e-13)
    assert printed / ours == pytest.approx(row["ratio"], rel=1e-9)


def linear_law(steps, start):
    """μ² between the last states of the linear maps x ↦ L x (+ shift): exact, by mean and variance."""
    apart, variance = Fraction(start), Fraction(0)
    for s in steps:
        apart = Fraction(s.lipschitz) * apart + Fraction(s.shift)
        variance = Fraction(s.lipschitz) ** 2 * variance + Fraction(s.variance)
    return apart**2 / variance


dyadic = st.integers(1, 24).map(lambda k: k / 16)  # Lipschitz constants on both sides of 1


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(dyadic, dyadic), min_size=1, max_size=12), dyadic)
def test_one_shift_through_any_linear_maps_is_exact(parts, start):
    steps = [Step(lipschitz, variance) for lipschitz, variance in parts]
    assert iterate(steps, start=start).mu_squared == pytest.approx(float(linear_law(steps, start)), rel=1e-12)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(dyadic, dyadic, st.sampled_from([0, 0, 0.5, 2])), min_size=1, max_size=12))
def test_several_shifts_never_fall_below_the_truth_of_linear_maps(parts):
    steps = [Step(*part) for part in parts]
    claimed = iterate(steps, start=1).mu_squared
    assert claimed >= float(linear_law(steps, 1)) * (1 - 1e-12)
    composed = iterate([Step(s.lipschitz, s.variance) for s in steps], start=1).mu + sum(
        iterate(steps[t:][:1] + [Step(s.lipschitz, s.variance) for s in steps[t + 1 :]]).mu
        for t in range(len(steps))
        if steps[t].shift
    )
    assert math.sqrt(claimed) <= composed * (1 + 1e-9)  # never worse than paying for each shift alone


def test_a_schedule_that_forgets_a_shift_would_be_caught():
    """Negative control: the bound without the second shift lies below the truth."""
    steps = [Step(1, 1, 1), Step(1, 1, 1)]
    assert (
        iterate([Step(1, 1, 1), Step(1, 1)]).mu_squared
        < float(linear_law(steps, 0))
        <= iterate(steps).mu_squared
    )


def test_constants_above_one_and_long_runs_stay_in_range():
    assert iterate([Step(2.0, 1.0)] * 3000, start=1).mu_squared == pytest.approx(3.0, rel=1e-9)  # L²−1
    assert iterate([Step(0.5, 1.0)] * 900, start=1).mu_squared == pytest.approx(
        float(geometric(1, 0.5, 1, 900)), rel=1e-9
    )


@pytest.mark.parametrize("row", D2["theorem22"]["rows"])
def test_erratum_16_noisy_sgd_at_each_index(row):
    rho = Fraction(str(row["rho"]))
    eta = 2 / (1 + rho) if row["eta_name"].startswith("eta=2/") else row["eta"]
    run = NoisySGD(n=100, step=eta, sigma=2, lipschitz=1, smooth=1, strong=rho)
    tight = row["eps_tight_L=max|1-eta rho|,|1-eta beta|"]
    assert run.at_index(row["i"]).mu_squared / 2 == pytest.approx(tight, rel=1e-13, abs=1e-300)
    assert run.published(row["i"], 1) == pytest.approx(row["eps_thm22"], rel=1e-9)
    assert run.at_index(row["i"]).mu_squared / 2 <= row["eps_thm22"] * (1 + 1e-12)


def test_erratum_16_the_printed_bound_ignores_the_noise_of_step_i():
    run = NoisySGD(n=100, step=1, sigma=2, lipschitz=1, smooth=1)
    assert run.published(99, 2) == run.published(100, 2)
    assert run.at_index(99).mu_squared == pytest.approx(run.at_index(100).mu_squared / 2)


def test_several_passes_cost_more_than_one_and_less_than_composition():
    one = NoisySGD(n=60, step=0.5, sigma=2, lipschitz=1, smooth=1, strong=0.05)
    three = NoisySGD(n=60, step=0.5, sigma=2, lipschitz=1, smooth=1, strong=0.05, passes=3)
    assert one.guarantee.mu < three.guarantee.mu < three.without_amplification().mu
    assert max(three.at_index(i).mu for i in range(1, 61)) <= three.guarantee.mu * (1 + 1e-12)


def test_public_steps_only_hide():
    plain = NoisySGD(n=10, step=0.5, sigma=2, lipschitz=1, smooth=1)
    more = NoisySGD(n=10, step=0.5, sigma=2, lipschitz=1, smooth=1, public_steps=30)
    assert more.guarantee.mu_squared == pytest.approx(plain.guarantee.mu_squared / 31)


def test_a_step_that_forgets_everything_reveals_only_the_last_record():
    run = NoisySGD(n=5, step=1, sigma=2, lipschitz=1, smooth=1, strong=1)  # L = 0
    assert run.at_index(4).mu < 1e-100
    assert run.at_index(5).mu == pytest.approx(1.0)


def test_a_secret_random_order_averages_the_profiles():
    run = NoisySGD(n=20, step=0.5, sigma=1, lipschitz=1, smooth=1)
    mixed = replace(run, secret_order=True).guarantee
    each = [run.at_index(i) for i in range(1, 21)]
    assert mixed.delta(0.5) == pytest.approx(np.mean([g.delta(0.5) for g in each]), rel=1e-9)
    assert mixed.delta(0.5) < run.guarantee.delta(0.5)
    powers = [math.exp(2 * g.renyi(3)) for g in each]
    assert mixed.renyi(3) == pytest.approx(math.log(np.mean(powers)) / 2, rel=1e-9)
    assert from_json(json.loads(json.dumps(to_json(mixed)))) == mixed
    with pytest.raises(NotProved, match="one pass"):
        NoisySGD(n=20, step=0.5, sigma=1, lipschitz=1, smooth=1, passes=2, secret_order=True)


def test_groups_of_places_never_promise_more_than_their_average():
    run = NoisySGD(n=3000, step=0.5, sigma=1, lipschitz=1, smooth=1)
    average = np.mean([run.at_index(i).delta(0.5) for i in range(1, 3001)])
    grouped = replace(run, secret_order=True).guarantee.delta(0.5)
    assert average <= grouped <= 1.05 * average


@pytest.mark.parametrize("row", D2["iterated_laplace"]["rows"])
def test_laplace_then_laplace(row):
    promise = two_steps(LaplaceShift(row["lambda1"]), LaplaceShift(row["lambda2"]), row["Delta"])
    curve = promise.curve
    assert isinstance(curve, TwoSteps)
    assert promise.renyi(row["alpha"]) == pytest.approx(row["bound_eq6.2"], rel=1e-12)
    assert curve.split(row["alpha"]) == pytest.approx(row["w_opt"], abs=1e-6)
    assert promise.renyi(row["alpha"]) >= row["true_renyi"]
    assert from_json(json.loads(json.dumps(to_json(promise)))) == promise


@pytest.mark.parametrize("row", D2["gaussian_lipschitz"]["rows"])
def test_a_lipschitz_map_between_gaussians_is_exact_for_linear_maps(row):
    first, second = GaussianShift(row["sigma1"]), GaussianShift(row["sigma2"])
    promise = two_steps(first, second, row["Delta"], lipschitz=row["L"])
    assert promise.renyi(row["alpha"]) == pytest.approx(row["true_linear_map"], rel=1e-12)
    steps = [Step(1, row["sigma1"] ** 2), Step(row["L"], row["sigma2"] ** 2)]
    assert iterate(steps, start=row["Delta"]).renyi(row["alpha"]) == pytest.approx(row["rdp"], rel=1e-12)


def test_the_laplace_shift_is_the_divergence_by_quadrature():
    order, distance, scale = 3.0, 0.8, 1.3

    def integrand(x):
        return math.exp(-order * abs(x) / scale + (order - 1) * abs(x - distance) / scale) / (2 * scale)

    total = quad(integrand, -60, 0)[0] + quad(integrand, 0, distance)[0] + quad(integrand, distance, 60)[0]
    assert float(LaplaceShift(scale).renyi(order, distance)) == pytest.approx(math.log(total) / 2, rel=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Step(math.inf, 1), "Lipschitz constant"),
        (lambda: Step(math.nan, 1), "Lipschitz constant"),
        (lambda: Step(1, -1), "variance"),
        (lambda: iterate([]), "no step"),
        (lambda: iterate([Step(1, 1), Step(1, 0, 1)]), "add noise"),
        (lambda: LaplaceShift(0), "positive"),
        (lambda: TwoSteps(GaussianShift(1), GaussianShift(1), 1, math.inf), "finite Lipschitz"),
        (lambda: NoisySGD(n=0, step=1, sigma=1, lipschitz=1, smooth=1), "n ≥ 1"),
        (lambda: NoisySGD(n=1, step=1, sigma=0, lipschitz=1, smooth=1), "sigma"),
        (lambda: NoisySGD(n=1, step=1, sigma=1, lipschitz=1, smooth=1, strong=2), "strong"),
        (lambda: NoisySGD(n=3, step=1, sigma=1, lipschitz=1, smooth=1).at_index(4), "from 1 to n"),
    ],
)
def test_bad_input_says_what_is_missing(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_last_step_without_noise_is_post_processing():
    """What was absorbed before costs what it costs; a shift after the last noise is refused still."""
    noisy = iterate([Step(1, 1), Step(1, 2)], start=1)
    assert iterate([Step(1, 1), Step(1, 2), Step(7, 0)], start=1).mu == noisy.mu
    with pytest.raises(ValueError, match="nothing hides it"):
        iterate([Step(1, 1), Step(1, 0, Fraction(1, 10))], start=1)
