"""One k-means++ start now and then merges two states for good; the best of many does not."""

import numpy as np
import pytest

from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.chain import CountEmissions, StateChain
from discreet.posteriors.hidden_markov.noisy_counts import NoisyEmissions, noisy_data
from discreet.posteriors.hidden_markov.run import smoothed, start, tournament
from discreet.sampling.source import SeededSource

MODEL = HiddenMarkov(states=8, chain="r", step="t", features=("a", "b"), sizes=(8, 40, 12, 3))


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(2)
    z = np.repeat(rng.integers(0, 8, (8, 8)), 5, axis=1).ravel()
    size = rng.negative_binomial(0.7, 0.7 / 40, z.size)
    theta = [rng.dirichlet(np.full(k, 0.5), 8) for k in (12, 3)]
    return np.concatenate([rng.multinomial(size, t[z]) for t in theta], axis=1)


def levels(fresh, counts, *, many, seeds=10, sweeps=120):
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        chain = StateChain.start(fresh(), "ffbs", rng, start(rng, MODEL, counts))
        if many:
            tournament(chain, counts)
        joint = []
        for _ in range(sweeps):
            chain.sweep()
            joint.append(chain.log_joint())
        found.append(np.mean(joint[-sweeps // 3 :]))
    return np.array(found)


def test_the_best_of_many_starts_closes_the_gap_between_chains(counts):
    one, many = (levels(lambda: CountEmissions.of(MODEL, counts), counts, many=m) for m in (False, True))
    assert np.ptp(one) > 100  # otherwise this shows nothing
    assert np.ptp(many) < 30  # a draw's own spread is about 8
    assert many.min() > one.max() - 30  # and it is the best that any single start found


def test_it_does_so_from_a_noisy_release_as_well(counts):
    mechanism = NoisyCounts(MODEL, n=int(counts[:, :12].sum()), noise="discrete_laplace", scales=(2.0, 2.0))
    release = mechanism.release(MODEL.flat(counts), SeededSource(1))  # two tables at ε = 2
    data, seen = noisy_data(MODEL, release), MODEL.by_cell(release.noisy)
    one = levels(lambda: NoisyEmissions.of(MODEL, data), seen, many=False, seeds=6, sweeps=60)
    many = levels(lambda: NoisyEmissions.of(MODEL, data), seen, many=True, seeds=3, sweeps=45)
    assert np.ptp(one) > 100
    assert many.min() > one.max() - 60  # a draw's own spread is about 20


def test_smoothing_keeps_what_is_constant_and_averages_noise():
    rng = np.random.default_rng(0)
    flat = np.ones((320, 15))
    assert smoothed(MODEL, flat, 4) == pytest.approx(flat)
    noise = rng.normal(size=(320, 15))
    assert smoothed(MODEL, noise, 2).var() == pytest.approx(noise.var() * 19 / 81, rel=0.15)  # Σw²/(Σw)²
