"""NoisyStatistics: what it promises, what it releases, how the release is read, what it refuses."""

import math
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.statistics.noised_vector import NOISES
from discreet.mechanisms.statistics.noisy_statistic import READINGS
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Unreachable
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.sampling.source import SeededSource

COIN, DIE = BetaBernoulli(2, 3), DirichletCategorical([1, 1, 1])
MODELS = [
    COIN,
    DIE,
    GammaPoisson(1, 1, upper=5),
    NormalMean(0, 1, 1, lower=-2, upper=3),
    NormalInverseGamma(0, 1, 2, 2, lower=-1, upper=1),
]
DATA = {
    "beta_bernoulli": [0, 1, 1, 0],
    "dirichlet_categorical": [0, 1, 1, 2],
    "gamma_poisson": [0, 5, 2, 1],
    "normal_mean": [-1.0, 2.5, 0.5, 0.25],
    "normal_inverse_gamma": [-1.0, 0.5, 0.5, 0.25],
}
SOUND = {  # noise → targets that it can meet
    "discrete_laplace": [
        PureDP(0.3),
        ApproxDP(0.3, 1e-6),
        ZeroCDP(0.02),
        GaussianDP(0.3),
        RenyiDP.at(4, 0.1),
    ],
    "laplace": [PureDP(0.3), ApproxDP(0.3, 1e-6), ZeroCDP(0.02), GaussianDP(0.3), RenyiDP.at(4, 0.1)],
    "discrete_gaussian": [ApproxDP(0.3, 1e-6), ZeroCDP(0.02), RenyiDP.at(4, 0.1)],
    "gaussian": [ApproxDP(0.3, 1e-6), ZeroCDP(0.02), GaussianDP(0.3), RenyiDP.at(4, 0.1)],
}


# --- what it promises -------------------------------------------------------------------------------------
def test_guarantees_come_from_the_family_s_sensitivity():
    """One flip moves the success count by 1, a die's counts by 2 in L1 and √2 in L2."""
    for model, l1, l2_squared in ((COIN, 1, 1), (DIE, 2, 2)):
        setting = {"n": 10, "scale": 4}
        assert NoisyStatistics(model, **setting).guarantee == PureDP(Fraction(l1, 4))
        assert NoisyStatistics(model, noise="laplace", **setting).guarantee == PureDP(Fraction(l1, 4))
        discrete = NoisyStatistics(model, noise="discrete_gaussian", **setting).guarantee
        assert float(discrete.rho) == pytest.approx(l2_squared / 32, rel=1e-15)
        assert Fraction(discrete.rho) >= Fraction(l2_squared, 32)
        continuous = NoisyStatistics(model, noise="gaussian", **setting).guarantee
        assert continuous.mu == pytest.approx(math.sqrt(l2_squared) / 4, rel=1e-15)
        assert Fraction(continuous.mu) ** 2 >= Fraction(l2_squared, 16)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_no_pair_of_neighbours_moves_what_is_noised_further_than_claimed(model):
    """Brute force over one changed record, and over one added."""
    data = DATA[model.name]
    replaced = NoisyStatistics(model, n=4, scale=1)
    both = NoisyStatistics(model, n=4, scale=1, noise_both_counts=True)
    added = NoisyStatistics(model, scale=1, relation=ADD_REMOVE)
    extremes = [min(data), max(data), *data]
    for new in extremes:
        other = [new, *data[1:]]
        for mechanism in (replaced, both):
            left, right = (mechanism.vector(model.statistic(d), None) for d in (data, other))
            assert np.abs(left - right).sum() <= mechanism.sensitivity.l1
            assert np.linalg.norm(left - right) <= mechanism.sensitivity.l2
        longer = [*data, new]
        left, right = (added.vector(model.statistic(d), len(d)) for d in (data, longer))
        assert np.abs(left - right).sum() <= added.sensitivity.l1
        assert np.linalg.norm(left - right) <= added.sensitivity.l2


def test_noise_on_both_counts_needs_twice_the_scale():
    one = NoisyStatistics.calibrate(COIN, n=10, target=PureDP(0.1))
    two = NoisyStatistics.calibrate(COIN, n=10, target=PureDP(0.1), noise_both_counts=True)
    assert (one.scale, two.scale) == (10, 20)
    assert len(two.release([3], SeededSource(1)).noisy) == 2


@pytest.mark.parametrize("noise", NOISES)
def test_deterministic_profile_is_within_the_guarantee(noise):
    """Tier 1: the exact hockey-stick divergence of the worst shift against what is claimed."""
    mechanism = NoisyStatistics(COIN, n=10, noise=noise, scale=3)
    for epsilon in (0, 0.1, 0.2, 0.3, 0.5):
        seen = mechanism.noiser.hockey_stick(4, 5, epsilon)
        assert seen <= mechanism.guarantee.delta(epsilon)


@pytest.mark.parametrize("noise", ["discrete_laplace", "laplace", "gaussian"])
def test_less_noise_than_claimed_is_seen(noise):
    """The broken twin claims scale 3 and adds 2.7."""
    claim = NoisyStatistics(COIN, n=10, noise=noise, scale=3).guarantee
    broken = NoisyStatistics(COIN, n=10, noise=noise, scale=2.7).noiser
    assert any(broken.hockey_stick(4, 5, e) > claim.delta(e) for e in (0, 0.1, 0.3))


def test_discrete_gaussian_attains_its_zcdp_and_a_broken_twin_exceeds_it():
    """D₂ by summation; for integer orders and shifts the bound Δ²α/(2σ²) is attained [CKS20 Prop. 5]."""
    claim = NoisyStatistics(COIN, n=10, noise="discrete_gaussian", scale=3).guarantee.renyi(2)
    z = np.arange(-80, 90)
    for scale, within in ((3, True), (2.7, False)):
        noiser = NoisyStatistics(COIN, n=10, noise="discrete_gaussian", scale=scale).noiser
        seen = math.log(np.exp(2 * noiser.log_pmf(4, z) - noiser.log_pmf(5, z)).sum())
        assert (seen <= claim + 1e-12) is within
        assert seen == pytest.approx(1 / scale**2, rel=1e-9)


# --- calibration ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("model", [COIN, DIE], ids=lambda m: m.name)
@pytest.mark.parametrize(
    ("noise", "target"), [(noise, target) for noise, targets in SOUND.items() for target in targets]
)
def test_calibration_meets_the_target_and_barely(model, noise, target):
    """Least for the target; or, for an (ε, δ) target, least for ε alone and within 2⁻¹⁰ of the least."""
    mechanism = NoisyStatistics.calibrate(model, n=50, target=target, noise=noise)
    less = replace(mechanism, scale=mechanism.scale * (1 - 1e-9))
    hair = replace(mechanism, scale=less.scale / (1 + 2**-10))
    kept = PureDP(0.3) if isinstance(target, ApproxDP) and "laplace" in noise else target
    assert mechanism.guarantee <= target
    assert mechanism.guarantee <= kept
    assert not less.guarantee <= kept
    assert not hair.guarantee <= target


@settings(deadline=None, max_examples=30)
@given(epsilon=st.floats(1e-3, 10), delta=st.floats(1e-12, 0.1), noise=st.sampled_from(sorted(NOISES)))
def test_calibration_never_exceeds_the_target(epsilon, delta, noise):
    target = ApproxDP(epsilon, delta, relation=ADD_REMOVE)
    mechanism = NoisyStatistics.calibrate(DIE, target=target, noise=noise)
    assert mechanism.guarantee <= target
    assert mechanism.relation is ADD_REMOVE


@settings(deadline=None, max_examples=30)
@given(scale=st.floats(0.01, 1e6), noise=st.sampled_from(sorted(NOISES)))
def test_more_noise_more_privacy(scale, noise):
    mechanism = NoisyStatistics(COIN, n=10, noise=noise, scale=scale)
    wider = replace(mechanism, scale=scale * 1.01).guarantee
    if noise == "discrete_gaussian":  # its exact profile is not monotone in the noise [theory §14]
        assert wider.zcdp_bound < mechanism.guarantee.zcdp_bound
    else:
        assert wider < mechanism.guarantee


@pytest.mark.parametrize("noise", ["gaussian", "discrete_gaussian"])
def test_gaussian_noise_is_never_pure(noise):
    with pytest.raises(Unreachable):
        NoisyStatistics.calibrate(COIN, n=10, target=PureDP(1), noise=noise)


# --- the release and its readings -------------------------------------------------------------------------
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
@pytest.mark.parametrize("relation", [SUBSTITUTE, ADD_REMOVE])
def test_every_family_releases_and_reads_under_every_noise(model, noise, relation):
    data = DATA[model.name]
    n = len(data) if relation is SUBSTITUTE else None
    count = {} if relation is SUBSTITUTE else {"count": len(data)}
    mechanism = NoisyStatistics(model, n=n, noise=noise, scale=2, relation=relation)
    release = mechanism.release(model.statistic(data), SeededSource(5), **count)
    assert release.seeded
    assert release.guarantee == mechanism.guarantee
    assert type(release.read(reading="naive").law) is type(model)
    assert all(float(x).is_integer() for x in release.noisy) or not noise.startswith("discrete")


def test_release_is_frozen_and_says_if_it_was_seeded():
    mechanism = NoisyStatistics(COIN, n=10, scale=2)
    assert not mechanism.release([3]).seeded
    release = mechanism.release([3], SeededSource(1))
    assert release == mechanism.release([3], SeededSource(1))
    with pytest.raises(FrozenInstanceError):
        release.n = 5


@settings(deadline=None, max_examples=50)
@given(noisy=st.integers(-100, 200))
def test_naive_posterior_is_exact_after_projection(noisy):
    release = replace(NoisyStatistics(COIN, n=50, scale=9).release([20], SeededSource(1)), noisy=(noisy,))
    read = min(max(noisy, 0), 50)
    naive = release.read(reading="naive").law
    assert (naive.alpha, naive.beta) == (2 + read, 3 + 50 - read)
    if read == noisy:
        assert release.read(reading="naive", project=False).law == naive
    else:
        with pytest.raises(ValueError, match="beyond"):
            release.read(reading="naive", project=False)


def test_one_release_serves_other_priors():
    release = NoisyStatistics(COIN, n=50, scale=2).release([20], SeededSource(1))
    other = release.read(model=BetaBernoulli(Fraction(1, 2), 7), reading="naive").law
    assert other.alpha - Fraction(1, 2) == release.read(reading="naive").law.alpha - 2
    for stranger in (DIE, BetaBernoulli(1, 1, grid=Fraction(1, 8))):
        with pytest.raises(ValueError, match="same bounds"):
            release.read(model=stranger)


def test_both_counts_are_clipped_one_by_one():
    mechanism = NoisyStatistics(COIN, n=10, scale=20, noise_both_counts=True)
    release = replace(mechanism.release([3], SeededSource(1)), noisy=(7, -4))
    naive = release.read(reading="naive").law
    assert (naive.alpha, naive.beta) == (9, 3)


def test_private_n_is_read_from_the_release():
    mechanism = NoisyStatistics(DIE, scale=2, relation=ADD_REMOVE)
    release = replace(mechanism.release([3, 4, 5], SeededSource(1), count=12), noisy=(5, -2, 4))
    assert release.n is None
    assert release.read(reading="naive").law.alpha.tolist() == [6, 1, 5]


def test_readings_are_open(monkeypatch):
    """The seam: a later reading of the same release is one line in a registry."""
    release = NoisyStatistics(COIN, n=10, scale=2).release([3], SeededSource(1))
    monkeypatch.setitem(READINGS, "counted", lambda r, prior, project=True: (r.scale, prior.alpha, project))
    assert release.read(reading="counted") == (2, 2, True)
    assert release.read(reading="counted", project=False) == (2, 2, False)
    with pytest.raises(ValueError, match="naive"):
        release.read(reading="wishful")


def test_noise_has_the_claimed_law():
    """χ² on 20000 counts of one release, tails pooled: p < 1e-6 with probability 1e-6 if the law is right."""
    wide = DirichletCategorical(np.ones(20_000))
    truth = np.zeros(20_000, dtype=np.int64)
    truth[0] = 100
    release = NoisyStatistics(wide, n=100, scale=3).release(truth, SeededSource(11))
    noise = (np.array(release.noisy) - truth).clip(-9, 9)

    def expected(scale):
        q = math.exp(-1 / scale)
        inside = (1 - q) / (1 + q) * q ** np.abs(np.arange(-8, 9))
        tail = (1 - inside.sum()) / 2
        return 20_000 * np.array([tail, *inside, tail])

    seen = np.bincount(noise + 9, minlength=19)
    assert chisquare(seen, expected(3)).pvalue > 1e-6
    assert chisquare(seen, expected(2.7)).pvalue < 1e-6  # negative control: 10 % off


# --- refusals ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"noise": "uniform"}, "discrete_laplace"),
        ({"scale": 0}, "greater than 0"),
        ({"scale": -1}, "greater than 0"),
        ({"scale": float("nan")}, "scale"),
        ({"scale": math.inf}, "scale"),
        ({"n": None}, "n is public"),
        ({"n": 0}, "positive integer"),
        ({"relation": ADD_REMOVE}, "private"),
    ],
)
def test_bad_settings_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        NoisyStatistics(COIN, **({"n": 10, "scale": 2} | setting))


@pytest.mark.parametrize("statistic", [[987654], [-987654], [98765.4], [float("nan")], [3, 987654], []])
def test_bad_statistics_are_refused_and_never_shown(statistic):
    with pytest.raises(ValueError) as refusal:
        NoisyStatistics(COIN, n=10, scale=2).release(statistic, SeededSource(1))
    assert "9876" not in str(refusal.value)


def test_an_empty_table_is_a_neighbour_and_not_an_error():
    release = NoisyStatistics(COIN, scale=2, relation=ADD_REMOVE).release([0], SeededSource(1), count=0)
    assert len(release.noisy) == 2


def test_integer_noise_too_wide_for_64_bits_is_refused_before_a_charge():
    model = NormalInverseGamma(0, 1, 5, 4, 0, 1)
    with pytest.raises(Unreachable, match="coarser grid"):
        NoisyStatistics.calibrate(model, n=3, target=PureDP(1e-5))


@pytest.mark.parametrize("count", [-987654, 98765.4, None])
def test_bad_private_counts_are_refused_and_never_shown(count):
    mechanism = NoisyStatistics(COIN, scale=2, relation=ADD_REMOVE)
    with pytest.raises(ValueError, match="number of records") as refusal:
        mechanism.release([3], SeededSource(1), count=count)
    assert "9876" not in str(refusal.value)
