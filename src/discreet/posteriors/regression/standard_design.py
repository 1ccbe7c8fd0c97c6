"""A public guess of what rows look like: uniform in the ball. For simulation and shrinkage, not privacy."""

from __future__ import annotations

from functools import lru_cache, singledispatch

import numpy as np

from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import DeclaredLoss, Floats, MarginLoss

ROWS = 1000


def standard_rows(model: GeneralizedLinear, size: int, random: np.random.Generator) -> Floats:
    """Rows uniform in the ball of the norm, the constant last."""
    d = len(model.design)
    ways = random.standard_normal((size, d))
    lengths = float(model.norm) * random.random((size, 1)) ** (1 / d)
    rows = np.full((size, model.dimension), float(model.constant))
    rows[:, :d] = ways / np.linalg.norm(ways, axis=1, keepdims=True) * lengths
    return rows


def shape_at(model: GeneralizedLinear, weights: Floats) -> Floats:
    """E[φ''(x·w)xxᵀ] over such rows: what one record adds to the Hessian."""
    rows = _usual_rows(model)
    bends = public_bends(model.loss, rows @ weights)
    return np.asarray((rows * bends[:, None]).T @ rows / len(rows))


@singledispatch
def public_bends(loss: MarginLoss, s: Floats) -> Floats:
    """φ'' at margins s, which does not depend on the answer in the losses that are ours."""
    return loss.bend(s, np.ones(len(s)))


@public_bends.register(DeclaredLoss)
def _public_bends_declared_loss(loss: DeclaredLoss, s: Floats) -> Floats:
    """Take its bound: a declared loss is code, which a saved release does not hold."""
    return np.full(len(s), float(loss.curvature))


@lru_cache(maxsize=16)
def _usual_rows(model: GeneralizedLinear) -> Floats:
    return standard_rows(model, ROWS, np.random.default_rng(0))
