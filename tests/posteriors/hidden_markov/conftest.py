"""A small hidden Markov model and its brute-force law."""

import itertools
import json
from math import lgamma
from pathlib import Path

import numpy as np
import pytest

REFERENCE = json.loads((Path(__file__).parents[2] / "reference" / "H_hmm_gibbs.json").read_text())


@pytest.fixture(scope="session")
def reference():
    return REFERENCE


def log_path(z, alpha, states):
    """ln p(z), first steps and transitions Dirichlet–multinomial"""
    counts = np.zeros((states + 1, states))
    for chain in np.atleast_2d(z):
        counts[states, chain[0]] += 1
        for a, b in itertools.pairwise(chain):
            counts[a, b] += 1
    lg = np.vectorize(lgamma)
    rows = lg(counts + alpha).sum(axis=1) - lg(counts.sum(axis=1) + states * alpha)
    return float(rows.sum())


@pytest.fixture(scope="session")
def enumerated():
    """Posterior over all paths of one chain, transitions integrated out: lik (T, K) → (paths, law)"""

    def law(lik, alpha):
        steps, states = lik.shape
        paths = np.array(list(itertools.product(range(states), repeat=steps)))
        log_p = [log_path(z, alpha, states) + np.log(lik[np.arange(steps), z]).sum() for z in paths]
        p = np.exp(np.array(log_p) - max(log_p))
        return paths, p / p.sum()

    return law


@pytest.fixture(scope="session")
def log_prior():
    """ln p(z) of paths (R, T), up to a constant: (z, alpha, states) → number"""
    return log_path
