"""Counts that are far from what a model expects pull as far as their law says, and the reading says so.

Cells that share a hidden state though they differ by many deviations; tables that disagree by more than their
noise while n is private; prior weights so small that ln θ is free over hundreds.
"""

import itertools

import numpy as np
import pytest
from scipy.special import betainc, gammaln

from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.hidden_markov import HiddenMarkov
from discreet.models.mixture import Mixture
from discreet.posteriors.hidden_markov.fit import fit as fit_states
from discreet.posteriors.hidden_markov.noisy_count_law import log_f, noise_table
from discreet.posteriors.mixture import read as mixture
from discreet.posteriors.network import read as network
from discreet.posteriors.noise_law import KINDS, NoiseLaw
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource


def released(model, noisy, n, noise, scale):
    promise = PureDP(1, relation=ADD_REMOVE if n is None else SUBSTITUTE)
    scales = (scale,) * len(model.cells)
    return NoisyCells(model, np.asarray(noisy), n, noise, scales, promise, seeded=False)


@pytest.mark.parametrize("kind", KINDS)
def test_the_law_of_a_noisy_count_is_right_at_every_mean(kind):
    """ln f against direct sums, to 7 % of the nats that it is below its largest (and .07 where that is less).

    Means from 3e-4 to 5000 for counts from −3000 to 3000: thousands of nats from the largest.
    """
    means, x = np.exp(np.linspace(-8, np.log(5000), 40)), np.arange(7000.0)
    poisson = x * np.log(means)[:, None] - means[:, None] - gammaln(x + 1)
    for scale, y in itertools.product((0.02, 0.2, 1, 8), (-3000, -30, 0, 2, 7, 75, 100, 1000, 3000)):
        law = NoiseLaw(kind, scale)
        table, ours = noise_table(law, np.array([y])), np.empty(means.size)
        parts = (table.pieces, table.base, table.first, table.length, table.ends)
        log_f(np.zeros(means.size, np.int32), np.sqrt(means), *parts, ours)
        noise = law.log_density(y - x) if law.discrete else law.log_between(y - x - 0.5, y - x + 0.5)
        terms = poisson + noise
        top = terms.max(axis=1)
        wanted = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
        best = wanted.argmax()
        gap = np.abs((ours - ours[best]) - (wanted - wanted[best]))
        assert (gap <= 0.07 * np.maximum(1, wanted[best] - wanted)).all(), (scale, y)


@pytest.mark.parametrize("size", [3000, 30_000])
def test_cells_of_one_state_are_weighed_by_their_records(size):
    """One state, no noise to speak of: θ ~ Beta(1 + counts) though cells are 60 deviations apart and more.

    2000 draws worth 100 at least: half a deviation is five errors.
    """
    model = HiddenMarkov(1, "r", "t", ("a",)).bind({"r": 1, "t": 4, "a": 2})
    first = np.array([0.9, 0.6, 0.2, 0.05]) * [1, 2, 3, 4] * size // 4
    counts = np.stack([first, np.array([1, 2, 3, 4]) * size // 4 - first], axis=1).astype(np.int64)
    cells = released(model, model.flat(counts), int(counts.sum()), "discrete_laplace", 0.01)
    found = fit_states(cells, model, chains=2, sweeps=600, burn=600, source=SeededSource(1)).theta[..., 0, 0]
    a, b = 1 + counts.sum(axis=0)
    mean, deviation = a / (a + b), np.sqrt(a * b / (a + b + 1)) / (a + b)
    assert abs(found.mean() - mean) < 0.5 * deviation
    assert found.std() == pytest.approx(deviation, rel=0.3)


def test_small_weights_leave_logarithms_as_free_as_they_are():
    """Weights of .0115 and no record of a value: its θ ~ Beta(.0115, .0115 + n), whose ln goes to −400.

    Kolmogorov's distance; 1000 draws worth 100 at least pass .2 with probability 7e-4.
    """
    model = HiddenMarkov(1, "r", "t", ("a",), emission=0.0115).bind({"r": 2, "t": 2, "a": 2})
    counts = np.stack([np.array([40, 200, 11, 90]), np.zeros(4, np.int64)], axis=1)
    cells = released(model, model.flat(counts), 341, "discrete_laplace", 0.001)
    found = fit_states(cells, model, chains=2, sweeps=1000, burn=500, source=SeededSource(1)).theta[..., 0, 1]
    drawn = np.sort(np.maximum(found.ravel(), 1e-300))
    law = betainc(0.0115, 341.0115, drawn)
    seen = drawn > 1e-300
    below = np.arange(1, drawn.size + 1) / drawn.size
    assert np.abs(below - law)[seen].max() < 0.2


TABLES = np.array([700, 60, 370, 950, 180, 110])  # of a, and of (a, b): they disagree by 850 records


def test_a_private_n_goes_where_tables_that_disagree_lead_it():
    """σ = .5: counts are where least squares puts them, and n with a deviation of .7: nine of it here."""
    net = BayesianNetwork([("a", "b")]).bind({"a": 2, "b": 2})
    found = network.fit(released(net, TABLES, None, "discrete_gaussian", 0.5), net, chains=2, sweeps=400)
    design = np.vstack([[1, 1, 0, 0], [0, 0, 1, 1], np.eye(4)])
    wanted = np.linalg.lstsq(design, TABLES, rcond=None)[0].sum()
    assert abs(found.records.mean() - wanted) < 6
    model = Mixture(1, ("a",)).bind({"a": 4})
    negative = released(model, np.array([500, -400, 300, 200]), None, "discrete_gaussian", 0.5)
    assert abs(mixture.fit(negative, model, chains=2, sweeps=400).records.mean() - 1000) < 6


@pytest.mark.parametrize("n", [None, 1200])
def test_releases_that_nothing_explains_are_said_to_be_such(n):
    net = BayesianNetwork([("a", "b")]).bind({"a": 2, "b": 2})
    model = Mixture(1, ("a",)).bind({"a": 4})

    def said(tables, counts):
        both = (
            network.fit(released(net, tables, n, "discrete_gaussian", 0.5), net, chains=2, sweeps=400),
            mixture.fit(released(model, counts, n, "discrete_gaussian", 0.5), model, chains=2, sweeps=400),
        )
        return ["deviations from what" in " ".join(found.cautions) for found in both]

    assert said(TABLES, np.array([900, -400, 500, 200])) == [True, True]
    assert said(np.array([900, 301, 500, 400, 199, 101]), np.array([699, 100, 300, 101])) == [False, False]
