"""Sampler C: its Kullback–Leibler bound on a grid, its law against quadrature, its certificate."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms.regression.samplers import proximal, rejection
from discreet.mechanisms.regression.samplers.potential import Potential, pull
from discreet.mechanisms.regression.samplers.radial import FINER
from discreet.mechanisms.regression.samplers.rejection import Rounding
from discreet.models.generalized_linear import Feature, GeneralizedLinear
from discreet.models.margin_losses import Logistic
from discreet.models.regression_records import Records
from discreet.privacy.guarantee import NotProved
from discreet.privacy.kinds import GaussianDP
from discreet.sampling.source import SeededSource

FALSE_ALARM = 1e-6  # of each statistical test below; seeds are fixed
AXIS = np.linspace(-14, 14, 1401)


def model_of(d):
    features = tuple(f"x{i}" for i in range(d))
    return GeneralizedLinear("y", features, norm=1, intercept=False).bind([Feature(x) for x in features])


def potential_of(d, n, weight, strength, seed=0):
    rng, model = np.random.default_rng(seed), model_of(d)
    x = rng.normal(size=(n, d)) / math.sqrt(d)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-3 * x[:, 0])), 1.0, -1.0)
    return Potential(Records.of(model, x, y), Logistic(), Fraction(weight), Fraction(strength))


def posterior(potential):
    u = np.array([potential.value(np.array([w])) for w in AXIS])
    return np.exp(u.min() - u) / np.exp(u.min() - u).sum(), u


def divergences(potential, eta, steps):
    """KL of the ideal chain after 1 … `steps` steps, its density carried on a grid from w = 0."""
    target, u = posterior(potential)
    spread = np.exp(-((AXIS[:, None] - AXIS) ** 2) / (2 * eta))  # y × w
    back = np.exp(u.min() - u) * spread
    back /= back.sum(axis=1, keepdims=True)  # row y: the law of w given y
    forth = spread / spread.sum(axis=0)  # column w: the law of y given w
    law, found = np.zeros_like(AXIS), []
    law[len(AXIS) // 2] = 1
    for _ in range(steps):
        law = (forth @ law) @ back
        seen = law > 0
        found.append(float(np.sum(law[seen] * np.log(law[seen] / target[seen]))))
    return np.array(found)


@pytest.mark.parametrize(("n", "weight", "strength"), [(60, 1, 0.5), (400, 0.1, 0.2), (0, 1, 1)])
@pytest.mark.parametrize("root", [Fraction(1, 2), Fraction(1), Fraction(2)])
def test_the_chain_stays_below_its_bound(n, weight, strength, root):
    potential = potential_of(1, n, weight, strength)
    run = proximal.ProximalRun(1, weight * n, float(pull(Logistic())), strength, root)
    found = divergences(potential, float(root) ** 2, 12)
    bound = np.array([run.divergence(k) for k in range(1, 13)])
    seen = found > 1e-13  # below, the grid's own rounding
    ratios = (found / bound)[seen]
    print(f"n={n} η={float(root) ** 2:g}: KL/bound {ratios[0]:.3g} to {ratios[-1]:.3g}")  # noqa: T201
    assert np.all(ratios <= 1)
    assert ratios.max() > 1e-4


def test_a_faster_rate_than_the_proved_one_is_refuted():
    potential = potential_of(1, 60, 1, 0.5)
    found = divergences(potential, 0.25, 10)
    claimed = found[0] * (1 + 0.25 * 5.0) ** (
        -2.0 * np.arange(10)
    )  # as if the posterior were ten times sharper
    assert np.any(found > 1.01 * claimed)


def test_the_mean_square_that_starts_the_bound():
    """m·E‖w‖² ≤ d + .2785·ρn, on a grid."""
    for n, weight, strength in [(60, 1, 0.5), (400, 0.1, 0.2), (3, 1, 0.1)]:
        target, _ = posterior(potential_of(1, n, weight, strength))
        assert strength * np.sum(target * AXIS**2) <= 1 + float(pull(Logistic())) * weight * n


def test_a_step_draws_from_its_own_law():
    """w given y = 3, far from the posterior's middle: e^{−U(w) − (w − y)²/(2η)}."""
    potential = potential_of(1, 60, 1, 0.5)
    run = proximal.ProximalRun(1, 60.0, float(pull(Logistic())), 0.5, Fraction(1))
    drawn = run._near(potential, np.array([3.0])).released(2000, Fraction(1, 2**14), SeededSource(1))[:, 0]
    target, u = posterior(potential)
    given_y = np.exp(u.min() - u - (AXIS - 3) ** 2 / 2)
    for law, right in ((given_y / given_y.sum(), True), (target, False)):
        p = stats.kstest(drawn, lambda x, law=law: np.interp(x, AXIS, np.cumsum(law) - law / 2)).pvalue
        assert (p > FALSE_ALARM) == right


def test_the_whole_chain_ends_in_the_posterior():
    potential = potential_of(1, 60, 1, 0.5)
    source, target = SeededSource(1), posterior(potential)[0]
    run = proximal.ProximalRun(1, 60.0, float(pull(Logistic())), 0.5, Fraction(4))
    drawn = np.array([run.draw(potential, source)[0] for _ in range(25)])
    mean = float(np.sum(target * AXIS))
    error = math.sqrt(np.sum(target * (AXIS - mean) ** 2) / 25)
    limit = stats.norm.isf(FALSE_ALARM / 2)
    assert abs(drawn.mean() - mean) < limit * error
    assert abs(drawn.mean()) > limit * error  # the start is seen to be forgotten


def test_the_module_draws_on_the_grid_of_sampler_b():
    potential = potential_of(6, 200, 0.3, 0.8)
    step = float(rejection.spread(Fraction(potential.strength)) / 16)
    drawn = proximal.draw(potential, SeededSource(2))
    assert drawn.shape == (6,)
    assert np.array_equal(drawn / step, np.rint(drawn / step))


@pytest.mark.parametrize("root", [Fraction(1, 64), Fraction(1), Fraction(2)])
def test_what_rounding_does_to_a_centre_is_paid_for(root):
    """The prior's pull (m + 1/η)·centre, from y at the edge of its cell, against the computed one."""
    d, n, strength = 3, 200, Fraction(1, 3)
    run = proximal.ProximalRun(d, float(n), float(pull(Logistic())), float(strength), root)
    near = Rounding.of(model_of(d), n, 1, strength, noise=float(root), more=run.more)
    y = np.array([7.25, -3.125, 0.5])
    seen = run._near(potential_of(d, n, 1, strength), y).tilted.centre
    edge = [Fraction(float(a)) + root / FINER / 2 for a in y]
    ideal = [a / (1 + root**2 * strength) for a in edge]
    off = math.dist(
        [0] * d,
        [
            float((strength + 1 / root**2) * (Fraction(float(c)) - i))
            for c, i in zip(seen, ideal, strict=True)
        ],
    )
    assert near.centre / 100 < off <= near.centre
    assert near.exponent > near.centre * near.far


def test_steps_shorten_where_draws_would_be_hard():
    assert proximal.largest_step(5, 100.0, 1.0, 1.0) == 1
    assert proximal.largest_step(400, 1e5, 1.0, 1.0) < Fraction(1, 8)
    model = model_of(60)
    steps = {run.root for run in proximal.runs(model, 10**5, 1, 1)}
    for n in (10, 1000, 10**5):
        for square in (0.1, 1.0):
            assert proximal.largest_step(60, n, square, 1.0) in steps  # the certificate covers all choices


def test_the_certificate():
    model = model_of(10)
    for run in proximal.runs(model, 10_000, Fraction(1, 4), 2):
        assert (
            math.sqrt(run.divergence(run.steps) / 2)
            <= proximal.LEFT
            < math.sqrt(run.divergence(run.steps - 2) / 2)
        )
    one = rejection.total_variation(model, 10_000, Fraction(1, 4), 2)
    assert one < proximal.total_variation(model, 10_000, Fraction(1, 4), 2) < 200 * one
    near = proximal.closeness(model, 10_000, Fraction(1, 4), 2)
    ideal = GaussianDP(0.5)
    promised = rejection.nearly(ideal, near, 1).delta(1)
    assert ideal.delta(1) < promised < 1.001 * ideal.delta(1) + 1e-10
    with pytest.raises(NotProved, match="most"):
        proximal.total_variation(model, None, 1, 2)
