"""Draws of regression weights: what they promise, what calibration finds, what is refused."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_expit

from discreet.mechanisms.regression.draws import (
    ConcentratedRegression,
    DiffusedRegression,
    DirectRegression,
    TunedRegression,
    private_potential,
    simulate,
)
from discreet.mechanisms.regression.knobs import RecordCap, allowed
from discreet.mechanisms.regression.one_sample import OneRegressionSample, loss_range
from discreet.mechanisms.regression.samplers.potential import Tilted
from discreet.mechanisms.regression.samplers.radial import Proposal
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature, GeneralizedLinear
from discreet.models.margin_losses import ClippedPoisson, DeclaredLoss, Logistic
from discreet.models.regression_records import Records
from discreet.privacy.amplification.iteration import exact_draw
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.sampling.source import SeededSource

DELTA = 1e-5
FEATURES = ("a", "b", "c")
MODEL = BayesianLogisticRegression("y", FEATURES, norm=1, design=tuple(map(Feature, FEATURES)))
KNOBS = (DiffusedRegression, ConcentratedRegression, TunedRegression)


def records(n, seed=1, model=MODEL):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, len(model.design)))
    y = np.where(rng.random(n) < expit(3 * x[:, 0]), 1.0, -1.0)
    return Records.of(model, x, y)


# ── one exact draw ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("epsilon", "mu"), [(0.1, 0.0325), (0.3, 0.0890), (1, 0.268), (3, 0.719), (10, 2.00)]
)
def test_the_allowed_mu_at_a_delta_of_one_in_a_hundred_thousand(epsilon, mu):
    found = allowed(ApproxDP(epsilon, DELTA))
    assert found.mu == pytest.approx(mu, rel=2e-3)
    assert found.delta(epsilon) <= DELTA
    assert GaussianDP(found.mu * (1 + 1e-9)).delta(epsilon) > DELTA


@pytest.mark.parametrize(("epsilon", "saved"), [(0.1, 2.45), (1, 1.73), (10, 1.29)])
def test_converting_through_gaussian_dp_saves_prior_strength(epsilon, saved):
    # Mironov's conversion of 2ρ²L²α/m: ε = μ²/2 + μ√(2 ln 1/δ) at the best order; m ∝ 1/μ².
    root = math.sqrt(2 * math.log(1 / DELTA))
    by_renyi = math.sqrt(root**2 + 2 * epsilon) - root
    assert (allowed(ApproxDP(epsilon, DELTA)).mu / by_renyi) ** 2 == pytest.approx(saved, abs=0.006)


# Reference X (GLM appendix, tightness lemma): one record, prior N(0, σ²), label flipped; the term i = 0 of
# the printed series must carry weight ½ [docs/errata.md 10].
X = json.loads((Path(__file__).parents[2] / "reference" / "X_glm_appendix.json").read_text(encoding="utf-8"))
COLUMNS = (
    "sigma2=1/(n beta)",
    "lambda",
    "integral_quadrature",
    "closed_form_half_weight_i=0",
    "printed_formula_full_weight_i=0",
    "renyi",
    "lemma1_bound_2 rho^2 L^2 lam/m (rho=L=1,m=1/sigma2)",
)


@pytest.mark.parametrize("row", X["lemma3_rows"], ids=lambda row: f"{row[COLUMNS[0]]}-{row['lambda']}")
def test_reference_x_tightness_of_the_renyi_bound(row):
    variance, order, integral, closed, printed, renyi, bound = (row[name] for name in COLUMNS)

    def term(w):
        logs = order * log_expit(w) + (1 - order) * log_expit(-w) - w * w / (2 * variance)
        return 2 * math.exp(logs) / math.sqrt(2 * math.pi * variance)

    found = quad(term, -60, 60, epsabs=0, epsrel=1e-12, limit=400, points=[0, order * variance])[0]
    assert found == pytest.approx(integral, rel=1e-9)
    assert math.log(found) / (order - 1) == pytest.approx(renyi, rel=1e-9)
    assert closed == pytest.approx(found, rel=1e-9)
    assert abs(printed - closed) == 1  # off by the term of weight ½
    label_only, both = exact_draw(1, 1 / Fraction(variance)), exact_draw(4, 1 / Fraction(variance))
    assert renyi <= label_only.renyi(order) == order * variance / 2
    assert both.renyi(order) == bound == 4 * label_only.renyi(order)


# ── calibration ─────────────────────────────────────────────────────────────────────────────────────

TARGETS = [
    partial(ApproxDP, 1, DELTA),
    partial(ApproxDP, 0.1, 1e-8),
    partial(GaussianDP, 0.5),
    partial(ZeroCDP, Fraction(1, 10)),
    partial(RenyiDP.at, 10, 0.3),
]


@pytest.mark.parametrize("mechanism", KNOBS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("relation", [SUBSTITUTE, ADD_REMOVE])
def test_calibration_meets_the_target_and_wastes_nothing(mechanism, target, relation):
    asked = target(relation=relation)
    size = {"n": 1000} if relation is SUBSTITUTE else {"most": 1000}
    draw = mechanism.calibrate(MODEL, target=asked, **size)
    assert draw.guarantee <= asked
    assert draw.guarantee.relation is relation
    assert draw.guarantee.mu >= allowed(asked).mu * 0.98  # the number of steps is whole
    assert 0 < draw.weight <= 1
    assert draw.strength >= MODEL.strength


def test_the_three_ways_turn_their_own_knob():
    target = ApproxDP(1, DELTA)
    diffused, concentrated, tuned = (kind.calibrate(MODEL, n=1000, target=target) for kind in KNOBS)
    assert diffused.strength == MODEL.strength
    assert diffused.weight < 1
    assert concentrated.weight == 1
    assert concentrated.strength > MODEL.strength
    assert diffused.weight < tuned.weight < 1
    assert MODEL.strength < tuned.strength < concentrated.strength


def test_a_weak_target_leaves_the_posterior_as_it_is():
    target = GaussianDP(1000)
    assert DirectRegression.calibrate(MODEL, n=50, target=target).guarantee <= target
    assert all(kind.calibrate(MODEL, n=50, target=target).weight == 1 for kind in KNOBS)


def test_the_rule_weighs_dimension_against_records():
    # λ = m/ρ before ρ is raised to what Langevin saves: √dΔ/(μR) when n is small, ∝ n^⅓ when it is large.
    target = GaussianDP(0.1)
    few, many, more = (TunedRegression.calibrate(MODEL, n=n, target=target) for n in (5, 10**5, 8 * 10**5))
    assert float(few.m) == pytest.approx(float(MODEL.strength), rel=1e-6)  # (λμ/Δ)² = d/R²
    assert float(more.m) == pytest.approx(4 * float(many.m), rel=1e-5)


def test_a_longer_chain_costs_more_and_counts_records_less():
    target = GaussianDP(0.3)
    short, long = (TunedRegression.calibrate(MODEL, n=500, target=target, remembered=r) for r in (0.5, 0.001))
    assert short.rho > long.rho
    assert short.way.run(short).steps < long.way.run(long).steps


def test_substitution_costs_twice_what_addition_does():
    one = DiffusedRegression(MODEL, n=100, rho=0.1).guarantee
    other = DiffusedRegression(MODEL, most=100, rho=0.1, relation=ADD_REMOVE).guarantee
    assert one.mu > 1.7 * other.mu


def test_q_draws_cost_the_root_of_q():
    one = DiffusedRegression(MODEL, n=60, rho=0.05)
    four = one.draws(4)
    assert Fraction(four.guarantee.mu_squared) == 4 * Fraction(one.guarantee.mu_squared)
    drawn = four.release(records(60), SeededSource(1))
    assert drawn.shape == (4, 4)
    assert len({tuple(w) for w in drawn}) == 4
    for wrong in (0, True, 1.5):
        with pytest.raises(ValueError, match="positive integer"):
            one.draws(wrong)


# ── draws ───────────────────────────────────────────────────────────────────────────────────────────


def test_draws_are_reproducible_and_follow_the_data():
    draw = ConcentratedRegression(MODEL, n=3000, m=4)
    value = records(3000)
    first, again = (draw.release(value, SeededSource(7)) for _ in range(2))
    assert np.array_equal(first, again)
    assert first.shape == (4,)
    drawn = simulate(draw, value, 40, SeededSource(8))
    # the first weight is 3 in truth, the others 0: 5 standard errors each (chance 1e-6)
    assert drawn[:, 0].mean() > 1 > 5 * drawn[:, 0].std() / math.sqrt(40)
    assert np.abs(drawn[:, 1:].mean(axis=0)).max() < 0.5


def test_langevin_and_rejection_draw_nearly_the_same():
    # n = 400: means within the discretisation's bias and 5 standard errors (chance 1e-6 a weight).
    value, runs = records(400), 300
    draw = ConcentratedRegression(MODEL, n=400, m=2, remembered=0.001)
    other = replace(draw, sampler="rejection", at=1)
    a, b = (simulate(kind, value, runs, SeededSource(9)) for kind in (draw, other))
    error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / runs)
    assert np.all(np.abs(a.mean(axis=0) - b.mean(axis=0)) < 5 * error + 0.05)
    assert np.all(a.var(axis=0) < 2 * b.var(axis=0))
    assert other.guarantee.delta(1) <= exact_draw(MODEL.gradient_square(SUBSTITUTE), 2).delta(1) + 1e-6
    assert isinstance(other.guarantee, ApproxDP)


@pytest.mark.parametrize("sampler", ["rejection", "proximal"])
def test_samplers_that_are_near_exact_meet_an_approximate_target_too(sampler):
    target = ApproxDP(1, DELTA)
    draw = TunedRegression.calibrate(MODEL, n=200, target=target, sampler=sampler)
    assert draw.guarantee <= target
    assert isinstance(draw.guarantee, ApproxDP)
    square = MODEL.gradient_square(SUBSTITUTE) * draw.weight**2
    spent = exact_draw(square, draw.strength)
    assert spent.delta(1) < draw.guarantee.slack  # rounding, or total variation, is paid for
    assert spent.mu > 0.999 * allowed(target).mu


def test_separable_data_a_constant_column_and_more_columns_than_rows_are_no_trouble():
    wide = BayesianLogisticRegression(
        "y", [f"x{i}" for i in range(30)], norm=1, design=tuple(Feature(f"x{i}") for i in range(30))
    )
    few = Records.of(wide, np.ones((5, 30)), np.ones(5))
    draw = TunedRegression.calibrate(wide, n=5, target=ApproxDP(1, DELTA))
    assert np.all(np.isfinite(draw.release(few, SeededSource(1))))
    direct = DirectRegression(MODEL, n=50)
    apart = Records.of(MODEL, np.ones((50, 3)), np.ones(50))
    assert np.all(np.isfinite(direct.release(apart, SeededSource(2))))


def test_an_empty_table_is_a_neighbour_and_is_drawn_from():
    draw = DiffusedRegression(MODEL, most=10, rho=0.5, relation=ADD_REMOVE)
    assert draw.release(records(0), SeededSource(1), count=0).shape == (4,)


def test_far_beyond_the_cap_the_data_are_ignored():
    draw = DiffusedRegression(MODEL, most=10, rho=1, relation=ADD_REMOVE)
    crowd, nobody = (draw.release(records(n), SeededSource(3)) for n in (10 + 16 * 9, 0))
    assert np.array_equal(crowd, nobody)
    some = draw.release(records(100), SeededSource(3))
    assert not np.array_equal(some, nobody)


# ── on the ball ─────────────────────────────────────────────────────────────────────────────────────


def test_one_sample_promises_the_range_of_a_record_and_rounding():
    one = OneRegressionSample(MODEL, n=200, rho=Fraction(1, 100))
    margin = math.sqrt(float(MODEL.bound_square)) * 10
    assert float(one.ideal.loss) == pytest.approx(2 * margin / 100)
    added = OneRegressionSample(MODEL, most=200, rho=Fraction(1, 100), relation=ADD_REMOVE)
    assert float(added.ideal.loss) == pytest.approx(17 / 16 * margin / 100)
    assert one.guarantee.delta(one.ideal.loss) < 1e-6
    poisson = GeneralizedLinear("y", FEATURES, norm=1, loss=ClippedPoisson(4), design=MODEL.design)
    assert loss_range(poisson.loss, Fraction(3)) == 2 * 4 * 3
    assert loss_range(Logistic(), Fraction(3)) == 3


def test_the_range_of_the_logistic_loss_is_its_length():
    s = np.linspace(-7, 7, 1001)
    values = Logistic().value(s, np.ones(1001))
    assert values.max() - values.min() == pytest.approx(7, rel=1e-12)


def test_a_weak_target_leaves_one_sample_at_full_weight():
    # at ε beyond the range only the range is paid for: e^ε times the rounding would leave nothing
    for epsilon in (20, 50):
        target = ApproxDP(epsilon, 1e-5, relation=ADD_REMOVE)
        made = OneRegressionSample.calibrate(replace(MODEL, radius=5), most=3000, target=target)
        assert made.rho == 1


def test_one_sample_is_calibrated_and_stays_in_the_ball():
    target = ApproxDP(2, DELTA)
    one = OneRegressionSample.calibrate(MODEL, n=200, target=target)
    assert one.guarantee <= target
    assert not replace(one, rho=one.rho * (1 + 1e-4)).guarantee <= target
    w = one.release(records(200), SeededSource(4))
    assert np.linalg.norm(w) < 10.1
    with pytest.raises(Unreachable, match="ApproxDP"):
        OneRegressionSample.calibrate(MODEL, n=200, target=GaussianDP(1))


# ── what is refused ─────────────────────────────────────────────────────────────────────────────────


def test_targets_that_no_draw_meets():
    with pytest.raises(Unreachable, match="never pure DP"):
        TunedRegression.calibrate(MODEL, n=10, target=PureDP(1))
    with pytest.raises(Unreachable, match="'diffused', 'concentrated' and 'tuned'"):
        DirectRegression.calibrate(MODEL, n=10, target=ApproxDP(0.1, DELTA))
    with pytest.raises(Unreachable, match="never implies"):
        TunedRegression.calibrate(MODEL, n=10, target=GaussianDP(1), sampler="rejection")
    with pytest.raises(NotProved, match="at one ε"):
        _ = DirectRegression(MODEL, n=10, sampler="proximal").guarantee


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"relation": ADD_REMOVE}, "n sets the step size; it must be public or capped by a public bound"),
        ({"relation": ADD_REMOVE, "n": 5}, "private"),
        ({"relation": ADD_REMOVE, "most": 1}, "public whole number"),
        ({"n": 5, "most": 9}, "most says nothing"),
        ({"n": 5, "sampler": "gibbs"}, "langevin, rejection, proximal"),
        ({"n": 5, "remembered": 1}, "remembered"),
        ({"n": 5, "remembered": math.nan}, "remembered"),
        ({}, "n"),
    ],
)
def test_settings_that_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        DirectRegression(MODEL, **given)


@pytest.mark.parametrize("rho", [0, -1, 1.5, math.nan])
def test_weights_that_are_refused(rho):
    for kind in (DiffusedRegression, OneRegressionSample):
        with pytest.raises(ValueError, match=r"rho must lie in \(0, 1\]"):
            kind(MODEL, n=5, rho=rho)


@pytest.mark.parametrize("m", [0.01, -1, math.nan, math.inf])
def test_priors_weaker_than_the_models_are_refused(m):
    with pytest.raises(ValueError, match="m must be"):
        ConcentratedRegression(MODEL, n=5, m=m)


def test_records_that_the_promise_is_not_about():
    draw = DirectRegression(MODEL, n=5)
    with pytest.raises(ValueError, match="public number of records, 5"):
        draw.release(records(6), SeededSource(1))
    with pytest.raises(ValueError, match="4 weights"):
        draw.release(Records(np.zeros((5, 3)), np.zeros(5)), SeededSource(1))
    for wrong in (3.0, math.nan):
        with pytest.raises(ValueError, match=r"Records\.of"):
            draw.release(Records(np.full((5, 4), wrong), np.zeros(5)), SeededSource(1))
    good = records(5)
    for wrong in (Records(good.rows * (1 + 2.0**-30), good.answers), Records(good.rows, 7 * good.answers)):
        with pytest.raises(ValueError, match=r"Records\.of"):
            draw.release(wrong, SeededSource(1))
    with pytest.raises(ValueError, match=r"Records\.of"):
        draw.release(Records(good.rows, good.answers[:1]), SeededSource(1))
    unbound = BayesianLogisticRegression("y", FEATURES, norm=1)
    with pytest.raises(ValueError, match="does not know the columns"):
        DirectRegression(unbound, n=5)


@pytest.mark.parametrize(
    ("features", "answers"),
    [([["Smith", 1, 2]], [1]), ([[1, 2, 3]], ["Smith"]), (np.ones((3, 2)), [1, 1]), ([[1, 2, 3]], [1, 1])],
)
def test_records_that_are_none_are_refused_without_showing_one(features, answers):
    """Six numbers in rows of two are not two rows of three."""
    with pytest.raises(ValueError, match=r"public levels|record has 3 numbers|one answer") as refused:
        Records.of(MODEL, features, answers)
    assert "Smith" not in f"{refused.value} {refused.value.__context__}"


def test_nothing_private_shows_where_a_draw_is_printed():
    """A debugger, or a traceback with its variables, prints what a sampler holds."""
    potential = private_potential(MODEL, RecordCap(3), Fraction(1), Fraction(1), records(5))
    tilted = Tilted(potential, 1.0, np.full(4, 0.123))
    proposal = Proposal.of(tilted)
    for held in (potential, tilted, proposal, proposal.envelope, proposal.ball, records(5)):
        assert "=" not in repr(held)


ODD = (math.nan, math.inf, -math.inf, -1e308, -3.0, -0.5, 0.0, 0.4, 1.0, 2.5, 3.0, 7.0, 1e308)
WILD = DeclaredLoss(
    lambda s, _: np.exp(s), lambda s, _: np.exp(s) - np.exp(s), lambda s, _: np.log(-np.abs(s)), 1, 4
)


@pytest.mark.parametrize(
    "loss",
    [Logistic(), ClippedPoisson(3), ClippedPoisson(2.5), ClippedPoisson(0.5), WILD],
    ids=["logistic", "whole", "fractional", "below one", "declared"],
)
def test_no_answer_makes_a_draw_fail_or_warn(loss):
    """What a loss makes of an answer it takes as it is: else one count above `upper` would end the draw."""
    with np.errstate(over="ignore"):
        far = 1e3 * np.array(ODD)
    for y in (np.array(ODD), far):
        once = loss.admissible(y)
        assert np.array_equal(loss.admissible(once), once)
        assert np.isfinite(once).all()
    model = GeneralizedLinear("y", ("x",), 1, loss=loss, design=(Feature("x"),))
    drawn = DirectRegression(model, n=len(ODD)).release(
        Records.of(model, 800.0 * np.ones((len(ODD), 1)), ODD), SeededSource(1)
    )
    assert np.isfinite(drawn).all()
    s = np.array([-1e4, 0.0, 800.0, 1e4])
    for part, most in ((loss.slope, loss.lipschitz), (loss.bend, loss.curvature)):
        assert (np.abs(part(s, loss.admissible(np.ones(4)))) <= float(most)).all()
