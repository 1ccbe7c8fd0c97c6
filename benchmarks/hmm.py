"""The hidden Markov kernels: sweeps per CPU second, growth, mixing, starts, memory; `--peers`: two libraries.

R = 18 chains, T = 72 steps, 5 features of (6, 40, 2, 2, 2) values, K = 10 states; and 100 times the cells.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # CPU seconds of one thread

import itertools
import math
import random
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np
from sizes import sized

from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.chain import CountEmissions, StateChain
from discreet.posteriors.hidden_markov.noisy_counts import NoisyEmissions, noisy_data
from discreet.posteriors.hidden_markov.posterior import agreement
from discreet.posteriors.hidden_markov.run import start, tournament
from discreet.sampling.agreement import effective_size as ess
from discreet.sampling.source import SeededSource

VALUES, STATES = (6, 40, 2, 2, 2), 10
USUAL = sized((18, 72), (2, 5))  # chains, steps


def world(chains, steps, records, seed=0):
    """Counts by cell of a model whose states last, cells of very different sizes"""
    rng = np.random.default_rng(seed)
    theta = np.concatenate([rng.dirichlet(np.full(k, 0.5), STATES) for k in VALUES], axis=1)
    z = np.empty((chains, steps), dtype=np.int64)
    stay = rng.random((chains, steps)) < 0.85
    fresh = rng.integers(0, STATES, (chains, steps))
    for t in range(steps):
        z[:, t] = np.where(stay[:, t] & (t > 0), z[:, max(t - 1, 0)], fresh[:, t])
    size = (
        rng.negative_binomial(0.7, 0.7 / (0.7 + records), z.size)
        if records > 3
        else rng.poisson(records, z.size)
    )
    parts = np.split(theta, np.cumsum(VALUES)[:-1], axis=1)
    counts = [rng.multinomial(size, (p / p.sum(axis=1, keepdims=True))[z.ravel()]) for p in parts]
    names = tuple(f"f{d}" for d in range(len(VALUES)))
    model = HiddenMarkov(states=STATES, chain="r", step="t", features=names)
    sizes = {"r": chains, "t": steps, **dict(zip(names, VALUES, strict=True))}
    return z.ravel(), np.concatenate(counts, axis=1), model.bind(sizes)


def rate(work, seconds=sized(2.0, 0.0)):
    """Runs per CPU second"""
    work()
    times, begun = 0, time.process_time()
    while not times or time.process_time() - begun < seconds:
        work()
        times += 1
    return times / (time.process_time() - begun)


def chain_of(emissions, path, z, seed=1):
    return StateChain.start(emissions, path, np.random.default_rng(seed), z)


# --- what people write ------------
def numpy_sweep(counts, z, chains, rng, model):
    """FFBS in NumPy, cells in a Python loop, as hmmlearn does it without its C part"""
    theta = np.empty((STATES, counts.shape[1]))
    for k in range(STATES):
        total = counts[z == k].sum(axis=0)
        for a, b in zip(model.offsets[:-1], model.offsets[1:], strict=True):
            theta[k, a:b] = rng.dirichlet(1 + total[a:b])
    scores = counts @ np.log(theta).T
    likelihood = np.exp(scores - scores.max(axis=1, keepdims=True))
    paths = z.reshape(chains, -1)
    moved = np.ones((STATES, STATES))
    np.add.at(moved, (paths[:, :-1].ravel(), paths[:, 1:].ravel()), 1)
    matrix = np.array([rng.dirichlet(row) for row in moved])
    steps = paths.shape[1]
    for r in range(chains):
        filtered = np.empty((steps, STATES))
        now = np.full(STATES, 1 / STATES)
        for t in range(steps):
            now = (now @ matrix if t else now) * likelihood[r * steps + t]
            now /= now.sum()
            filtered[t] = now
        k = rng.choice(STATES, p=filtered[-1])
        paths[r, -1] = k
        for t in range(steps - 2, -1, -1):
            weight = filtered[t] * matrix[:, k]
            k = rng.choice(STATES, p=weight / weight.sum())
            paths[r, t] = k


def python_sweep(  # noqa: C901 - what one would write first
    counts, z, chains, rng, offsets
):
    """The collapsed sweep in plain Python"""
    totals = [[1.0] * len(counts[0]) for _ in range(STATES)]
    for row, k in zip(counts, z, strict=True):
        for j, n in enumerate(row):
            totals[k][j] += n
    logs = []
    for row in totals:
        drawn = [rng.gammavariate(a, 1.0) for a in row]
        logs.append([math.log(max(g, 1e-300)) for g in drawn])
        for a, b in itertools.pairwise(offsets):
            whole = math.log(sum(drawn[a:b]))
            logs[-1][a:b] = [x - whole for x in logs[-1][a:b]]
    steps = len(z) // chains
    moved = [[0] * STATES for _ in range(STATES + 1)]
    for c, k in enumerate(z):
        moved[STATES if c % steps == 0 else z[c - 1]][k] += 1
    for c, row in enumerate(counts):
        p, f = STATES if c % steps == 0 else z[c - 1], z[c + 1] if (c + 1) % steps else -1
        moved[p][z[c]] -= 1
        if f >= 0:
            moved[z[c]][f] -= 1
        weights = []
        for k in range(STATES):
            score = math.log(moved[p][k] + 1)
            if f >= 0:
                score += math.log((moved[k][f] + (p == k == f) + 1) / (sum(moved[k]) + (p == k) + STATES))
            weights.append(score + sum(n * w for n, w in zip(row, logs[k], strict=True) if n))
        top = max(weights)
        z[c] = rng.choices(range(STATES), [math.exp(w - top) for w in weights])[0]
        moved[p][z[c]] += 1
        if f >= 0:
            moved[z[c]][f] += 1


# --- figures ------------
def speed():
    print("sweeps per CPU second (θ, scores, states; goal 4000, and 50 at 100 times the cells)")
    for chains, steps in (USUAL, *sized(((57, 227), (180, 720)), ())):
        for records in (1, 50):
            z, counts, model = world(chains, steps, records)
            ours = {
                p: rate(chain_of(CountEmissions.of(model, counts), p, z).sweep) for p in ("collapsed", "ffbs")
            }
            cost = {p: 1e9 / (r * z.size) for p, r in ours.items()}
            figures = ", ".join(f"{p} {r:.0f} ({cost[p]:.0f} ns a cell)" for p, r in ours.items())
            print(f"  {z.size:6d} cells of about {records} records: {figures}; {peak()}", flush=True)


def written_by_hand():
    print("the same by what people write, sweeps per CPU second")
    for chains, steps, seconds in ((*USUAL, sized(2.0, 0.0)), *sized(((180, 720, 0.001),), ())):
        z, counts, model = world(chains, steps, 50)
        rng, draws = np.random.default_rng(0), random.Random(0)
        arrays = rate(lambda: numpy_sweep(counts, z.copy(), chains, rng, model), seconds)  # noqa: B023
        rows, path = counts.tolist(), z.tolist()
        plain = rate(lambda: python_sweep(rows, path, chains, draws, model.offsets), seconds)  # noqa: B023
        print(f"  {z.size:6d} cells: NumPy FFBS {arrays:.3g}, pure Python {plain:.3g}; {peak()}", flush=True)


def peak():
    """Of the process so far: cases run from small to large."""
    return f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB"


def noise_aware():
    print("noise-aware sweeps per CPU second (counts summed out by table; z, and two rounds of θ and λ)")
    for chains, steps, scales in ((*USUAL, (1, 10, 100)), *sized(((57, 227, (10,)),), ())):
        z, counts, model = world(chains, steps, 50)
        for scale in scales:
            release = noisy(model, counts, scale)
            begun = time.process_time()
            data = noisy_data(model, release)
            built = time.process_time() - begun
            per_second = rate(chain_of(NoisyEmissions.of(model, data), "ffbs", z).sweep)
            megabytes = data.table.pieces.nbytes / 1e6
            print(
                f"  {z.size:6d} cells b = {scale:3d}: {per_second:.0f} table {megabytes:.1f} MB {built:.2f} s"
            )


def noisy(model, counts, scale, seed=3):
    mechanism = NoisyCounts(model, n=int(counts[:, :6].sum()), scales=(scale,) * len(VALUES))
    return mechanism.release(model.flat(counts), SeededSource(seed))


def accuracy():
    """Single precision against double, in nats of log-odds between states that could be drawn"""
    for records in (1, 50, 1000):
        z, counts, model = world(*USUAL, records)
        chain = chain_of(CountEmissions.of(model, counts), "ffbs", z)
        for _ in range(20):
            chain.sweep()
        single = chain.work["scores"][:, :STATES].astype(float)
        double = counts @ chain.emissions.log_theta.T
        single, double = (x - x.max(axis=1, keepdims=True) for x in (single, double))
        error = np.abs(single - double)[double > -40].max()
        print(f"  scores with {records} records a cell err by at most {error:.1e} nats")


def mixing():
    print("effective draws of the log joint per CPU second, from the true states")
    for records in (1, 5, 50):
        z, counts, model = world(*USUAL, records)
        for path in ("ffbs", "collapsed"):
            chain, begun, joint = chain_of(CountEmissions.of(model, counts), path, z), time.process_time(), []
            for _ in range(sized(4000, 20)):
                chain.sweep()
                joint.append(chain.log_joint())
            spent = time.process_time() - begun
            effective = float(ess(np.array(joint[sized(500, 5) :])[None]))
            print(f"  {records:3d} records a cell, {path}: {effective / spent:.0f}")


CASES = (("exact", None), ("naive", 10.0), ("naive", 1.0), ("noise_aware", 10.0), ("noise_aware", 1.0))


def starts():
    print("spread of the log joint over 8 chains (4 if noise-aware), and cells in their true state")
    z, counts, model = world(*USUAL, 50, seed=1)
    for name, epsilon in CASES:
        seen = counts if epsilon is None else model.by_cell(noisy(model, counts, 10 / epsilon).noisy)
        fresh = lambda: CountEmissions.of(model, np.maximum(seen, 0))  # noqa: E731, B023
        if name == "noise_aware":
            data = noisy_data(model, noisy(model, counts, 10 / epsilon))
            fresh = lambda: NoisyEmissions.of(model, data)  # noqa: E731, B023
        many, sweeps = sized((4, 100) if name == "noise_aware" else (8, 200), (1, 3))
        for how in ("one k-means++ start", "best of sixteen"):
            levels, right = [], []
            for seed in range(many):
                rng = np.random.default_rng(seed)
                chain = StateChain.start(fresh(), "ffbs", rng, start(rng, model, seen))
                if how == "best of sixteen":
                    tournament(chain, seen)
                joint = [(chain.sweep(), chain.log_joint())[1] for _ in range(sweeps)]
                levels.append(np.mean(joint[-30:]))
                right.append(agreement([chain.z, z], STATES)[0, 1])
            label = name if epsilon is None else f"{name} ε={epsilon:g}"
            print(
                f"  {label}, {how}: {np.ptp(levels):.0f} nats, states right {min(right):.2f}–{max(right):.2f}"
            )


PEERS = ("hmmlearn==0.3.3", "dynamax==1.0.3")


def peers():
    """Both in an environment built for the occasion; one step each on the same data."""
    z, counts, model = world(*USUAL, 50)
    chain = chain_of(CountEmissions.of(model, counts), "ffbs", z)
    chain.sweep()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "venv", with_pip=True)
        python = place / "venv" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True)  # noqa: S603
        scores = chain.work["scores"][:, :STATES].astype(float)
        np.savez(place / "data.npz", counts=counts, scores=scores, chains=USUAL[0])
        script = Path(__file__).with_name("hmm_peers.py")
        out = subprocess.run([python, script, place / "data.npz"], check=True, capture_output=True, text=True)  # noqa: S603
    print("peers, CPU seconds a step on 1296 cells of about 50 records")
    print("  " + out.stdout.strip().replace("\n", "\n  "))
    print(f"  our whole sweep, five features {1 / rate(chain.sweep):.6f}")


def main():
    speed()
    accuracy()
    mixing()
    noise_aware()
    starts()
    written_by_hand()
    if "--peers" in sys.argv:
        peers()
    print(peak())


if __name__ == "__main__":
    main()
