"""What each mechanism predicts on held-out rows: test error, and negative log-likelihood a record."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, cast, final

import numpy as np
from scipy.special import expit

from discreet.catalogue import REGRESSION
from discreet.experiments.regression.data import RowSplit, Task
from discreet.experiments.thesis.figure import COLOURS
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.mechanisms.registry import model_mechanism, offered_to
from discreet.mechanisms.regression.draws import RegressionDraw, simulate
from discreet.mechanisms.regression.one_sample import OneRegressionSample
from discreet.mechanisms.regression.samplers.potential import Potential
from discreet.mechanisms.regression.samplers.sampler import LastIterate
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.models.regression_records import Records
from discreet.posteriors.read import posterior
from discreet.posteriors.regression.coefficients import Coefficients
from discreet.privacy.arithmetic.ball import largest
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, NotProved, Unreachable
from discreet.privacy.kinds import BoundedRange
from discreet.sampling.source import SeededSource

# ── Draws of a regression posterior on a ball, for pictures alone: a Metropolis chain promises nothing.
# The exact sampler's envelope is hopeless in a hundred dimensions on a ball; the baseline is drawn here as
# its own law would be, by Langevin proposals in the metric of the posterior's curvature, accepted or not.
STEPS = 150
AIM = 0.57  # of the proposals accepted, the best for Langevin's [Roberts, Rosenthal 1998]


def within(potential: Potential, mode: Floats, radius: float, size: int, rng: np.random.Generator) -> Floats:
    """`size` chains for the logistic U on ‖w‖ ≤ radius, begun at draws of the Normal law around the mode."""
    factor = np.linalg.cholesky(potential.hessian(mode))
    metric, d = np.linalg.inv(factor), len(mode)
    root = metric.T  # root rootᵀ = H⁻¹
    w = _inside(mode + rng.standard_normal((size, d)) @ metric, radius)
    value, slope = _at(potential, w)
    step = d ** (-1 / 3)
    for _ in range(STEPS):
        noise = rng.standard_normal((size, d))
        new = w - step / 2 * (slope @ root) @ metric + np.sqrt(step) * noise @ metric
        value_new, slope_new = _at(potential, new)
        # in the metric: what it takes to propose w from the new point
        back = (w - new) @ factor + step / 2 * slope_new @ root
        logs = value - value_new - (back**2).sum(axis=1) / (2 * step) + (noise**2).sum(axis=1) / 2
        taken = (np.log(rng.random(size)) < logs) & (np.linalg.norm(new, axis=1) <= radius)
        w, slope = (np.where(taken[:, None], a, b) for a, b in ((new, w), (slope_new, slope)))
        value = np.where(taken, value_new, value)
        step *= np.exp(0.1 * (taken.mean() - AIM))
    return w


def _inside(w: Floats, radius: float) -> Floats:
    lengths = np.linalg.norm(w, axis=1, keepdims=True)
    return np.asarray(w * np.minimum(1, 0.99 * radius / lengths))


def _at(potential: Potential, w: Floats) -> tuple[Floats, Floats]:
    """U and ∇U of several w at once."""
    rows, answers = potential.records.rows, potential.records.answers
    signed = rows @ w.T * answers[:, None]
    weight, strength = float(potential.weight), float(potential.strength)
    value = weight * np.logaddexp(0, -signed).sum(axis=0) + strength / 2 * (w**2).sum(axis=1)
    slopes = -expit(-signed) * answers[:, None]
    return value, np.asarray(weight * slopes.T @ rows + strength * w)


# ── methods
NOT_PRIVATE = "not_private"
LEAST = 1e-12  # a probability that no likelihood goes below
DELTA = 1e-5
NEAR_ONE = 1 + 1e-6  # an order that stands for the limit 1
Score = tuple[float, float]  # error, negative log-likelihood
Make = Callable[[int], Any]  # n ↦ a mechanism, or None


@final
@dataclass(frozen=True)
class Style:
    """How a mechanism is named and drawn."""

    title: str
    ink: str
    mark: str


STYLES = {
    "objective_perturbation": Style("objective perturbation", COLOURS["noisy statistics"], "o"),
    "polynomial_statistics": Style("polynomial statistics", "#56B4E9", "D"),
    "tuned": Style("one draw, tuned", "#E69F00", "v"),
    "diffused": Style("one draw, diffused", COLOURS["diffused"], "s"),
    "concentrated": Style("one draw, concentrated", COLOURS["concentrated"], "^"),
    "one_posterior_sample": Style("one posterior sample", COLOURS["one posterior sample"], "X"),
    "direct": Style("one draw of the posterior as it is", "#8C564B", "P"),
    NOT_PRIVATE: Style("not private", COLOURS["exact posterior"], ""),
}


def scores(task: Task, make: Make | None, seeds: range) -> Iterator[Score]:
    """One score a seed of the mechanism that `make` gives for n; without one, of what nobody may release."""
    for split, mine in _splits(task, seeds):
        if make is None:
            yield from [drawn(bottom(_exact(split)), split)] * len(mine)
            continue
        ready = make(split.records.n)
        if ready is not None:
            yield from released_scores(ready, split, mine)


def _exact(split: RowSplit) -> Potential:
    return Potential(split.records, split.model.loss, Fraction(1), split.model.strength)


def _splits(task: Task, seeds: range) -> Iterator[tuple[RowSplit, range]]:
    """Yield a published split for all seeds, or a random one for each."""
    if task.train is not None:
        yield task.split(np.random.default_rng(0)), seeds
    else:
        yield from ((task.split(np.random.default_rng(seed)), range(seed, seed + 1)) for seed in seeds)


@cache
def calibrated(method: str, model: GeneralizedLinear, target: Guarantee, n: int) -> ModelMechanism | None:
    """Return the mechanism, or None if no knob of it meets the target.

    Under ADD_REMOVE n is private, and the draws get a round public cap above it.
    """
    calibrate = model_mechanism(offered_to(REGRESSION)[method]).calibrate
    private = target.relation is not SUBSTITUTE
    capped = private and "most" in inspect.signature(calibrate).parameters
    try:
        return calibrate(
            model, n=None if private else n, target=target, **({"most": round_above(n)} if capped else {})
        )
    except (Unreachable, NotProved):
        return None


@cache
def tempered(model: GeneralizedLinear, order: float, epsilon: float, n: int) -> OneRegressionSample:
    """Return one posterior sample by the exact curve of a bounded range: order 0 is (ε, δ), near 1 is KL."""
    whole = float(OneRegressionSample(model, n=n, rho=1).ideal.loss)

    def holds(rho: float) -> bool:
        law = BoundedRange(whole * rho)
        return law.renyi(max(order, NEAR_ONE)) <= epsilon if order else law.delta(epsilon) <= DELTA

    return OneRegressionSample(model, n=n, rho=largest(holds, 1.0, bits=24))


def drawn_from(ready: object) -> tuple[object, ...]:
    """Return ρ, m and K, or ρ on the ball: the law of a draw, whatever it is called; () for no draw."""
    if isinstance(ready, RegressionDraw):
        return ready.weight, ready.strength, LastIterate().run(ready).steps
    return (ready.rho,) if isinstance(ready, OneRegressionSample) else ()


def round_above(n: int) -> int:
    """Return n rounded up to two digits: a cap that a public guess would give."""
    unit: int = 10 ** max(0, len(str(n)) - 2)
    return -(-n // unit) * unit


def released_scores(ready: ModelMechanism, split: RowSplit, seeds: range) -> Iterator[Score]:
    """Release once a seed, and predict the rows that were held out; draws share one pass over the records.

    Predicted as the default reading does; its weights and its caution, which are slow, are left out.
    """
    size, public = len(seeds), SeededSource(seeds.start)
    if isinstance(ready, RegressionDraw):
        yield from (drawn(w, split) for w in simulate(ready, split.records, size, public))
        return
    if isinstance(ready, OneRegressionSample):
        yield from (drawn(w, split) for w in sampled(ready, split.records, size, public))
        return
    value = split.moments if ready.reads == "moments" else split.records
    for seed in seeds:
        release = ready.release(value, SeededSource(seed))
        yield averaged(cast("Coefficients", posterior(release, reading="predictive")), split)


def drawn(w: Floats, split: RowSplit) -> Score:
    """Predict by one w."""
    unseen = split.unseen
    margins = unseen.rows @ w
    error = float(np.mean(margins * unseen.answers <= 0))
    return error, float(np.mean(split.model.loss.value(margins, unseen.answers)))


def averaged(found: Coefficients, split: RowSplit) -> Score:
    """Predict by E σ(x·w) over the posterior."""
    features, answers = split.test
    p = found.probability(features)
    right = np.where(answers > 0, p, 1 - p)
    return float(np.mean(right <= 0.5)), float(-np.mean(np.log(np.maximum(right, LEAST))))


def sampled(ready: OneRegressionSample, records: Records, size: int, source: SeededSource) -> Floats:
    """Draw as the mechanism would, where its exact sampler takes too long."""
    model = ready.model
    potential = Potential(records, model.loss, Fraction(ready.rho), model.strength)
    rng = np.random.default_rng(source.seed)
    return within(potential, bottom(potential), float(model.radius), size, rng)


def bottom(potential: Potential, tolerance: float = 1e-8) -> Floats:
    """Argmin U by damped Newton: what nobody may release."""
    w = np.zeros(potential.dimension)
    for _ in range(100):
        gradient = potential.gradient(w)
        step = np.linalg.solve(potential.hessian(w), gradient)
        fall, length = float(gradient @ step), 1.0
        if fall < tolerance:
            break
        while potential.value(w - length * step) > potential.value(w) - length * fall / 4 and length > 1e-6:
            length /= 2
        w = w - length * step
    return w
