"""Forests and additive models: what they predict beside diffprivlib and DP-EBM, and what a fit takes.

1. Test error (R² of Abalone and diabetes) at δ = 1e-5, one record more or less; the peers on the same rows,
   bounds and splits (diffprivlib promises pure ε). --peers and --ebm name the Python of an environment with
   diffprivlib 0.6.6 (scikit-learn < 1.8) and with interpret-core 0.7; without them only we are run. Settings
   are the defaults everywhere, on our side and on theirs.
2. Processor time of a fit at n = 1e5, d = 10, as a ratio to scikit-learn's on the same rows.
Run: python benchmarks/trees.py [--seeds 20] [--only utility|speed] [--task wine] [--peers …] [--ebm …]
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import json
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sizes import TINY, sized

import discreet
from discreet.experiments.regression import data as census
from discreet.learn import AdditiveClassifier, AdditiveRegressor, RandomForestClassifier

EPSILONS = sized((0.1, 0.3, 1.0, 3.0, 10.0), (1.0,))
DELTA = 1e-5
BUNDLED = Path(discreet.__file__).parent / "datasets"


@dataclass
class Task:
    """Rows by public bounds; codes of categories begin at 0. `classes` is 0 of a regression."""

    name: str
    x: np.ndarray
    y: np.ndarray
    bounds: tuple
    categorical: list
    classes: int
    answers: tuple = (0, 1)
    train: np.ndarray | None = None

    def split(self, seed):
        """Train on three quarters, by seed; or as documented."""
        if self.train is not None:
            return self.train
        train = np.zeros(len(self.y), bool)
        train[np.random.default_rng(seed).permutation(len(self.y))[: 3 * len(self.y) // 4]] = True
        return train


# ── the rows ────────────────────────────────────────────────────────────────────────────────────────────


def table(path, numbers, levels):
    """Columns of numbers with their bounds, then codes by public lists of levels."""
    rows = pq.read_table(path).to_pydict()
    columns = [np.array(rows[name], float) for name in numbers]
    for name, known in levels.items():
        places = {level: k for k, level in enumerate(known)}
        columns.append(np.array([places[v] for v in rows[name]], float))
    lower = [low for low, _ in numbers.values()] + [0] * len(levels)
    upper = [high for _, high in numbers.values()] + [len(known) - 1 for known in levels.values()]
    coded = list(range(len(numbers), len(numbers) + len(levels)))
    return rows, np.stack(columns, axis=1), (np.array(lower, float), np.array(upper, float)), coded


def adult():
    numbers = {
        "age": (17, 90),
        "education_num": (1, 16),
        "capital_gain": (0, 99999),
        "capital_loss": (0, 5000),
        "hours_per_week": (1, 99),
    }
    employers = ("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov")
    levels = {
        "workclass": (*employers, "Without-pay", "Never-worked", "?"),
        "education": census.EDUCATION,
        "marital_status": census.MARITAL,
        "occupation": census.OCCUPATION,
        "relationship": census.RELATIONSHIP,
        "race": census.RACE,
        "sex": ("Female", "Male"),
        "native_country": census.COUNTRY,
    }
    rows, x, bounds, coded = table(BUNDLED / "adult.parquet", numbers, levels)
    y, train = np.array(rows["income"]) == ">50K", np.array(rows["split"]) == "train"
    return Task("Adult", x, y.astype(int), bounds, coded, 2, train=train)


def abalone():
    numbers = {
        "length": (0, 1),
        "diameter": (0, 1),
        "height": (0, 1.5),
        "whole_weight": (0, 3),
        "shucked_weight": (0, 2),
        "viscera_weight": (0, 1),
        "shell_weight": (0, 1.5),
    }
    rows, x, bounds, coded = table(BUNDLED / "abalone.parquet", numbers, {"sex": ("F", "I", "M")})
    return Task("Abalone", x, np.array(rows["rings"], float), bounds, coded, 0, answers=(0, 30))


def documented(name, load, pattern):
    """Bounds that the data set's own description prints."""
    data = load()
    ends = re.findall(pattern, data.DESCR, re.MULTILINE)
    low, high = np.array([[float(a), float(b)] for _, a, b in ends]).T
    return Task(name, data.data, data.target, (low, high), [], len(data.target_names))


def small():
    from sklearn import datasets  # noqa: PLC0415

    cancer = documented("breast cancer", datasets.load_breast_cancer, r"^(.+\)):\s+([\d.]+)\s+([\d.]+)$")
    wine = documented("wine", datasets.load_wine, r"^(.+?):\s+([\d.]+)\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s*$")
    digits, sugar = datasets.load_digits(), datasets.load_diabetes()
    eight, ten = (np.zeros(64), np.full(64, 16.0)), (np.full(10, -0.2), np.full(10, 0.2))
    return [
        cancer,
        wine,
        Task("digits", digits.data, digits.target, eight, [], 10),
        Task("diabetes", sugar.data, sugar.target, ten, [], 0, answers=(25, 346)),
    ]


def fetched():
    """Mushrooms and drug use, where DISCREET_DATA names a folder that has them."""
    folder = Path(os.environ.get("DISCREET_DATA", ""))
    if not (folder / "mushroom.parquet").is_file():
        return []
    public = json.loads((folder / "schemas.json").read_text(encoding="utf-8"))
    declared = public["mushroom.parquet"]["columns"]
    levels = {name: tuple(c["categories"]) for name, c in declared.items() if name != "class"}
    rows, x, bounds, coded = table(folder / "mushroom.parquet", {}, levels)
    fungi = Task("mushrooms", x, (np.array(rows["class"]) == "p").astype(int), bounds, coded, 2)
    scores = ("education", "country", "nscore", "escore", "oscore", "ascore", "cscore", "impulsive", "ss")
    ages = ("18-24", "25-34", "35-44", "45-54", "55-64", "65+")
    rows, x, bounds, coded = table(
        folder / "drug_consumption.parquet",
        dict.fromkeys(scores, (-4.0, 4.0)),
        {"age": ages, "gender": ("F", "M")},
    )
    y = np.isin(rows["cannabis"], ("CL3", "CL4", "CL5", "CL6")).astype(int)
    return [fungi, Task("drug use", x, y, bounds, coded, 2)]


def tasks(only):
    made = [*small(), abalone(), *fetched(), adult()]
    found = [task for task in made if only in task.name]
    return found[1:2] if TINY else found


# ── utility ─────────────────────────────────────────────────────────────────────────────────────────────


def learners(task):
    given = {"bounds": task.bounds, "categorical_features": task.categorical, "relation": "add_remove"}
    given["records"] = int(task.split(0).sum())  # how many there are is taken as roughly known
    if not task.classes:
        return {"additive": lambda **o: AdditiveRegressor(answers=task.answers, **given, **o)}
    given["classes"] = list(range(task.classes))
    return {
        "forest": lambda **o: RandomForestClassifier(**given, **o),
        "additive": lambda **o: AdditiveClassifier(**given, **o),
    }


def ours(task, make, seeds, **promise):
    found = []
    for seed in seeds:
        train = task.split(seed)
        model = make(random_state=seed, **promise).fit(task.x[train], task.y[train])
        value = model.score(task.x[~train], task.y[~train])
        found.append(1 - value if task.classes else value)
    return found


def theirs(task, python, name, seeds):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.npz"
        np.savez(
            path,
            x=task.x,
            y=task.y,
            lower=task.bounds[0],
            upper=task.bounds[1],
            categorical=[j in task.categorical for j in range(task.x.shape[1])],
            classes=task.classes,
            answers=task.answers,
            epsilons=EPSILONS,
            trains=np.array([task.split(seed) for seed in seeds]),
        )
        code = [python, Path(__file__).with_name("trees_peers.py"), path, name]
        ran = subprocess.run(code, check=False, capture_output=True, text=True)  # noqa: S603
    if ran.returncode:
        print(f"  {name}: {ran.stderr.strip().splitlines()[-1]}")
        return None
    return json.loads(ran.stdout)


def told(name, rows):
    if rows is None:
        return
    each = [np.array(row) for row in rows]
    words = "".join(
        f"{r.mean():9.3f} ±{r.std(ddof=1) / np.sqrt(len(r)) if len(r) > 1 else 0:.3f}" for r in each
    )
    print(f"  {name:34s}{words}", flush=True)


def utility(options):
    for task in tasks(options.task):
        seeds = range(options.seeds)
        kind = "error" if task.classes else "R²"
        print(
            f"\n{task.name}: {kind}, n = {int(task.split(0).sum())}, d = {task.x.shape[1]}, "
            f"{len(seeds)} seeds"
        )
        for name, make in learners(task).items():
            told(
                f"{name}, δ = {DELTA:g}", [ours(task, make, seeds, epsilon=e, delta=DELTA) for e in EPSILONS]
            )
            told(f"{name}, pure", [ours(task, make, seeds, epsilon=e) for e in EPSILONS])
        if options.peers and task.classes:
            for name in ("forest", "tree"):
                told(f"diffprivlib {name}, pure", theirs(task, options.peers, name, seeds))
        if options.ebm and task.classes in {0, 2}:
            told(f"DP-EBM, δ = {DELTA:g}", theirs(task, options.ebm, "ebm", seeds))


# ── time ────────────────────────────────────────────────────────────────────────────────────────────────


def seconds(work):
    begun = time.process_time()
    work()
    return time.process_time() - begun


def speed():
    """One fit each, after one on few rows that compiles what is compiled."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415
    from sklearn.ensemble import RandomForestClassifier as Exact  # noqa: PLC0415

    n, d = sized((100_000, 10), (300, 3))
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (n, d))
    y = (x[:, 0] + x[:, 1] + 0.3 * rng.standard_normal(n) > 1).astype(int)
    given = {"epsilon": 1, "delta": DELTA, "classes": [0, 1], "bounds": (0, 1)}
    for name, kind, peer in (
        ("forest", RandomForestClassifier, Exact(n_jobs=1)),
        ("additive model", AdditiveClassifier, HistGradientBoostingClassifier()),
    ):
        kind(**given).fit(x[:100], y[:100])
        mine, other = seconds(lambda: kind(**given).fit(x, y)), seconds(lambda: peer.fit(x, y))  # noqa: B023
        print(
            f"{name}: {mine:.2f} s, scikit-learn's {type(peer).__name__} {other:.2f} s, "
            f"ratio {mine / other:.2f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=sized(20, 1))
    parser.add_argument("--only", choices=("utility", "speed"), default="")
    parser.add_argument("--task", default="")
    parser.add_argument("--peers", default="")
    parser.add_argument("--ebm", default="")
    chosen = parser.parse_args()
    if chosen.only != "speed":
        utility(chosen)
    if chosen.only != "utility":
        speed()
