"""NoisyProjSGD as a trainer: its arithmetic, its exact law on quadratics, and what it refuses."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

from discreet.mechanisms.noisy_projected_sgd import NoisyProjectedSGD, permutation, rounding
from discreet.mechanisms.sgd_losses import Loss, clipped, logistic_loss, ridge_loss
from discreet.privacy.guarantees import ApproxDP, GaussianDP
from discreet.sampling.source import SeededSource

RNG = np.random.default_rng(0)
N, D = 400, 3
X = RNG.normal(size=(N, D)) / 2
Y = np.sign(X @ [2.0, -1.0, 0.5] + 0.3 * RNG.normal(size=N))


def trainer(**changes):
    given = {"n": N, "dimension": D, "target": ApproxDP(1, 1e-5), "radius": 4.0} | changes
    return NoisyProjectedSGD.calibrate(logistic_loss(norm=1.0, penalty=0.01), **given)


def test_the_worst_index_meets_the_target_and_every_other_does_better():
    made = trainer()
    assert made.guarantee <= ApproxDP(1, 1e-5)
    assert (
        not NoisyProjectedSGD.calibrate(
            logistic_loss(norm=1.0, penalty=0.01), n=N, dimension=D, target=ApproxDP(0.9, 1e-5), radius=4.0
        ).run.sigma
        <= made.run.sigma
    )
    mus = [made.run.at_index(i).mu for i in (1, 100, 399, 400)]
    assert mus == sorted(mus)


def test_public_steps_and_a_secret_order_need_less_noise():
    plain, public, secret = trainer(), trainer(public_steps=100), trainer(secret_order=True)
    assert public.run.sigma < plain.run.sigma / 5
    assert secret.run.sigma < plain.run.sigma / 1.5
    for made in (public, secret):
        assert made.guarantee <= ApproxDP(1, 1e-5)


def test_compiled_steps_are_the_plain_steps():
    """The same noise through compiled and through plain Python: equal up to a few roundings."""
    made = trainer(step=0.01)

    def gradient(w, x, y):
        return -y * x / (1 + math.exp(y * float(x @ w)))

    slow = replace(made, loss=replace(made.loss, gradient=gradient))
    fast = made.release((X, Y), SeededSource(4))
    assert fast == pytest.approx(slow.release((X, Y), SeededSource(4)), abs=1e-12)
    assert np.linalg.norm(fast) <= 4.0 * (1 + 1e-12)


def test_rounding_of_a_step_is_below_what_is_paid_for():
    """One step in doubles against one step in extended precision, at the edge of the ball."""
    made = trainer(step=0.05)
    paid = rounding(made.loss, made.run, made.radius, made.dimension)
    wide = np.longdouble
    for seed in range(200):
        rng = np.random.default_rng(seed)
        w = rng.normal(size=D)
        w *= made.radius / np.linalg.norm(w)
        x, y, z = rng.normal(size=D), 1.0, rng.normal(size=D) * made.run.sigma
        x /= max(1.0, np.linalg.norm(x))
        one = w - 0.05 * (made.loss.gradient(w, x, y) + 0.01 * w + z)
        one *= min(1.0, made.radius / np.linalg.norm(one))
        u, v = w.astype(wide), x.astype(wide)
        pull = -y * v / (1 + np.exp(y * (v @ u)))
        ideal = u - wide(0.05) * (pull + wide(0.01) * u + z.astype(wide))
        ideal *= min(wide(1), wide(made.radius) / np.sqrt(ideal @ ideal))
        assert float(np.sqrt(((one - ideal) ** 2).sum())) <= paid


def test_the_last_iterate_of_a_quadratic_has_the_law_the_promise_is_about():
    """Ridge in one dimension, inside the ball: w_T is a known normal (KS, level 1e-6; 30 % off fails).

    Between two data sets that differ in record i the exact μ is 2ηL^{n−i}/√Var, below the promise at i.
    """
    n, eta, penalty = 12, 0.2, 0.1
    loss = ridge_loss(norm=1.0, largest=1.0, radius=200.0, penalty=penalty)
    target = GaussianDP(2 * loss.lipschitz / 0.5)  # little noise, so that the ball is never reached
    made = NoisyProjectedSGD.calibrate(loss, n=n, dimension=1, target=target, radius=200.0, step=eta)
    x, y, shrink = np.ones((n, 1)), np.ones(n), 1 - eta * (1 + penalty)
    mean = eta * sum(shrink**j for j in range(n))
    spread = eta * float(made.run.sigma) * math.sqrt(sum(shrink ** (2 * j) for j in range(n)))
    drawn = np.array([made.release((x, y), SeededSource(seed))[0] for seed in range(2000)])
    assert kstest(drawn, "norm", args=(mean, spread)).pvalue > 1e-6
    assert kstest(drawn, "norm", args=(mean, spread * 1.3)).pvalue < 1e-6
    for i in range(1, n + 1):
        exact = 2 * eta * shrink ** (n - i) / spread
        assert exact <= made.run.at_index(i).mu


def test_records_are_clipped_and_nothing_is_said_of_how_many():
    loss = logistic_loss(norm=1.0)
    rows, answers = clipped(([[3.0, 4.0], [0.1, 0.0], [np.nan, np.inf]], [5.0, -9.0, np.nan]), loss)
    assert np.linalg.norm(rows, axis=1).max() <= 1
    assert rows[0] == pytest.approx([0.6, 0.8])
    assert answers.tolist() == [1.0, -1.0, 0.0]


def test_a_permutation_is_a_permutation_and_uniform():
    """First places of 4 over 6000 permutations: χ² with 3 degrees of freedom, level 1e-6 is 31.8."""
    source = SeededSource(9)
    firsts = np.bincount([permutation(source, 4)[0] for _ in range(6000)], minlength=4)
    assert ((firsts - 1500) ** 2 / 1500).sum() < 31.8
    assert sorted(permutation(source, 100).tolist()) == list(range(100))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: logistic_loss(norm=0), "declare lipschitz"),
        (lambda: Loss(lambda w, _x, _y: w, 1.0, math.inf, 1.0), "declare smooth"),
        (lambda: logistic_loss(norm=1, penalty=-1), "penalty"),
        (lambda: trainer(radius=0.0), "radius"),
        (lambda: trainer().release((X[:-1], Y[:-1])), "400 records"),
        (lambda: trainer().release((X, Y[:-1])), "one answer for each row"),
        (lambda: trainer(public_steps=5).release((X, Y)), "5 steps on public records"),
        (lambda: replace(trainer(), run=trainer().run.rounded(0)), "pay for its rounding"),
    ],
)
def test_bad_input_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
