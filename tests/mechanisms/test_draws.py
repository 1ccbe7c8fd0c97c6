"""What release draws is what the closed-form law says: Pearson's χ² at level 1e-6 a test, fixed seeds, and
for every mechanism a wrong law that the same draws refute."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2, kstest, laplace, norm

from discreet.mechanisms.choice.continuous_exponential import ContinuousExponential
from discreet.mechanisms.choice.exponential import Exponential
from discreet.mechanisms.choice.noisy_max import ReportNoisyMax
from discreet.mechanisms.choice.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.local.kary_randomised_response import KaryRandomizedResponse
from discreet.mechanisms.local.randomised_response import RandomizedResponse
from discreet.mechanisms.noise.clipped_mean import ClippedMean
from discreet.mechanisms.noise.gaussian import DiscreteGaussian, Gaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace, Laplace, laplace_cells
from discreet.mechanisms.sensitivity.propose_test_release import ProposeTestRelease
from discreet.mechanisms.sensitivity.sample_and_aggregate import SampleAndAggregate, partition
from discreet.mechanisms.sensitivity.smooth_sensitivity import SmoothSensitivityMedian
from discreet.privacy.kinds import ApproxDP, PureDP
from discreet.sampling.source import SeededSource

LEVEL = 1e-6  # chance that a true law fails one of these tests, had the seed been drawn


def p_value(draws, law):
    """Pearson's χ² of integer draws against cell probabilities (the last cell takes the rest)."""
    counts = np.bincount(draws, minlength=len(law)).astype(float)
    expected = np.asarray(law) * len(draws)
    keep = expected > 5
    statistic = ((counts - expected)[keep] ** 2 / expected[keep]).sum()
    return chi2.sf(statistic, keep.sum() - 1)


FINITE = [
    (
        KaryRandomizedResponse(4, 1),
        2,
        [float(x) for x in KaryRandomizedResponse(4, 1).law(2)],
        KaryRandomizedResponse(4, 1.1),
    ),
    (Exponential(1, 1), [0, 1, 3], None, Exponential(1, 1.1)),
    (Exponential(1, 1, log_base=(0, 1, -1)), [0, 1, 3], None, Exponential(1, 1)),
    (PermuteAndFlip(1, 2), [0, 1, 3, 3], None, PermuteAndFlip(1, 1.9)),
    (ReportNoisyMax(1, 2), [0, 1, 1], None, ReportNoisyMax(1, 3)),
]


@pytest.mark.parametrize(("mechanism", "value", "law", "wrong"), FINITE, ids=lambda x: type(x).__name__)
def test_finite_releases_follow_their_law(mechanism, value, law, wrong):
    draws = mechanism.releases(value, 50_000, SeededSource(7))
    law = mechanism.law(value) if law is None else law
    assert math.fsum(law) == pytest.approx(1, rel=1e-12)
    assert p_value(draws, law) > LEVEL
    assert p_value(draws, [float(x) for x in wrong.law(value)]) < LEVEL


def test_randomized_response_flips_as_often_as_it_says():
    mechanism = RandomizedResponse(0.1, 0.4)
    for value, share in ((0, 0.1), (1, 0.6)):
        draws = mechanism.releases(value, 50_000, SeededSource(8))
        assert p_value(draws, [1 - share, share]) > LEVEL
        assert p_value(draws, [0.97 - share, share + 0.03]) < LEVEL
    answers = mechanism.release(np.arange(20_000) % 2, SeededSource(9))
    # sd of the estimate is below √(¼/20000)/0.5 = 0.0071: 6 sd
    assert abs(mechanism.estimate(answers) - 0.5) < 0.043


@pytest.mark.parametrize("mechanism", [DiscreteLaplace(1, 2.5), DiscreteGaussian(1, 6.25)])
def test_discrete_noise_follows_its_mass(mechanism):
    draws = mechanism.releases(-3, 10_000, SeededSource(10))
    support = np.arange(-40, 35)
    law = np.exp(mechanism.log_pmf(-3, support))
    assert p_value(draws + 40, law) > LEVEL
    assert p_value(draws + 41, law) < LEVEL  # off by one


@pytest.mark.parametrize(
    ("mechanism", "law", "wrong"),
    [(Laplace(1, 2), laplace(0.3, 2), laplace(0.3, 2.6)), (Gaussian(1, 2), norm(0.3, 2), norm(0.3, 2.3))],
)
def test_real_noise_follows_its_law(mechanism, law, wrong):
    draws = mechanism.releases(0.3, 10_000, SeededSource(11))
    assert (
        draws / float(mechanism.step) == np.rint(draws / float(mechanism.step))
    ).all()  # on the public grid
    assert kstest(draws, law.cdf).pvalue > LEVEL  # the grid of 2^-20·2 is far below what 10 000 draws can see
    assert kstest(draws, wrong.cdf).pvalue < LEVEL


def test_gaussian_vectors_round_the_sum_on_and_off_the_grid():
    """Centers beside the grid (⅓, −⅔) and on it, in one release on a coarse grid: P(cell) of each, by Φ."""
    mechanism = Gaussian(1, 1, grid=1)
    centers = [Fraction(1, 3), Fraction(-2, 3), Fraction(5)]
    draws = mechanism.release(np.array(centers * 8000, dtype=object), SeededSource(27)).reshape(8000, 3)
    for column, center in zip(draws.T, centers, strict=True):
        cells = np.arange(-12, 13)
        law = np.diff(norm(float(center), 1).cdf(np.append(cells, 13) - 0.5))
        assert p_value((column + 12).astype(int), law) > LEVEL
        wrong = np.diff(norm(float(round(center)) + 0.1, 1).cdf(np.append(cells, 13) - 0.5))
        assert p_value((column + 12).astype(int), wrong) < LEVEL


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(3), Fraction(2) ** 45])
def test_laplace_cells_round_the_ideal_draw(scale):
    """Also where every draw must be refined (scales beyond 2^39 cells), and off-grid centers."""
    center = Fraction(1, 3)
    draws = np.array(laplace_cells(SeededSource(12), [center] * 4000, scale), dtype=np.float64)
    if scale > 1000:
        assert kstest(draws / float(scale), laplace.cdf).pvalue > LEVEL
        assert kstest(draws / float(scale), laplace(0, 1.35).cdf).pvalue < LEVEL
        return
    edges = np.arange(-31, 31) - 0.5 - float(center)
    law = np.diff(laplace(0, float(scale)).cdf(edges))
    assert p_value((draws + 31).astype(int), law) > LEVEL
    assert p_value((draws + 32).astype(int), law) < LEVEL


def test_refinement_has_the_same_law(monkeypatch):
    """With a first look as coarse as the noise itself, nearly every draw goes through the digits."""
    monkeypatch.setattr("discreet.mechanisms.noise.laplace.FIRST_DIGITS", -60)
    draws = np.array(laplace_cells(SeededSource(13), [Fraction(0)] * 3000, Fraction(8)), dtype=np.float64)
    law = np.diff(laplace(0, 8).cdf(np.arange(-100, 101) - 0.5))
    assert p_value((draws + 100).astype(int), law) > LEVEL
    assert p_value((draws + 102).astype(int), law) < LEVEL


def test_private_quantile_follows_its_law():
    mechanism = ContinuousExponential(0, 8, 1, grid=1)
    data = [1, 2, 2, 5, 7]
    score = [-abs(sum(x <= y for x in data) - Fraction(5, 2)) for y in range(9)]
    law = Exponential(1, 1).law(score)
    draws = mechanism.releases(mechanism.quantile(data), 50_000, SeededSource(14)).astype(int)
    assert p_value(draws, law) > LEVEL
    assert p_value(draws, law[::-1]) < LEVEL


def test_private_quantile_finds_quantiles_on_a_fine_grid():
    data = np.random.default_rng(0).normal(50, 10, 5001)
    mechanism = ContinuousExponential(0, 100, 1, grid=2.0**-30)
    # error in rank is at most (2/ε)(ln(2^37·t)), t = 1e6: 80 of 5001 ranks, 0.4 units at the median
    assert abs(mechanism.release(mechanism.quantile(data), SeededSource(15)) - np.median(data)) < 0.5
    low = mechanism.release(mechanism.quantile(data, 0.25), SeededSource(15))
    assert abs(low - np.quantile(data, 0.25)) < 0.6


def test_smooth_sensitivity_release_is_laplace_around_the_median():
    mechanism = SmoothSensitivityMedian.calibrate(target=ApproxDP(1, 1e-5), lower=0, upper=1)
    data = np.random.default_rng(1).beta(2, 5, 501)
    scale = mechanism.sensitivity(data) / float(mechanism.alpha)
    draws = mechanism.releases(data, 4000, SeededSource(16))
    median = float(np.sort(data)[250])
    assert kstest(draws, laplace(median, scale).cdf).pvalue > LEVEL
    assert kstest(draws, laplace(median, scale * 1.35).cdf).pvalue < LEVEL
    assert scale < 0.05  # twenty times better than the global sensitivity 1 would allow at ε = 1


def test_propose_test_release_passes_and_refuses():
    mechanism = ProposeTestRelease.calibrate(target=ApproxDP(1, 1e-3), lower=0, upper=1, proposal=0.05)
    still = np.full(201, 0.5)
    draws = mechanism.releases(still, 2000, SeededSource(17))
    assert mechanism.pass_probability(100) > 1 - 1e-15
    assert not np.isnan(draws).any()
    assert kstest(draws, laplace(0.5, 0.1).cdf).pvalue > LEVEL
    assert kstest(draws, laplace(0.5, 0.15).cdf).pvalue < LEVEL
    torn = np.repeat([0.0, 1.0], 100)  # local sensitivity 1 > 0.05
    # each of 2000 runs passes with probability ≤ 1e-3: more than 20 has probability below 1e-12
    assert (~np.isnan(mechanism.releases(torn, 2000, SeededSource(18)))).sum() <= 20
    assert mechanism.release(torn, SeededSource(19)) is None


def test_clipped_mean_is_centred():
    mechanism = ClippedMean.calibrate(target=PureDP(1), lower=0, upper=10, records=100, grid=Fraction(1, 8))
    data = np.linspace(-5, 15, 100)
    draws = mechanism.releases(data, 4000, SeededSource(20))
    truth = (np.rint(np.clip(data, 0, 10) * 8) / 8).mean()
    assert kstest(draws, laplace(truth, 10 / 100).cdf).pvalue > LEVEL
    assert kstest(draws, laplace(truth, 13.5 / 100).cdf).pvalue < LEVEL
    # P(|release − mean| ≥ bound) ≤ 0.05: more than 300 of 4000 has probability below 1e-10
    assert (np.abs(draws - truth) >= mechanism.tail_bound(0.05)).sum() <= 300


def test_sample_and_aggregate_takes_any_function():
    data = np.random.default_rng(2).normal(3, 1, (2000, 2))
    median = SmoothSensitivityMedian.calibrate(target=ApproxDP(1, 1e-6), lower=0, upper=6)
    mechanism = SampleAndAggregate(lambda block: np.std(block[:, 0]) * 3, 200, median)
    assert mechanism.guarantee == median.guarantee
    # the noise has scale S/α of about 0.3 here: |error| < 6 but for e^-20
    assert abs(mechanism.release(data, SeededSource(21)) - 3) < 6


def test_sample_and_aggregate_hides_failures():
    def brittle(block):  # works on made-up rows, which lie within [0, 1)
        if block.max() >= 1:
            raise RuntimeError(f"saw {block}")
        return 3.0

    mean = ClippedMean.calibrate(target=PureDP(5), lower=2, upper=3, records=10)
    answer = SampleAndAggregate(brittle, 10, mean).release(np.arange(50.0), SeededSource(22))
    assert abs(answer - 2) < 1  # every block counts as the public lower bound; noise of scale 0.02
    nan = SampleAndAggregate(lambda b: 3.0 if b.max() < 1 else math.nan, 10, mean)
    nan = nan.release(np.arange(50.0), SeededSource(22))
    assert nan == answer


def test_partition_is_a_uniform_split():
    blocks = partition(SeededSource(23), 10, 3)
    assert sorted(np.concatenate(blocks)) == list(range(10))
    assert [len(b) for b in blocks] == [4, 3, 3]
    source = SeededSource(24)
    first = np.array([int(partition(source, 4, 4)[0][0]) for _ in range(4000)])
    assert p_value(first, [0.25] * 4) > LEVEL
    assert p_value(first, [0.31, 0.23, 0.23, 0.23]) < LEVEL


def test_arrays_keep_their_shape_and_scalars_stay_scalars():
    source = SeededSource(25)
    for mechanism in (Laplace(1, 1), Gaussian(1, 1), DiscreteLaplace(1, 1), DiscreteGaussian(1, 1)):
        assert mechanism.release(np.zeros((2, 3), dtype=np.int64), source).shape == (2, 3)
        assert np.ndim(mechanism.release(5, source)) == 0
    assert Laplace(1, 1).release([0.5, Fraction(1, 3)], source).shape == (2,)


def test_tail_bounds_hold_in_simulation():
    # 2000 vectors of 5, claimed exceedance 0.1: more than 290 has probability below 1e-10
    for mechanism in (DiscreteLaplace(1, 3), Laplace(1, 3), DiscreteGaussian(1, 9)):
        noise = np.abs(mechanism.releases(0, 10_000, SeededSource(26)).reshape(2000, 5)).max(axis=1)
        assert (noise >= mechanism.tail_bound(0.1, 5)).sum() <= 290
        assert (noise >= mechanism.tail_bound(0.1, 5) / 2).sum() > 290  # the bound is not idle
