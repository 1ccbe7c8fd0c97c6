"""Broken twins of the regression draws: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case
from discreet.audit.cases.regression import (
    BALL,
    LINE,
    LINEAR,
    ONE,
    OTHER,
    SIX,
    TUNED,
    LastIterateLaw,
    in_the_ball,
    linear_case,
    logistic_case,
    one_weight,
    walk,
)
from discreet.audit.twins.twin import Twins
from discreet.mechanisms.regression.draws import ConcentratedRegression, DiffusedRegression, DirectRegression
from discreet.mechanisms.regression.samplers.langevin import LangevinRun
from discreet.models.margin_losses import Floats
from discreet.sampling import exact
from discreet.sampling.source import Source

twin = Twins()

N = len(ONE)


def line_path(run: LangevinRun, noise: Fraction, slope: float, size: int, source: Source) -> Floats:
    """Every iterate of a linear loss with noise of variance noise·h, one row a run."""
    h, s = run.step, 1 - float(run.step * run.strength)

    drawn = exact.normal(source, 0, noise * h, size * run.steps, run.grid).reshape(size, run.steps)
    w, path = np.zeros(size), np.empty((size, run.steps))
    for k in range(run.steps):
        w = s * w - float(h * run.weight) * slope + drawn[:, k]
        path[:, k] = w
    return path


@twin("direct_regression/one_record_moves_once", "Δ = c claimed for a substitution, which moves 2c")
def one_record_moves_once() -> Case:
    """Δ = c claimed for a substitution, which takes one gradient away and adds another: 2c."""
    mechanism = DirectRegression(LINEAR, n=N)
    chain = walk(mechanism).chain
    claim = replace(chain, gradient=Fraction(chain.gradient) / 2).guarantee()
    return replace(linear_case(mechanism), claim=claim)


@twin("diffused_regression/half_the_noise", "noise of variance h in place of 2h")
def half_the_noise() -> Case:
    """√h ξ in place of √(2h) ξ."""
    mechanism, epsilon = DiffusedRegression(LINEAR, n=N, rho=1), 0.5
    run = walk(mechanism)
    line = LastIterateLaw.of(run, noise=1.0)
    event = line.beyond(epsilon, line.mu)
    return Case(
        mechanism.guarantee,
        partial(line_path, run, Fraction(1)),
        (ONE[0], OTHER[0]),
        lambda y: event(y[:, -1:]),
        profiles.normal(line.mu),
        epsilon,
    )


@twin("concentrated_regression/every_iterate", "every iterate released at the price of the last")
def every_iterate() -> Case:
    """Release the whole path under the promise of its last point: every step shows its own shift."""
    model, epsilon = one_weight(Fraction(1, 2), loss=LINE), 0.5
    mechanism = ConcentratedRegression(model, n=N, m=4)
    run = walk(mechanism)
    h, s = float(run.step), 1 - float(run.step * run.strength)
    mu = 2 * math.sqrt(run.steps * h / 2) * float(run.weight)

    def event(y: Floats) -> NDArray[np.bool_]:
        steps = y - s * np.concatenate([np.zeros((len(y), 1)), y[:, :-1]], axis=1)
        return np.asarray(steps.sum(axis=1) / math.sqrt(2 * h * run.steps) > epsilon / mu)

    return Case(
        mechanism.guarantee,
        partial(line_path, run, Fraction(2)),
        (ONE[0], OTHER[0]),
        event,
        profiles.normal(mu),
        epsilon,
    )


@twin("tuned_regression/record_counts_in_full", "ρ = 1 under the claim for ρ = ¼")
def record_counts_in_full() -> Case:
    """Claim ρ = ¼ and weigh records 1."""
    honest = logistic_case(TUNED, (1.0, *SIX), SIX)
    return replace(honest, claim=replace(TUNED, rho=0.25).guarantee)


@twin("one_regression_sample/not_tempered", "ρ = 1 under the claim for ρ = ¼")
def ball_not_tempered() -> Case:
    """Claim ρ = ¼ on the ball and weigh records 1."""
    return in_the_ball(replace(BALL, rho=0.25).guarantee)


@twin("regression_draws/price_of_one", "four draws under the guarantee of one")
def four_for_the_price_of_one() -> Case:
    """Four draws under the guarantee of one: μ doubles."""
    mechanism = DirectRegression(LINEAR, n=N)
    honest = linear_case(mechanism, draws=4)
    return replace(honest, claim=mechanism.guarantee)
