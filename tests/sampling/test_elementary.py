"""The proved bounds of log and exp, and the enclosures built on them, against 256-bit ball arithmetic."""

import numpy as np
import pytest
from flint import arb
from scipy import stats

from discreet.privacy.arithmetic.ball import precision
from discreet.sampling.in_bulk import batches
from discreet.sampling.in_bulk.elementary import EXP_ERROR, EXP_RANGE, LOG_ERROR, ROUNDOFF, exp, log
from discreet.sampling.in_bulk.strips import HEIGHT, LOG_LEVEL_ERROR, LOG_LEVELS, QUICK, TABLE, TAIL, WEIGHTS
from discreet.sampling.source import SeededSource


def points():
    rng = np.random.default_rng(0)
    near_one = np.concatenate([1 - 2.0 ** -np.arange(1, 54), 1 + 2.0 ** -np.arange(1, 53)])
    wide = np.exp(rng.uniform(-700, 700, 2000))
    root = np.sqrt(2.0) * (1 + rng.integers(-9, 9, 200) * 2.0**-52)
    return np.concatenate([rng.random(3000), near_one, wide, root, root / 2, 2.0 ** np.arange(-64, 64)])


def test_log_within_its_bound():
    worst = 0.0
    with precision(256):
        for x in points():
            truth = arb(float(x)).log()
            if x == 1:
                assert log(1.0) == 0
            else:
                worst = max(worst, float(abs((arb(log(float(x))) - truth) / truth)) / ROUNDOFF)
    assert 0.5 < worst <= LOG_ERROR  # not vacuous: a correctly rounded logarithm would reach 1


def test_exp_within_its_bound():
    rng = np.random.default_rng(1)
    spread = [rng.normal(size=2000), rng.normal(size=1000) * 500, rng.uniform(-EXP_RANGE, EXP_RANGE, 2000)]
    worst = 0.0
    with precision(256):
        for y in np.concatenate([*spread, [0.0, EXP_RANGE, -EXP_RANGE, 0.5 * np.log(2)]]):
            m, n = exp(float(y))
            truth = arb(float(y)).exp()
            worst = max(worst, float(abs((arb(m) * arb((1, int(n))) - truth) / truth)) / ROUNDOFF)
    assert 0.5 < worst <= EXP_ERROR


def test_strips_hold_the_curve():
    """Weights above the curve, quick acceptance below it, logarithms within their error, for every strip"""
    assert WEIGHTS.sum() == TABLE.size == 4096
    assert np.array_equal(np.bincount(TABLE, minlength=TAIL + 1), WEIGHTS)
    with precision(256):
        curve = [HEIGHT * (-((arb(i) / 32) ** 2) / 2).exp() for i in range(TAIL + 1)]
        for i in range(TAIL):
            weight = int(WEIGHTS[i])
            assert curve[i] <= weight < curve[i] + 2
            assert arb(float(QUICK[i])) * weight < curve[i + 1]
            assert abs((HEIGHT / arb(weight)).log() - arb(float(LOG_LEVELS[i]))) < LOG_LEVEL_ERROR / 4
        tail = (8 * HEIGHT / arb(int(WEIGHTS[TAIL]))).log() - 8
        assert tail < 0
        assert abs(tail - arb(float(LOG_LEVELS[TAIL]))) < LOG_LEVEL_ERROR / 4


def test_tail_of_the_normal():
    """|z| > 4 in 6.3e-5 of all draws, and there z² is right too (Poisson and KS at 1e-6, 4 million draws)"""
    z = np.abs(np.concatenate([batches.Normals(SeededSource(k), 10**6).z for k in range(4)]))
    beyond = z[z > 4]
    share = 2 * stats.norm.sf(4)
    assert stats.poisson.interval(1 - 1e-6, share * z.size)[0] <= beyond.size
    assert beyond.size <= stats.poisson.interval(1 - 1e-6, share * z.size)[1]
    law = stats.truncnorm(4, np.inf)
    assert stats.kstest(beyond, law.cdf).pvalue > 1e-6
    assert stats.kstest(4 + 1.8 * (beyond - 4), law.cdf).pvalue < 1e-6


@pytest.mark.parametrize("shape", [1e-3, 0.5, 1.0, 2.5, 1e3, 1e9])
def test_gamma_enclosures_hold_the_ideal_draw(shape):
    gammas = batches.Gammas(SeededSource(2), batches.Shapes.of(np.array([shape]), "shape"), 1000)
    with precision(256):
        used = [
            float(abs(gammas.real(i)() / (arb(float(gammas.g[i])) * arb((1, int(gammas.n[i])))) - 1))
            / gammas.e[i]
            for i in range(1000)
        ]
    assert 2.0**-10 < max(used) <= 1  # a bound a thousand times smaller would be caught


def test_normal_enclosures_hold_the_ideal_draw():
    normals = batches.Normals(SeededSource(3), 2000)
    with precision(256):
        used = [
            float(abs(normals.real(i)() / arb(float(normals.z[i])) - 1)) / normals.e[i] for i in range(2000)
        ]
    assert 2.0**-10 < max(used) <= 1
