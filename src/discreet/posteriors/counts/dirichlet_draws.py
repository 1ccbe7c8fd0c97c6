"""Draws from Dirichlet laws whose parameters may be tiny: through logarithms, for a gamma would underflow."""

from __future__ import annotations

import numpy as np

from discreet.families.family import Floats


def log_gammas(shapes: Floats, rng: np.random.Generator) -> Floats:
    """Ln G, G ~ Gamma(shape): below 1 as G' U^{1/shape}, G' ~ Gamma(shape + 1)."""
    small = shapes < 1
    logs = np.log(rng.standard_gamma(np.where(small, shapes + 1, shapes)))
    logs[small] += np.log1p(-rng.random(int(small.sum()))) / shapes[small]
    return np.asarray(logs)


def dirichlet_draws(shapes: Floats, rng: np.random.Generator) -> Floats:
    """One draw for each simplex, the last axis."""
    logs = log_gammas(shapes, rng)
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
