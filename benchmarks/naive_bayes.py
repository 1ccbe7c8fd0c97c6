"""Naive Bayes from noisy counts: what its intervals cover, what it predicts on Adult, what a reading takes.

1. Coverage of 90 % intervals over data sets from the prior, noise-aware and naive, at four points (n, ε).
2. Test accuracy and log loss on the Adult split, trained under ε, beside the exact counts and scikit-learn.
3. Time of 1000 independent draws of all counts, as a ratio to Gibbs over the records of the same network.
Run: python benchmarks/naive_bayes.py
"""

import os
import time

import numpy as np
from sizes import sized

from discreet.datasets import adult
from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.naive_bayes import NaiveBayes
from discreet.posteriors.counts import naive_bayes as nb
from discreet.posteriors.network import read as bayes_net
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource

ROUNDS = int(os.environ.get("DISCREET_BENCH_DATA_SETS", sized("500", "1")))
POINTS = sized(((100, 0.1), (1000, 0.1), (1000, 1.0), (10000, 0.3)), ((100, 0.1),))
SMALL = NaiveBayes("y", ("a", "b")).bind({"y": 2, "a": 3, "b": 2})
CUTS = {
    "age": [20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70],
    "hours_per_week": [20, 35, 40, 41, 50, 60],
    "capital_gain": [1, 3000, 5000, 7000, 15000],
}
NAMES = ("workclass", "education", "marital_status", "occupation", "relationship", "sex")


def imagined(rng, n, epsilon):
    theta = {"y": rng.dirichlet([1, 1]), "a": rng.dirichlet([1, 1, 1], 2), "b": rng.dirichlet([1, 1], 2)}
    totals = rng.multinomial(n, theta["y"])
    flat = np.concatenate([rng.multinomial(totals, theta[name]).ravel() for name in ("a", "b")])
    q, promise = np.exp(-epsilon / 4), PureDP(epsilon)
    noisy = flat + rng.geometric(1 - q, flat.size) - rng.geometric(1 - q, flat.size)
    return theta, NoisyCells(SMALL, noisy, n, "discrete_laplace", (4 / epsilon,) * 2, promise, seeded=True)


def covered(posterior, theta):
    ends = {x: table.values for x, table in posterior.tables(posterior.interval(0.9)).items()}
    return np.mean(
        np.concatenate([((ends[x][..., 0] <= t) & (t <= ends[x][..., 1])).ravel() for x, t in theta.items()])
    )


def coverage():
    """Print as it goes: it takes a while."""
    print(f"90 % intervals, {ROUNDS} data sets of 12 parameters from the prior (mean ± standard error)")
    for n, epsilon in POINTS:
        rng = np.random.default_rng((n, int(10 * epsilon)))
        hits = []
        for _ in range(ROUNDS):
            theta, cells = imagined(rng, n, epsilon)
            hits.append(
                [covered(nb.read(cells, SMALL, reading), theta) for reading in ("noise_aware", "naive")]
            )
        mean, error = np.mean(hits, axis=0), np.std(hits, axis=0) / np.sqrt(ROUNDS)
        print(
            f"  n = {n:>5}, ε = {epsilon:<4} noise-aware {mean[0]:.4f} ± {error[0]:.4f}, naive {mean[1]:.4f}"
        )


def records():
    data = adult("income", "split", *CUTS, *NAMES)
    codes = {name: np.searchsorted(cuts, data[name], side="right") for name, cuts in CUTS.items()}
    codes |= {name: np.unique(data[name], return_inverse=True)[1] for name in NAMES}  # Adult is public
    every = sized(1, 400)
    y = (data["income"] == ">50K").astype(int)[::every]
    features = np.stack(list(codes.values()), axis=1)[::every]
    sizes = {"income": 2} | {name: int(column.max()) + 1 for name, column in codes.items()}
    return y, features, (data["split"] == "train")[::every], NaiveBayes("income", tuple(codes)).bind(sizes)


def counted(model, y, features):
    tables = []
    for column, cells in zip(features.T, model.cells, strict=True):
        tables.append(np.bincount(y * cells.shape[1] + column, minlength=cells.size))
    return np.concatenate(tables)


def told(name, posterior, y, features):
    logs = posterior.log_proba(features)
    loss = -logs[np.arange(len(y)), y].mean()
    print(f"  {name:<24} accuracy {(logs.argmax(axis=1) == y).mean():.4f}, log loss {loss:.4f}")


def predictions():
    from sklearn.naive_bayes import CategoricalNB  # noqa: PLC0415

    y, features, train, model = records()
    n, counts = int(train.sum()), counted(model, y[train], features[train])
    print(f"Adult, {n} to train on, {(~train).sum()} to test, {model.size} cells")
    told("exact counts", nb.exact(model, counts), y[~train], features[~train])
    known = CategoricalNB(min_categories=list(model.sizes[1:])).fit(features[train], y[train])
    print(f"  {'scikit-learn':<24} accuracy {known.score(features[~train], y[~train]):.4f}")
    for epsilon in sized((0.01, 0.1, 1), (1,)):
        ready = NoisyCounts.calibrate(model, n=n, target=PureDP(epsilon))
        cells = ready.release(counts, SeededSource(1))
        for reading in ("noise_aware", "naive"):
            told(f"ε = {epsilon}, {reading}", nb.read(cells, model, reading), y[~train], features[~train])
    return model, cells


def timing(model, cells):
    edges = [("income", feature) for feature in model.features]
    network = BayesianNetwork(edges).bind(model.size_of)
    order = [cells.tables()[name].ravel() for name, _ in network.layout if name != "income"]
    first = cells.tables()[model.features[0]].sum(axis=1)
    noisy = np.concatenate([first, *order])
    same = NoisyCells(
        network,
        noisy,
        cells.n,
        cells.noise,
        (cells.scales[0],) * len(network.layout),
        cells.guarantee,
        seeded=True,
    )
    start = time.perf_counter()
    nb.read(cells, model, "noise_aware", draws=sized(1000, 4))
    ours = time.perf_counter() - start
    bayes_net.fit(same, network, chains=1, sweeps=8, burn=0, keep=8)  # compiles
    start = time.perf_counter()
    gibbs = bayes_net.fit(same, network, chains=4, keep=sized(250, 4), **sized({}, {"sweeps": 4, "burn": 2}))
    theirs = time.perf_counter() - start
    said = gibbs.diagnostics
    print(f"1000 independent draws of {model.size} cells: {ours:.2f} s, 1 ×")
    print(f"4 chains of Gibbs over {cells.n} records: {theirs / ours:.0f} ×, 1000 draws kept")
    print(f"  their least effective sample size is {said.ess:.0f}, R-hat {said.r_hat:.2f}")


if __name__ == "__main__":
    timing(*predictions())
    coverage()
