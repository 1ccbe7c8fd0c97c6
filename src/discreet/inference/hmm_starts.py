"""Where the chains of a hidden Markov fit begin: k-means++ on the cells' noisy frequencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.models.hidden_markov import HiddenMarkov

ROUNDS = 30  # of Lloyd's; it has nearly always settled by then


def hellinger(model: HiddenMarkov, counts: NDArray[Any]) -> NDArray[np.float64]:
    """√ of each cell's frequencies, feature by feature: Euclidean distance is then Hellinger's"""
    parts = np.split(np.maximum(counts, 0).astype(np.float64), model.offsets[1:-1], axis=1)
    return np.concatenate([np.sqrt(_frequencies(part)) for part in parts], axis=1)


def _frequencies(part: NDArray[np.float64]) -> NDArray[np.float64]:
    smooth = part + 1.0 / part.shape[1]
    return np.asarray(smooth / smooth.sum(axis=1, keepdims=True))


def plus_plus(
    rng: np.random.Generator, points: NDArray[np.float64], mass: NDArray[np.float64], states: int
) -> NDArray[np.int64]:
    """k-means++ [Arthur, Vassilvitskii 2007] with cells weighted by their records, then Lloyd's rounds."""
    chosen = [int(rng.choice(len(points), p=mass / mass.sum()))]
    distance = _squares(points, points[chosen[0]])
    for _ in range(states - 1):
        odds = distance * mass
        total = odds.sum()
        chosen.append(
            int(rng.choice(len(points), p=odds / total)) if total > 0 else int(rng.integers(len(points)))
        )
        distance = np.minimum(distance, _squares(points, points[chosen[-1]]))
    return _lloyd(points, mass, points[chosen])


def _squares(points: NDArray[np.float64], center: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(((points - center) ** 2).sum(axis=1))


def _lloyd(
    points: NDArray[np.float64], mass: NDArray[np.float64], centers: NDArray[np.float64]
) -> NDArray[np.int64]:
    nearest = np.full(len(points), -1, dtype=np.int64)
    for _ in range(ROUNDS):
        before, nearest = nearest, _nearest(points, centers)
        if np.array_equal(before, nearest):
            break
        weight = np.bincount(nearest, mass, len(centers))
        sums = np.zeros_like(centers)
        np.add.at(sums, nearest, points * mass[:, None])
        centers = np.where(weight[:, None] > 0, sums / np.maximum(weight, 1e-300)[:, None], centers)
    return nearest


def _nearest(points: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(((centers**2).sum(axis=1) - 2 * points @ centers.T).argmin(axis=1), dtype=np.int64)


def start(rng: np.random.Generator, model: HiddenMarkov, counts: NDArray[Any]) -> NDArray[np.int64]:
    """A state for every cell; cells without records go wherever their smoothed frequencies lie."""
    points = hellinger(model, counts)
    mass = np.maximum(counts, 0).sum(axis=1).astype(np.float64) + 1e-3
    return plus_plus(rng, points, mass, model.states)
