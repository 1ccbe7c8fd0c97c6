"""Where the chains of a hidden Markov fit begin: k-means++ on the cells' noisy frequencies, many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.chain import Arrays, StateChain

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


def smoothed(model: HiddenMarkov, counts: NDArray[Any], width: int) -> NDArray[np.float64]:
    """Average every cell with its neighbours in time, weights falling in a triangle."""
    cells = counts.reshape(model.chains, model.steps, -1).astype(np.float64)
    total, weight = np.zeros_like(cells), np.zeros((1, model.steps, 1))
    for shift in range(-min(width, model.steps - 1), min(width, model.steps - 1) + 1):
        here = slice(max(0, -shift), model.steps - max(0, shift))
        there = slice(max(0, shift), model.steps + min(0, shift))
        total[:, here] += (width + 1 - abs(shift)) * cells[:, there]
        weight[:, here] += width + 1 - abs(shift)
    return np.asarray((total / weight).reshape(counts.shape))


def start(
    rng: np.random.Generator, model: HiddenMarkov, counts: NDArray[Any], width: int = 0
) -> NDArray[np.int64]:
    """Put every cell in a state by its frequencies, smoothed over `width` steps to either side."""
    seen = np.maximum(smoothed(model, counts, width), 0)
    return plus_plus(rng, hellinger(model, seen), seen.sum(axis=1) + 1e-3, model.states)


WIDTHS = (0, 1, 2, 4)  # of smoothing, in turn
ROUNDS_OF_STARTS = ((16, 8), (4, 24))  # so many candidates, so many sweeps each; the best go on
SWEEPS_OF_STARTS = sum(many * sweeps for many, sweeps in ROUNDS_OF_STARTS)


def tournament(chain: StateChain, counts: NDArray[Any], watch: Callable[[int], None] | None = None) -> None:
    """Leave the chain at the likeliest of many short runs, each from its own k-means++ start.

    `watch` is told of every run how many sweeps it took.

    One start in five merges two states and doubles a third, 1e3 to 1e4 nats below the best, and neither
    kernel nor tempering leads out of that; among sixteen one is right nearly always (benchmarks/hmm.py).
    """
    model, rng = chain.emissions.model, chain.rng
    entrants: list[Arrays] = []
    for i in range(ROUNDS_OF_STARTS[0][0]):
        chain.restart(start(rng, model, counts, WIDTHS[i % len(WIDTHS)]))
        entrants.append(chain.copy())
    for many, sweeps in ROUNDS_OF_STARTS:
        ran = []
        for entrant in entrants[:many]:
            ran.append(_level(chain, entrant, sweeps))
            if watch:
                watch(sweeps)
        entrants = [entrant for _, entrant in sorted(ran, key=lambda pair: -pair[0])]
    chain.put(entrants[0])


def _level(chain: StateChain, entrant: Arrays, sweeps: int) -> tuple[float, Arrays]:
    """Mean log joint over the last half of so many sweeps, and where they led."""
    chain.put(entrant)
    levels = []
    for _ in range(sweeps):
        chain.sweep()
        levels.append(chain.log_joint())
    return float(np.mean(levels[sweeps // 2 :])), chain.copy()
