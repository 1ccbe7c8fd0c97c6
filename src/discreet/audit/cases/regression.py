"""Cases of regression draws, one weight: linear losses, where the proof is an equality, and logistic ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, Cases
from discreet.mechanisms.regression.draws import (
    ConcentratedRegression,
    DiffusedRegression,
    DirectRegression,
    RegressionDraw,
    TunedRegression,
    simulate,
)
from discreet.mechanisms.regression.one_sample import OneRegressionSample
from discreet.mechanisms.regression.samplers.langevin import LangevinRun
from discreet.mechanisms.regression.samplers.sampler import LastIterate
from discreet.models.generalized_linear import Feature, GeneralizedLinear
from discreet.models.margin_losses import DeclaredLoss, Floats
from discreet.models.regression_records import Records
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee
from discreet.sampling import exact
from discreet.sampling.source import Source

Event = Callable[[Floats], NDArray[np.bool_]]


case = Cases()

N = 8  # records: few, so that one of them is visible
LINE = DeclaredLoss(lambda s, y: s * y, lambda s, y: y + 0 * s, lambda s, y: 0 * s * y, 1, 4)


def one_weight(radius: Fraction, **more: object) -> GeneralizedLinear:
    return GeneralizedLinear("y", ("x",), 1, radius, False, design=(Feature("x"),), **more)  # type: ignore[arg-type]  # noqa: FBT003


LINEAR = one_weight(Fraction(1, 4), loss=LINE)  # m = 16: one record moves the draw by about half a deviation
LOGISTIC = one_weight(Fraction(1))


def data(model: GeneralizedLinear, *answers: float) -> Records:
    return Records.of(model, np.ones((len(answers), 1)), answers)


ONE, OTHER = ((sign,) + (0.0,) * (N - 1) for sign in (-1.0, 1.0))  # slopes of the first record


def walk(mechanism: RegressionDraw) -> LangevinRun:
    return LastIterate().run(mechanism)


@final
@dataclass(frozen=True)
class LastIterateLaw:
    """The last iterate on a linear loss, in doubles: N(±shift, variance), shift = hρ Σs^k, over K steps."""

    centre: float
    variance: float

    @classmethod
    def of(cls, run: LangevinRun, *, noise: float = 2.0, weight: float | None = None) -> LastIterateLaw:
        h, rho = float(run.step), float(run.weight) if weight is None else weight
        powers = (1 - h * float(run.strength)) ** np.arange(run.steps)
        return cls(h * rho * float(powers.sum()), noise * h * float((powers**2).sum()))

    @property
    def mu(self) -> float:
        return 2 * self.centre / math.sqrt(self.variance)

    def beyond(self, epsilon: float, mu: float) -> Event:
        """Where the likelihood ratio exceeds e^ε: sums of draws, scaled so that the neighbours are ∓μ/2."""
        return lambda y: y.sum(axis=1) / math.sqrt(y.shape[1] * self.variance) > epsilon / mu


def outputs(
    mechanism: RegressionDraw, each: int, answers: tuple[float, ...], size: int, source: Source
) -> Floats:
    return simulate(mechanism, data(mechanism.model, *answers), size * each, source).reshape(size, each)


def linear_case(mechanism: RegressionDraw, *, draws: int = 1, epsilon: float = 0.5) -> Case:
    """Two linear losses of slopes −1 and 1: all that one record can move, so that the claim is met."""
    line = LastIterateLaw.of(walk(mechanism))
    mu = line.mu * math.sqrt(draws)
    claim = mechanism.guarantee if draws == 1 else mechanism.draws(draws).guarantee
    return Case(
        claim,
        partial(outputs, mechanism, draws),
        (ONE, OTHER),
        line.beyond(epsilon, mu),
        profiles.normal(mu),
        epsilon,
    )


# ── logistic: the density of the chain, step after step on a grid ──

POINTS = np.linspace(-16, 16, 1281)
STEP = float(POINTS[1] - POINTS[0])


def gaussian(centre: Floats | float, variance: float, at: Floats = POINTS) -> Floats:
    z = np.subtract.outer(at, centre)
    return np.asarray(np.exp(-z * z / (2 * variance)) / math.sqrt(2 * math.pi * variance))


def last_density(run: LangevinRun, answers: tuple[float, ...], weight: float | None = None) -> Floats:
    """Of w_K at POINTS, from 0, by the trapezoidal rule: exact to 1e-12 for such smooth densities."""
    h, rho, m = float(run.step), float(run.weight) if weight is None else weight, float(run.strength)
    y = np.array(answers)

    def moved(w: Floats) -> Floats:
        slopes = -(y * expit(-np.multiply.outer(w, y))).sum(axis=-1)
        return np.asarray(w - h * (rho * slopes + m * w))

    density = gaussian(float(moved(np.zeros(1))[0]), 2 * h)
    kernel = gaussian(moved(POINTS), 2 * h)
    for _ in range(run.steps - 1):
        density = kernel @ density * STEP
    return density


def logistic_case(
    mechanism: RegressionDraw,
    more: tuple[float, ...],
    fewer: tuple[float, ...],
    *,
    epsilon: float = 0.25,
) -> Case:
    p, q = (last_density(walk(mechanism), answers) for answers in (more, fewer))
    return Case(
        mechanism.guarantee,
        partial(outputs, mechanism, 1),
        (more, fewer),
        above_ratio(p, q, epsilon),
        profiles.finite(p * STEP, q * STEP),
        epsilon,
    )


def above_ratio(p: Floats, q: Floats, epsilon: float) -> Event:
    """Where p > e^ε q, told by the nearest point of the grid."""
    likelier = p > math.exp(epsilon) * q
    nearest: Callable[[Floats], Floats] = lambda y: np.rint((y[:, 0] - POINTS[0]) / STEP)  # noqa: E731
    return lambda y: likelier[np.clip(nearest(y).astype(np.int64), 0, len(POINTS) - 1)]


# ── on a ball: e^{−φ(w) − mw²/2} for |w| ≤ 4 ──

WIDE = one_weight(Fraction(4))
BALL = OneRegressionSample(WIDE, n=1, rho=1, at=1)  # the loss is ±w: a range of 8
FINE = Fraction(1, 2**20)


def ball_draws(sign: int, size: int, source: Source) -> Floats:
    """Draw what `release` does, in batches: the prior, kept inside, with probability σ(±w)."""
    kept = np.empty(0)
    while kept.size < size:
        w = exact.normal(source, 0, 1 / WIDE.strength, 2 * size, FINE)
        chance = source.words(2 * size) * 2.0**-64
        kept = np.concatenate([kept, w[(np.abs(w) <= float(WIDE.radius)) & (chance < expit(sign * w))]])
    return kept[:size]


def in_the_ball(claim: Guarantee) -> Case:
    points = np.linspace(-4, 4, 20_001)
    prior = np.exp(-float(WIDE.strength) / 2 * points**2)
    p, q = (prior * expit(sign * points) for sign in (1, -1))
    return Case(claim, ball_draws, (1, -1), lambda y: y > 1.0, profiles.finite(p / p.sum(), q / q.sum()))


SIX = (-1.0,) * 6
TUNED = TunedRegression(LOGISTIC, rho=1, m=1, most=N, relation=ADD_REMOVE, remembered=0.0625)

case("direct_regression")(lambda: linear_case(DirectRegression(LINEAR, n=N)))
case("diffused_regression")(lambda: linear_case(DiffusedRegression(LINEAR, n=N, rho=0.5), epsilon=0.25))
case("concentrated_regression")(lambda: linear_case(ConcentratedRegression(LINEAR, n=N, m=20)))
case("tuned_regression")(lambda: logistic_case(TUNED, (1.0, *SIX), SIX))
case("one_regression_sample")(lambda: in_the_ball(BALL.guarantee))
case("regression_draws")(lambda: linear_case(DirectRegression(LINEAR, n=N), draws=4))
