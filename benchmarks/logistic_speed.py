"""Logistic regression as an estimator: time of `fit` as a ratio to scikit-learn's, in one run.

python benchmarks/logistic_speed.py [--rows 1000 100000] [--columns 8] [--times 9]
Medians, interleaved, after one run each to load and compile. `calibration` finds λ and μ for the target and
depends on no record; `intervals` is the simulation that runs when one is asked for, on a new noise level.
"""

import argparse
import time
import warnings

import numpy as np
from sizes import sized
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet import learn
from discreet.mechanisms.regression.objective_perturbation import ObjectivePerturbation
from discreet.posteriors.regression import coverage

SECONDS, RATIO = 0.1, 3  # goals: at 1000 rows, and beside scikit-learn's fit at 100 000
EPSILON, DELTA = 1.0, 1e-6


def generate(rows, columns):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (rows, columns))
    return x, rng.random(rows) < 1 / (1 + np.exp(-x @ (2 * rng.standard_normal(columns))))


def seconds(work):
    """Wall clock and processor time."""
    start, spent = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - spent


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, nargs="+", default=sized([1000, 100_000], [200]))
    asked.add_argument("--columns", type=int, default=sized(8, 2))
    asked.add_argument("--times", type=int, default=sized(9, 1))
    asked.add_argument("--tiny", action="store_true")
    given = asked.parse_args()
    warnings.simplefilter("ignore")  # that nothing records what is spent here
    bounds = ([-1] * given.columns, [1] * given.columns)
    target = dc.ApproxDP(EPSILON, DELTA)
    for rows in given.rows:
        x, y = generate(rows, given.columns)
        ours = learn.LogisticRegression(epsilon=EPSILON, delta=DELTA, bounds=bounds, classes=[False, True])
        model = ours.fit(x, y).mechanism_.model

        def intervals(fit=ours):
            coverage._expected.cache_clear()  # noqa: SLF001 - as if for another noise level
            fit.posterior_.flat_interval(0.9)

        works = {
            "scikit-learn": lambda x=x, y=y: LogisticRegression().fit(x, y),
            "discreet": lambda fit=ours, x=x, y=y: fit.fit(x, y),
            "calibration": lambda model=model, n=rows: ObjectivePerturbation.calibrate(
                model, n=n, target=target
            ),
            "intervals": intervals,
        }
        took = {name: [] for name in works}
        for turn in range(given.times + 1):
            for name, work in works.items():
                one = seconds(work)
                if turn:
                    took[name].append(one)
        print(f"{rows} rows × {given.columns}, ({EPSILON:g}, {DELTA:g}):")
        middle = {name: np.median(each, axis=0) for name, each in took.items()}
        for name, (wall, spent) in middle.items():
            print(f"  {name:12s} {wall:.4f} s, of a processor {spent:.4f}")
        ratio = middle["discreet"][1] / middle["scikit-learn"][1]
        less = (middle["discreet"] - middle["calibration"])[1] / middle["scikit-learn"][1]
        print(f"  ratio {ratio:.1f} (without calibration {less:.1f}), goal {RATIO} from 100 000 rows on")
        print(f"  processor seconds {middle['discreet'][1]:.3f}, goal {SECONDS} at 1000 rows")


if __name__ == "__main__":
    main()
