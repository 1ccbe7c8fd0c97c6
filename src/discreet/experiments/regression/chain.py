"""Draws of a regression posterior on a ball, for pictures alone: a Metropolis chain promises nothing.

The exact sampler's envelope is hopeless in a hundred dimensions on a ball; the baseline is drawn here as its
own law would be, by Langevin proposals in the metric of the posterior's curvature, accepted or not.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from discreet.mechanisms.regression.samplers.potential import Potential
from discreet.models.margin_losses import Floats

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
