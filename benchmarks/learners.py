"""Learners beside diffprivlib and beside no privacy at all: scores on held-out rows, and the time of a fit.

python benchmarks/learners.py [--seeds 20] [--peers PYTHON] [--only GaussianNB] [--pure]
PYTHON is that of an environment with diffprivlib 0.6.6 and scikit-learn below 1.8.
Splits 7:3, other ones for each seed. Bounds are public: chosen without a look at the rows, and the same for
all. The target is (ε, 1e-5), or with --pure (ε, 0) as diffprivlib's, one record more or less.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from linear_regression import CLINICAL, scaled, shells
from sizes import TINY, sized
from sklearn import cluster, datasets, decomposition, linear_model, naive_bayes, preprocessing, svm

from discreet import learn

EPSILONS = sized((0.1, 0.3, 1, 3, 10), (1,))
DELTA = 1e-5
# Ranges of the measurements of cells and of wines, from what such measurements are: not minima and maxima.
CELLS = [(0, 30), (0, 40), (0, 200), (0, 2500), (0, 0.2), (0, 0.4), (0, 0.5), (0, 0.25), (0, 0.4), (0, 0.1)]
ERRORS = [(0, 3), (0, 5), (0, 25), (0, 500), (0, 0.03), (0, 0.15), (0, 0.4), (0, 0.06), (0, 0.08), (0, 0.03)]
WORST = [(0, 40), (0, 50), (0, 260), (0, 4500), (0, 0.25), (0, 1), (0, 1.3), (0, 0.3), (0, 0.7), (0, 0.2)]
WINE = [
    *((10, 15), (0, 6), (1, 4), (10, 30), (60, 170), (0, 4), (0, 6), (0, 1), (0, 4), (0, 14)),
    *((0.4, 2), (1, 4.5), (200, 1800)),
]


def bundled(load, bounds):
    x, y = load(return_X_y=True)
    return scaled(x, bounds), y


def diabetes():
    x, y = datasets.load_diabetes(return_X_y=True, scaled=False)
    return scaled(x, CLINICAL), scaled(y, (25, 346))


TASKS = {
    "breast cancer": lambda: bundled(datasets.load_breast_cancer, CELLS + ERRORS + WORST),
    "wine": lambda: bundled(datasets.load_wine, WINE),
    "digits": lambda: bundled(datasets.load_digits, [(0, 16)] * 64),
    "diabetes": diabetes,
    "abalone": shells,
}
LABELLED = ("breast cancer", "wine", "digits")


def explained(components, rest):
    return float(np.square(rest @ components.T).sum() / np.square(rest).sum())


def far(centres, x):
    return -float(np.square(x[:, None] - centres[None]).sum(2).min(1).mean())


def of_score(model, x, y, train):
    return model.fit(x[train], y[train]).score(x[~train], y[~train])


def of_centres(model, x, y, train):
    del y
    return far(model.fit(x[train]).cluster_centers_, x[~train])


def of_components(model, x, y, train):
    del y
    return explained(model.fit(x[train]).components_, x[~train] - x[train].mean(axis=0))


# kind → (tasks, our arguments, without privacy, how it is scored)
KINDS = {
    "GaussianNB": (
        LABELLED,
        lambda y: {"classes": np.unique(y)},
        lambda _: naive_bayes.GaussianNB(),
        of_score,
    ),
    "LinearSVC": (LABELLED, lambda y: {"classes": np.unique(y)}, lambda _: svm.LinearSVC(), of_score),
    "LogisticRegression": (
        LABELLED,
        lambda y: {"classes": np.unique(y)},
        lambda _: linear_model.LogisticRegression(max_iter=2000),
        of_score,
    ),
    "LinearRegression": (
        ("diabetes", "abalone"),
        lambda _: {"answers": (-1, 1)},
        lambda _: linear_model.LinearRegression(),
        of_score,
    ),
    "KMeans": (
        LABELLED,
        lambda y: {"n_clusters": len(np.unique(y))},
        lambda y: cluster.KMeans(len(np.unique(y)), n_init=3, random_state=0),
        of_centres,
    ),
    "PCA": (LABELLED, lambda _: {"n_components": 2}, lambda _: decomposition.PCA(2), of_components),
}


def splits(n, seeds):
    """Seven tenths to train on, as a mask."""
    for seed in range(seeds):
        train = np.zeros(n, dtype=bool)
        train[np.random.default_rng(seed).permutation(n)[: n * 7 // 10]] = True
        yield train


def ours(kind, data, trains, epsilon, more):
    (x, y), (_, arguments, _, scored) = data, KINDS[kind]
    given = {"bounds": (-1, 1), "relation": "add_remove", **arguments(y), **more}
    made = getattr(learn, kind)
    return [
        scored(made(epsilon=epsilon, random_state=seed, **given), x, y, train)
        for seed, train in enumerate(trains)
    ]


def theirs(python, kind, x, y, trains):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.npz"
        norm = np.linalg.norm(x, axis=1).max() if TINY else np.sqrt(x.shape[1])
        np.savez(path, features=x, answers=y, trains=trains, epsilons=EPSILONS, norm=norm)
        code = [python, Path(__file__).with_name("learners_peers.py"), kind, path]
        ran = subprocess.run(code, check=True, capture_output=True, text=True)  # noqa: S603
    return json.loads(ran.stdout)


def cell(found):
    """Mean and standard error; how many failed."""
    good = np.array(found)[np.isfinite(found)]
    failed = f" ({len(found) - len(good)} failed)" if len(good) < len(found) else ""
    return (
        f"{good.mean():7.3f} ± {good.std() / max(1, len(good)) ** 0.5:.3f}{failed}" if len(good) else "failed"
    )


def show(name, rows):
    print(f"{name:28s}" + "".join(f"{cell(row):>18s}" for row in rows), flush=True)


def utility(kind, seeds, python, more):
    tasks, _, exact, scored = KINDS[kind]
    for task in sized(tasks, tasks[:1]):
        x, y = TASKS[task]()
        trains = np.array(list(splits(len(y), seeds)))
        print(f"\n{kind}, {task}: {len(y)} rows, {x.shape[1]} columns, {seeds} seeds")
        print(f"{'':28s}" + "".join(f"{f'ε = {epsilon:g}':>18s}" for epsilon in EPSILONS))
        show("without privacy", [[scored(exact(y), x, y, train) for train in trains]])
        show("discreet", [ours(kind, (x, y), trains, epsilon, more) for epsilon in EPSILONS])
        if python and kind != "LinearSVC":
            show("diffprivlib (pure ε)", theirs(python, kind, x, y, trains))


# ── time of a fit, as a ratio measured side by side
FITS = {
    "GaussianNB": ({"classes": [0, 1]}, naive_bayes.GaussianNB()),
    "KMeans": ({}, cluster.KMeans(8, n_init=1, random_state=0)),
    "PCA": ({}, decomposition.PCA()),
    "StandardScaler": ({}, preprocessing.StandardScaler()),
    "LinearSVC": ({"classes": [0, 1]}, svm.LinearSVC()),
    "LogisticRegression": ({"classes": [0, 1]}, linear_model.LogisticRegression()),
    "LinearRegression": ({"answers": (-1, 1)}, linear_model.LinearRegression()),
}


def took(model, x, y):
    start = time.process_time()
    model.fit(x, y)
    return time.process_time() - start


def times(only):
    rng = np.random.default_rng(0)
    n = sized(100_000, 500)
    x = rng.uniform(-1, 1, (n, 10))
    y = (x[:, 0] + rng.standard_normal(n) > 0).astype(int)
    print(f"\nfit, n = {n}, d = 10: processor seconds ours, scikit-learn's; ratio (medians of five)")
    for kind, (arguments, exact) in FITS.items():
        if only in {None, kind} and hasattr(learn, kind):
            made = getattr(learn, kind)(epsilon=1, delta=DELTA, bounds=(-1, 1), **arguments)
            both = [(took(made, x, y), took(exact, x, y)) for _ in range(sized(5, 1))]
            mine, other = np.median(both, axis=0)
            print(f"{kind:20s}{mine:8.3f}{other:8.3f}{mine / other if other else np.nan:8.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=sized(20, 1))
    parser.add_argument("--peers")
    parser.add_argument("--only")
    parser.add_argument("--pure", action="store_true")
    asked = parser.parse_args()
    times(asked.only)
    chosen = {} if asked.pure else {"delta": DELTA}
    for name in KINDS:
        pure = not asked.pure or name not in {"LogisticRegression", "LinearSVC"}
        if asked.only in {None, name} and pure and hasattr(learn, name):
            utility(name, asked.seeds, asked.peers, chosen)
