"""Shares of classes in the leaves of trees, behind noise: the best linear reading, from the root down."""

from __future__ import annotations

import numpy as np

from discreet.models.margin_losses import Floats

LEAST = 2.0**-10  # of a class's share of all records: what noise may push a share down to


def leaf_shares(counts: Floats, whole: Floats, variance: float, strength: float) -> Floats:
    """E(shares | counts) in every leaf of every tree; a child's shares are Dirichlet(strength·parent's).

    `counts` are (trees, leaves, classes), `whole` the shares of all records. Of the noisy share q̂ in a node
    of N records, p = parent + w(q̂ − parent), w = V/(V + S + Z), V = pq/(s + 1) what children differ by,
    S = V·s/N what N records do, Z = variance/N² of the noise in the node's counts: the best linear predictor
    for any law of the noise (docs/theory.md, “The shares of a leaf behind noise”). Without noise w is
    N/(N + s) and p is the Dirichlet posterior's mean itself. N is what the noisy counts of the node add up
    to, at least 0.
    """
    levels, sums = [counts], counts
    while sums.shape[1] > 1:
        sums = sums.reshape(len(sums), -1, 2, sums.shape[2]).sum(axis=2)
        levels.append(sums)
    shares = np.tile(whole, (len(counts), 1, 1))
    for below, here in reversed(list(enumerate(levels[:-1]))):
        shares = _child_shares(np.repeat(shares, 2, axis=1), here, variance * 2**below, strength)
        shares = np.maximum(shares, LEAST * whole)
        shares /= shares.sum(axis=2, keepdims=True)
    return shares


def _child_shares(parent: Floats, counts: Floats, variance: float, strength: float) -> Floats:
    classes = counts.shape[2]
    n = np.maximum(counts.sum(axis=2, keepdims=True), 2.0**-20)
    square = (parent**2).sum(axis=2, keepdims=True)
    between = (1 - square) / (strength + 1)  # summed over the classes, as S and Z are
    within = between * strength / n
    noise = variance * (classes - 2 + classes * square) / n**2
    return np.asarray(parent + between / (between + within + noise) * (counts / n - parent))
