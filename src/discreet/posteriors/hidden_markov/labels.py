"""Which state is which: labels of one draw carried to those of another, and how far two paths agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment


def confusion(z: NDArray[Any], reference: NDArray[Any], states: int) -> NDArray[np.int64]:
    """C_{j,k} = number of cells in state j here and in state k in the reference"""
    return np.bincount(z.astype(np.int64) * states + reference, minlength=states**2).reshape(states, states)


def relabelling(table: NDArray[Any]) -> NDArray[np.int64]:
    """new[j] = the reference's name for state j: the matching that leaves the most cells in place"""
    rows, columns = linear_sum_assignment(-table)
    new = np.empty(len(table), dtype=np.int64)
    new[rows] = columns
    return new


def matched(
    z: NDArray[Any], theta: NDArray[Any], transitions: NDArray[Any], reference: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Carry the draws of one chain, each by its own permutation, to the reference's labels."""
    z, theta, transitions = z.copy(), theta.copy(), transitions.copy()
    states = theta.shape[1]
    for s in range(len(z)):
        new = relabelling(confusion(z[s], reference, states))
        old = np.argsort(new)
        z[s] = new[z[s]]
        theta[s] = theta[s][old]
        transitions[s] = transitions[s][np.append(old, states)][:, old]
    return z, theta, transitions


def modal(z: NDArray[Any], states: int) -> NDArray[np.int64]:
    """Return each cell's most frequent state over the draws."""
    shares = np.stack([(z == k).sum(axis=0) for k in range(states)])
    return np.asarray(shares.argmax(axis=0), dtype=np.int64)


def agreement(paths: list[NDArray[Any]], states: int) -> NDArray[np.float64]:
    """(chains, chains): share of cells in the same state after the best matching of labels"""
    shares = np.ones((len(paths), len(paths)))
    for i, one in enumerate(paths):
        for j, other in enumerate(paths[:i]):
            table = confusion(one, other, states)
            rows, columns = linear_sum_assignment(-table)
            shares[i, j] = shares[j, i] = table[rows, columns].sum() / one.size
    return shares


def chances(z: NDArray[Any], states: int) -> NDArray[np.float64]:
    """P(z_c = k) over the draws (draws, cells): (cells, K)"""
    return np.stack([(z == k).mean(axis=0) for k in range(states)], axis=-1)


def apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Mean over cells of ½ Σ_k (p_k − q_k)², labels matched

    = 1 − Σ p q − ½(1 − Σ p²) − ½(1 − Σ q²): how much likelier draws of two chains differ than two of one do.
    """
    rows, columns = linear_sum_assignment(-(one.T @ other))
    return float(0.5 * ((one[:, rows] - other[:, columns]) ** 2).sum(axis=1).mean())


def overlap(chains: NDArray[Any], states: int) -> NDArray[np.float64]:
    """(chains, chains): 1 − apart, less the error of finite chains, as their own halves are apart

    S independent draws put a chain (1 − Σ p²)/2S from its law: its halves are 4 times that apart.
    """
    laws, half = [chances(z, states) for z in chains], max(chains.shape[1] // 2, 1)
    own = [apart(chances(z[:half], states), chances(z[-half:], states)) for z in chains]
    shared = np.ones((len(laws), len(laws)))
    for i, j in zip(*np.tril_indices(len(laws), -1), strict=True):
        excess = apart(laws[i], laws[j]) - (own[i] + own[j]) / 4
        shared[i, j] = shared[j, i] = 1.0 - max(excess, 0.0)
    return shared
