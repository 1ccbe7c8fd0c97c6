"""Classes that were declared, labels as codes, and probabilities of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.learn.estimates import Estimates
from discreet.learn.regression import answers
from discreet.learn.trees.columns import Codes
from discreet.models.margin_losses import Floats


def declared(classes: Sequence[Any] | None) -> NDArray[Any]:
    """Return the labels in order; refuses fewer than two, and one given twice."""
    given = [] if classes is None else list(classes)
    if len(given) < 2:
        raise ValueError(
            f"classes must be declared, at least two labels, got {classes!r}: which labels occur is "
            "a fact about the records, so they must be public knowledge, e.g. classes=[0, 1]"
        )
    labels = np.unique(np.asarray(given))
    if len(labels) != len(given):
        raise ValueError(f"classes must be labels of one type, each once, got {classes!r}")
    return labels


def coded(y: NDArray[Any], classes: NDArray[Any]) -> Codes:
    """Return the place of each label among the classes, −1 for a label that was not declared."""
    each = answers(y, classes)
    if len(each) == 1:  # +1 the second class, −1 the first, 0 neither
        return np.where(each[0] > 0, 1, np.where(each[0] < 0, 0, -1)).astype(np.int64)
    found = np.stack(each, axis=1) > 0
    return np.where(found.any(axis=1), found.argmax(axis=1), -1).astype(np.int64)


def softmax(scores: Floats) -> Floats:
    """Return e^s over its sum, row by row."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def share_estimates(classes: NDArray[Any], shares: Floats, noise: float) -> Estimates:
    """Say how common each class is among the records, with the noise of the counts alone."""
    names = tuple(f"share of {label}" for label in classes)
    spread = noise * np.sqrt((1 - shares) ** 2 + (len(shares) - 1) * shares**2)
    return Estimates("shares of the classes", names, shares, spread)
