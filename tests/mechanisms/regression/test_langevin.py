"""Sampler A: μ against laws known exactly, rounding against exact arithmetic, the cap in rationals."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit

from discreet.audit.cases.regression import LINEAR, POINTS, STEP, data, gaussian, last_density, one_weight
from discreet.mechanisms.regression.knobs import LOWERED, PublicSize, RecordCap, counted
from discreet.mechanisms.regression.samplers.langevin import LangevinRun, packed, stepper
from discreet.mechanisms.regression.samplers.potential import Potential
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature, GeneralizedLinear
from discreet.models.margin_losses import ClippedPoisson, MarginLoss
from discreet.models.regression_records import Records
from discreet.privacy.amplification.iteration import Langevin, Step, exact_draw, iterate
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.sampling.source import SeededSource


def chain(**more):
    given = {"step": Fraction(1, 10), "steps": 30, "strong": 1, "smooth": 8, "gradient": 2}
    return Langevin(**{**given, **more})


# ── the formula ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("h", [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 8), Fraction(2, 9)])
@pytest.mark.parametrize("steps", [1, 2, 17, 400])
@pytest.mark.parametrize("displacement", [0, Fraction(1, 7)])
def test_the_closed_form_is_the_best_schedule_of_amplification_by_iteration(h, steps, displacement):
    langevin = chain(step=h, steps=steps, displacement=displacement)
    each = Step(langevin.contraction, 2 * h, langevin.shift)
    assert langevin.mu_squared == pytest.approx(float(iterate([each] * steps).mu_squared), rel=1e-12)


@pytest.mark.parametrize("steps", [1, 5, 60, 10_000])
def test_the_last_iterate_is_below_one_exact_draw_and_nears_it(steps):
    exact = exact_draw(4, 1)
    assert exact.mu_squared == 4
    langevin = chain(steps=steps)
    assert langevin.mu_squared < 4
    assert chain(steps=10**6, step=Fraction(1, 10**4)).mu_squared == pytest.approx(4, rel=1e-4)


def test_linear_losses_attain_it():
    # Runs are N(±hρΣs^k, 2hΣs^{2k}), in rationals: the promise is never below, and 1.0000 of the truth.
    for steps in (1, 3, 12, 40):
        langevin = chain(steps=steps)
        powers = [langevin.contraction**k for k in range(steps)]
        truth = (Fraction(2, 10) * sum(powers)) ** 2 / (Fraction(2, 10) * sum(p * p for p in powers))
        assert truth <= Fraction(langevin.mu_squared) <= truth * (1 + Fraction(1, 2**50))


def test_a_mechanism_on_linear_losses_pays_hardly_more_than_the_truth():
    run = LangevinRun(LINEAR, PublicSize(8), Fraction(1), LINEAR.strength, SUBSTITUTE, Fraction(1, 16))
    h, s = run.step, 1 - run.step * run.strength
    powers = [s**k for k in range(run.steps)]
    truth = (2 * h * sum(powers)) ** 2 / (2 * h * sum(p * p for p in powers))
    ratio = Fraction(run.chain.mu_squared) / truth
    assert 1 <= ratio < 1 + Fraction(1, 10**8)  # of μ: 1.0000000014


# ── logistic: the chain's density on a grid, for all neighbours of small data sets ──


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * STEP)


LOGISTIC = one_weight(Fraction(2))  # m = 1/4
PAIRS = [
    (ADD_REMOVE, (1.0,) + (-1.0,) * 6, (-1.0,) * 6),  # against all others: the steepest gradient
    (ADD_REMOVE, (1.0,), ()),
    (ADD_REMOVE, (-1.0, 1.0, 1.0), (1.0, 1.0)),
    (SUBSTITUTE, (1.0, 1.0, 1.0), (-1.0, 1.0, 1.0)),
    (SUBSTITUTE, (1.0, -1.0, -1.0, -1.0), (-1.0,) * 4),
]


@pytest.mark.parametrize(("relation", "left", "right"), PAIRS)
def test_logistic_chains_never_exceed_the_bound(relation, left, right):
    worst = 0.0
    for m, remembered in (
        (Fraction(1, 4), Fraction(1, 16)),
        (Fraction(1), Fraction(1, 2)),
        (Fraction(4), Fraction(1, 16)),
    ):
        run = LangevinRun(
            LOGISTIC, PublicSize(len(left)), Fraction(1), Fraction(m), relation, Fraction(remembered)
        )
        laws = [last_density(run, answers) for answers in (left, right)]
        for p, q in (laws, laws[::-1]):
            assert p.sum() * STEP == pytest.approx(1, abs=1e-9)
            for epsilon in (0, 0.1, 0.3, 1, 2):
                bound = run.chain.guarantee(relation).delta(epsilon)
                assert hockey_stick(p, q, epsilon) <= bound + 1e-12
                worst = max(worst, hockey_stick(p, q, epsilon) / bound)
    # .573, .506, .504, .518, .441: in one dimension a substitution moves c, and 2c is promised
    assert 0.4 < worst < 0.6


def test_a_chain_with_too_little_noise_would_exceed_it():  # negative control of the grid
    run = LangevinRun(LOGISTIC, PublicSize(7), Fraction(1), Fraction(4), ADD_REMOVE, Fraction(1, 16))
    claim = replace(run.chain, gradient=Fraction(1, 4)).guarantee(ADD_REMOVE)
    p, q = (last_density(run, answers) for answers in PAIRS[0][1:])
    assert hockey_stick(p, q, 0.1) > claim.delta(0.1)


# ── the stationary law ──


def test_discretisation_inflates_the_variance_as_predicted_and_no_more():
    # h = 1/β: 1/(1 − hU''/2) at the mode; U'' is below β, so that it is less than 2.
    answers, m = (1.0, 1.0, 1.0, -1.0), Fraction(1, 4)
    run = LangevinRun(LOGISTIC, PublicSize(4), Fraction(1), m, SUBSTITUTE, Fraction(1, 10**6))
    y = np.array(answers)
    potential = np.logaddexp(0, -np.multiply.outer(POINTS, y)).sum(axis=1) + float(m) / 2 * POINTS**2
    exact = np.exp(-potential) / (np.exp(-potential).sum() * STEP)
    law = last_density(run, answers)
    mean, mode = (law * POINTS).sum() * STEP, POINTS[np.argmin(potential)]
    bend = float(m) + (expit(mode * y) * expit(-mode * y)).sum()
    spread = [(p * (POINTS - (p * POINTS).sum() * STEP) ** 2).sum() * STEP for p in (law, exact)]
    predicted = 1 / (1 - float(run.step) * bend / 2)
    assert spread[0] / spread[1] == pytest.approx(predicted, rel=0.12)  # 1.665 and 1.782
    assert 1.2 < predicted < 2
    assert mean == pytest.approx((exact * POINTS).sum() * STEP, abs=0.1)


def test_remembered_is_the_share_of_the_distance_to_the_stationary_law():
    # W₂ in one dimension is the distance of quantiles.
    answers = (1.0, 1.0, -1.0)
    levels = np.linspace(0.0005, 0.9995, 1000)

    def quantiles(remembered):
        run = LangevinRun(LOGISTIC, PublicSize(3), Fraction(1), Fraction(1, 4), SUBSTITUTE, remembered)
        law = last_density(run, answers)
        return np.interp(levels, np.cumsum(law) * STEP, POINTS)

    far = quantiles(Fraction(1, 10**6))
    distance = [math.sqrt(np.mean((quantiles(r) - far) ** 2)) for r in (Fraction(1, 2), Fraction(1, 16))]
    start = math.sqrt(np.mean(far**2))
    assert distance[0] <= start / 2
    assert distance[1] <= start / 16


# ── rounding ────────────────────────────────────────────────────────────────────────────────────────


def world(n, d, seed, loss=None):
    rng = np.random.default_rng(seed)
    features = [f"x{i}" for i in range(d - 1)]
    model = BayesianLogisticRegression("y", features, norm=1, design=tuple(map(Feature, features)))
    y = rng.choice([-1.0, 1.0], n)
    records = Records.of(model, rng.normal(size=(n, d - 1)), y)
    return model, records if loss is None else Records(records.rows, loss.admissible(3 * y))


def exact_mean(run, records, w):
    """w − h(ρΣ∇ℓ + mw) with slopes in doubles to 1e-15 and everything else in rationals."""
    weights = [Fraction(x) for x in w]
    margins = [
        sum((Fraction(x) * b for x, b in zip(row, weights, strict=True)), Fraction(0)) for row in records.rows
    ]
    slopes = run.model.loss.slope(np.array([float(s) for s in margins]), records.answers)
    total = [
        sum(Fraction(s) * Fraction(x) for s, x in zip(slopes, column, strict=True))
        for column in records.rows.T
    ]
    return [b - run.step * (run.weight * t + run.strength * b) for b, t in zip(weights, total, strict=True)]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_computed_mean_is_as_near_the_exact_one_as_is_paid_for(compiled):
    model, records = world(40, 4, 1)
    run = LangevinRun(model, PublicSize(40), Fraction(1, 3), model.strength, SUBSTITUTE, Fraction(1, 16))
    potential = Potential(records, model.loss, run.weight, run.strength)
    step = stepper if compiled else stepper.dispatch(MarginLoss)
    settings = float(run.step * run.strength), float(run.step * run.weight), float(run.box), float(run.grid)
    worst = 0.0
    for seed in range(20):
        start = np.random.default_rng(seed).normal(size=(1, 4)) * 4.0**seed / 4**8  # up to the box
        start = np.rint(np.clip(start, -float(run.box), float(run.box)) / float(run.grid)) * float(run.grid)
        w = start.copy()
        step(model.loss, potential, settings)(w, np.zeros((1, 1, 4)))
        error = [Fraction(a) - b for a, b in zip(w[0], exact_mean(run, records, start[0]), strict=True)]
        worst = max(worst, math.sqrt(float(sum(e * e for e in error))))
    assert worst <= float(run.displacement) / 2
    assert worst > float(run.displacement) / 100  # the bound is of the right size
    assert run.displacement < run.chain.shift / 10**4


def test_compiled_and_plain_steps_agree_to_the_grid():
    model, records = world(1300, 7, 2)
    run = LangevinRun(model, PublicSize(1300), Fraction(1, 10), Fraction(3), SUBSTITUTE, Fraction(1, 16))
    potential = Potential(records, model.loss, run.weight, run.strength)
    settings = float(run.step * run.strength), float(run.step * run.weight), float(run.box), float(run.grid)
    noise = np.random.default_rng(3).normal(size=(5, 3, 7))
    ends = []
    for advance in (
        stepper(model.loss, potential, settings),
        stepper.dispatch(MarginLoss)(model.loss, potential, settings),
    ):
        w = np.zeros((3, 7))
        advance(w, np.rint(noise / settings[3]) * settings[3])
        ends.append(w)
    assert np.abs(ends[0] - ends[1]).max() <= 5 * float(run.grid)


def test_compiled_slopes_are_as_exact_as_claimed():
    from discreet.mechanisms.regression.samplers import kernels as kernel

    s = np.concatenate([np.linspace(-60, 60, 200_001), [0.0, 1e-300, -1e300, 700.0]])
    for label in (-1.0, 0.0, 1.0):
        y, power, out = np.full(s.size, label), np.empty(s.size), s.copy()
        kernel.slopes(out, y, power, power.view(np.int64), kernel.SERIES)
        assert np.abs(out + y * expit(-y * s)).max() < 2.0**-46


def test_rows_on_their_grid_are_held_exactly_as_singles():
    _, records = world(700, 5, 4)
    rows, answers = packed(records.rows, records.answers)
    assert rows.dtype == np.float32
    assert np.array_equal(rows.transpose(0, 2, 1).reshape(-1, 5)[:700], records.rows)
    assert np.array_equal(answers.ravel()[:700], records.answers)
    assert not rows.transpose(0, 2, 1).reshape(-1, 5)[700:].any()
    other = packed(records.rows / 3, records.answers)[0]
    assert other.dtype == np.float64
    assert packed(records.rows[:0], records.answers[:0])[0].size == 0


def test_all_outputs_lie_on_the_public_grid():
    model, records = world(50, 3, 5)
    run = LangevinRun(model, PublicSize(50), Fraction(1, 5), Fraction(2), SUBSTITUTE, Fraction(1, 4))
    drawn = run.draw(Potential(records, model.loss, run.weight, run.strength), 3, SeededSource(1))
    assert drawn.shape == (3, 3)
    assert np.array_equal(drawn, np.rint(drawn / float(run.grid)) * float(run.grid))


def test_other_losses_run_too():
    # The mean of 400 draws is the mode within 5 standard errors (chance 1e-6 a weight) and a bias of 0.05.
    loss = ClippedPoisson(5)
    model, records = world(100, 3, 6, loss)
    poisson = GeneralizedLinear("y", model.features, norm=1, loss=loss, design=model.design)
    run = LangevinRun(poisson, PublicSize(100), Fraction(1), Fraction(20), SUBSTITUTE, Fraction(1, 64))
    potential = Potential(records, loss, run.weight, run.strength)
    mode = np.zeros(3)
    for _ in range(30):
        mode -= np.linalg.solve(potential.hessian(mode), potential.gradient(mode))
    drawn = run.draw(potential, 400, SeededSource(2))
    assert np.all(np.abs(drawn.mean(axis=0) - mode) < 5 * drawn.std(axis=0) / 20 + 0.05)
    assert np.abs(mode).max() > 0.3  # 0, where the chain starts, would not do


def test_the_potential_has_the_gradient_and_the_hessian_of_its_value():
    model, records = world(30, 4, 8)
    potential = Potential(records, model.loss, Fraction(1, 3), Fraction(2))
    w, step = np.array([0.3, -1.0, 2.0, 0.1]), 1e-5
    moves = step * np.eye(4)
    slopes = [(potential.value(w + e) - potential.value(w - e)) / (2 * step) for e in moves]
    bends = [(potential.gradient(w + e) - potential.gradient(w - e)) / (2 * step) for e in moves]
    assert potential.gradient(w) == pytest.approx(np.array(slopes), abs=1e-7)
    assert potential.hessian(w) == pytest.approx(np.array(bends), abs=1e-7)
    with pytest.raises(TypeError, match="private rows"):
        pickle.dumps(potential)
    with pytest.raises(ValueError, match="strength above 0"):
        Potential(records, model.loss, 1, math.nan)


# ── the cap ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("most", [2, 3, 7, 100, 257])
def test_one_record_more_moves_at_most_one_and_a_sixteenth(most):
    cap = RecordCap(most)
    ends = range(18 * most + 20)
    moves = [n * (cap.weight(n) - cap.weight(n + 1)) + cap.weight(n + 1) for n in ends]
    assert max(moves) == cap.moved == 1 + LOWERED  # exactly, and attained
    assert max(n * cap.weight(n) for n in ends) <= cap.total
    assert cap.total < most * (1 + LOWERED) ** 2 / (4 * LOWERED) * (1 + Fraction(3, most))
    assert max(n for n in ends if cap.weight(n) > 0) <= cap.read
    assert cap.weight(most) == 1


def test_beyond_the_cap_records_fade_and_the_chain_stays_proved():
    model, _ = world(1, 3, 7)
    run = LangevinRun(model, RecordCap(20), Fraction(1), Fraction(1), ADD_REMOVE, Fraction(1, 4))
    assert run.smooth == 1 + model.smoothness(1) * RecordCap(20).total
    full = exact_draw(model.bound_square * Fraction(17, 16) ** 2, 1)
    assert 0.5 * full.mu < run.chain.guarantee(ADD_REMOVE).mu < full.mu


def test_sizes_that_are_neither_public_nor_capped_are_refused():
    with pytest.raises(ValueError, match="n sets the step size; it must be public or capped"):
        counted(None, None)
    with pytest.raises(ValueError, match="most says nothing"):
        counted(3, 4)
    for wrong in (1, 0, -5, 2.5, True, math.nan):
        with pytest.raises(ValueError, match="public whole number"):
            RecordCap(wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"step": Fraction(3, 9)}, "spread two runs apart"),
        ({"step": 0}, "2/"),
        ({"steps": 0}, "at least one step"),
        ({"steps": True}, "at least one step"),
        ({"strong": 0}, "0 < m"),
        ({"strong": 9}, "0 < m"),
        ({"smooth": math.inf}, "0 < m"),
        ({"gradient": 0}, "gradient bound"),
        ({"displacement": -1}, "gradient bound"),
        ({"displacement": math.inf}, "gradient bound"),
    ],
)
def test_settings_that_prove_nothing_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        chain(**wrong)


def test_the_start_is_public_and_the_density_of_the_first_step_is_known():
    run = LangevinRun(LOGISTIC, PublicSize(1), Fraction(1), Fraction(1), SUBSTITUTE, Fraction(99, 100))
    assert run.steps == 1
    law = last_density(run, (1.0,))
    assert np.allclose(law, gaussian(float(run.step) / 2, 2 * float(run.step)))
    drawn = run.draw(Potential(data(LOGISTIC, 1.0), LOGISTIC.loss, 1, 1), 40_000, SeededSource(3))[:, 0]
    # mean and variance within 5 standard errors (chance 1e-6); the other label's mean is 100 of them away
    error = math.sqrt(2 * float(run.step) / 40_000)
    assert abs(drawn.mean() - float(run.step) / 2) < 5 * error < abs(drawn.mean() + float(run.step) / 2)
    assert drawn.var() == pytest.approx(2 * float(run.step), rel=5 * math.sqrt(2 / 40_000))
