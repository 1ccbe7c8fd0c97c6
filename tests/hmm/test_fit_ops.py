"""The OPS variant: its ranges by brute force, its conditional against reference H, its draws as released."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.inference import hmm
from discreet.mcmc.hidden_markov_ops import UNIT, HiddenMarkovOPS, _log_weights
from discreet.models.hidden_markov import HiddenMarkov
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.guarantees import ApproxDP, PureDP, ZeroCDP
from discreet.sampling.source import SeededSource

MODEL = HiddenMarkov(states=3, chain="r", step="t", features=("a", "b"), sizes=(2, 3, 3, 2))


def test_a_sweep_costs_what_its_ranges_say():
    # Δ = ln((1 − (K−1)a₀)/a₀), a₀ = 1/(10K): ln 28 for K = 3, ln 19 for K = 2
    spreads = np.log([28, 19])
    run = HiddenMarkovOPS(model=MODEL, sweeps=5, temperature=50, promise=PureDP)
    assert run.guarantee.epsilon(0) == pytest.approx(5 * 4 * spreads.sum() / 50, rel=1e-6)
    assert run.guarantee.epsilon(0) > 5 * 4 * spreads.sum() / 50
    rho = 5 * ((2 * spreads.sum()) ** 2 + ((2 * spreads) ** 2).sum()) / (8 * 50**2)
    concentrated = HiddenMarkovOPS(model=MODEL, sweeps=5, temperature=50)
    assert concentrated.guarantee.rho == pytest.approx(rho, rel=1e-6)
    assert concentrated.guarantee.rho > rho
    apart = HiddenMarkovOPS(model=MODEL, sweeps=5, temperature=50, promise=PureDP, relation=ADD_REMOVE)
    assert apart.guarantee.epsilon(0) == pytest.approx(run.guarantee.epsilon(0) / 2)


def scores_of(run, theta, record):
    """What one record adds to the log weight of every state, as the sweep computes it"""
    logs = run._logs(theta)
    return [
        Fraction(int(logs[k, record[0]] + logs[k, 3 + record[1]]), UNIT) / run.temperature for k in range(3)
    ]


def test_no_substitution_moves_a_state_further_than_is_paid_for_and_one_attains_it():
    run = HiddenMarkovOPS(model=MODEL, sweeps=1, temperature=10, promise=PureDP)
    corner_a = [np.roll([1 - 2 / 30, 1 / 30, 1 / 30], i) for i in range(3)]
    corner_b = [[0.95, 0.05], [0.05, 0.95]]
    corners = [np.concatenate(pair) for pair in itertools.product(corner_a, corner_b)]
    paid, widest = 2 * sum(run.spreads) / 10, Fraction(0)
    for tables in itertools.product(corners, repeat=3):
        for one, other in itertools.product(itertools.product(range(3), range(2)), repeat=2):
            pairs = zip(
                scores_of(run, np.array(tables), one), scores_of(run, np.array(tables), other), strict=True
            )
            ratios = [a - b for a, b in pairs]
            widest = max(widest, max(ratios) - min(ratios))
        if widest > Fraction(999, 1000) * paid:
            break
    assert Fraction(999, 1000) * paid < widest <= paid


def test_tables_below_the_truncation_cannot_widen_the_range():
    run = HiddenMarkovOPS(model=MODEL, sweeps=1, temperature=10)
    wild = np.full((3, 5), 1e-9)
    wild[0] = 1.0
    spread = [Fraction(int(np.ptp(run._logs(wild)[:, j])), UNIT) for j in range(5)]
    assert max(spread[:3]) <= run.spreads[0]
    assert max(spread[3:]) <= run.spreads[1]


def test_the_public_weights_are_those_of_reference_h(reference):
    lik, z = np.array(reference["model"]["lik"]), np.array(reference["z_example"])
    for case in reference["conditionals"]:
        r, t = case["r"], case["t"]
        counts = np.zeros((4, 3))
        for i, chain in enumerate(z):
            for s in range(4):
                if not (i == r and s in {t, t + 1}):
                    counts[3 if s == 0 else chain[s - 1], chain[s]] += 1
        p, f = 3 if t == 0 else z[r, t - 1], z[r, t + 1] if t < 3 else -1
        law = np.exp(_log_weights(counts, p, f, 0.7)) * lik[r, t]
        assert law / law.sum() == pytest.approx(case["exact"], abs=1e-12)


@pytest.mark.parametrize("target", [PureDP(5.0), ApproxDP(5.0, 1e-6), ZeroCDP(0.5)])
def test_calibration_meets_its_target_and_no_colder_run_would(target):
    run = HiddenMarkovOPS.calibrate(MODEL, target=target, sweeps=10)
    assert run.guarantee <= target
    assert not run.at(Fraction(run.temperature) * Fraction(999, 1000)).guarantee <= target


def test_draws_are_released_with_their_guarantee_and_read_as_a_posterior():
    rng = np.random.default_rng(0)
    records = rng.multinomial(600, np.full(6, 1 / 6))
    tables = [rng.multinomial(records, p) for p in ([0.8, 0.1, 0.1], [0.7, 0.3])]
    flat = np.concatenate([table.ravel() for table in tables])
    run = HiddenMarkovOPS(model=MODEL, sweeps=6, temperature=2)
    drawn = run.release(flat, SeededSource(1))
    assert (drawn.guarantee, drawn.seeded) == (run.guarantee, True)
    assert (drawn.theta[..., :3] >= 1 / 30 - 1e-9).all()
    assert (drawn.theta[..., 3:] >= 1 / 20 - 1e-9).all()
    again = run.release(flat, SeededSource(1))
    assert np.array_equal(drawn.theta, again.theta)
    fit = hmm.drawn(MODEL, drawn.z, drawn.theta, SeededSource(2))
    assert fit.reading == "one_posterior_sample"
    assert fit.assignments().shape == (1, 2, 3, 3)
    assert np.isfinite(fit.log_predictive(flat)).all()
    busiest = fit.paths()[0, 0, 0]  # 300 records' worth: its table must show what most of them are
    assert fit.emissions()["a"][0, busiest].argmax() == 0


def test_counts_that_are_none_are_refused():
    run = HiddenMarkovOPS(model=MODEL, sweeps=1, temperature=2)
    for wrong in (np.zeros(MODEL.size), np.zeros(3, dtype=int), np.full(MODEL.size, -1)):
        with pytest.raises(ValueError, match="30 integers"):
            run.release(wrong)
    with pytest.raises(ValueError, match="temperature at least 1"):
        HiddenMarkovOPS(model=MODEL, sweeps=1, temperature=0.5)
