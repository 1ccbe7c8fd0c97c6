"""One draw by exact rejection (B) and by the proximal sampler (C), beside a scikit-learn fit of its records.

python benchmarks/regression_samplers.py [seconds | growth | tight | slow]
seconds  (default) processor seconds of both and their ratio at ε = 1, δ = 1e-5 (add-remove): B at n = 1e3
         d = 5, 1e4 10, 5e4 50 and on 45 000 rows of 101 indicators and numbers, C at the two smallest
growth   of B in n and in d
tight    −ln(acceptance), predicted for a Laplace law, beside the envelope from self-concordance alone; on
         Adult too, which is why B is not drawn there
slow     B at ε = 10 and .1, and C at n = 5e4; minutes
Processor time on one thread is compared (OMP_NUM_THREADS=1 is set), so that a busy machine does not matter.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import math
import sys
import time

import numpy as np
from scipy.special import expit, gammaln
from sizes import sized
from sklearn.linear_model import LogisticRegression

from discreet.experiments.regression.data import census
from discreet.mechanisms.regression.draws import TunedRegression
from discreet.mechanisms.regression.samplers import proximal as regression_proximal
from discreet.mechanisms.regression.samplers import rejection as regression_rejection
from discreet.mechanisms.regression.samplers.potential import Potential, Tilted
from discreet.mechanisms.regression.samplers.radial import growth as curvature
from discreet.mechanisms.regression.samplers.radial import lengths, metric
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature
from discreet.models.regression_records import Records
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import SeededSource


def simulated(n, d, radius=10):
    """Rows and weights from the prior."""
    rng = np.random.default_rng(1)
    design = tuple(Feature(f"x{i}") for i in range(d - 1))
    model = BayesianLogisticRegression("y", [f.column for f in design], norm=1, radius=radius, design=design)
    rows = Records.of(model, 0.8 * rng.normal(size=(n, d - 1)) / np.sqrt(d - 1), np.zeros(n)).rows
    y = np.where(rng.random(n) < expit(rows @ (rng.normal(size=d) * radius / np.sqrt(d))), 1.0, -1.0)
    return model, Records(rows, y)


def usual():
    return [simulated(n, d) for n, d in sized(((1000, 5), (10_000, 10), (50_000, 50)), ((100, 3),))]


def indicators(n=sized(45_000, 200)):
    """Eight columns of levels, some rare, and three numbers: what a census looks like at norm 1."""
    rng = np.random.default_rng(1)
    levels = (7, 16, 7, 14, 6, 5, 2, 40)
    shares = [1 / np.arange(1, k + 1) ** 1.5 for k in levels]
    columns = [np.eye(k)[rng.choice(k, n, p=p / p.sum())] for k, p in zip(levels, shares, strict=True)]
    x = np.hstack([*columns, rng.uniform(-1, 1, (n, 3))])
    design = tuple(Feature(f"x{i}") for i in range(x.shape[1]))
    model = BayesianLogisticRegression("y", [f.column for f in design], norm=1, design=design)
    rows = Records.of(model, x, np.zeros(n)).rows
    w = rng.normal(size=rows.shape[1])
    y = np.where(rng.random(n) < expit(3 * rows @ w / np.linalg.norm(w)), 1.0, -1.0)
    return model, Records(rows, y)


def adult():
    task = census().thinned(sized(1, 400))
    return task.model, Records.of(task.model, task.features, task.answers)


def posterior(model, records, epsilon=1.0):
    """ρ and m by the public rule, for this budget."""
    target = ApproxDP(epsilon, 1e-5, relation=ADD_REMOVE)
    draw = TunedRegression.calibrate(model, target=target, most=records.n)
    return Potential(records, model.loss, draw.weight, draw.strength)


def timed(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def fit(records):
    return timed(
        lambda: LogisticRegression(max_iter=1000, fit_intercept=False).fit(records.rows, records.answers)
    )


def row(name, records, potential, way):
    base, ours = fit(records), timed(lambda: way.draw(potential, SeededSource(1)))
    print(
        f"{name:<28} n={records.n:<7} d={records.rows.shape[1]:<4} m={float(potential.strength):<8.3g} "
        f"ρ={float(potential.weight):<8.3g} {ours:8.3f} s   fit {base:7.3f} s   ratio {ours / base:8.1f}",
        flush=True,
    )


def seconds(epsilon=1.0, names=("B", "C")):
    ways = {"B": regression_rejection, "C": regression_proximal}
    for way in ways.values():  # compiled before anything is timed
        way.draw(posterior(*simulated(100, 3)), SeededSource(0))
    tasks = [*usual(), *sized([indicators()], [])]
    for name in names:
        for model, records in tasks if name == "B" else tasks[:2]:
            row(f"{name} at ε={epsilon:g}", records, posterior(model, records, epsilon), ways[name])


def growth():
    regression_rejection.draw(posterior(*simulated(100, 3)), SeededSource(0))
    for n in sized((1000, 4000, 16_000, 64_000), ()):
        model, records = simulated(n, 10)
        row("B, growth in n", records, posterior(model, records), regression_rejection)
    for d in sized((5, 10, 20, 40, 56), (3,)):
        model, records = simulated(sized(20_000, 100), d)
        row("B, growth in d", records, posterior(model, records), regression_rejection)


def slow():
    seconds(10.0, "B")
    model, records = simulated(50_000, 50)
    row("C at ε=1", records, posterior(model, records), regression_proximal)
    for n, d in ((1000, 5), (10_000, 10)):
        model, records = simulated(n, d)
        row("B at ε=.1", records, posterior(model, records, 0.1), regression_rejection)


def tight():
    for model, records in (*usual(), indicators(), adult()):
        tilted = Tilted.plain(posterior(model, records))
        margins = tilted.rows @ tilted.anchor
        hessian = np.linalg.cholesky(tilted.hessian(tilted.anchor))
        at_anchor = np.linalg.inv(hessian).T
        sigma = lengths(tilted.rows @ at_anchor).max()
        flat = 1 - tilted.strength * np.linalg.eigvalsh(at_anchor.T @ at_anchor)[0]
        r = np.linspace(0, 40 * math.sqrt(model.dimension), 400_001)[1:]
        plain = (1 - flat) * r**2 / 2 + flat * (np.exp(-sigma * r) + sigma * r - 1) / sigma**2
        root = metric(tilted, margins)
        ours = curvature(tilted, margins, root)(r)[0]
        print(
            f"n={records.n:<7} d={model.dimension:<4} −ln(acceptance): self-concordance alone "
            f"{cost(plain, r, at_anchor, hessian):6.2f}, ours {cost(ours, r, root, hessian):6.2f}",
            flush=True,
        )


def cost(psi, r, root, factor):
    """ln of the envelope's mass over that of the Laplace approximation."""
    d = len(root)
    f = (d - 1) * np.log(r) - psi
    mass = f.max() + math.log(np.exp(f - f.max()).sum() * (r[1] - r[0]))
    sphere = math.log(2) + d / 2 * math.log(math.pi) - gammaln(d / 2)
    shape = root.T @ factor @ factor.T @ root
    return sphere + mass - d / 2 * math.log(2 * math.pi) + np.linalg.slogdet(shape)[1] / 2


if __name__ == "__main__":
    parts = {"seconds": seconds, "growth": growth, "tight": tight, "slow": slow}
    for part in sys.argv[1:2] or sized(["seconds"], ["seconds", "growth", "tight"]):
        parts[part]()
