"""Objective perturbation: its cost beside one scikit-learn fit, the coverage of its intervals, its errors.

python benchmarks/objective_perturbation.py [seconds | coverage | enough | errors]
seconds   (default) CPU seconds of a release and of its reading over one fit of the same rows, and growth
coverage  share of 90 % intervals that hold the weight, on simulated records (not the shortcut of the reading)
enough    the same where n = 5·10⁴/ε, two laws of rows, an hour; an argument more: the number of one case
errors    test error on breast cancer, 20 splits, of the released fit and of the posterior mean
Processor time on one thread is compared, so that a busy machine does not matter.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
import time
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.special import expit
from sizes import TINY, sized
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from discreet.mechanisms.regression.objective_perturbation import ObjectivePerturbation
from discreet.mechanisms.regression.samplers.certified_minimum import TiltedSum, curvature, minimum
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature
from discreet.models.regression_records import Records
from discreet.posteriors.regression.coverage import Tilt, expected, moments, shape_at, symmetric_noise
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import SeededSource

SIZES = sized(
    ((10_000, 10), (50_000, 50), (50_000, 25), (25_000, 50), (45_000, 100), (400_000, 10)), ((100, 3),)
)
GRID = ((2_000, 5, 0.1), (2_000, 5, 0.3), (2_000, 5, 1), (20_000, 5, 0.1), (20_000, 20, 0.3), (500, 30, 1))
ENOUGH = ((50_000, 5, 1), (50_000, 20, 1), (5_000, 5, 10), (5_000, 20, 10))  # n = 5·10⁴/ε
ENOUGH += ((166_667, 5, 0.3), (166_667, 20, 0.3), (500_000, 5, 0.1), (500_000, 20, 0.1))
LAWS = {
    "ball": lambda rng, g: g * (rng.random(len(g)) ** (1 / g.shape[1]) / np.linalg.norm(g, axis=1))[:, None]
}
LAWS["normal"] = lambda _, g: g / np.sqrt(g.shape[1])
LAWS["correlated"] = lambda rng, g: (g + 1.5 * rng.normal(size=(len(g), 1))) / np.sqrt(3 * g.shape[1])
LAWS["binary"] = lambda _, g: (g > 0.5) / np.sqrt(g.shape[1] / 2)


def regression(d):
    design = tuple(Feature(f"x{i}") for i in range(d))
    return BayesianLogisticRegression("y", [f.column for f in design], norm=1, design=design)


def simulated(model, n, rng, law="ball"):
    """Records of weights drawn from the prior."""
    d = len(model.design)
    rows = Records.of(model, LAWS[law](rng, rng.normal(size=(n, d))), np.zeros(n)).rows
    weights = rng.normal(size=d + 1) / np.sqrt(float(model.strength))
    return weights, Records(rows, np.where(rng.random(n) < expit(rows @ weights), 1.0, -1.0))


def calibrated(model, epsilon):
    return ObjectivePerturbation.calibrate(model, target=ApproxDP(epsilon, 1e-5, relation=ADD_REMOVE))


def timed(work, repeats=3):
    def once():
        start = time.process_time()
        work()
        return time.process_time() - start

    once()
    return min(once() for _ in range(repeats))


def seconds():
    print("      n    d   release   reading   calibration (over one scikit-learn fit)   fit in ms")
    for n, d in SIZES:
        model = regression(d - 1)
        _, records = simulated(model, n, np.random.default_rng(1))
        found = calibrated(model, 1.0)
        fit = timed(
            lambda f=found, r=records: LogisticRegression(
                C=1 / f.strength, fit_intercept=False, max_iter=1000
            ).fit(r.rows, r.answers)
        )
        released = found.release(records, SeededSource(1))
        parts = (
            timed(lambda f=found, r=records: f.release(r)),
            timed(
                lambda r=released: moments(r.estimate, r.hessian, shape_at(r.model, r.estimate), Tilt.of(r))
            ),
            timed(lambda m=model: calibrated(m, 1.0), 1),
        )
        print(f"{n:7d} {d:4d}", *(f"{part / fit:9.2f}" for part in parts), f"{1000 * fit:40.0f}", flush=True)


def coverage(cases=None, replicates=200):
    print(
        "design  n  d  ε   coverage (standard error)  before widening  predicted before  widened  width/prior"
    )
    for law, (n, d, epsilon) in cases or product(LAWS, GRID):
        model = regression(d)
        times = replicates if n <= 20_000 else replicates // 2
        found = calibrated(model, epsilon)
        tilt = Tilt(
            found.strength,
            float(found.variance) ** 0.5,
            float(found.hessian_variance) ** 0.5,
            float(1 / model.strength),
        )
        rng = np.random.default_rng(5)
        found = expected(model, n, tilt)
        held = np.array([one(model, n, tilt, rng, law, found.widening) for _ in range(times)])
        share, before, width = held.mean(axis=0)
        error = held[:, 0].std() / times**0.5
        line = f"{law:10s} {n:7d} {d:3d} {epsilon:4g} {share:9.3f} ({error:.3f}) {before:16.3f}"
        print(f"{line} {found.coverage:17.3f} {found.widening:9.2f} {width:12.3f}", flush=True)


def enough():
    cases = list(product(("ball", "correlated"), ENOUGH))
    coverage(cases if len(sys.argv) < 3 else [cases[int(sys.argv[2])]])


def one(model, n, tilt, rng, law, widening):  # noqa: PLR0917
    weights, records = simulated(model, n, rng, law)
    b = rng.normal(size=len(weights)) * tilt.noise
    found = minimum(TiltedSum(model, records, tilt.strength, b), 1e-7, Fraction(1, 2**40))
    theta = np.array(found, dtype=float) * 2.0**-40
    bends = model.loss.bend(records.rows @ theta, records.answers)
    hessian = curvature(records.rows, bends) + symmetric_noise(len(weights), tilt.hessian_noise, rng)
    mean, covariance = moments(theta, hessian, shape_at(model, theta), tilt)
    spread = np.sqrt(np.diag(covariance))
    missed = np.abs(weights - mean) / spread
    reached = (np.mean(missed <= 1.6448536 * wide) for wide in (widening, 1))
    return *reached, widening * np.mean(spread) / tilt.prior**0.5


def errors(splits=20):
    x, y = load_breast_cancer(return_X_y=True)
    x, y = (x - x.mean(axis=0)) / x.std(axis=0) / np.sqrt(x.shape[1]), 2.0 * y - 1
    print("   ε   released fit   posterior mean   (standard error)")
    for epsilon in sized((0.1, 0.3, 1, 3, 10), (1,)):
        model = regression(x.shape[1])
        found, wrong = calibrated(model, epsilon), []
        for split in range(splits):
            order = np.random.default_rng(split).permutation(len(y))
            train, test = order[:426], order[426:]
            fit = found.release(Records.of(model, x[train], y[train]), SeededSource(100 + split))
            mean, _ = moments(fit.estimate, fit.hessian, shape_at(model, fit.estimate), Tilt.of(fit))
            rows = Records.of(model, x[test], y[test]).rows
            wrong.append([np.mean(np.sign(rows @ w) != y[test]) for w in (fit.estimate, mean)])
        share, error = np.mean(wrong, axis=0), np.std(wrong, axis=0)[1] / splits**0.5
        print(f"{epsilon:4g} {share[0]:14.3f} {share[1]:16.3f} {error:18.3f}", flush=True)


if __name__ == "__main__":
    parts = {"seconds": seconds, "coverage": coverage, "enough": enough, "errors": errors}
    parts[sys.argv[1] if len(sys.argv) > 1 else "seconds"]()
    if TINY:
        coverage([("ball", (100, 3, 1))], 1)
        errors(1)
