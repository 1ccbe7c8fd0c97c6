"""As noise vanishes every reading of counts is the posterior of the counts; and none divides by zero.

At scale 1/400 and below the variance of discrete noise underflows or nearly so: ε from 800 to 2e6 here.
"""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln

from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.hidden_markov import HiddenMarkov
from discreet.models.mixture import Mixture
from discreet.models.naive_bayes import NaiveBayes
from discreet.posteriors.counts import naive_bayes
from discreet.posteriors.hidden_markov.fit import fit as fit_states
from discreet.posteriors.hidden_markov.noisy_count_law import log_f, noise_table
from discreet.posteriors.mixture import read as mixture
from discreet.posteriors.network import read as bayes_net
from discreet.posteriors.noise_law import KINDS, NoiseLaw
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource

SCALES = [1 / 400, 1e-4, 1e-6]
RNG = np.random.default_rng(3)
RECORDS = np.column_stack([RNG.integers(0, 2, 150), RNG.integers(0, 3, 150), RNG.random(150) < 0.1]).astype(
    int
)


def released(model, counts, scale, *, private, noise="discrete_laplace"):
    relation = ADD_REMOVE if private else SUBSTITUTE
    tables, n = len(model.cells), None if private else len(RECORDS)
    promise = PureDP(2 / scale, relation=relation)
    return NoisyCells(model, np.asarray(counts), n, noise, (scale,) * tables, promise, seeded=False)


def crossed(*columns):
    """Counts of the records in these columns, flat."""
    shape = [(2, 3, 2)[c] for c in columns]
    return np.bincount(np.ravel_multi_index(RECORDS[:, columns].T, shape), minlength=np.prod(shape))


@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
@pytest.mark.parametrize("scale", SCALES)
def test_naive_bayes_and_tables_by_themselves(scale, private):
    model = NaiveBayes("y", ("a", "b")).bind({"y": 2, "a": 3, "b": 2})
    counts = np.concatenate([crossed(0, 1), crossed(0, 2)])
    cells = released(model, counts, scale, private=private)
    ours, exact = naive_bayes.read(cells, model, "noise_aware", draws=20), naive_bayes.exact(model, counts)
    assert ours.mean().values == pytest.approx(exact.mean().values, abs=1e-12)
    assert ours.variance().values == pytest.approx(exact.variance().values, rel=1e-9)
    net = BayesianNetwork([("y", "a"), ("y", "b")]).bind({"y": 2, "a": 3, "b": 2})
    tables = {"y": crossed(0), "a": crossed(0, 1), "b": crossed(0, 2)}
    flat = np.concatenate([tables[node] for node in net.nodes])
    apart = bayes_net.noise_aware(released(net, flat, scale, private=private), net, draws=20)
    assert apart.mean().values == pytest.approx(bayes_net.exact(flat, net).mean().values, abs=1e-6)


@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
@pytest.mark.parametrize("scale", SCALES)
def test_tables_of_a_network_together(scale, private):
    """Rows of 7 numbers at five standard errors of half as many independent draws: chance below 1e-5."""
    net = BayesianNetwork([("y", "a"), ("y", "b")]).bind({"y": 2, "a": 3, "b": 2})
    tables = {"y": crossed(0), "a": crossed(0, 1), "b": crossed(0, 2)}
    flat = np.concatenate([tables[node] for node in net.nodes])
    found = bayes_net.fit(released(net, flat, scale, private=private), net, chains=2, sweeps=400)
    exact = bayes_net.exact(flat, net)
    assert (np.abs(found.mean() - exact.mean()) <= 5 * exact.sd() / 20).all()


@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
@pytest.mark.parametrize("scale", SCALES)
def test_mixtures_and_hidden_states(scale, private):
    """One class or state leaves Dirichlet(1 + counts): 5 numbers at five standard errors, draws halved."""
    model = Mixture(1, ("a", "b")).bind({"a": 3, "b": 2})
    found = mixture.fit(released(model, crossed(1, 2), scale, private=private), model, chains=2, sweeps=400)
    drawn = found.theta.reshape(-1, 5)
    shapes = 1 + np.concatenate([crossed(1), crossed(2)])
    total = np.repeat([3 + 150, 2 + 150], [3, 2])
    mean = shapes / total
    deviation = np.sqrt(mean * (1 - mean) / (total + 1))
    assert (np.abs(drawn.mean(axis=0) - mean) <= 5 * deviation / np.sqrt(len(drawn) / 2)).all()
    states = HiddenMarkov(1, "r", "t", ("a", "b")).bind({"r": 2, "t": 3, "a": 3, "b": 2})
    place = np.arange(150) % 6
    counts = [np.bincount(place * k + RECORDS[:, c], minlength=6 * k) for c, k in ((1, 3), (2, 2))]
    cells = released(states, np.concatenate(counts), scale, private=private)
    posterior = fit_states(cells, states, chains=2, sweeps=600, burn=300, source=SeededSource(1))
    theta = posterior.theta.reshape(-1, 5)
    assert (np.abs(theta.mean(axis=0) - mean) <= 5 * deviation / np.sqrt(40)).all()  # as 40 at least
    assert theta.std(axis=0) == pytest.approx(deviation, rel=0.4)


def direct(law, y, mus):
    """Ln Σ_x Poisson(x; μ)·noise(y − x), by summation in logarithms"""
    x = np.arange(int(max(mus.max(), y) + 60 * np.sqrt(max(mus.max(), y) + 1) + 200))
    noise = law.log_density(y - x) if law.discrete else law.log_between(y - x - 0.5, y - x + 0.5)
    poisson = x * np.log(mus)[:, None] - mus[:, None] - gammaln(x + 1)
    return np.logaddexp.reduce(poisson + noise, axis=1)


@pytest.mark.parametrize("kind", KINDS)
def test_noisy_counts_of_hidden_states_keep_their_law_without_noise_and_far_below_zero(kind):
    """ln f up to a constant, wherever it is within 12 nats of its largest, to .02."""
    for scale, y in itertools.product((1e-6, 1e-3, 0.05, 0.3, 5), (-3000, -40, -1, 0, 1, 2, 40, 3000)):
        law = NoiseLaw(kind, max(scale, {"gaussian": 1e-3, "discrete_gaussian": 0.02}.get(kind, 0)))
        table, spread = noise_table(law, np.array([y])), np.sqrt(max(y, 0) + 1 + law.variance)
        mus = np.concatenate([[1e-4, 0.003, 0.02, 0.05, 0.1], max(y, 0) + spread * np.linspace(-4, 4, 17)])
        mus = np.unique(np.maximum(mus, 1e-4))
        ours, wanted = np.empty(mus.size), direct(law, y, mus)
        parts = (table.pieces, table.base, table.first, table.length, table.ends)
        log_f(np.zeros(mus.size, np.int32), np.sqrt(mus), *parts, ours)
        gap = (ours - wanted)[wanted > wanted.max() - 12]
        assert np.ptp(gap) < 0.02, (scale, y)
