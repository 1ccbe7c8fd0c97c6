"""Linear regression on real data: R² of test rows beside OLS, AdaSSP and diffprivlib; coverage.

python benchmarks/linear_regression.py [--seeds 20] [--peers]
python benchmarks/linear_regression.py --coverage 400 [--related] [n ε δ]    (δ = 0: pure ε; n < 0: n private)
--related: columns share a cause, with loadings drawn anew for every world; else they are independent.
(ε, 1e-5), SUBSTITUTE, four fifths of the rows to train on, other splits for each seed. diffprivlib (pure ε)
runs in an environment of its own, on the same splits and bounds: `--peers` makes it once.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sizes import TINY, sized

import discreet as dc
from discreet.datasets import abalone
from discreet.mechanisms.regression.adassp import AdaSSP
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.posteriors.normal.latent_model import Observed
from discreet.posteriors.normal.linear_regression_moments import read_normal
from discreet.sampling.source import SeededSource
from tables import NEEDED, ONE_THREAD

EIGHT = dc.BayesianLinearRegression([0] * 8, (0.5 * np.eye(8)).tolist(), 4, 0.3, 2.5)
POINTS = [(100, 0.1, 0), (1000, 0.1, 0), (1000, 1, 0), (10_000, 0.3, 0)]
EPSILONS = sized((0.1, 0.3, 1, 3, 10), (1,))
DELTA = 1e-5
CONSTANT, RADIUS, GUESS = 0.5, 2, 1.5  # the intercept's column, the ball of (x, y), a guess of ‖w‖: public
# Ranges of adults in clinical use, chosen without a look at the minima and maxima of these rows, which are
# well known all the same: age, sex (1, 2), body mass index, blood pressure, three cholesterols, their ratio,
# log triglycerides, glucose. The answer's range, 25 to 346, is in scikit-learn's documentation.
CLINICAL = [
    (18, 80),
    (1, 2),
    (15, 45),
    (60, 140),
    (90, 310),
    (30, 250),
    (20, 100),
    (1, 10),
    (3, 6.5),
    (50, 130),
]
# In units of 200 mm and 200 g, as UCI describes the measurements; rings up to 30.
SHELLS = {
    "length": (0, 1),
    "diameter": (0, 1),
    "height": (0, 1.5),
    "whole_weight": (0, 3),
    "shucked_weight": (0, 2),
    "viscera_weight": (0, 1),
    "shell_weight": (0, 1.5),
}


def scaled(x, bounds):
    low, high = np.array(bounds, dtype=float).T
    return np.clip((x - (low + high) / 2) / ((high - low) / 2), -1, 1)


def diabetes():
    from sklearn.datasets import load_diabetes  # noqa: PLC0415

    x, y = load_diabetes(return_X_y=True, scaled=False)
    return scaled(x, CLINICAL), scaled(y, (25, 346))


def shells():
    columns = abalone(*SHELLS, "sex", "rings")
    numbers = scaled(np.column_stack([columns[name] for name in SHELLS]), list(SHELLS.values()))
    sexes = np.column_stack([columns["sex"] == sex for sex in "FIM"])
    return np.column_stack([numbers, sexes]), scaled(columns["rings"], (0, 30))


TASKS = {"diabetes": diabetes, "abalone": shells}


def family(d):
    """σ² ~ IG(3, 1/5) and ‖w‖ about GUESS."""
    precision = 0.1 * d / GUESS**2
    return dc.BayesianLinearRegression([0] * d, (precision * np.eye(d)).tolist(), 3, 0.2, RADIUS)


def least_squares(x, y, *_):
    return np.linalg.lstsq(x, y, rcond=None)[0]


def adassp(x, y, target, source):
    model = family(x.shape[1])
    made = AdaSSP.calibrate(model, n=len(y), target=target)
    return made.release(model.statistic(np.column_stack([x, y])), source).weights


def read(reading):
    def weights(x, y, target, source):
        model = family(x.shape[1])
        made = NoisyStatistics.calibrate(model, n=len(y), target=target, noise="gaussian")
        released = made.release(model.statistic(np.column_stack([x, y])), source)
        return released.read(reading=reading).flat_mean()[:-1]

    return weights


METHODS = {"OLS": least_squares, "AdaSSP": adassp, "noise-aware": read("noise_aware"), "naive": read("naive")}


def score(x, y, w, mean):
    return 1 - np.sum((y - x @ w) ** 2) / np.sum((y - mean) ** 2)


def source(goal, seed):
    """Return noise of its own for each ε."""
    return SeededSource(1000 * EPSILONS.index(float(goal.epsilon(DELTA))) + seed)


def splits(y, seeds):
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(y))
        yield seed, order[: len(y) * 4 // 5], order[len(y) * 4 // 5 :]


def run(task, seeds, peers):
    features, y = TASKS[task]()
    x = np.column_stack([features, np.full(len(y), CONSTANT)])
    print(f"\n{task}: {len(y)} rows, {features.shape[1]} columns; R² of test rows, median (worst) of {seeds}")
    print(f"{'':14s}" + "".join(f"{f'ε = {epsilon:g}':>18s}" for epsilon in EPSILONS))
    for name, method in METHODS.items():
        found = [
            [
                score(x[test], y[test], method(x[train], y[train], goal, source(goal, seed)), y[train].mean())
                for seed, train, test in splits(y, seeds)
            ]
            for goal in [dc.ApproxDP(epsilon, DELTA) for epsilon in EPSILONS[: 1 if name == "OLS" else None]]
        ]
        show(name, found)
    if peers:
        show("diffprivlib", beside(features, y, seeds))


def show(name, found):
    cells = "".join(f"{np.median(row):10.3g} ({np.min(row):6.2g})" for row in found)
    print(f"{name:14s}{cells}", flush=True)


def beside(features, y, seeds):
    """diffprivlib's R² on the same splits, in the environment that tables.py --peers keeps."""
    import sys  # noqa: PLC0415
    import venv  # noqa: PLC0415

    home = Path(tempfile.gettempdir()) / "discreet-peers"
    python = home / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDED], check=True)  # noqa: S603
        (home / "ready").touch()
    trains = np.zeros((seeds, len(y)), bool)
    for seed, train, _ in splits(y, seeds):
        trains[seed, train] = True
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "task.npz", features=features, answers=y, trains=trains, epsilons=EPSILONS)
        code = [python, Path(__file__).with_name("linear_regression_peers.py"), Path(folder) / "task.npz"]
        ran = subprocess.run(code, check=True, capture_output=True, text=True, env=ONE_THREAD)  # noqa: S603
    return json.loads(ran.stdout)


def coverage(worlds, points, related):
    """Shares of 90 % intervals that hold the truth: weights, σ² and which columns are wide drawn anew.

    Shown for each weight, then for the columns from the narrowest to the widest.
    """
    for n, epsilon, delta in points:
        private = n < 0  # n̂ instead of n, ADD_REMOVE
        relation = dc.ADD_REMOVE if private else dc.SUBSTITUTE
        target = (
            dc.ApproxDP(epsilon, delta, relation=relation) if delta else dc.PureDP(epsilon, relation=relation)
        )
        noise = "gaussian" if delta else "discrete_laplace"
        made = NoisyStatistics.calibrate(EIGHT, n=None if private else n, target=target, noise=noise)
        found = [covered(made, abs(n), seed, related) for seed in range(worlds)]
        hits = np.array([hit for hit, _ in found])
        print(f"n = {abs(n)}, {target!r}, {worlds} worlds")
        for name, hit in zip(("noise-aware", "naive"), hits.transpose(1, 0, 2), strict=True):
            each, error = hit.mean(axis=0), hit[:, :-1].mean(axis=1).std() / np.sqrt(worlds)
            shown = " ".join(f"{x:.3f}" for x in each[:-1])
            print(f"  {name:12s} w {each[:-1].mean():.3f} ± {error:.3f} ({shown}), σ² {each[-1]:.3f}")
        ordered = [hit[0][order] for hit, order in found]
        print("  by width     " + " ".join(f"{x:.3f}" for x in np.mean(ordered, axis=0)), flush=True)


def covered(made, n, seed, related):
    """Whether intervals hold w and σ²: noise-aware (one swarm of two), naive; and columns by width."""
    rng, d = np.random.default_rng([n, seed]), EIGHT.dimension
    variance = 0.3 / rng.gamma(4)
    w = rng.normal(size=d) * np.sqrt(variance / 0.5)
    widths = rng.permutation(np.linspace(0.4, 1, d - 1))
    loads = rng.uniform(-0.9, 0.9, d - 1) * related
    x = rng.uniform(-1, 1, size=(n, d - 1)) * np.sqrt(1 - loads**2) + rng.uniform(-1, 1, size=(n, 1)) * loads
    x *= widths
    x = np.column_stack([x, np.full(n, 0.5)])
    y = x @ w + rng.normal(size=n) * np.sqrt(variance)
    count = {} if made.n else {"count": n}
    released = made.release(EIGHT.statistic(np.column_stack([x, y])), SeededSource(seed), **count)
    truth = np.append(w, variance)
    aware = read_normal(EIGHT, Observed.of(released, EIGHT), SeededSource(seed), swarms=1)
    ends = [posterior.flat_interval(0.9).T for posterior in (aware, released.read(reading="naive"))]
    return [(low < truth) & (truth < high) for low, high in ends], np.argsort(widths)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=sized(20, 1))
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--coverage", type=int, default=0)
    parser.add_argument("--related", action="store_true")
    parser.add_argument("point", type=float, nargs="*")
    given = parser.parse_args()
    if given.coverage:
        n, *rest = given.point or [0]
        coverage(given.coverage, [(int(n), *rest)] if rest else POINTS, given.related)
        return
    for task in sized(list(TASKS), ["diabetes"]):
        run(task, given.seeds, given.peers)
    if TINY:
        coverage(1, [(50, 1, 0)], related=True)


if __name__ == "__main__":
    main()
