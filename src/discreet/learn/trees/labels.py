"""Probabilities of declared classes, and how common each is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.learn.estimates import Estimates
from discreet.models.margin_losses import Floats


def softmax(scores: Floats) -> Floats:
    """Return e^s over its sum, row by row."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def share_estimates(classes: NDArray[Any], shares: Floats, noise: float) -> Estimates:
    """Say how common each class is among the records, with the noise of the counts alone."""
    names = tuple(f"share of {label}" for label in classes)
    spread = noise * np.sqrt((1 - shares) ** 2 + (len(shares) - 1) * shares**2)
    return Estimates("shares of the classes", names, shares, spread)
