"""Programs of profile mechanisms beside cvxpy on the same graphs; bulk release beside NumPy's choice.

python benchmarks/profiles.py [--peers] [--large] [--only bulk]
Processor seconds, so that a busy machine counts little. cvxpy runs in an environment of its own, made once;
it gets the same program and solver (HiGHS), and its answer is not verified; ours is, exactly. --large adds
400 × 400 and the paper's objective at 250 000 variables.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np
from sizes import sized

from discreet.mechanisms.local.profile_base import on_grid
from discreet.mechanisms.local.profile_bits import SmoothOneBit
from discreet.mechanisms.local.profile_categorical import (
    EXPECTED_CORRUPTION,
    KEEP,
    LARGEST_ERROR,
    SmoothCategorical,
)
from discreet.privacy.profile_graph import ProfileGraph

EPSILON, BULK = 1.0, sized(4_000_000, 100)
PEER = """
import sys, time
import cvxpy as cp, numpy as np
what, k, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
P, e = np.random.default_rng(1).dirichlet(np.ones(d), k), np.exp(1.0)
off = 1 - np.eye(d)

def alike(q):
    return [q[:-1] <= e * q[1:], q[1:] <= e * q[:-1]]

def keep():
    f, s = cp.Variable((k, d), nonneg=True), cp.Variable()
    yield cp.Problem(cp.Maximize(s), [cp.sum(f, axis=1) == 1 - s, *alike(s * P + f), s >= 0, s <= 1])

def corruption():
    q = cp.Variable((k, d), nonneg=True)
    yield cp.Problem(cp.Minimize(cp.sum(cp.abs(q - P)) / (2 * k)), [cp.sum(q, axis=1) == 1, *alike(q)])

def largest():
    A, t = [cp.Variable((d, d), nonneg=True) for _ in range(k)], cp.Variable()
    q = cp.vstack([P[i] @ A[i] for i in range(k)])
    rows = [cp.sum(a, axis=1) == 1 for a in A] + [cp.multiply(off, a) <= t for a in A] + alike(q)
    first = cp.Problem(cp.Minimize(t), rows)
    yield first
    changed = sum(P[i] @ (1 - cp.diag(A[i])) for i in range(k)) / k
    yield cp.Problem(cp.Minimize(changed), [*rows, t <= first.value + 1e-9])

values, start = [], time.process_time()
for problem in {"keep": keep, "corruption": corruption, "largest": largest}[what]():
    problem.solve(solver=cp.HIGHS)
    values.append(problem.value)
print(time.process_time() - start, *values)
"""


def graph(k, d):
    laws = np.random.default_rng(1).dirichlet(np.ones(d), k)
    return ProfileGraph.chain([on_grid(law.tolist()) for law in laws])


def seconds(call, times=1):
    best = np.inf
    for _ in range(times):
        start = time.process_time()
        found = call()
        best = min(best, time.process_time() - start)
    return best, found


def peer(what, k, d):
    home = Path(tempfile.gettempdir()) / "discreet-peers-cvxpy"
    python = home / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "cvxpy", "highspy"], check=True)  # noqa: S603
        (home / "ready").touch()
    words = [python, "-c", PEER, what, str(k), str(d)]
    ran = subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603
    return [float(x) for x in ran.stdout.split()]


def programs(with_peers, large):
    print(f"{'program, chain, ε = 1':44s} {'variables':>9s} {'seconds':>8s} {'goal':>5s} {'cvxpy':>8s}")
    SmoothCategorical.solve(graph(3, 3), EPSILON)  # imports
    for k, goal in (*sized(((20, ""), (80, 0.5)), ((4, ""),)), *(((400, 60),) if large else ())):
        made = graph(k, k)
        took, solved = seconds(lambda made=made: SmoothCategorical.solve(made, EPSILON), 1 if k > 99 else 3)
        theirs = peer("keep", k, k) if with_peers else ("", "")
        print(
            f"{f'keep, {k} × {k}':44s} {k * k + 1:9d} {took:8.2f} {goal!s:>5s} {theirs[0]!s:>8.6s}",
            flush=True,
        )
        floor = float(solved.kernels.keep)
        assert not with_peers or abs(floor - theirs[1]) < 1e-6, (floor, theirs)
    cases = [
        ("expected corruption", "corruption", EXPECTED_CORRUPTION, *sized((40, 40), (3, 3))),
        ("largest error", "largest", LARGEST_ERROR, *sized((10, 20), (3, 3))),
        ("largest error", "largest", LARGEST_ERROR, *sized((10, 50), (3, 4))),
    ]
    cases += [("largest error", "largest", LARGEST_ERROR, 10, 158)] if large else []
    for name, what, objective, k, d in cases:
        made = graph(k, d)
        took, found = seconds(
            lambda made=made, o=objective: SmoothCategorical.solve(made, EPSILON, objective=o)
        )
        size = k * d * (d if objective is LARGEST_ERROR else 2)
        theirs = peer(what, k, d) if with_peers else ("",)
        print(f"{f'{name}, {k} × {d}':44s} {size:9d} {took:8.2f} {'':>5s} {theirs[0]!s:>8.6s}", flush=True)
        ours = [found.largest_error] if objective is LARGEST_ERROR else []
        ours.append(float(found.corruption().mean()))
        assert not with_peers or np.allclose(ours, theirs[1:], atol=1e-6), (ours, theirs)


def bulk():
    rng = np.random.default_rng(0)
    bits = SmoothOneBit.solve(ProfileGraph.chain([0.2, 0.5, 0.9]), 0.5)
    ten = SmoothCategorical.solve(graph(10, 10), 0.5, objective=KEEP)
    any_kernel = SmoothCategorical.solve(graph(10, 10), 0.5, objective=EXPECTED_CORRUPTION)
    print(f"\n{'released in bulk':44s} {'1e6 a second':>12s} {'NumPy choice':>13s} {'ratio':>6s}")
    for name, made, goal in (
        ("bits", bits, 10),
        ("10 values, keep", ten, ""),
        ("10 values, any kernel", any_kernel, ""),
    ):
        d = made.graph.values
        values = rng.integers(0, d, BULK)
        matrix = made.kernels.matrix(1)

        def choice(values=values, matrix=matrix, d=d):
            found = np.empty_like(values)
            for x in range(d):
                mine = np.flatnonzero(values == x)
                found[mine] = rng.choice(d, mine.size, p=matrix[x])
            return found

        pairs = [
            (seconds(lambda made=made, values=values: made.release(values, profile=1))[0], seconds(choice)[0])
            for _ in range(3)
        ]
        ours, theirs = (BULK / min(column) / 1e6 for column in zip(*pairs, strict=True))
        print(f"{name:44s} {ours:12.1f} {theirs:13.1f} {ours / theirs:6.2f}   goal {goal}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", default="", choices=["", "programs", "bulk"])
    given = parser.parse_args()
    if given.only != "bulk":
        programs(given.peers, given.large)
    if given.only != "programs":
        bulk()


if __name__ == "__main__":
    main()
