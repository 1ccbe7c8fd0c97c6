"""Readings of noisy moments: Chebyshev's numbers, one dimension against quadrature, the limit of no noise."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import discreet as dc
from discreet.mechanisms.regression.noisy_moments import NoisyMoments
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature
from discreet.models.regression_records import Records
from discreet.posteriors.regression import noisy_moments as noisy_moments_posterior
from discreet.posteriors.regression.noisy_moments import (
    chebyshev,
    linearised,
    reading,
    sources,
    usual_margins,
    variables,
)


def model(d, **options):
    names = tuple(f"x{i}" for i in range(d))
    made = BayesianLogisticRegression("y", names, **{"norm": 1, "radius": 4, **options})
    return made.bind(tuple(map(Feature, names)))


def noisy(bound, first, second, s1, s2, *, n=None):
    relation = dc.ADD_REMOVE if n is None else dc.SUBSTITUTE
    promise = dc.GaussianDP(1, relation=relation)
    return NoisyMoments(bound, first, second, s1, s2, n, promise, seeded=True)


# Twice the s² term of the degree-2 Chebyshev series of ln 2cosh(s/2) on [−R, R]: mpmath, 30 digits,
# b = (8/(πR²))∫₀^π ln(2cosh(R cos t/2)) cos 2t dt
CHEBYSHEV = {1: 0.240191505659, 2: 0.216480373864, 4: 0.163335520264, 8: 0.0984151747435, 30: 0.0281396707122}


@pytest.mark.parametrize("reach", CHEBYSHEV)
def test_chebyshev_coefficients_against_mpmath(reach):
    assert chebyshev(reach).bend == pytest.approx(CHEBYSHEV[reach], rel=1e-11)


def test_the_line_through_the_score_is_the_least_squares_one():
    rng = np.random.default_rng(1)
    s = rng.normal(0.7, 1.5, 400_000)
    score = np.tanh(s / 2) / 2
    slope, level = np.polyfit(s - 0.7, score, 1)
    found = linearised(0.7, 1.5**2)
    assert found.bend == pytest.approx(slope, abs=1e-3)  # 5 standard errors
    assert found.slope == pytest.approx(level, abs=1e-3)
    assert found.rest == pytest.approx(np.var(score - level - slope * (s - 0.7)), rel=0.02)
    assert linearised(0, 0).bend == pytest.approx(0.25, rel=1e-12)


def test_margins_must_be_a_range():
    release = noisy(model(1, intercept=False), [1.0], [[5.0]], 1.0, 1.0)
    for wrong in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match="finite range"):
            reading(release, margins=wrong)
    with pytest.raises(ValueError, match="unknown reading"):
        reading(release, "wishful")


# --- one dimension, against quadrature of the same approximate model ------------
def by_quadrature(first, second, s1, s2, *, bend, strength):
    """p(w | F, S) ∝ p(w) ∫ N(F/2; bSw, bS + σ₁²/4) N(Ŝ; S, σ₂²) dS over S > 0."""
    w = np.linspace(-8, 8, 1601)[:, None]
    s = np.linspace(max(1e-3, second - 8 * s2), second + 8 * s2, 801)[None]
    variance = bend * s + s1**2 / 4
    log = -((first / 2 - bend * s * w) ** 2) / (2 * variance) - 0.5 * np.log(variance)
    log = log - (second - s) ** 2 / (2 * s2**2) - strength * w**2 / 2
    mass = np.exp(log - log.max()).sum(axis=1)
    mass /= mass.sum()
    mean = (mass * w[:, 0]).sum()
    return mean, np.sqrt((mass * (w[:, 0] - mean) ** 2).sum())


@pytest.mark.parametrize(
    ("first", "second", "s1", "s2"),
    [
        (60.0, 200.0, 10.0, 10.0),
        (-40.0, 300.0, 40.0, 15.0),
        (90.0, 150.0, 3.0, 12.0),
        (20.0, 80.0, 30.0, 8.0),
    ],
)
def test_one_dimension_against_quadrature(first, second, s1, s2):
    bound = model(1, intercept=False)
    found = reading(noisy(bound, [first], [[second]], s1, s2), margins=4.0)
    mean, spread = by_quadrature(
        first, second, s1, s2, bend=chebyshev(4.0).bend, strength=float(bound.strength)
    )
    assert found.flat_mean()[0] == pytest.approx(mean, abs=0.12 * spread)
    assert np.sqrt(found.variance()[0]) == pytest.approx(spread, rel=0.08)
    naive = reading(noisy(bound, [first], [[second]], s1, s2), "naive", margins=4.0)
    assert naive.variance()[0] < 0.8 * spread**2  # it leaves the noise out


# --- no noise: near the true posterior ------------
def fitted(bound, x, y):
    """MAP and Hessian of the logistic posterior itself."""
    records, m = Records.of(bound, x, y), float(bound.strength)
    rows, signs = records.rows, records.answers

    def potential(w):
        s = signs * (rows @ w)
        return np.logaddexp(0, -s).sum() + m / 2 * w @ w, m * w - rows.T @ (signs * expit(-s))

    w = minimize(potential, np.zeros(rows.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-6}).x
    p = expit(rows @ w)
    return w, m * np.eye(len(w)) + (rows.T * (p * (1 - p))) @ rows, rows, signs


@pytest.mark.parametrize("seed", range(3))
def test_without_noise_it_is_near_the_posterior_itself(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    bound = model(6)
    x = rng.normal(size=(4000, 6)) * 0.25
    w = rng.normal(size=7) * 4 / np.sqrt(7)
    y = np.where(rng.random(4000) < expit(np.column_stack([x, np.full(4000, 0.5)]) @ w), 1, -1)
    mode, hessian, rows, signs = fitted(bound, x, y)
    r = rows * signs[:, None]
    found = reading(noisy(bound, r.sum(axis=0), r.T @ r, 1e-6, 1e-6, n=4000))
    spread = np.sqrt(np.diag(np.linalg.inv(hessian)))
    assert (np.abs(found.encoded_mean() - mode) < 1.0 * spread).all()
    ratio = np.sqrt(np.diag(found.covariance)) / spread
    assert ratio.min() > 0.9
    assert ratio.max() < 4  # few columns may be far from normal, and a line is then far off
    monkeypatch.setattr(noisy_moments_posterior, "LONE", 0.0)
    normal = reading(noisy(bound, r.sum(axis=0), r.T @ r, 1e-6, 1e-6, n=4000))
    assert np.array_equal(normal.encoded_mean(), found.encoded_mean())
    assert (np.sqrt(np.diag(normal.covariance)) / spread).max() < 1.6  # κ allows for what a line leaves out
    mild = model(6, radius=1)  # the same sums under a prior of small weights
    assert reading(noisy(mild, r.sum(axis=0) / 20, r.T @ r, 1e-6, 1e-6, n=4000)).caution is None
    blunt = reading(noisy(bound, r.sum(axis=0), r.T @ r, 1e-6, 1e-6, n=4000), "naive", margins=12.0)
    assert np.abs(blunt.encoded_mean() - mode).max() > 3 * np.abs(found.encoded_mean() - mode).max()


# --- noise ------------
def test_only_noise_leaves_the_prior():
    rng = np.random.default_rng(3)
    bound = model(4)
    first, second = rng.normal(size=5) * 1e4, rng.normal(size=(5, 5)) * 1e4
    found = reading(noisy(bound, first, (second + second.T) / 2, 1e4, 1e4))
    prior = 1 / float(bound.strength)
    assert (np.diag(found.covariance) > 0.2 * prior).all()
    assert (np.diag(found.covariance) < 1.01 * prior).all()
    assert (np.abs(found.encoded_mean()) < 3 * np.sqrt(prior)).all()


def test_an_indefinite_matrix_and_separable_data_have_a_posterior():
    bound = model(2)
    second = np.diag([-5.0, 3.0, 40.0])
    for kind in ("noise_aware", "naive"):
        found = reading(noisy(bound, [30.0, -2.0, 5.0], second, 4.0, 4.0, n=160), kind)
        assert np.isfinite(found.interval(0.9)).all()
        assert found.reading == kind
    x = np.linspace(-0.9, 0.9, 200)[:, None]
    one = model(1, radius=50)
    _, _, rows, signs = fitted(model(1), x, np.sign(x[:, 0]))
    r = rows * signs[:, None]
    wide = reading(noisy(one, r.sum(axis=0), r.T @ r, 0.1, 0.1, n=200))
    assert np.isfinite(wide.mean()).all()
    assert "margins are so wide" in wide.caution


def test_coverage_of_many_columns():
    """90 % intervals of 11 weights in 20 data sets: 220 of them, the worlds independent.

    The share has a standard error of 2.0 % if the weights of a world were independent and 6.7 % if they were
    one; four of the former leave 0.82, and the naive reading must not reach it.
    """
    rng, bound = np.random.default_rng(11), model(10, radius=6)
    hits = {"noise_aware": 0.0, "naive": 0.0}
    for _ in range(20):
        w = rng.normal(size=11) * 6 / np.sqrt(11)
        x = rng.normal(size=(8000, 10)) * 0.2
        s = np.column_stack([x, np.full(8000, 0.5)]) @ w
        y = np.where(rng.random(8000) < expit(s), 1, -1)
        rows = Records.of(bound, x, y).rows * y[:, None]
        jitter = rng.normal(size=(11, 11)) * 12 / np.sqrt(2)
        noise = np.triu(jitter, 1) + np.triu(jitter, 1).T + np.diag(rng.normal(size=11) * 12)
        release = noisy(bound, rows.sum(axis=0) + rng.normal(size=11) * 15, rows.T @ rows + noise, 15.0, 12.0)
        for kind in hits:
            ends = reading(release, kind).encoded_interval(0.9)
            hits[kind] += np.mean((ends[:, 0] < w) & (w < ends[:, 1])) / 20
    assert hits["noise_aware"] > 0.82
    assert hits["naive"] < 0.7


def lopsided(rng, bound, n):
    """Exponential columns and weights from the prior: margins that no normal resembles."""
    p, m = len(bound.design), float(bound.strength)
    x, w = rng.exponential(size=(n, p)) * 0.5 / np.sqrt(p), rng.normal(size=p + 1) / np.sqrt(m)
    records = Records.of(bound, x, np.ones(n))
    y = np.where(rng.random(n) < expit(records.rows @ w), 1, -1)
    return records.rows * y[:, None], w


def test_few_lopsided_columns_are_allowed_for(monkeypatch):
    """100 intervals at 90 %, or more: a standard error of 3 % if independent, and three of them leave 0.81.

    Without the allowance the error of the line alone breaks them.
    """
    bound, worlds = model(4, radius=6), range(20)
    made = [lopsided(np.random.default_rng(seed), bound, 10_000) for seed in worlds]

    def share():
        held = []
        for r, w in made:
            ends = reading(noisy(bound, r.sum(axis=0), r.T @ r, 1e-3, 1e-3, n=10_000)).encoded_interval(0.9)
            held.append(np.mean((ends[:, 0] < w) & (w < ends[:, 1])))
        return np.mean(held)

    assert share() > 0.81
    monkeypatch.setattr(noisy_moments_posterior, "LONE", 0.0)
    assert share() < 0.7


def test_levels_of_one_column_are_one_variable():
    names = [Feature("x", level=i) for i in range(4)]
    bound = BayesianLogisticRegression("y", ("x", "z"), norm=1).bind((*names, Feature("z")))
    assert sources(bound) == [[0, 1, 2, 3], [4]]
    assert variables(bound) == 3


# --- predictions ------------
def test_predictions_keep_what_noise_hides_of_the_rows():
    """Columns off their centre that follow one factor, as measurements do: 24 releases, errors on new rows.

    The noise-aware mean keeps the constant and little else, the naive one divides by noise. Better by three
    standard errors of the paired differences, t with 23 degrees: chance has 0.3 % of each claim.
    """
    bound, errors = model(12, radius=10), {"noise_aware": [], "naive": [], "predictive": []}
    for seed in range(24):
        rng = np.random.default_rng(seed)
        factor = rng.normal(size=1000)
        x = (0.3 * factor[:, None] - 0.6 + 0.15 * rng.normal(size=(1000, 12))) / np.sqrt(12)
        y = np.where(factor > -0.3, 1, -1)
        rows = Records.of(bound, x, y).rows
        r, jitter = rows[:400] * y[:400, None], rng.normal(size=(13, 13)) * 8
        noise = rng.normal(size=13) * 8, (jitter + jitter.T) / 2
        release = noisy(bound, r.sum(axis=0) + noise[0], r.T @ r + noise[1], 8.0, 8.0)
        for kind, found in errors.items():
            found.append(np.mean(rows[400:] @ reading(release, kind).encoded_mean() * y[400:] <= 0))
    for other in ("noise_aware", "naive"):
        apart = np.subtract(errors[other], errors["predictive"])
        assert apart.mean() > 3 * apart.std(ddof=1) / np.sqrt(24), other


@pytest.mark.parametrize("seed", range(6))
def test_a_rare_label_and_much_noise_do_not_make_predictions_run_away(seed):
    """A predictor whose curvature follows ever wider margins has no anchor left: |w| was above 1000 here."""
    bound, rng = model(4, radius=10), np.random.default_rng(seed)
    x = (rng.random((1000, 4)) < 0.4) / 2.0
    y = np.where(rng.random(1000) < 0.97, 1, -1)
    r = Records.of(bound, x, y).rows * y[:, None]
    jitter = rng.normal(size=(5, 5)) * 60
    release = noisy(
        bound, r.sum(axis=0) + rng.normal(size=5) * 60, r.T @ r + (jitter + jitter.T) / 2, 60.0, 60.0
    )
    found = reading(release)
    p = found.probability(x)
    loss = -np.mean(np.log(np.where(y > 0, p, 1 - p)))
    assert np.linalg.norm(found.predictor.mean()) < 6 * 10  # six radii
    assert loss < 1.0  # a coin has 0.69


def test_the_default_predicts_with_its_predictor_and_does_not_run_away():
    bound, rng = model(2, radius=10), np.random.default_rng(5)
    x = rng.normal(size=(500, 2)) * 0.3
    r = Records.of(bound, x, np.ones(500)).rows * np.sign(x[:, :1])  # the first column tells the label
    release = noisy(bound, r.sum(axis=0), r.T @ r, 0.1, 0.1)
    found, alone = reading(release), reading(release, "predictive")
    assert np.array_equal(found.probability(x), alone.probability(x))
    assert found.reading == "noise_aware"
    assert "predictions" in alone.caution
    assert not np.array_equal(found.mean(), alone.mean())
    assert np.linalg.norm(alone.mean()) < 3 * 10  # three radii
    assert np.mean((alone.probability(x) > 0.5) == (x[:, 0] > 0)) > 0.97


def test_the_usual_range_is_public():
    assert usual_margins(model(6, radius=10)) == pytest.approx(3 * 10 * np.sqrt(1.25 / 7), rel=1e-5)
    assert usual_margins(model(6, radius=0.1)) == 2
