"""Sampler B: its law against quadrature and Langevin with Metropolis, its envelope, its rounding."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.mechanisms.regression.draws import DiffusedRegression, TunedRegression
from discreet.mechanisms.regression.one_sample import OneRegressionSample
from discreet.mechanisms.regression.samplers import rejection
from discreet.mechanisms.regression.samplers.potential import Potential, Tilted, coarse, floor, pull
from discreet.mechanisms.regression.samplers.radial import (
    Growth,
    Proposal,
    ProposalBall,
    exponentials,
    growth,
    metric,
    normals,
    strips,
    tilt,
)
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature, GeneralizedLinear
from discreet.models.margin_losses import ClippedPoisson, DeclaredLoss, Logistic
from discreet.models.regression_records import Records
from discreet.privacy.arithmetic.ball import precision
from discreet.privacy.guarantee import ADD_REMOVE, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP, GaussianDP
from discreet.sampling.source import SeededSource

FALSE_ALARM = 1e-6  # of each statistical test below; seeds are fixed


def model_of(d, loss=None, *, intercept=False):
    features = tuple(f"x{i}" for i in range(d))
    model = GeneralizedLinear("y", features, norm=1, intercept=intercept, loss=loss or Logistic())
    return model.bind([Feature(name) for name in features])


def potential_of(d, n, weight, strength, *, seed=0, loss=None, slope=3.0):
    rng = np.random.default_rng(seed)
    model = model_of(d, loss)
    x = rng.normal(size=(n, d)) / math.sqrt(d)
    w = rng.normal(size=d)
    margin = slope * x @ w / np.linalg.norm(w)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-margin)), 1.0, -1.0)
    if loss is not None:
        y = rng.poisson(np.exp(margin / 3)).astype(float)
    return Potential(Records.of(model, x, y), model.loss, Fraction(weight), Fraction(strength))


def values(potential, points):
    return np.array([potential.value(w) for w in points])


def law(potential, grid):
    """The posterior's distribution function on a grid of one weight."""
    u = values(potential, grid[:, None])
    mass = np.cumsum(np.exp(u.min() - u))
    return lambda x: np.interp(x, grid, mass / mass[-1])


# ── the law ─────────────────────────────────────────────────────────────────────────────────────────

GRID = np.linspace(-12, 12, 8001)


@pytest.mark.parametrize(("weight", "strength"), [(1, 0.5), (0.05, 0.02)])
def test_one_weight_follows_the_posterior(weight, strength):
    potential = potential_of(1, 60, weight, strength)
    drawn = rejection.draws(potential, 4000, SeededSource(1))[:, 0]
    assert stats.kstest(drawn, law(potential, GRID)).pvalue > FALSE_ALARM
    wrong = Potential(potential.records, potential.loss, Fraction(weight), 2 * Fraction(strength) + 1)
    assert stats.kstest(drawn, law(wrong, GRID)).pvalue < FALSE_ALARM  # the test sees a wrong prior


def rosenblatt(potential, drawn, span=7.0, cells=401):
    """Two uniforms, if `drawn` is from the posterior of two weights."""
    axis = np.linspace(-span, span, cells)
    pairs = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    x, y = potential.records.rows, potential.records.answers
    u = float(potential.weight) * np.sum(np.logaddexp(0, -y * (pairs @ x.T)), axis=1)
    u += float(potential.strength) / 2 * np.sum(pairs**2, axis=1)
    mass = np.exp(u.min() - u).reshape(cells, cells)
    first = np.cumsum(mass.sum(axis=1))
    one = np.interp(drawn[:, 0], axis, first / first[-1])
    at = np.clip(np.searchsorted(axis, drawn[:, 0]), 1, cells - 1)
    part = ((drawn[:, 0] - axis[at - 1]) / (axis[at] - axis[at - 1]))[:, None]
    given_first = np.cumsum(mass[at - 1] * (1 - part) + mass[at] * part, axis=1)
    given_first /= given_first[:, -1:]
    two = [np.interp(w, axis, c) for w, c in zip(drawn[:, 1], given_first, strict=True)]
    return one, np.array(two)


def test_two_weights_follow_the_posterior():
    potential = potential_of(2, 30, 1, 0.7, seed=3)
    drawn = rejection.draws(potential, 3000, SeededSource(2))
    for uniform in rosenblatt(potential, drawn):
        assert stats.kstest(uniform, "uniform").pvalue > FALSE_ALARM
    wrong = Potential(potential.records, potential.loss, Fraction(7, 10), Fraction(7, 10))
    assert min(stats.kstest(u, "uniform").pvalue for u in rosenblatt(wrong, drawn)) < FALSE_ALARM


def metropolis(potential, chains, steps, seed):
    """Metropolis-adjusted Langevin in the metric of the Hessian at the mode, `chains` side by side."""
    rng, tilted = np.random.default_rng(seed), Tilted.plain(potential)
    root = np.linalg.inv(np.linalg.cholesky(tilted.hessian(tilted.anchor))).T
    x, y, m, rho = tilted.rows, tilted.answers, tilted.strength, tilted.weight
    h = 0.8 / potential.dimension ** (1 / 3)

    def look(t):
        w = tilted.anchor + t @ root.T
        s = w @ x.T
        u = rho * np.logaddexp(0, -y * s).sum(axis=1) + m / 2 * np.sum(w**2, axis=1)
        return u, (rho * (-y / (1 + np.exp(y * s))) @ x + m * w) @ root

    t = rng.normal(size=(chains, potential.dimension))
    u, g = look(t)
    kept = []
    for k in range(steps):
        new = t - h * g + math.sqrt(2 * h) * rng.normal(size=t.shape)
        v, f = look(new)
        back = np.sum((t - new + h * f) ** 2 - (new - t + h * g) ** 2, axis=1) / (4 * h)
        take = np.log(rng.random(chains)) < u - v - back
        t, u, g = np.where(take[:, None], new, t), np.where(take, v, u), np.where(take[:, None], f, g)
        if k >= steps // 4:
            kept.append(t)
    runs = np.array(kept).transpose(1, 0, 2)  # chains × steps × d: chains are independent
    return tilted.anchor, root, runs


@pytest.mark.slow
@pytest.mark.parametrize("d", [5, 10])
def test_moments_agree_with_a_long_metropolis_run(d):
    """500 chains of 600 steps are 225 000 points after warming up: moments are known to about half a percent,
    and 6 000 draws to two. The truth is refused once in 10^6 seeds; scales 8 % off are seen.
    """
    potential = potential_of(d, 80, 0.5, 0.4, seed=d)
    anchor, root, runs = metropolis(potential, 500, 600, seed=d)
    drawn = np.linalg.solve(root, (rejection.draws(potential, 6_000, SeededSource(d)) - anchor).T).T

    def deviations(sample):
        """z-scores of means and second moments; those of the run have their error between chains."""
        found = []
        for feature in (lambda t: t, lambda t: t[..., :, None] * t[..., None, :]):
            ours, theirs = feature(sample), np.array([feature(run).mean(axis=0) for run in runs])
            error = np.sqrt(ours.var(axis=0) / len(ours) + theirs.var(axis=0) / len(theirs))
            found.append(((ours.mean(axis=0) - theirs.mean(axis=0)) / error).ravel())
        return np.abs(np.concatenate(found)).max()

    limit = stats.norm.isf(FALSE_ALARM / 2 / (d + d**2))
    assert deviations(drawn) < limit
    assert deviations(1.08 * drawn) > limit
    wrong = Potential(
        potential.records, potential.loss, Fraction(1, 2), Fraction(1, 2)
    )  # a prior 25 % stronger
    nearby = np.linalg.solve(root, (rejection.draws(wrong, 6_000, SeededSource(d)) - anchor).T).T
    assert deviations(nearby) > limit


def test_the_law_does_not_depend_on_the_anchor():
    potential = potential_of(1, 60, 1, 0.5)
    tilted = Tilted.plain(potential)
    tilted.__dict__["anchor"] = tilted.anchor + 0.2  # accepts less, and the same law
    drawn = Proposal.of(tilted).released(3000, Fraction(1, 2**14), SeededSource(3))[:, 0]
    assert stats.kstest(drawn, law(potential, GRID)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("radius", [0.3, 1.5])
def test_a_ball_restricts_the_law(radius):
    potential = potential_of(1, 60, 1, 0.5)
    drawn = rejection.draws_within(potential, radius, 3000, SeededSource(4))[:, 0]
    assert np.abs(drawn).max() < radius + 0.01
    inside = law(potential, np.linspace(-radius, radius, 4001))
    assert stats.kstest(drawn, inside).pvalue > FALSE_ALARM
    wrong = Potential(potential.records, potential.loss, Fraction(3, 4), Fraction(1, 2))
    assert stats.kstest(drawn, law(wrong, np.linspace(-radius, radius, 4001))).pvalue < FALSE_ALARM


def test_a_ball_in_many_dimensions_is_reached_through_a_stronger_prior():
    potential = potential_of(12, 400, 1, 0.1, slope=8.0)
    assert ProposalBall.of(potential, 1.0).strength > 10  # the mode lies far outside
    drawn = rejection.draws_within(potential, 1.0, 20, SeededSource(5))
    assert np.all(np.linalg.norm(drawn, axis=1) < 1.02)


def test_counts_are_drawn_exactly_too():
    potential = potential_of(1, 40, 0.5, 0.5, loss=ClippedPoisson(4))
    drawn = rejection.draws(potential, 2500, SeededSource(6))[:, 0]
    assert stats.kstest(drawn, law(potential, GRID)).pvalue > FALSE_ALARM
    wrong = Potential(potential.records, potential.loss, Fraction(1), Fraction(1, 2))
    assert stats.kstest(drawn, law(wrong, GRID)).pvalue < FALSE_ALARM


def test_a_declared_loss_has_no_exact_sampler():
    loss = DeclaredLoss(lambda s, _: s**2, lambda s, _: 2 * s, lambda s, _: 2 + 0 * s, 1, 2)
    with pytest.raises(NotProved, match="langevin"):
        rejection.draw(potential_of(1, 5, 1, 1, loss=loss), SeededSource(0))


# ── the envelope ────────────────────────────────────────────────────────────────────────────────────


def shifted(potential, by, seed):
    tilted = Tilted.plain(potential)
    direction = np.random.default_rng(seed).normal(size=potential.dimension)
    tilted.__dict__["anchor"] = Tilted.plain(potential).anchor + by * direction
    return tilted


@settings(deadline=None, max_examples=25)
@given(
    st.integers(1, 5),
    st.integers(0, 40),
    st.sampled_from([(1, 0.5), (0.01, 0.003), (1, 50), (0.3, 1e-3)]),
    st.sampled_from([0.0, 0.0, 0.3]),
    st.integers(0, 10**6),
    st.sampled_from([None, ClippedPoisson(3)]),
)
def test_the_envelope_lies_above(d, n, constants, by, seed, loss):  # noqa: PLR0917
    tilted = shifted(potential_of(d, n, *constants, seed=seed, loss=loss), by, seed)
    gap, _, _ = gaps(tilted, seed, growth)
    assert gap >= -1e-9


def gaps(tilted, seed, grow):
    """Least U(w) − U(v) − (ψ − γr), relative, over random directions at radii from tiny to far out."""
    rng, d = np.random.default_rng(seed + 1), tilted.dimension
    margins = tilted.rows @ tilted.anchor
    root = metric(tilted, margins)
    psi, gamma = grow(tilted, margins, root), tilt(tilted, root)
    r = np.exp(rng.uniform(math.log(1e-3), math.log(60), 200))
    t = rng.normal(size=(200, d))
    w = tilted.anchor + (t * (r / np.linalg.norm(t, axis=1))[:, None]) @ root.T
    lower = psi(r)[0] - gamma * r
    risen = np.array([tilted.value(x) for x in w]) - tilted.value(tilted.anchor)
    return float(np.min((risen - lower) / (1 + np.abs(risen)))), psi, gamma


def test_a_constant_that_is_wrong_is_caught():
    tilted = shifted(potential_of(3, 200, 1, 0.1), 0.0, 1)

    def steep(tilted, margins, root):  # as if the curvature at the anchor held everywhere
        honest = growth(tilted, margins, root)
        return Growth(honest.cells, np.full_like(honest.curvatures, honest.curvatures[0]))

    assert gaps(tilted, 0, growth)[0] >= -1e-9
    assert gaps(tilted, 0, steep)[0] < -1e-3


@pytest.mark.parametrize("d", [1, 2, 30])
def test_strips_lie_above_the_radial_density(d):
    psi, gamma = Growth(np.array([0.0, 1.0, 6.0]), np.array([1.0, 0.6, 0.01])), 0.02
    farthest = psi.beyond(2 * d + 40, gamma)
    envelope = strips(np.eye(d), psi, gamma, farthest)
    r = np.random.default_rng(0).uniform(0, farthest, 20000)
    f = (d - 1) * np.log(r) + gamma * r - psi(r)[0]
    strip = np.searchsorted(envelope.edges, r, side="right") - 1
    assert np.all(envelope.heights[strip] >= f)
    assert np.min(envelope.heights[strip] - f) < 0.2  # and not by much
    shares = np.exp(envelope.heights) * np.diff(envelope.edges) / envelope.shares
    assert np.allclose(shares, shares[0], rtol=1e-9)  # heights are what the whole numbers say


def test_floors_bound_the_bend_and_pull_bounds_the_slope():
    s, t = np.linspace(-9, 9, 400)[:, None], np.linspace(-1, 1, 201)
    for loss, answers in ((Logistic(), (-1.0, 0.0, 1.0)), (ClippedPoisson(5), (0.0, 2.0, 5.0))):
        for y in answers:
            for h in (0.01, 0.7, 4.0):
                least = loss.bend(s + h * t, np.full_like(s + t, y)).min(axis=1)
                assert np.all(floor(loss, s[:, 0], np.full(400, y), np.full(400, h)) <= least * (1 + 1e-9))
            drawn_in = -s * loss.slope(s, np.full_like(s, y))
            assert drawn_in.max() <= float(pull(loss))
    assert float(pull(Logistic())) == pytest.approx(0.27846454, abs=1e-5)  # W(1/e)


# ── rounding ────────────────────────────────────────────────────────────────────────────────────────


def test_the_computed_exponent_is_as_near_as_promised():
    """Against 256-bit arithmetic at the very points where proposals were judged."""
    potential = potential_of(4, 300, 0.8, 0.3, slope=6.0)
    tilted = Tilted.plain(potential)
    proposal = Proposal.of(tilted)
    moved = np.random.default_rng(0).normal(size=(20, 4)) @ proposal.envelope.root.T * 2
    found = proposal.risen(moved)
    with precision(256):
        truth = [exact_rise(tilted, delta) for delta in moved]
        worst = max(abs(float(arb(a) - b)) for a, b in zip(found, truth, strict=True))
    promised = rejection.rounding(model_of(4), 300, Fraction(4, 5), Fraction(3, 10)).exponent
    assert 0 < worst <= promised
    assert worst > promised / 1e5  # a bound, not an excuse


def exact_rise(tilted, delta):
    total = arb(0)
    for x, y in zip(tilted.rows, tilted.answers, strict=True):
        s = sum((arb(float(a)) * arb(float(b)) for a, b in zip(x, tilted.anchor, strict=True)), arb(0))
        h = sum((arb(float(a)) * arb(float(b)) for a, b in zip(x, delta, strict=True)), arb(0))
        total += ((-arb(float(y)) * (s + h)).exp() + 1).log() - ((-arb(float(y)) * s).exp() + 1).log()
    prior = sum(
        (
            arb(float(e)) * (arb(float(e)) / 2 + arb(float(v)))
            for e, v in zip(delta, tilted.anchor, strict=True)
        ),
        arb(0),
    )
    return arb(float(tilted.weight)) * total + arb(tilted.strength) * prior


def test_draws_lie_on_the_public_grid():
    potential = potential_of(3, 20, 1, 0.5)
    step = float(rejection.spread(Fraction(1, 2)) / 16)
    drawn = rejection.draws(potential, 5, SeededSource(7))
    assert np.array_equal(drawn / step, np.rint(drawn / step))
    assert len(np.unique(drawn)) == 15


def test_certificates_are_public_small_and_grow_with_n():
    model = model_of(10, intercept=True)
    bound = [rejection.total_variation(model, n, Fraction(1, 4), 2) for n in (100, 10_000, 10**6)]
    assert 0 < bound[0] < bound[1] < bound[2] < 1e-6
    assert rejection.total_variation(model, 10_000, Fraction(1, 4), 2, radius=10) > bound[1]
    shift, lost = rejection.closeness(model, 10_000, Fraction(1, 4), 2)
    assert shift < 1e-5
    assert lost < 1e-12
    with pytest.raises(NotProved, match="most"):
        rejection.total_variation(model, None, 1, 2)
    with pytest.raises(NotProved, match="2\\^30"):
        rejection.total_variation(model, 10**9, 1, Fraction(1, 10**4))


def test_a_near_law_promises_nearly_as_much():
    """A pair of binary laws, each moved by (ε₀, δ₀) the worst way, keeps the promise and no smaller one."""
    ideal = GaussianDP(1.0)
    assert rejection.nearly(ideal, (0.0, 0.0), 1) <= ApproxDP(1, ideal.delta(1) * (1 + 1e-9))
    far = rejection.nearly(ideal, (1e-6, 1e-13), 10)
    assert ideal.delta(10) < far.delta(10) < ideal.delta(10) * 1.001 + 3e-9  # (1 + e^10)·1e-13 = 2.2e-9
    with pytest.raises(NotProved, match="rounding alone"):
        rejection.nearly(ideal, (0.1, 0.0), 0.1)


def test_margins_of_an_anchor_are_exact_in_many_dimensions():
    """A row along the anchor, 2000 weights: the largest sum there is."""
    d = 2000
    model = model_of(d, intercept=True)
    w = np.random.default_rng(0).uniform(0.9, 1.0, d + 1) * 7.3
    anchor = coarse(w)
    rows = Records.of(model, np.vstack([w[:-1], -w[:-1]]), [1, -1]).rows
    exact = [
        sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, anchor, strict=True)) for row in rows
    ]
    assert [Fraction(float(s)) for s in rows @ anchor] == exact


def test_a_fall_below_the_rounding_of_the_potential_is_no_failure():
    """U is about 10^10, so that doubles see no fall below 10^-6; to fail would tell of the data."""
    tilted = Tilted.plain(potential_of(2, 300, 10**8, 10, seed=17))
    slope = tilted.gradient(tilted.anchor)
    assert slope @ np.linalg.solve(tilted.hessian(tilted.anchor), slope) < 1e-3


def test_no_two_points_of_a_ball_are_farther_than_accounted_for():
    for d, radius in ((1, 3.0), (400, 0.1), (400, 20.0)):
        held = rejection.rounding(model_of(d), 1000, 1, Fraction(d) / Fraction(radius) ** 2, radius=radius)
        assert held.far >= 2 * radius


def test_exponentials_are_right_far_into_the_tail():
    drawn = exponentials(SeededSource(8), 40_000)
    assert stats.kstest(drawn, "expon").pvalue > FALSE_ALARM
    assert stats.kstest(drawn, "expon", args=(0, 1.06)).pvalue < FALSE_ALARM

    class Zeros:  # a source of zeros, then of ones: U = 2^-(53 + …), far below what one word could say
        calls = 0

        def words(self, count):
            self.calls += 1
            return np.full(count, 0 if self.calls <= 2 else 2**64 - 1, np.uint64)

    assert exponentials(Zeros(), 1)[0] == pytest.approx((53 + 53 + 1) * math.log(2) - math.log(2), rel=1e-12)


def test_normals_fill_the_gaps_of_their_grid():
    drawn = normals(SeededSource(9), 50_000)
    assert stats.kstest(drawn, "norm").pvalue > FALSE_ALARM
    fine = drawn * 2.0**40
    assert stats.kstest(fine - np.rint(fine) + 0.5, "uniform").pvalue > FALSE_ALARM
    short = drawn[np.abs(drawn) < 2.0**-10] * 2.0**53  # as fine as doubles are there: directions of short z
    assert len(short) > 20
    assert stats.kstest(short % 1, "uniform").pvalue > FALSE_ALARM


# ── what would not end ──────────────────────────────────────────────────────────────────────────────


def test_a_draw_that_would_not_end_is_refused_before_any_charge():
    """Adult's shape: −ln(acceptance) is 24 on its rows at norm 3, radius 20/3; 15 at norm 1, radius 10."""

    def model(norm, radius, levels):
        design = [Feature("c", level=f"{i}") for i in range(levels)]
        return BayesianLogisticRegression("y", ("c",), norm=norm, radius=radius).bind(design)

    common = {"target": ApproxDP(1, 1e-5, relation=ADD_REMOVE), "most": 48_842}
    for hard in (model(3, Fraction(20, 3), 107), model(1, 10, 107)):
        for kind in (TunedRegression, DiffusedRegression):
            assert kind.calibrate(hard, **common).sampler == "langevin"  # which always ends
            with pytest.raises(Unreachable, match=r"public numbers alone.*langevin.*proximal"):
                kind.calibrate(hard, sampler="rejection", **common)
        with pytest.raises(Unreachable, match="not end in useful time"):
            OneRegressionSample.calibrate(hard, **common)
    easy = TunedRegression.calibrate(model(1, 10, 50), sampler="rejection", **common)
    assert easy.guarantee <= common["target"]


@pytest.mark.parametrize(("d", "n"), [(5, 1000), (10, 400)])
def test_difficulty_is_near_what_even_rows_meet(d, n):
    """Between a third of −ln(acceptance) and three times it, or half a nat: an estimate, not a bound."""
    potential = potential_of(d, n, 0.2, 0.3, seed=1, slope=1.0)
    proposal = Proposal.of(Tilted.plain(potential))
    _, _, exponent = proposal.proposals(4000, SeededSource(1))
    met = -math.log(np.mean(np.exp(-exponent)))
    guess = rejection.difficulty(model_of(d), n, Fraction(1, 5), Fraction(3, 10))
    assert met / 3 - 0.5 < guess < 3 * met + 0.5
    assert (
        rejection.difficulty(model_of(4 * d), n, Fraction(1, 5), Fraction(3, 10)) > 3 * met
    )  # sees more weights


# ── bad input ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rows", "answers"),
    [
        (np.zeros((0, 3)), []),
        (np.zeros((5, 3)), [1, 1, 1, 1, 1]),
        (np.eye(3), [1, -1, 1]),  # separable
        (np.ones((4, 3)), [0, 0, 0, 0]),  # unknown labels count for nothing
        (np.ones((2, 3)), [1, -1]),  # fewer records than weights
        (np.full((2000, 3), 9.0), [1] * 2000),  # long rows, one class
    ],
)
def test_any_records_are_drawn_from(rows, answers):
    model = model_of(3)
    potential = Potential(Records.of(model, rows, answers), model.loss, 1, Fraction(1, 10))
    assert np.all(np.isfinite(rejection.draw(potential, SeededSource(10))))
