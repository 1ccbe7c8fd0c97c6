"""Polynomial statistics of a logistic regression at scan speed, and how they classify and cover.

python benchmarks/polynomial_statistics.py [--rows 5000000] [--coverage 60] [--errors 20]
Times are ratios to DuckDB's scan-and-sum of the same eleven columns, of one of them, and to XᵀX of the ten
numbers, taken in turn.
"""

import argparse
import tempfile
from pathlib import Path

import duckdb
import numpy as np
from sizes import sized

import discreet as dc
from discreet.mechanisms.regression.polynomial_statistics import PolynomialStatistics
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature
from discreet.models.regression_records import signed_moments
from discreet.posteriors.regression.noisy_moments import reading
from discreet.sampling.source import SeededSource
from discreet.statistics.records import bind_design
from discreet.statistics.signed_moments import signed
from discreet.tables.schema import Bounded, Label
from discreet.tables.table import Table
from tables import best, scan

XS = [f"x{j}" for j in range(10)]
SCHEMA = {"y": Label([0, 1]), **{x: Bounded(-3, 3) for x in XS}}
EPSILONS = sized((0.1, 0.3, 1, 3, 10), (1,))


def speed(rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        columns = ["(random() * 2)::int % 2 as y", *(f"random() * 6 - 3 as {x}" for x in XS)]
        with duckdb.connect() as connection:
            connection.execute(f"copy (select {', '.join(columns)} from range({rows})) to '{path}'")  # noqa: S608
        table = Table.open(path, schema=SCHEMA, n=rows)
        model = BayesianLogisticRegression("y", tuple(XS), norm=2, labels=(0, 1))
        moments = signed(*bind_design(table, model), rows)
        line = dc.BayesianLinearRegression([0] * 9, np.eye(9).tolist(), shape=2, scale=1, radius=4)
        plain = table[tuple(XS)].bounded(line).read
        connection = duckdb.connect()
        one, same = scan(connection, path, ["x0"]), scan(connection, path, ["y", *XS])
        for call in (moments, plain, one, same):
            call()
        base, own = best(moments, one)
        every, products = best(plain, same)
        print(f"{rows:,} rows, ten columns and a label; wall clock, processor time")
        for name, other in (("scan of all 11 columns", every), ("scan of one column", base)):
            ours, theirs = own / other, products / other
            print(f"  to a {name:22s} {ours[0]:5.1f} {ours[1]:5.1f}   (XᵀX: {theirs[0]:.1f} {theirs[1]:.1f})")
        both = own / products
        print(f"  to XᵀX                      {both[0]:5.2f} {both[1]:5.2f}")


def bare(d, **options):
    names = tuple(f"x{i}" for i in range(d))
    return BayesianLogisticRegression("y", names, **options).bind(tuple(map(Feature, names)))


def coverage(worlds):
    """Shares of 90 % intervals that hold the truth, weights drawn from the prior; two designs."""
    print(f"\ncoverage of 90 % intervals, {worlds} worlds, radius 10: noise-aware, naive; width ÷ prior's")
    for kind in ("normal", "binary"):
        for n, d in sized(((2000, 5), (20_000, 5), (50_000, 20)), ((100, 3),)):
            model = bare(d - 1, norm=1, radius=10)
            for epsilon in sized((0.1, 1, 10), (1,)):
                made = PolynomialStatistics.calibrate(model, n=n, target=dc.ApproxDP(epsilon, 1e-5))
                found = [covered(model, made, n, kind, seed) for seed in range(worlds)]
                aware, naive, width = np.mean(found, axis=0)
                cell = f"{aware:.3f} {naive:.3f}   {width:.2f}"
                print(f"{kind:7s} n = {n:6d}, d = {d:2d}, ε = {epsilon:4g}: {cell}", flush=True)


def covered(model, made, n, kind, seed):
    rng, p = np.random.default_rng(seed), len(model.design)
    if kind == "normal":
        x = rng.normal(size=(n, p)) * np.linspace(0.3, 1, p) * 0.9 / np.sqrt(p)
    else:
        x = (rng.random((n, p)) < np.linspace(0.1, 0.6, p)) * 1.2 / np.sqrt(p)
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1)
    w = rng.normal(size=p + 1) / np.sqrt(float(model.strength))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-np.column_stack([x, np.full(n, 0.5)]) @ w)), 1, -1)
    released = made.release(signed_moments(model, x, y), SeededSource(seed))
    out = []
    for how in ("noise_aware", "naive"):
        ends = reading(released, how).encoded_interval(0.9)
        out.append(np.mean((ends[:, 0] < w) & (w < ends[:, 1])))
    width = np.sqrt(reading(released).flat_variance().mean() * float(model.strength))
    return [*out, width]


def errors(seeds):
    """Test error on breast cancer, columns scaled by scikit-learn's documented ranges; ADD_REMOVE."""
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415

    x, labels = load_breast_cancer(return_X_y=True)
    y, low, high = 2 * labels - 1, x.min(axis=0), x.max(axis=0)
    z, model = (x - (low + high) / 2) / ((high - low) / 2), bare(30, norm=1, radius=10)
    print(f"\nbreast cancer, 426 rows to train on, d = 31: test error, {seeds} splits; ε = {EPSILONS}")
    for how in ("noise_aware", "naive"):
        row = []
        for epsilon in EPSILONS:
            made = PolynomialStatistics.calibrate(
                model, target=dc.ApproxDP(epsilon, 1e-5, relation=dc.ADD_REMOVE)
            )
            found = []
            for seed in range(seeds):
                order = np.random.default_rng(seed).permutation(len(y))
                train, test = order[:426], order[426:]
                noise = SeededSource(1000 * EPSILONS.index(epsilon) + seed)  # of its own for each ε
                released = made.release(signed_moments(model, z[train], y[train]), noise)
                guess = reading(released, how).probability(z[test]) > 0.5
                found.append(np.mean(guess != (y[test] > 0)))
            row.append(f"{np.mean(found):.3f} ± {np.std(found) / np.sqrt(seeds):.3f}")
        print(f"{how:12s} " + "   ".join(row), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=lambda s: int(float(s)), default=sized(5_000_000, 1000))
    parser.add_argument("--coverage", type=int, default=sized(0, 1))
    parser.add_argument("--errors", type=int, default=sized(0, 1))
    given = parser.parse_args()
    speed(given.rows)
    if given.errors:
        errors(given.errors)
    if given.coverage:
        coverage(given.coverage)


if __name__ == "__main__":
    main()
