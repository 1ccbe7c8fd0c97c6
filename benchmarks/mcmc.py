"""Private Markov steps beside the same step in plain float64 NumPy, in one run; only ratios mean anything.

The plain steps are not private: their accept bits and draws come from floating point, and they are what a
textbook would write. Processor time, in turns, best of seven after a warm-up.
Run: python benchmarks/mcmc.py [--quick]
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import numpy as np
from sizes import TINY, sized

from discreet.mcmc.annealed import AnnealedImportance
from discreet.mcmc.assignment_gibbs import AssignmentGibbs
from discreet.mcmc.barker import Barker
from discreet.mcmc.metropolis import Metropolis
from discreet.mcmc.mixture import Mixture
from discreet.mcmc.mixture_gibbs import MixtureGibbs
from discreet.mcmc.proposals import SimplexWalk
from discreet.mcmc.running.plan import ChainPlan, calibrate
from discreet.mcmc.running.run import run
from discreet.mcmc.target import SimplexTarget
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import SYSTEM, SeededSource

if TYPE_CHECKING:
    from collections.abc import Callable

    Steps = Callable[[int], object]

T, LOWER, WIDTH = 4.0, 0.02, 0.05


def seconds(both: tuple[Steps, Steps], count: int, repeats: int) -> tuple[float, float]:
    """Time the two in turns."""
    best = [float("inf")] * 2
    for walk in both:
        walk(2)
    for _ in range(repeats):
        for i, walk in enumerate(both):
            start = time.process_time()
            walk(count)
            best[i] = min(best[i], (time.process_time() - start) / count)
    return best[0], best[1]


def private(kernel: object, counts: np.ndarray) -> Steps:
    def walk(count: int) -> None:
        state, data = kernel.init(SYSTEM), kernel.arranged(counts, SYSTEM)
        for _ in range(count):
            state = kernel.step(state, data, SYSTEM)

    return walk


def plain_accept(counts: np.ndarray, rule: Callable[[float], float]) -> Steps:
    rng, d = np.random.default_rng(), counts.size

    def walk(count: int) -> None:
        theta = np.full(d, 1 / d)
        for _ in range(count):
            i, j = rng.permutation(d)[:2]
            shift, moved = rng.uniform(-WIDTH, WIDTH), theta.copy()
            moved[i] += shift
            moved[j] -= shift
            if moved.min() >= LOWER:
                u = counts @ (np.log(moved) - np.log(theta)) / T
                theta = moved if rng.random() < rule(u) else theta

    return walk


def plain_mixture(counts: np.ndarray, shape: tuple[int, ...], classes: int) -> Steps:
    """Assignments by multinomials, blocks by truncation through rejection."""
    rng = np.random.default_rng()

    def simplex(alpha: np.ndarray) -> np.ndarray:
        while (draw := rng.dirichlet(alpha)).min() < LOWER / alpha.size:
            pass
        return draw

    def walk(count: int) -> None:
        pi = simplex(np.ones(classes))
        theta = [[simplex(np.ones(j)) for j in shape] for _ in range(classes)]
        for _ in range(count):
            weights = np.stack([pi[k] * outer(theta[k]) for k in range(classes)], axis=1) ** (1 / T)
            weights /= weights.sum(axis=1, keepdims=True)
            found = np.array([rng.multinomial(n, w) for n, w in zip(counts, weights, strict=True)])
            pi = simplex(1 + found.sum(axis=0) / T)
            tables = found.reshape(*shape, classes)
            theta = [
                [
                    simplex(1 + tables[..., k].sum(axis=tuple(a for a in range(len(shape)) if a != d)) / T)
                    for d in range(len(shape))
                ]
                for k in range(classes)
            ]

    return walk


def outer(parts: list[np.ndarray]) -> np.ndarray:
    table = np.ones(1)
    for part in parts:
        table = np.multiply.outer(table, part).reshape(-1)
    return table


def steps(*, quick: bool) -> None:
    repeats, size = (1, sized(40, 2)) if quick else (7, 200)
    print(f"{'step':44s} {'private':>11s} {'plain':>11s} {'ratio':>7s}")
    for d in sized((2, 10, 100), (2,)):
        counts = np.random.default_rng(1).multinomial(1000, np.full(d, 1 / d))
        target = SimplexTarget(column="x", alpha=(1,) * d, truncation=min(LOWER, 0.5 / d))
        walk = SimplexWalk(WIDTH)
        barker = Barker(target=target, walk=walk, temperature=T)
        metropolis = Metropolis(target=target, walk=walk, temperature=T, delta=0.999)
        for kernel, rule in (
            (barker, lambda u: 1 / (1 + np.exp(-u))),
            (metropolis, lambda u: np.exp(min(0.0, u))),
        ):
            ours, theirs = private(kernel, counts), plain_accept(counts, rule)
            line(f"{kernel.name}, {d} categories", ours, theirs, size, repeats)
    for shape, classes in sized((((2, 2), 2), ((2, 2, 2, 2, 2, 2), 3), ((6, 4), 3)), (((2, 2), 2),)):
        model = Mixture(classes=classes, columns=tuple("abcdef"[: len(shape)]), shape=shape, truncation=LOWER)
        counts = np.random.default_rng(1).multinomial(1000, np.full(model.cells, 1 / model.cells))
        plain = plain_mixture(counts, shape, classes)
        name = f"{classes} classes, columns {'×'.join(map(str, shape))}, n 1000"
        line(
            f"mixture_gibbs, {name}",
            private(MixtureGibbs(model=model, temperature=T), counts),
            plain,
            size // 10,
            repeats,
        )
    model = Mixture(classes=2, columns=("a", "b"), shape=(2, 2), truncation=LOWER)
    counts = np.array([250, 250, 250, 250]) // sized(1, 50)
    released = AssignmentGibbs(model=model, records=int(counts.sum()), temperature=T)
    line(
        "assignment_gibbs, 2 classes, 2×2, n 1000",
        private(released, counts),
        plain_mixture(counts, (2, 2), 2),
        5,
        repeats,
    )


def line(name: str, ours: Steps, theirs: Steps, size: int, repeats: int) -> None:
    a, b = seconds((ours, theirs), max(size, 3), repeats)
    print(f"{name:44s} {a * 1e6:8.0f} µs {b * 1e6:8.0f} µs {a / b:7.1f}")


def whole_runs(*, quick: bool) -> None:
    """What a budget buys: the same (4, 1e-6) for 4 chains, at three lengths."""
    print(f"\n{'4 Barker chains, (4, 1e-6)-DP, n 1000':44s} {'temperature':>12s} {'ESS':>6s} {'worst R̂':>9s}")
    target = SimplexTarget(column="x", alpha=(1, 1), truncation=LOWER)
    for length in sized((50, 200) if quick else (50, 200, 800), (5,)):
        kernel = calibrate(
            Barker(target=target, walk=SimplexWalk(0.15)), steps=length, target=ApproxDP(4, 1e-6)
        )
        made = run(ChainPlan(kernel, length), np.array([700, 300]), source=SeededSource(1)).summary()
        worst = max(entry["r_hat"] for entry in made.values())
        size = min(entry["ess"] for entry in made.values())
        print(f"{f'{length} steps':44s} {float(kernel.temperature):12.1f} {size:6.0f} {worst:9.3f}")
    annealed = AnnealedImportance(
        target=target, walk=SimplexWalk(0.15), inverse_temperatures=(0.25, 0.5, 1), particles=10, moves=5
    )
    annealed = calibrate(annealed, steps=4, target=ApproxDP(4, 1e-6), chains=1)
    print(f"{'annealed, 10 particles, 3 levels, 5 moves':44s} {float(annealed.temperature):12.1f}")


if __name__ == "__main__":
    steps(quick=TINY or "--quick" in sys.argv)
    whole_runs(quick=TINY or "--quick" in sys.argv)
