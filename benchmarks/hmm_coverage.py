"""Coverage of 90 % intervals of the hidden Markov readings: θ_{z_c,j} of two cells, which knows no labels.

Every replicate draws A, z, θ and the cells' shares from the prior, n records and their noise, and fits by one
chain of `hmm.fit`: 20 cells, two states, features of 3 and 2 values, ε shared evenly by the two tables.
Arguments: replicates, then numbers of cases if not all.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time

import numpy as np
from sizes import sized

from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov import fit as hmm
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.sampling.source import SeededSource

CHAINS, STEPS, VALUES = 2, 10, (3, 2)
MODEL = HiddenMarkov(states=2, chain="r", step="t", features=("x", "y"), sizes=(CHAINS, STEPS, *VALUES))
CASES = (
    (100, 0.1, SUBSTITUTE),
    (1000, 0.1, SUBSTITUTE),
    (1000, 1.0, SUBSTITUTE),
    (10000, 0.3, SUBSTITUTE),
    (1000, 1.0, ADD_REMOVE),  # n private
)
WATCHED = ((0, 0), (13, 3))  # cell, value among all
LONG = {
    "chains": 1,
    "progress": False,
    **sized({"burn": 200, "sweeps": 1200, "keep": 600}, {"burn": 2, "sweeps": 8, "keep": 8}),
}
LENGTH = {"noise_aware": LONG, "naive": LONG | sized({"burn": 100, "sweeps": 300, "keep": 300}, {})}


def world(rng, n):
    """θ of every cell, and its counts by value"""
    rows = rng.dirichlet(np.ones(2), 3)
    z = np.zeros(CHAINS * STEPS, dtype=np.int64)
    for c in range(z.size):
        z[c] = rng.random() < rows[2 if c % STEPS == 0 else z[c - 1], 1]
    theta = [rng.dirichlet(np.ones(k), 2) for k in VALUES]
    share = rng.gamma(0.5, size=z.size)
    sizes = rng.multinomial(n, share / share.sum())
    counts = [rng.multinomial(sizes, t[z]) for t in theta]
    return np.concatenate([t[z] for t in theta], axis=1), np.concatenate(counts, axis=1)


def inside(fit, truth):
    """Whether θ_{z_c,j} lies between the 5 % and 95 % quantiles of its draws, and how far these are apart"""
    found = []
    for c, j in WATCHED:
        draws = np.take_along_axis(fit.theta[0, :, :, j], fit.z[0, :, c, None].astype(np.int64), axis=1)
        low, high = np.quantile(draws, [0.05, 0.95])
        found.append((low <= truth[c, j] <= high, high - low))
    return found


def case(n, epsilon, relation, replicates):
    scale = len(VALUES) * (2 if relation is SUBSTITUTE else 1) / epsilon
    public = {"n": n} if relation is SUBSTITUTE else {}
    mechanism = NoisyCounts(MODEL, scales=(scale,) * len(VALUES), relation=relation, **public)
    rng, found, begun = np.random.default_rng(17), {"noise_aware": [], "naive": []}, time.process_time()
    for i in range(replicates):
        truth, counts = world(rng, n)
        private = {} if relation is SUBSTITUTE else {"count": n}
        release = mechanism.release(MODEL.flat(counts), SeededSource(2 * i), **private)
        for reading in found:
            fit = hmm.fit(release, MODEL, reading=reading, source=SeededSource(2 * i + 1), **LENGTH[reading])
            found[reading] += inside(fit, truth)
    label = f"n = {n}{'' if public else ' private'}, ε = {epsilon:g}"
    for reading, seen in found.items():
        rate, width = np.mean(seen, axis=0)
        error = np.sqrt(rate * (1 - rate) / replicates)  # as if the two of a replicate were one
        print(f"  {label}, {reading}: {rate:.1%} (± {error:.1%}), width {width:.2f}", flush=True)
    print(f"    {time.process_time() - begun:.0f} CPU seconds", flush=True)


def main():
    replicates, *chosen = [int(word) for word in sys.argv[1:]] or sized([200], [1, 0, 4])
    print(f"coverage of 90 % intervals, {replicates} replicates")
    for i in chosen or range(len(CASES)):
        case(*CASES[i], replicates)


if __name__ == "__main__":
    main()
