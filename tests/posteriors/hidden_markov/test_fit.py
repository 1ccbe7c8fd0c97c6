"""The fit as a user meets it: recovery, agreement between chains, stops, what is refused or said aloud."""

import numpy as np
import pytest

from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov import fit as hmm
from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior, agreement
from discreet.posteriors.tables import Disagreement
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource

SIZES = {"region": 6, "month": 20, "kind": 4, "side": 3}
MODEL = HiddenMarkov(states=3, chain="region", step="month", features=("kind", "side")).bind(SIZES)


@pytest.fixture(scope="module")
def world():
    """Three well separated states, about 25 records a cell, some cells empty"""
    rng = np.random.default_rng(5)
    theta = [np.eye(3, 4) * 0.7 + 0.075, np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])]
    z = np.repeat(rng.integers(0, 3, (6, 5)), 4, axis=1)
    records = rng.poisson(25, (6, 20)) * (rng.random((6, 20)) > 0.1)
    tables = {
        name: np.array(
            [
                [rng.multinomial(n, t[k]) for n, k in zip(*row, strict=True)]
                for row in zip(records, z, strict=True)
            ]
        )
        for name, t in zip(("kind", "side"), [t / t.sum(axis=1, keepdims=True) for t in theta], strict=True)
    }
    return z, records, tables


@pytest.fixture(scope="module")
def release(world):
    _, records, tables = world
    flat = np.concatenate([table.ravel() for table in tables.values()])
    mechanism = NoisyCounts.calibrate(MODEL, n=int(records.sum()), target=PureDP(1.0), shares=[0.5, 0.5])
    return mechanism.release(flat, SeededSource(3))


SHORT = {"chains": 2, "sweeps": 60, "burn": 60, "progress": False}


@pytest.mark.parametrize("kernel", ["ffbs", "collapsed"])
def test_states_are_found_from_exact_counts(world, kernel):
    z, _, tables = world
    fit = hmm.fit(tables, MODEL, reading="exact", kernel=kernel, source=SeededSource(1), **SHORT)
    assert fit.agreed
    for path in fit.paths():
        assert agreement([path.ravel(), z.ravel()], 3)[0, 1] > 0.9
    assert any("show no records" in note for note in fit.notes)
    assert fit.assignments().shape == (2, 6, 20, 3)
    assert fit.emissions()["kind"].sum(axis=-1) == pytest.approx(np.ones((2, 3)))
    assert fit.transition_matrix().sum(axis=-1) == pytest.approx(np.ones((2, 3)))
    low, high = np.moveaxis(fit.emission_intervals(0.9)["side"], -1, 0)
    assert (low <= fit.emissions()["side"]).all()
    assert (fit.emissions()["side"] <= high).all()
    assert fit.predictive()["side"].sum(axis=-1) == pytest.approx(np.ones((2, 6, 20)))
    assert fit.r_hat["log_joint"] < 1.5
    assert fit.ess["log_joint"] > 10
    assert "one answer" in str(fit)


def test_noise_aware_reading_predicts_better_than_the_naive_one(world, release):
    z, _, tables = world
    truth = np.concatenate([table.ravel() for table in tables.values()])
    assert release.noisy.min() < 0  # negative noisy counts, and nothing clips them in the noise-aware reading
    aware = hmm.fit(release, MODEL, source=SeededSource(4), **SHORT)
    naive = hmm.fit(release, MODEL, reading="naive", source=SeededSource(4), **SHORT)
    assert (aware.reading, naive.reading) == ("noise_aware", "naive")
    assert aware.log_predictive(truth).min() > naive.log_predictive(truth).max()
    assert aware.log_predictive(truth).shape == (2,)
    assert agreement([aware.paths()[0].ravel(), z.ravel()], 3)[0, 1] > 0.85


def test_log_predictive_is_the_formula(world):
    _, _, tables = world
    fit = hmm.fit(tables, MODEL, reading="exact", source=SeededSource(1), **SHORT)
    held = np.zeros(MODEL.size, dtype=np.int64)
    cell = MODEL.by_cell(held)
    cell[7, 1], cell[7, 5] = 2, 1
    per_draw = [t[k, 1] ** 2 * t[k, 5] for t, k in zip(fit.theta[0], fit.z[0, :, 7], strict=True)]
    assert fit.log_predictive(MODEL.flat(cell))[0] == pytest.approx(np.log(np.mean(per_draw)), abs=1e-12)


def posterior(paths, levels):
    """One chain for each path and level, every draw relabelled at random."""
    rng = np.random.default_rng(0)
    z, theta, rows = [], [], []
    for path in paths:
        orders = [rng.permutation(3) for _ in range(20)]
        z.append([order[path] for order in orders])
        theta.append([np.arange(21.0).reshape(3, 7)[np.argsort(order)] for order in orders])
        rows.append([np.arange(12.0).reshape(4, 3)[[*np.argsort(o), 3]][:, np.argsort(o)] for o in orders])
    joint = np.array(levels, dtype=float)[:, None] + rng.normal(size=(len(paths), 20))
    return HiddenMarkovPosterior.of(
        model=MODEL,
        reading="exact",
        kernel="ffbs",
        z=np.array(z, dtype=np.int16),
        theta=np.array(theta),
        transitions=np.array(rows),
        log_joint=joint,
        warm_up=0,
    )


def test_switched_labels_are_resolved():
    path = np.random.default_rng(1).integers(0, 3, 120)
    fit = posterior([path, path], [0, 0])
    assert (fit.z == fit.z[0, 0]).all()
    assert (fit.theta == fit.theta[0, 0]).all()
    assert (fit.transitions == fit.transitions[0, 0]).all()
    assert len(fit.pooled().z) == 1


@pytest.mark.parametrize("gap", [0.0, 500.0])
def test_chains_that_disagree_are_reported_and_not_averaged(gap):
    rng = np.random.default_rng(1)
    one = rng.integers(0, 3, 120)
    other = rng.integers(0, 3, 120) if gap == 0 else one  # another path, or the same path far below
    fit = posterior([one, other, one], [0, -gap, 0])
    assert sorted(map(sorted, fit.modes)) == [[0, 2], [1]]
    assert "2 DIFFERENT ANSWERS" in str(fit)
    with pytest.raises(Disagreement, match="none of them"):
        fit.pooled()
    assert len(fit.best.z) == len(fit.modes[0])
    assert fit.assignments().shape[0] == 3  # each chain's own


# --- what is refused, and what is allowed but said ------------
def test_a_model_without_a_number_of_states_is_refused():
    with pytest.raises(ValueError, match="number of hidden states"):
        HiddenMarkov(chain="region", step="month", features=("kind",))
    for states in (0, True, 2.0):
        with pytest.raises(ValueError, match="number of hidden states"):
            HiddenMarkov(states=states, chain="region", step="month", features=("kind",))
    with pytest.raises(ValueError, match="chain column"):
        HiddenMarkov(states=2, chain="region", step="region", features=("kind",))
    with pytest.raises(ValueError, match="chain column"):
        HiddenMarkov(states=2, chain="region", step="month")


def test_more_states_than_the_data_support_are_allowed_and_said():
    tables = {"kind": np.zeros((6, 20, 4), dtype=int), "side": np.zeros((6, 20, 3), dtype=int)}
    tables["kind"][0, :2, 0] = tables["side"][0, :2, 0] = 3
    fit = hmm.fit(tables, MODEL, reading="exact", source=SeededSource(1), **SHORT)
    assert any("3 states for 2 occupied cells" in note for note in fit.notes)
    assert np.isfinite(fit.log_joint).all()


def test_counts_and_readings_that_do_not_fit_are_refused(release):
    exact = np.zeros(MODEL.size)
    with pytest.raises(TypeError, match="needs a release of NoisyCounts"):
        hmm.fit(exact, MODEL)
    with pytest.raises(TypeError, match="these counts are noisy"):
        hmm.fit(release, MODEL, reading="exact")
    with pytest.raises(ValueError, match="unknown choice 'clipped'"):
        hmm.fit(release, MODEL, reading="clipped")
    with pytest.raises(ValueError, match="unknown choice 'viterbi'"):
        hmm.fit(release, MODEL, kernel="viterbi")
    with pytest.raises(ValueError, match="at least 0"):
        hmm.fit(exact - 1, MODEL, reading="exact")
    with pytest.raises(ValueError, match="at least 0"):
        hmm.fit(exact + np.nan, MODEL, reading="exact")
    with pytest.raises(ValueError, match="sweeps must be"):
        hmm.fit(release, MODEL, sweeps=0)
    other = HiddenMarkov(states=3, chain="region", step="month", features=("side", "kind")).bind(SIZES)
    with pytest.raises(ValueError, match="other tables"):
        hmm.fit(release, other)


def test_every_feature_may_have_its_own_share_of_the_budget(world):
    _, records, tables = world
    flat = np.concatenate([table.ravel() for table in tables.values()])
    mechanism = NoisyCounts.calibrate(MODEL, n=int(records.sum()), target=PureDP(2.0), shares=[0.75, 0.25])
    assert float(mechanism.scales[1]) == pytest.approx(3 * float(mechanism.scales[0]))
    for noise in ("laplace", "gaussian"):
        noisy = NoisyCounts(MODEL, n=int(records.sum()), noise=noise, scales=(1.0, 2.5)).release(
            flat, SeededSource(1)
        )
        fit = hmm.fit(noisy, MODEL, source=SeededSource(1), chains=1, sweeps=8, burn=4, progress=False)
        assert np.isfinite(fit.log_joint).all()
