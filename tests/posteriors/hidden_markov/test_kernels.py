"""Both kernels for the states against reference H (enumeration) and against brute force."""

import itertools

import numpy as np
import pytest

from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov import exact_counts as hmm_sweeps
from discreet.posteriors.hidden_markov.chain import CountEmissions, StateChain
from discreet.posteriors.hidden_markov.kernels.paths import (
    backward,
    blocked,
    collapsed,
    forward,
    in_log_space,
    side_by_side,
)
from discreet.posteriors.hidden_markov.kernels.scores import CUT, weights
from discreet.posteriors.hidden_markov.noisy_counts import NoisyData, NoisyEmissions
from discreet.posteriors.noise_law import NoiseLaw


def conditional(lik, z, cell, alpha):
    """What z[cell] is drawn from: the others are held where they are by likelihoods that allow no other."""
    chains, steps, states = lik.shape
    held = np.zeros((chains * steps, 4))
    held[np.arange(z.size), z] = 1.0
    held[cell, :states] = lik.reshape(-1, states)[cell]
    laws = np.zeros_like(held)
    at = z.astype(np.int64).copy()
    counts, transposed = np.zeros((states + 1, 4)), np.zeros((states, 4))
    collapsed(
        np.random.default_rng(0), np.zeros_like(held), held, alpha, chains, at, counts, transposed, laws
    )
    return laws[cell, :states]


def printed(lik, z, cell, alpha):
    """F16 eq. (48) as printed: the second factor is divided by what does not depend on k"""
    steps, states = lik.shape[1:]
    t = cell % steps
    counts = np.full((states + 1, states), alpha)
    for c in range(z.size):
        before = states if c % steps == 0 else z[c - 1]
        if c != cell and not (c == cell + 1 and c % steps):
            counts[before, z[c]] += 1
    before = states if t == 0 else z[cell - 1]
    weight = lik.reshape(-1, states)[cell] * counts[before]
    if t + 1 < steps:
        after = z[cell + 1]
        again = np.array([before == k == after for k in range(states)])
        weight = weight * (counts[:states, after] + again)
    return weight / weight.sum()


def test_conditionals_are_those_of_reference_h(reference):
    lik, z = np.array(reference["model"]["lik"]), np.array(reference["z_example"]).ravel()
    for case in reference["conditionals"]:
        got = conditional(lik, z, case["r"] * 4 + case["t"], 0.7)
        assert got == pytest.approx(case["exact"], abs=1e-12)


def test_erratum_20_printed_equation_48_is_not_the_conditional(reference):
    lik, z = np.array(reference["model"]["lik"]), np.array(reference["z_example"]).ravel()
    worst = 0.0
    for case in reference["conditionals"]:
        as_printed = printed(lik, z, case["r"] * 4 + case["t"], 0.7)
        assert as_printed == pytest.approx(case["printed_eq48"], abs=1e-12)  # this is what is printed
        worst = max(worst, np.abs(as_printed - case["exact"]).max())
    assert worst > 0.2


def sweep_matrix(law_of, paths, states):
    """Transition matrix over all paths of one systematic sweep of single-cell updates"""
    index = {tuple(z): i for i, z in enumerate(paths)}
    total = np.eye(len(paths))
    for cell in range(paths.shape[1]):
        step = np.zeros((len(paths), len(paths)))
        for i, z in enumerate(paths):
            for k, p in enumerate(law_of(z, cell)):
                step[i, index[(*z[:cell], k, *z[cell + 1 :])]] += p
        total = total @ step
    return total


def stationary(matrix):
    values, vectors = np.linalg.eig(matrix.T)
    found = np.real(vectors[:, np.argmax(np.real(values))])
    return found / found.sum()


def test_stationary_law_is_the_enumerated_posterior_and_that_of_the_printed_update_is_not(reference):
    small = reference["small_model"]
    lik, wanted = np.array(small["lik"]), np.array(small["posterior_over_z_lexicographic"])
    paths = np.array(list(itertools.product(range(2), repeat=5)))
    right = sweep_matrix(lambda z, cell: conditional(lik, z, cell, 0.7), paths, 2)
    assert np.abs(wanted @ right - wanted).max() < 1e-12
    wrong = stationary(sweep_matrix(lambda z, cell: printed(lik, z, cell, 0.7), paths, 2))
    assert 0.5 * np.abs(wrong - wanted).sum() == pytest.approx(0.2817380785434396, abs=1e-9)  # reference H


def test_the_mixture_over_first_steps_matches_enumeration_of_the_model(reference, enumerated):
    small = reference["small_model"]
    _, law = enumerated(np.array(small["lik"])[0], 0.7)
    assert law == pytest.approx(small["posterior_over_z_lexicographic"], abs=1e-12)


# --- forward filtering, backward sampling ------------
def explicit(seed, steps=4, states=3):
    """A matrix, its transpose, and likelihoods of four chains (step, state, chain)"""
    rng = np.random.default_rng(seed)
    matrix = np.zeros((states + 1, 4))
    matrix[:, :states] = rng.dirichlet(np.ones(states), states + 1)
    lik = rng.uniform(0.05, 1, (steps, states, 4)).astype(np.float32)
    return rng, matrix, padded(matrix[:states, :states].T), lik


def path_law(matrix, lik, states=3):
    paths = np.array(list(itertools.product(range(states), repeat=len(lik))))
    p = np.array([matrix[states, z[0]] * float(lik[0, z[0]]) for z in paths])
    for t in range(1, len(lik)):
        p *= matrix[paths[:, t - 1], paths[:, t]] * lik[t, paths[:, t]]
    return paths, p / p.sum()


def padded(transposed):
    out = np.zeros((3, 4))
    out[:, :3] = transposed
    return out


def test_filter_is_exact():
    _, matrix, transposed, lik = explicit(3)
    filtered, totals = np.zeros(lik.shape), np.zeros((4, 4))
    least = forward(lik, matrix, transposed, filtered, totals)
    assert least == totals.min()
    for chain in range(4):
        for t in range(4):
            paths, p = path_law(matrix, lik[: t + 1, :, chain])
            wanted = [p[paths[:, -1] == k].sum() for k in range(3)]
            got = filtered[t, :, chain] / totals[t, chain]
            assert got == pytest.approx(wanted, abs=1e-14)


@pytest.mark.parametrize("way", ["floats", "logarithms"])
def test_paths_drawn_backwards_follow_the_exact_law(way):
    # χ² over 81 paths; accepts the truth with probability 1 − 1e-4, and rejects another transition matrix
    rng, matrix, transposed, lik = explicit(4)
    filtered, totals = np.zeros(lik.shape), np.zeros((4, 4))
    z, draws, chain = np.zeros(4, dtype=np.int64), np.zeros(81), 2
    forward(lik, matrix, transposed, filtered, totals)
    scores = np.log(lik[:, :, chain]).astype(np.float32)
    for _ in range(8000):
        if way == "floats":
            backward(rng, lik, transposed, filtered, totals, chain, z)
        else:
            in_log_space(rng, scores, 0, 4, matrix, z)
        draws[z @ [27, 9, 3, 1]] += 1
    _, p = path_law(matrix, lik[:, :, chain])
    _, other = path_law(explicit(5)[1], lik[:, :, chain])
    limit = 133.1  # the 1 − 1e-4 quantile of χ²₈₀
    assert ((draws - 8000 * p) ** 2 / (8000 * p)).sum() < limit
    assert ((draws - 8000 * other) ** 2 / (8000 * other)).sum() > 10 * limit


@pytest.mark.parametrize("chains", [1, 3, 4, 6])
def test_any_number_of_chains_goes_by_fours(chains):
    # cells whose scores leave one state only: every chain is found where it is, the last four not being full
    rng = np.random.default_rng(6)
    truth, steps = rng.integers(0, 3, (chains, 200)), 200  # more steps than one block of likelihoods
    scores = np.full((truth.size, 4), -60.0, dtype=np.float32)
    scores[np.arange(truth.size), truth.ravel()] = 0.0
    matrix = np.zeros((4, 4))
    matrix[:, :3] = 1 / 3
    z = np.zeros(truth.size, dtype=np.int64)
    room = np.zeros((steps, 3, 4), dtype=np.float32), np.zeros((steps, 3, 4)), np.zeros((steps, 4))
    blocked(rng, scores, room[0], chains, matrix, padded(matrix[:3, :3].T), room[1], room[2], z)
    assert np.array_equal(z, truth.ravel())


def test_scores_too_far_apart_for_floats_go_through_logarithms():
    # the likeliest state of every cell is one that the only way in and out of makes impossible in floats
    states, steps = 3, 3
    matrix = np.zeros((states + 1, 4))
    matrix[:, :3] = [[1, 1e-300, 1e-300], [1e-300, 1, 1e-300], [1e-300, 1e-300, 1], [1e-300, 1, 1e-300]]
    scores = np.zeros((steps, 4), dtype=np.float32)
    scores[:, 0] = 300.0  # e^900 in total against one transition of 1e-300 = e^-691
    likelihoods, filtered = np.zeros((steps, states, 4), dtype=np.float32), np.zeros((steps, states, 4))
    side_by_side(scores, 0, 1, likelihoods)
    assert (likelihoods[:, 0] == 1.0).all()
    assert (likelihoods[:, 1:] == 0.0).all()  # cut
    z, totals = np.ones(steps, dtype=np.int64), np.zeros((steps, 4))
    transposed = padded(matrix[:3, :3].T)
    blocked(np.random.default_rng(0), scores, likelihoods, 1, matrix, transposed, filtered, totals, z)
    assert z.tolist() == [0, 0, 0]


def test_weights_are_exponentials_cut_at_80_nats():
    rng = np.random.default_rng(8)
    scores = np.zeros((1000, 8), dtype=np.float32)
    scores[:, :6] = rng.normal(0, 60, (1000, 6))
    got = np.full((1000, 8), 7.0, dtype=np.float32)
    weights(scores, 6, got)
    shifted = scores[:, :6].astype(float) - scores[:, :6].max(axis=1, keepdims=True)
    wanted = np.where(shifted > CUT, np.exp(shifted), 0)
    assert got[:, :6] == pytest.approx(wanted, rel=5e-6)  # shifted is rounded to single precision first
    assert (got[:, 6:] == 0).all()


# --- both kernels, one posterior ------------
MODEL = HiddenMarkov(states=2, chain="r", step="t", features=("x",), transition=0.3, sizes=(2, 6, 3))
COUNTS = np.array([[2, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 2], [0, 1, 1], [1, 0, 0]] * 2)


def emissions(reading):
    if reading == "exact":
        return CountEmissions.of(MODEL, COUNTS)
    noisy = COUNTS + np.random.default_rng(1).integers(-1, 2, COUNTS.shape)
    return NoisyEmissions.of(MODEL, NoisyData.of(MODEL, noisy, [NoiseLaw("discrete_laplace", 0.8)], 2.0))


def batches(kernel, reading, sweeps):
    """Means over 30 batches of label-free facts: which neighbours share a state, how large the larger is"""
    chain = StateChain.start(emissions(reading), kernel, np.random.default_rng(4), np.arange(12) % 2)
    seen = []
    for sweep in range(sweeps + 60):
        if sweep == 60:
            chain.emissions.settle()
        chain.sweep()
        path = chain.z.reshape(2, 6)
        stays = (path[:, 1:] == path[:, :-1]).ravel()
        seen.append([*stays, stays.sum(), max(chain.z.sum(), 12 - chain.z.sum())])
    return np.array(seen[60:], dtype=float).reshape(30, -1, 12).mean(axis=1)


def largest_t(one, other):
    error = np.sqrt((one.var(axis=0, ddof=1) + other.var(axis=0, ddof=1)) / 30)
    return np.abs((one.mean(axis=0) - other.mean(axis=0)) / error).max()


@pytest.mark.parametrize("reading", ["exact", "noise_aware"])
def test_both_kernels_have_one_posterior_and_the_printed_update_another(reading, monkeypatch):
    """12 statistics with 58 degrees of freedom: |t| > 5 once in 1.5e4 runs; eq. (48) as printed exceeds 7"""
    blocks = batches("ffbs", reading, 3000)
    assert largest_t(blocks, batches("collapsed", reading, 3000)) < 5

    def as_printed(rng, scores, _, alpha, chains, z, *__):
        lik = np.exp(scores[:, :2] - scores[:, :2].max(axis=1, keepdims=True)).reshape(chains, -1, 2)
        for cell in range(z.size):
            z[cell] = rng.random() > printed(lik.astype(float), z, cell, alpha)[0]

    monkeypatch.setattr(hmm_sweeps, "path_by_cells", as_printed)
    assert largest_t(blocks, batches("collapsed", reading, 1200)) > 7
