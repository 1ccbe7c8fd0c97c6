"""Networks and mixtures: coverage of both readings, speed and mixing, held-out likelihood on Adult.

Everything in one run, side by side.
Run: python benchmarks/networks.py [coverage] [mixtures] [mixing] [adult] [mixture]
"""

import sys
import time
from dataclasses import replace

import numpy as np
from sizes import sized

from discreet.datasets import adult
from discreet.mechanisms.posterior.network_sample import OneNetworkSample
from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.mixture import Mixture
from discreet.posteriors.mixture.read import exact as exact_mixture
from discreet.posteriors.mixture.read import fit as fit_mixture
from discreet.posteriors.network.chain import NetworkChain
from discreet.posteriors.network.posterior import ancestral, cells_of, counts_of
from discreet.posteriors.network.read import exact, fit, naive, noise_aware, posed, started
from discreet.privacy.kinds import PureDP
from discreet.sampling.agreement import effective_size as ess
from discreet.sampling.source import SeededSource

TRIANGLE = BayesianNetwork([("a", "b"), ("a", "c"), ("b", "c")]).bind({"a": 2, "b": 3, "c": 2})
SETTINGS = sized([(100, 0.1), (1000, 0.1), (1000, 1.0), (10_000, 0.3)], [(100, 1.0)])
REPLICATES = MIXTURES = sized(400, 2)
SWEEPS = sized(
    {100: 2000, 1000: 1200, 10_000: 500}, {100: 20}
)  # kept, after a third as many or half; two chains

SHORT = {"sweeps": 20, "keep": 10}


def simulated(model, n, epsilon, source, rng):
    """A network from the prior, n records from it, and their noisy counts."""
    theta = exact(np.zeros(model.size), model).flat_sample(1, source)[0]
    counts = counts_of(model, ancestral(model, model.split(theta), n, rng))
    return theta, NoisyCounts.calibrate(model, n=n, target=PureDP(epsilon)).release(counts, source)


def covers(posterior, theta):
    low, high = posterior.flat_interval(0.9).T
    return ((low <= theta) & (theta <= high)).mean()


def coverage():
    print(f"90 % intervals, {REPLICATES} networks from the prior, all {TRIANGLE.size} entries of 9 rows")
    print(
        f"{'n':>7} {'ε':>5} {'by table':>9} {'together':>9} {'naive':>7}  standard errors; R-hat, ESS, CPU s"
    )
    for n, epsilon in SETTINGS:
        source, rng, found, chains = SeededSource(n), np.random.default_rng(n), [], []
        began, long = time.process_time(), {"chains": 2, "sweeps": SWEEPS[n], "burn": SWEEPS[n] // 3}
        for _ in range(REPLICATES):
            theta, cells = simulated(TRIANGLE, n, epsilon, source, rng)
            together = fit(cells, TRIANGLE, **long, keep=sized(500, 10), source=source)
            chains.append([together.diagnostics.r_hat, together.diagnostics.ess])
            readings = noise_aware(cells, TRIANGLE), together, naive(cells, TRIANGLE)
            found.append([covers(reading, theta) for reading in readings])
        told(n, epsilon, found, chains, began)


def told(n, epsilon, found, chains, began):
    """Shares that cover, their standard errors over replicates, medians of worst R-hat and least ESS."""
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / len(found) ** 0.5
    shares, errors = " ".join(f"{x:9.3f}" for x in mean), " ".join(f"{x:.3f}" for x in error)
    worst, least = np.median(chains, axis=0)
    took = time.process_time() - began
    print(f"{n:7} {epsilon:5} {shares}  {errors}; {worst:.3f}, {least:.0f}, {took:.0f}", flush=True)


LATENT = Mixture(components=2, features=("a", "b", "c")).bind({"a": 2, "b": 2, "c": 2})


def joints(weights, tables):
    """Σ_k π_k ∏_d θ_{k,d,x_d} of every draw: no labels in it."""
    a, b, c = np.moveaxis(tables.reshape(*tables.shape[:-1], 3, 2), -2, 0)
    return np.einsum("...k,...ka,...kb,...kc->...abc", weights, a, b, c).reshape(*weights.shape[:-1], 8)


def inside(made, truth):
    """Share of the cells whose interval, over all draws kept, holds the truth."""
    draws = joints(made.weights, made.theta).reshape(-1, truth.size)
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    return ((low <= truth) & (truth <= high)).mean()


def mixtures():
    print(f"90 % intervals, {MIXTURES} mixtures of 2 from the prior, probabilities of all 8 joint cells")
    print(f"{'n':>7} {'ε':>5} {'aware':>9} {'likeliest':>9} {'naive':>9}  standard errors; R-hat, ESS, CPU s")
    for n, epsilon in SETTINGS:
        source, rng, found, chains = SeededSource(n + 2), np.random.default_rng(n + 2), [], []
        began = time.process_time()
        mechanism = NoisyCounts.calibrate(LATENT, n=n, target=PureDP(epsilon))
        for _ in range(MIXTURES):
            truth = joints(rng.dirichlet([1, 1]), rng.dirichlet([1, 1], (2, 3)).reshape(2, 6))
            cells = mechanism.release(rng.multinomial(n, truth), source)
            aware = fit_mixture(cells, LATENT, chains=2, source=source, **sized({}, SHORT))
            careless = fit_mixture(
                cells, LATENT, reading="naive", chains=2, sweeps=sized(2000, 20), source=source
            )
            chains.append([aware.diagnostics.r_hat, aware.diagnostics.ess])
            found.append([inside(made, truth) for made in (aware, aware.best, careless)])
        told(n, epsilon, found, chains, began)


def mixing():
    print("one chain: sweeps a CPU second, and least ESS a CPU second with and without moves of many records")
    print(f"{'n':>7} {'ε':>5} {'sweeps/s':>9} {'ESS/s':>8} {'one by one':>11} {'ratio':>6}")
    for n, epsilon in [*SETTINGS, *sized([(100_000, 0.3)], [])]:
        _, cells = simulated(TRIANGLE, n, epsilon, SeededSource(n + 1), np.random.default_rng(n))
        problem, _ = posed(cells, TRIANGLE)
        still = problem.noise._replace(reach=np.zeros(3, np.int64))
        rates = []
        for noise in (problem.noise, still):
            chain = NetworkChain.begin(replace(problem, noise=noise), started(problem, cells, n, 1), 1)
            sweeps = sized(max(100, min(4000, 4_000_000 // n)), 8)
            chain.advance(sweeps // 4)
            draws, began = np.empty((1, sweeps, TRIANGLE.size)), time.process_time()
            for s in range(sweeps):
                chain.advance(1)
                draws[0, s] = chain.theta
            took = time.process_time() - began
            rates.append((sweeps / took, float(ess(draws).min()) / took))
        (speed, many), (_, single) = rates
        print(f"{n:7} {epsilon:5} {speed:9.0f} {many:8.1f} {single:11.1f} {many / single:6.1f}", flush=True)


ADULT = BayesianNetwork(
    [
        ("sex", "relationship"),
        ("marital_status", "relationship"),
        ("education", "income"),
        ("relationship", "income"),
        ("education", "occupation"),
        ("sex", "occupation"),
        ("occupation", "workclass"),
    ]
)


def coded():
    """Codes of the columns, train and test apart; Adult is public and only plays the private table."""
    columns = adult(*ADULT.nodes, "split")
    codes = {name: np.unique(columns[name].astype(str), return_inverse=True) for name in ADULT.nodes}
    bound = ADULT.bind({name: len(levels) for name, (levels, _) in codes.items()})
    train, every = columns["split"].astype(str) == "train", sized(1, 400)
    return bound, *({name: c[mask][::every] for name, (_, c) in codes.items()} for mask in (train, ~train))


def held_out():
    model, train, test = coded()
    counts, n = counts_of(model, train), len(train["sex"])
    print(
        f"Adult: {len(model.nodes)} columns, {model.size} cells, n = {n}; mean held-out log-likelihood, nats"
    )
    print(f"known counts {exact(counts, model).log_likelihood(test, codes=True):.4f}")
    print(
        f"{'ε':>5} {'by table':>9} {'together':>9} {'naive':>9} {'one draw':>9} {'T':>6} {'R-hat':>6} CPU s"
    )
    for epsilon in sized((0.1, 0.3, 1.0, 3.0), (1.0,)):
        target, source = PureDP(epsilon), SeededSource(int(1000 * epsilon))
        cells = NoisyCounts.calibrate(model, n=n, target=target).release(counts, source)
        began = time.process_time()
        aware = noise_aware(cells, model)
        middle = time.process_time()
        together = fit(cells, model, chains=2, sweeps=sized(400, 4), keep=sized(100, 4))
        took = middle - began, time.process_time() - middle
        one = OneNetworkSample.calibrate(model, n=n, target=target, truncation=0.002)
        draws = [model.split(one.release(counts, source)) for _ in range(3)]
        flat = [np.concatenate([t.reshape(-1) for t in d.values()]) for d in draws]
        alone = np.mean([float(np.log(theta[cells_of(model, test)]).sum(axis=1).mean()) for theta in flat])
        said = [made.log_likelihood(test, codes=True) for made in (aware, together, naive(cells, model))]
        line = f"{epsilon:5} {said[0]:9.4f} {said[1]:9.4f} {said[2]:9.4f} {alone:9.4f}"
        rest = f"{together.diagnostics.r_hat:5.2f} {took[0]:.1f} and {took[1]:.1f}"
        print(f"{line} {float(one.temperature):6.0f} {rest}", flush=True)


def mixture():
    """Held-out log-likelihood of a mixture on five columns of Adult, by chain."""
    model, train, test = coded()
    names = ("sex", "marital_status", "relationship", "income")
    mixed = Mixture(components=4, features=names).bind({name: model.size_of[name] for name in names})
    flat = np.ravel_multi_index(tuple(train[name] for name in names), mixed.sizes)
    counts, n = np.bincount(flat, minlength=mixed.size), len(flat)
    known = exact_mixture(counts, mixed, source=SeededSource(1), **sized({"keep": 100}, SHORT))
    print(f"mixture of 4 over {mixed.size} cells, n = {n}")
    print(f"known counts {known.log_likelihood(test, codes=True).round(4)} modes {known.modes}")
    for epsilon in sized((0.1, 1.0), (1.0,)):
        cells = NoisyCounts.calibrate(mixed, n=n, target=PureDP(epsilon)).release(counts, SeededSource(2))
        for reading in ("noise_aware", "naive"):
            began = time.process_time()
            made = fit_mixture(cells, mixed, reading=reading, **sized({"keep": 100}, SHORT))
            took = time.process_time() - began
            score = made.log_likelihood(test, codes=True).round(4)
            line = f"ε = {epsilon} {reading:12} {score} modes {made.modes}"
            print(f"{line} {took:.1f} CPU s", flush=True)


PARTS = {
    "coverage": coverage,
    "mixtures": mixtures,
    "mixing": mixing,
    "adult": held_out,
    "mixture": mixture,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
