"""Every registered mechanism under attack: tier 1 compares profiles, tier 2 counts 1e5 runs a side."""

from functools import cache

import numpy as np
import pytest

from discreet.audit.case import empirical, profile_excess, renyi_excess
from discreet.audit.cases.median import lower_median, reach
from discreet.audit.cases.posterior import DRAWS, FAMILIES, HALF, N
from discreet.audit.registry import CASES
from discreet.audit.twins.noise import gamma_reaches, laplace_reaches
from discreet.families.gamma_poisson import GammaPoisson
from discreet.mcmc.registry import KERNELS
from discreet.mechanisms.noise.laplace import Laplace
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.mechanisms.posterior.draw import simulate
from discreet.mechanisms.registry import MECHANISMS
from discreet.mechanisms.sensitivity.median import Interval, SortedSample
from discreet.privacy.guarantee import SUBSTITUTE
from discreet.privacy.worst_pairs.pairs import BetaSidePairs
from discreet.sampling.source import SeededSource

EPSILONS = np.linspace(0, 3, 13)
ORDERS = (1.125, 1.25, 1.5, 2, 3, 6)
ROUNDING = 1e-9  # of scipy.special and of quadrature; the claims themselves are proved upper bounds

# Claimed δ over exact δ of the audited pair at the case's ε: 1 where the claim is that pair's own profile.
EXACT = 1 + 1e-6
SIDE = 2.5  # of a Beta of which one shape moves: its profile is bounded by that of the gammas behind it


def one_sided(family):
    return isinstance(FAMILIES[family][0].worst_case(N, relation=SUBSTITUTE), BetaSidePairs)


PROFILE_FACTOR = {
    "gaussian": EXACT,
    "gaussian/vector": EXACT,
    "discrete_gaussian": EXACT,
    "exponential": EXACT,
    "continuous_exponential": 1.3,  # the quantile score does not attain every bounded range
    "smooth_sensitivity_median": 2.2,  # sliding and dilation are charged one after the other
    "propose_test_release": 3.1,  # test and release are charged one after the other
    "direct/add_remove": 1.005,  # 400 records where the bound is the limit of many
    "posterior_draws": EXACT,
    "statistical_query": EXACT,
    "noisy_statistics/gaussian": EXACT,
    "noisy_statistics/discrete_gaussian": EXACT,
    "noisy_counts/gaussian": EXACT,
    "noisy_counts/discrete_gaussian": EXACT,
    "noisy_blocks/gaussian": EXACT,
    "noisy_blocks/class_moments": EXACT,
    "noisy_blocks/lloyd": EXACT,
    "noisy_blocks/matched_centres": EXACT,
    "noisy_blocks/second_moments": EXACT,
    "noisy_blocks/functional_squares": 1.01,  # √2 is taken as 41/29
    "noisy_blocks/functional_classes": EXACT,
    "noisy_blocks/output_perturbation": 1.2,  # the corner of the hinge is round
    "noisy_blocks/class_moments_swapped": 3.1,  # a swap within a class leaves the counts alone
    "noisy_blocks/forest": EXACT,
    "noisy_blocks/boosting": EXACT,
    "noisy_blocks/boosting_substitute": 1.2,  # no record that stays in its bins moves their counts
    "gaussian_query": 2.0,
    "grouped_statistics/gaussian": EXACT,
    "noisy_numbers/gaussian": EXACT,
    "noisy_numbers/discrete_gaussian": 2.0,
    "grouped_statistics/discrete_gaussian": 2.0,
    "ornstein_uhlenbeck": EXACT,
    "tiered_gaussian": EXACT,
    "tiered_gaussian/outer": EXACT,
    "noisy_projected_sgd": 1.001,  # rounding is paid for
    "direct_regression": EXACT,
    "diffused_regression": EXACT,
    "concentrated_regression": EXACT,
    "regression_draws": EXACT,
    "tuned_regression": 3.5,  # a logistic gradient is below its bound, and the cap costs 1/16
    "one_regression_sample": 2.3,  # one record's loss is a line, which no bounded range is attained by
    "polynomial_statistics": EXACT,
    "polynomial_statistics/substitute": EXACT,
    "adassp": EXACT,
    "noisy_statistics/moments": 1.02,  # 288 of 289 steps
    "objective_perturbation": 1.4,  # its slope is below 1
    "objective_perturbation/smooth": 2.2,  # slopes of either sign are charged one after the other
    "objective_perturbation/substitute": 3.5,  # two slopes are never 1 at once
    "barker": EXACT,
    "metropolis": EXACT,
    "mixture_gibbs": 6,  # three blocks are charged one after the other, at their worst priors
    "assignment_gibbs": 2,
    "hidden_markov_gibbs": 3.5,  # states and tables are charged one after the other, at their worst priors
    "annealed_importance": 1.2,
    **{f"{kind}/{f}": SIDE if one_sided(f) else EXACT for kind in DRAWS for f in FAMILIES},
    "direct/geometric": 1.4,
    "diffused/geometric": 1.7,
    "concentrated/geometric": 1.7,
}
# Least pure ε of the audited pair over the claimed one.
PURE_SHARE = {
    "randomized_response": 0.999,
    "kary_randomized_response": 0.999,
    "laplace": 0.999,
    "laplace/vector": 0.999,
    "discrete_laplace": 0.999,
    "permute_and_flip": 0.99,  # the third candidate takes a little of the ratio
    "report_noisy_max": 0.64,  # two candidates; the bound is the limit of far-away winners
    "clipped_mean": 0.999,
    "sample_and_aggregate": 0.999,
    "noisy_statistics/laplace": 0.999,
    "noisy_statistics/discrete_laplace": 0.999,
    "noisy_statistics/add_remove": 0.999,
    "grouped_statistics/laplace": 0.999,
    "noisy_numbers/laplace": 0.999,
    "noisy_numbers/discrete_laplace": 0.999,
    "noisy_numbers/add_remove": 0.999,
    "grouped_statistics/discrete_laplace": 0.999,
    "grouped_statistics/substitute": 0.999,
    "grouped_statistics/add_remove": 0.999,
    "noisy_counts/laplace": 0.999,
    "noisy_counts/discrete_laplace": 0.999,
    "noisy_counts/add_remove": 0.999,
    "noisy_blocks/discrete_laplace": 0.999,
    "one_posterior_sample/beta": 0.999,
    "one_posterior_sample/dirichlet": 0.79,  # a proved bound, not an equality, for d ≥ 3
    # for every n, and at n = 4 the normalisers keep the ratio further inside
    "metric_sample": 0.5,
    "laplace_location": 0.49,  # three records, whose average moves by half; far records come nearer
    "metric_sample/beta": 0.58,
    "metric_sample/dirichlet": 0.56,
    "metric_sample/gamma_exponential": 0.8,
    "laplace_query": 0.999,
    "two_profile_bit": 0.999,
    "one_bit_cluster": 0.999,
    "smooth_one_bit": 0.999,
    "smooth_categorical": 0.999,
    "smooth_categorical/largest_error": 0.999,
    "annealed_importance/noisy_weights": 0.999,
    "one_network_sample": 0.96,  # nodes are bounded apart: no data set is worst for all of them at once
}

case = cache(lambda name: CASES[name]())


@pytest.mark.parametrize("name", CASES)
def test_a_case_carries_its_name_and_the_name_of_a_mechanism_or_kernel(name):
    assert case(name).name == name
    assert name.partition("/")[0] in {*MECHANISMS, *KERNELS}


def test_every_mechanism_and_every_kernel_has_a_case():
    assert {name.partition("/")[0] for name in CASES} == {*MECHANISMS, *KERNELS}


@pytest.mark.parametrize("name", CASES)
def test_tier_1_the_claim_covers_the_exact_profile(name):
    assert profile_excess(case(name), EPSILONS) <= ROUNDING


@pytest.mark.parametrize("name", [name for name in CASES if case(name).exact_renyi])
def test_tier_1_the_claim_covers_the_exact_renyi_curve(name):
    assert -np.inf < renyi_excess(case(name), ORDERS) <= ROUNDING


def test_tightness_is_stated_for_every_case():
    assert PROFILE_FACTOR.keys() | PURE_SHARE.keys() == CASES.keys()
    assert not PROFILE_FACTOR.keys() & PURE_SHARE.keys()


@pytest.mark.parametrize("name", PROFILE_FACTOR)
def test_tier_1_the_claimed_profile_is_tight(name):
    one = case(name)
    claimed = one.claim.delta(one.epsilon)
    assert 0 < claimed <= PROFILE_FACTOR[name] * one.exact_delta(one.epsilon)


@pytest.mark.parametrize("name", PURE_SHARE)
def test_tier_1_the_claimed_pure_epsilon_is_tight(name):
    one = case(name)
    assert one.claim.delta(one.epsilon) == 0
    assert one.exact_delta(PURE_SHARE[name] * one.epsilon) > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_tier_1_no_neighbouring_statistics_exceed_the_claim(family):
    model, neighbours = FAMILIES[family]
    settings = (
        (DirectPosterior(model, n=N), neighbours(1, 1)),
        (DiffusedPosterior(model, n=N, r=HALF), neighbours(1, 0.5)),
        (ConcentratedPosterior(model, n=N, m=HALF), neighbours(2, 1)),
    )
    for mechanism, pairs in settings:
        claimed = [mechanism.guarantee.delta(e) for e in EPSILONS]
        for pair in pairs:
            assert all(pair.delta(e) <= d + ROUNDING for e, d in zip(EPSILONS, claimed, strict=True))


# A true claim is refuted with probability at most 0.01/cases each, hence any of them with at most 0.01
# over the choice of the seed; for this seed the outcome is fixed. Negative controls: the twins, test_zoo.py.
@pytest.mark.parametrize("name", CASES)
def test_tier_2_runs_do_not_refute_the_claim(name):
    verdict = empirical(case(name), SeededSource(20260), level=0.01 / len(CASES))
    assert not verdict.refuted
    assert verdict.least_epsilon > 0  # the event was seen, and more often on the left


# ── the audit's own tools ───────────────────────────────────────────────────────────────────────────


def test_brute_force_sensitivities_agree_with_the_mechanisms():
    rng = np.random.default_rng(5)
    interval = Interval(0, 1, 1 / 8)
    for _ in range(20):
        data = tuple((rng.integers(0, 9, size=5) / 8).tolist())
        sample = SortedSample.of(interval, data)
        assert sample.median / 8 == lower_median(data)
        assert [sample.reach(k) / 8 for k in range(3)] == [reach(data, k) for k in range(3)]


def test_batched_sample_and_aggregate_has_the_law_of_its_release():
    # Two-sample comparison of P(y ≥ ½) at 4 standard errors: fails by chance with probability 6e-5.
    from discreet.audit.cases.median import block_maximum, clipped_quarters, sample_and_aggregate_runs
    from discreet.mechanisms.sensitivity.sample_and_aggregate import SampleAndAggregate

    mechanism, data = SampleAndAggregate(block_maximum, 2, clipped_quarters()), (1.0, 1.0, 0.0, 0.0)
    source = SeededSource(11)
    one_by_one = np.array([mechanism.release(np.array(data), source) for _ in range(3000)])
    batch = sample_and_aggregate_runs(mechanism, data, 100_000, source)
    gap = (one_by_one >= 0.5).mean() - (batch >= 0.5).mean()
    assert abs(gap) < 4 * np.sqrt(0.25 / 3000 + 0.25 / 100_000)


def test_the_floating_point_attacks_tell_nothing_about_exact_draws():
    # The events that give the float twins away in 81 % and 67 % of runs obey (ε, δ) here, within 5 standard
    # errors (chance 6e-7). The twins' own tests in test_zoo.py are the negative control.
    runs, source = 50_000, SeededSource(12)
    ours = Laplace(1, 10)
    left, right = (~laplace_reaches(0.0, np.asarray(ours.releases(x, runs, source))) for x in (1, 0))
    assert left.mean() <= np.exp(0.1) * right.mean() + 5 * np.sqrt(0.5 / runs)
    direct = DirectPosterior(GammaPoisson(30, 2, 1), n=2)
    left, right = (~gamma_reaches(30.0, 4 * simulate(direct, [k], runs, source)) for k in (1, 0))
    assert left.mean() <= np.e * right.mean() + direct.guarantee.delta(1) + 5 * np.sqrt(0.5 / runs)
