"""Linear regression, whole: from Parquet through the charge to intervals, as a ratio to scikit-learn's fit.

python benchmarks/linear_speed.py [--rows 92000] [--times 9]
Both read the same file and rows; best and median of several, interleaved, after one run each to load and
compile. Scikit-learn gives a point, ours a charge on disk, a release that the ledger keeps, and intervals.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sizes import sized
from sklearn.linear_model import LinearRegression

import discreet as dc

BOUNDS = {"age": (18, 90), "hours": (0, 100), "years": (0, 40), "distance": (0, 200), "wage": (0, 100)}
FEATURES = list(BOUNDS)[:4]
GOAL = 10


def generate(path, rows):
    rng = np.random.default_rng(0)
    x = rng.uniform(*np.transpose([BOUNDS[name] for name in FEATURES]), (rows, 4))
    wage = 10 + x @ [0.2, 0.3, 0.8, -0.05] + 4 * rng.standard_normal(rows)
    pd.DataFrame(np.column_stack([x, np.clip(wage, 0, 100)]), columns=list(BOUNDS)).to_parquet(path)


def theirs(path):
    frame = pd.read_parquet(path)
    fit = LinearRegression().fit(frame[FEATURES], frame["wage"])
    return np.append(fit.coef_, fit.intercept_)


def ours(path, ledger, parts):
    """Time the fit (table, calibration, charge, sums, noise) and the reading apart."""
    start = time.perf_counter()
    table = dc.Table.open(str(path), schema={name: dc.Bounded(*ends) for name, ends in BOUNDS.items()})
    model = dc.BayesianLinearRegression(target="wage", features=FEATURES)
    release = dc.privatise(table, model, target=dc.ApproxDP(1, 1e-7), ledger=ledger)
    paid = time.perf_counter()
    found = release.posterior.flat_interval(0.9)
    parts.append((paid - start, time.perf_counter() - paid))
    return found


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=sized(92_000, 500))
    asked.add_argument("--times", type=int, default=sized(9, 1))
    asked.add_argument("--tiny", action="store_true")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, parts, both = Path(folder) / "rows.parquet", [], ([], [])
        generate(path, given.rows)
        ledger = dc.Ledger.open(f"{folder}/budget.db", budget=dc.ApproxDP(10_000, 0.1))
        for _ in range(given.times + 1):
            for times, work in zip(
                both, (lambda: theirs(path), lambda: ours(path, ledger, parts)), strict=True
            ):
                start, spent = time.perf_counter(), time.process_time()
                work()
                times.append((time.perf_counter() - start, time.process_time() - spent))
        ends, exact = ours(path, ledger, []), theirs(path)
        ledger.close()
    (plain, plain_cpu), (private, private_cpu) = (np.transpose(times[1:]) for times in both)
    fit, read = np.median(parts[1:], axis=0)
    print(f"{given.rows} rows × 4 from Parquet: scikit-learn {np.median(plain):.4f} s")
    print(f"discreet {np.median(private):.4f} s: fit {fit:.4f}, reading {read:.4f}")
    ratio, best = np.median(private) / np.median(plain), private.min() / plain.min()
    spent = np.median(private_cpu) / np.median(plain_cpu)
    print(f"ratio {ratio:.1f} (of the best of each {best:.1f}; of processor time {spent:.1f}), goal {GOAL}")
    inside = (ends[:5, 0] <= exact) & (exact <= ends[:5, 1])
    print(f"intervals that hold the least squares weight: {inside.sum()} of 5")


if __name__ == "__main__":
    main()
