"""One answer or several: chains of one law are not called apart, chains stuck in modes are; and the notes."""

import itertools

import numpy as np
import pytest

from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov import fit as hmm
from discreet.posteriors.hidden_markov.posterior import agreement, apart, modal, overlap
from discreet.sampling.source import SeededSource

MODEL = HiddenMarkov(states=3, chain="r", step="t", features=("x", "y"), sizes=(6, 20, 4, 3))
THETA = (
    np.array([[8, 1, 1, 1], [1, 8, 1, 1], [1, 1, 8, 1]]) / 11,
    np.array([[8, 1, 1], [1, 8, 1], [1, 1, 8]]) / 10,
)


def released(mean, scale):
    """Three well separated states, Poisson(mean) records a cell"""
    rng = np.random.default_rng(5)
    z = np.repeat(rng.integers(0, 3, (6, 5)), 4, axis=1).ravel()
    sizes = rng.poisson(mean, z.size)
    table = np.concatenate([rng.multinomial(sizes, theta[z]) for theta in THETA], axis=1)
    mechanism = NoisyCounts(MODEL, n=int(sizes.sum()), noise="discrete_laplace", scales=(scale, scale))
    return mechanism.release(MODEL.flat(table), SeededSource(3))


# --- do the chains agree? ------------
def drawn(laws, draws, seed):
    """Chains of independent draws from each law (cells, K)"""
    rng = np.random.default_rng(seed)
    return np.stack(
        [[(rng.random((len(p), 1)) > p.cumsum(axis=1)).sum(axis=1) for _ in range(draws)] for p in laws]
    )


def test_unsure_chains_of_one_law_agree_and_their_likeliest_paths_do_not():
    """Expected overlap is 1: excess over 200 cells of .4/40 has a deviation of .001; .98 is never passed."""
    law = np.random.default_rng(1).dirichlet([5, 5, 5], 200)
    z = drawn([law, law], 40, 2)
    assert agreement([modal(chain, 3) for chain in z], 3)[0, 1] < 0.9  # what was asked before
    assert overlap(z, 3)[0, 1] > 0.98
    other = drawn([law, np.random.default_rng(3).dirichlet([5, 5, 5], 200)], 4000, 2)
    wanted = apart(law, np.random.default_rng(3).dirichlet([5, 5, 5], 200))
    assert overlap(other, 3)[0, 1] == pytest.approx(1 - wanted, abs=2e-3)  # and it measures what it says
    assert wanted > 0.02


def test_sure_chains_agree_on_the_share_of_cells_in_the_same_state():
    one = np.random.default_rng(0).integers(0, 3, 200)
    other = np.where(np.arange(200) < 30, (one + 1) % 3, one)
    z = np.stack([np.tile(path, (8, 1)) for path in (one, (other + 2) % 3)])  # other labels, too
    assert overlap(z, 3)[0, 1] == pytest.approx(0.85)


def test_chains_that_mix_over_unsure_states_are_one_answer():
    fit = hmm.fit(
        released(4, 4.0), MODEL, chains=4, sweeps=200, burn=100, source=SeededSource(1), progress=False
    )
    paths = agreement([modal(z, 3) for z in fit.z], 3)
    assert paths.min() < 0.9  # by likeliest paths these would be several answers
    assert fit.agreed
    assert fit.pooled().z.shape[0] == 1


def test_chains_stuck_in_two_equal_modes_are_two_answers():
    """Two states for two features that each say something else: either may be followed, equally well."""
    rng = np.random.default_rng(0)
    bits = np.repeat(rng.integers(0, 2, (4, 5, 2)), 4, axis=1)
    bits = np.concatenate([bits, bits[:, :, ::-1]])  # each chain again with the features exchanged
    tables = {
        name: np.stack([20 * bits[..., d], 20 - 20 * bits[..., d]], axis=-1) for d, name in enumerate("xy")
    }
    model = HiddenMarkov(states=2, chain="r", step="t", features=("x", "y"))
    fit = hmm.fit(
        tables,
        model,
        reading="exact",
        chains=6,
        sweeps=60,
        burn=20,
        source=SeededSource(1),
        progress=False,
    )
    follows = [
        [agreement([path.ravel(), bits[..., d].ravel()], 2)[0, 1] for d in (0, 1)] for path in fit.paths()
    ]
    sides = [int(np.argmax(pair)) for pair in follows]
    assert np.max(follows, axis=1).min() > 0.95  # every chain follows one of the two features
    groups = {tuple(i for i, side in enumerate(sides) if side == d) for d in (0, 1)}
    assert {tuple(sorted(group)) for group in fit.modes} == groups
    assert len(groups - {()}) == 2
    assert "2 DIFFERENT ANSWERS" in str(fit)


def test_text_says_how_far_the_chains_mixed_and_shows_no_arrays():
    fit = hmm.fit(
        released(25, 2.0), MODEL, chains=2, sweeps=40, burn=20, source=SeededSource(1), progress=False
    )
    worst = max(fit.r_hat["log_joint"], fit.r_hat["stays"]), min(fit.ess["log_joint"], fit.ess["stays"])
    for text in (str(fit), repr(fit)):
        assert f"R̂ {worst[0]:.2f}, ESS {worst[1]:.0f}" in text
        assert "array" not in text
        assert len(text.splitlines()) <= 40
    assert len(str(fit)) < 500
    order = np.array([2, 0, 1])
    paths = order[fit.z].reshape(2, -1, 6, 20)
    assert np.array_equal(
        fit._watched["stays"], (paths[..., 1:] == paths[..., :-1]).sum(axis=(2, 3))
    )  # no labels


# --- what is said aloud ------------
def few(states, occupied):
    """So many occupied cells of 2 × 6, and noise of scale 2 (two tables at ε = 2)"""
    model = HiddenMarkov(states=states, chain="r", step="t", features=("x", "y"), sizes=(2, 6, 4, 3))
    table = np.zeros((12, 7), dtype=int)
    for cell, shift in zip(range(0, 12, 12 // occupied), itertools.cycle(range(3)), strict=False):
        table[cell] = np.concatenate([np.roll([40, 0, 0, 0], shift), np.roll([40, 0, 0], shift)])
    mechanism = NoisyCounts(model, n=int(table[:, :4].sum()), noise="discrete_laplace", scales=(2.0, 2.0))
    return mechanism.release(model.flat(table), SeededSource(6)), model


@pytest.mark.parametrize("reading", ["noise_aware", "naive"])
def test_empty_cells_and_unsupported_states_are_told_through_noise(reading):
    """Noise passes two deviations in 2 % of empty cells: here in none; 40 records are 7 deviations."""
    short = {"reading": reading, "chains": 2, "sweeps": 60, "burn": 40, "progress": False}
    told = hmm.fit(*few(10, 2), source=SeededSource(1), **short).notes
    assert any("10 of 12 cells cannot be distinguished from empty" in note for note in told)
    assert any("10 states for 2 cells distinguishable from empty ones" in note for note in told)
    assert any("of 10 states hold fewer than 5 records" in note for note in told)
    assert hmm.fit(*few(3, 12), source=SeededSource(1), **short).notes == ()  # supported: nothing to say


def test_states_that_hold_nothing_and_cells_that_are_not_read_are_told():
    release, model = few(4, 12)  # three kinds of cells
    fit = hmm.fit(release, model, chains=1, sweeps=60, burn=40, source=SeededSource(1), progress=False)
    assert [note for note in fit.notes if "states hold" in note]
    assert not [note for note in fit.notes if "distinguished from empty" in note]
    mask = np.zeros((2, 6), dtype=bool)
    mask[1, 2] = True
    short = {"chains": 1, "sweeps": 20, "burn": 10, "progress": False}
    fit = hmm.fit(release, model, missing=mask, source=SeededSource(1), **short)
    assert "1 of 12 cells were not read, as asked" in fit.notes
