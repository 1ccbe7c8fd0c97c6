"""One draw of regression weights by Langevin's last iterate, beside one scikit-learn fit of the same records.

python benchmarks/regression_draws.py [seconds | stopping | growth]
seconds   (default) CPU seconds of both, and their ratio, at ε = 1, δ = 1e-5; n = 1e4 d = 10, 5e4 50, Adult
stopping  what it costs to stop early or late, at equal privacy: held-in loss of 60 draws
growth    in n and in d
Processor time on one thread is compared (OMP_NUM_THREADS=1 is set), so that a busy machine does not matter.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
import time

import numpy as np
from scipy.special import expit
from sizes import sized
from sklearn.linear_model import LogisticRegression

from discreet.experiments.regression.data import census
from discreet.mechanisms.regression.draws import DiffusedRegression, TunedRegression, simulate
from discreet.mechanisms.regression.samplers.sampler import LastIterate
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature
from discreet.models.regression_records import Records
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import SeededSource

TARGET = ApproxDP(1, 1e-5)
DRAWS = sized(60, 2)


def simulated(n, d, seed=1, radius=10):
    """Rows and weights from the prior."""
    rng = np.random.default_rng(seed)
    design = tuple(Feature(f"x{i}") for i in range(d - 1))
    model = BayesianLogisticRegression("y", [f.column for f in design], norm=1, radius=radius, design=design)
    x = 0.8 * rng.normal(size=(n, d - 1)) / np.sqrt(d - 1)
    rows = Records.of(model, x, np.zeros(n)).rows
    y = np.where(rng.random(n) < expit(rows @ (rng.normal(size=d) * radius / np.sqrt(d))), 1.0, -1.0)
    return model, Records(rows, y)


def adult():
    task = census().thinned(sized(1, 400))
    return task.model, Records.of(task.model, task.features, task.answers)


def timed(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def fit_seconds(records, repeats=3):
    fit = LogisticRegression(max_iter=1000, fit_intercept=False)
    fit.fit(records.rows[:100], np.sign(np.arange(100) - 49.5))
    return min(timed(lambda: fit.fit(records.rows, records.answers)) for _ in range(repeats))


def compile_all():
    small = simulated(100, 3)
    DiffusedRegression(small[0], n=100, rho=0.5).release(small[1], SeededSource(0))


def seconds():
    print(f"{'records':>9} {'d':>4} {'mechanism':>20} {'steps':>7} {'A, s':>8} {'fit, s':>8} {'ratio':>7}")
    for model, records in (
        *(simulated(n, d) for n, d in sized(((10_000, 10), (50_000, 50)), ((100, 3),))),
        adult(),
    ):
        fit = fit_seconds(records)
        for kind in (TunedRegression, DiffusedRegression):
            draw = kind.calibrate(model, n=records.n, target=TARGET)
            took = timed(lambda: draw.release(records, SeededSource(1)))  # noqa: B023
            steps = LastIterate().run(draw).steps
            sizes = f"{records.n:9} {model.dimension:4} {draw.name:>20} {steps:7}"
            print(f"{sizes} {took:8.2f} {fit:8.3f} {took / fit:7.1f}")


def stopping():
    print(f"{'n':>7} {'d':>3} {'ε':>4} {'remembered':>10} {'steps':>6} {'ρ':>7} {'loss':>7} {'error':>7}")
    for n, d in sized(((2000, 5), (10_000, 10)), ((100, 3),)):
        model, records = simulated(n, d)
        for epsilon in sized((0.3, 1, 3), (1,)):
            for remembered in sized((0.9, 0.75, 0.5, 0.25, 0.0625, 0.001), (0.5,)):
                draw = TunedRegression.calibrate(
                    model, n=n, target=ApproxDP(epsilon, 1e-5), remembered=remembered
                )
                w = simulate(draw, records, DRAWS, SeededSource(2))
                s, y = records.rows @ w.T, records.answers[:, None]
                loss, error = np.logaddexp(0, -y * s).mean(), (np.sign(s) != y).mean()
                steps = LastIterate().run(draw).steps
                knobs = f"{n:7} {d:3} {epsilon:4} {remembered:10} {steps:6} {draw.rho:7.4f}"
                print(f"{knobs} {loss:7.4f} {error:7.4f}")


def growth():
    print(f"{'n':>8} {'d':>4} {'steps':>7} {'s':>8} {'ns a record, column and step':>30}")
    for n, d in sized(((1000, 10), (10_000, 10), (100_000, 10), (10_000, 30), (10_000, 100)), ((100, 3),)):
        model, records = simulated(n, d)
        draw = TunedRegression.calibrate(model, n=n, target=TARGET)
        steps = LastIterate().run(draw).steps
        took = timed(lambda: draw.release(records, SeededSource(1)))  # noqa: B023
        print(f"{n:8} {d:4} {steps:7} {took:8.2f} {1e9 * took / (n * d * steps):30.2f}")


if __name__ == "__main__":
    compile_all()
    parts = {"seconds": seconds, "stopping": stopping, "growth": growth}
    for part in sys.argv[1:2] or sized(["seconds"], list(parts)):
        parts[part]()
