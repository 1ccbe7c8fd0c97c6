"""A private chain read as a posterior: what is released, its labels resolved, scored on cells held out."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import discreet as dc
from discreet.line import chains
from discreet.mcmc.hidden_markov_gibbs import HiddenMarkovGibbs
from discreet.mcmc.mixture import Mixture
from discreet.mcmc.mixture_gibbs import MixtureGibbs
from discreet.mcmc.running.plan import ChainPlan, calibrate
from discreet.mcmc.running.run import run
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.private_chain import read, transition_means
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource
from discreet.tables.schema import Categories

SIZES = {"r": 2, "t": 3, "x": 2, "y": 3}
MODEL = HiddenMarkov(states=2, chain="r", step="t", features=("x", "y"), transition=2).bind(SIZES)
KERNEL = HiddenMarkovGibbs(MODEL)
THETA = np.array([[0.9, 0.1, 0.7, 0.2, 0.1], [0.2, 0.8, 0.1, 0.2, 0.7]])
PATH = np.array([0, 0, 1, 1, 1, 0])


def release(*states):
    """One chain for each list of (z, θ), after a start that must not be read"""
    start = np.concatenate([np.full(6, 1.0), np.full(10, 0.5)])
    made = [[start, *(np.concatenate([z, theta.reshape(-1)]) for z, theta in chain)] for chain in states]
    return SimpleNamespace(draws=np.array(made, dtype=float), kernel=KERNEL)


def test_what_is_read_is_what_was_released():
    found = read(release([(PATH, THETA)] * 2), burn=0)
    assert np.array_equal(found.paths()[0].reshape(-1), PATH)
    assert found.emissions()["x"][0] == pytest.approx(THETA[:, :2])
    assert found.emissions()["y"][0] == pytest.approx(THETA[:, 2:])
    assert found.predictive()["y"][0, 0, 2] == pytest.approx(THETA[1, 2:])
    assert "T = 1" in found.notes[0]


def test_switched_labels_are_resolved_within_and_between_chains():
    """The second chain exchanges the names, and within the first one draw does: one answer, unaveraged."""
    switched = (1 - PATH, THETA[::-1])
    found = read(release([(PATH, THETA), switched, (PATH, THETA)], [switched] * 3), burn=0)
    assert found.agreed
    assert np.array_equal(found.assignments().max(axis=-1), np.ones((2, 2, 3)))
    assert found.pooled().emissions()["x"][0, found.paths()[0, 0, 0]] == pytest.approx(THETA[0, :2])
    other = read(release([(PATH, THETA)] * 3, [(np.array([0, 1, 0, 0, 1, 0]), THETA)] * 3), burn=0)
    assert not other.agreed  # another path is another answer


def test_half_is_burnt_unless_said_and_the_final_sample_can_be_asked_for():
    states = [(PATH, THETA), (PATH, THETA), (PATH, THETA[::-1]), (1 - PATH, THETA)]
    assert read(release(states)).z.shape[1] == 2
    last = read(release(states), burn=3)
    assert last.z.shape[1] == 1
    assert np.array_equal(last.paths()[0].reshape(-1), 1 - PATH)


@pytest.mark.parametrize("burn", [-1, 2, 1.5, math.nan])
def test_a_burn_that_leaves_nothing_is_refused(burn):
    with pytest.raises(ValueError, match="at least one of the 2 sweeps"):
        read(release([(PATH, THETA)] * 2), burn=burn)


def test_transitions_are_their_means_given_the_states():
    """α = 2; moves 0→0, 0→1 and 1→1, 1→0; first states 0 and 1."""
    means = transition_means(PATH[None, None], MODEL)[0, 0]
    assert means == pytest.approx(np.array([[3, 3], [3, 3], [3, 3]]) / 6)
    means = transition_means(np.array([[[0, 0, 0, 0, 0, 1]]]), MODEL)[0, 0]
    assert means == pytest.approx(np.array([[5 / 8, 3 / 8], [0.5, 0.5], [4 / 6, 2 / 6]]))


def test_a_missing_cell_is_scored_by_its_neighbours():
    """Σ_k P(k | before, after) Π θ_k^n by hand; a cell that was read by the state it was drawn in."""
    mask = np.zeros((2, 3), dtype=bool)
    mask[0, 1] = True
    counts = np.zeros((6, 5), dtype=np.int64)
    counts[1] = (2, 1, 0, 1, 2)
    z = np.array([0, 0, 0, 0, 0, 1])
    scored = [
        read(release([(z, THETA)]), burn=0, missing=missing).log_predictive(MODEL.flat(counts))[0]
        for missing in (mask, None)
    ]
    by_state = np.log(THETA) @ counts[1]
    A = np.array([[5 / 8, 3 / 8], [0.5, 0.5]])
    chance = A[0] * A[:, 0]
    assert scored[0] == pytest.approx(logsumexp(by_state, b=chance / chance.sum()))
    assert scored[1] == pytest.approx(by_state[0])
    assert abs(scored[0] - scored[1]) > 0.1


def test_another_kernels_run_is_refused():
    kernel = MixtureGibbs(model=Mixture(classes=2, columns=("x",), shape=(2,), truncation=0.25))
    made = run(ChainPlan(kernel, 2, 1), np.array([3, 2]), source=SeededSource(1))
    with pytest.raises(TypeError, match=r"run is of mixture_gibbs.*\.summary"):
        read(made)


def test_the_straight_line_ends_in_a_posterior_that_finds_the_states(tmp_path):
    """300 records a cell, values that tell the state, ε = 200: 9 cells of 10; at ε = 0.01 none are told."""
    rng = np.random.default_rng(2)
    truth = np.repeat([0, 1, 0, 1], 5).reshape(2, 10)
    where = rng.integers(20, size=6000)
    p = np.where(truth.reshape(-1)[where] == 0, 0.9, 0.1)
    rows = {"r": where // 10, "t": where % 10, "x": rng.random(6000) < p, "y": rng.random(6000) < p}
    levels = {"r": range(2), "t": range(10), "x": (False, True), "y": (False, True)}
    words = {k: [str(x) for x in v] for k, v in levels.items()}
    schema = {k: Categories(v, unknown=v[0]) for k, v in words.items()}
    frame = pd.DataFrame({k: [str(x) for x in v.tolist()] for k, v in rows.items()})
    table = dc.Table.open(frame, schema=schema, n=6000)
    model = HiddenMarkov(states=2, chain="r", step="t", features=("x", "y"))
    model = model.bind({"r": 2, "t": 10, "x": 2, "y": 2})

    def right(epsilon):
        kernel = calibrate(HiddenMarkovGibbs(model), steps=12, chains=2, target=PureDP(epsilon))
        ledger = dc.Ledger.open(tmp_path / f"{epsilon}.db", budget=PureDP(epsilon))
        made = chains.run(table, kernel, steps=12, chains=2, ledger=ledger, source=SeededSource(6))
        found = read(made)
        same = (found.paths()[0] == truth).mean()
        return max(same, 1 - same)

    assert right(200.0) > 0.9
    assert right(0.01) < 0.9
