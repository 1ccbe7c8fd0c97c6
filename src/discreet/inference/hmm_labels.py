"""Which state is which: labels of one draw carried to those of another, and how far two paths agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
