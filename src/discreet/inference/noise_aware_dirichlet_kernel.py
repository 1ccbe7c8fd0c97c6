# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""Chains over the counts behind noisy counts, θ integrated out; compiled.

The counts are independent, w_j(s) = Γ(s+α_j)/s! · p(noise = ŝ_j − s), but for their total: given n it is n·m,
and pairs of cells exchange units; with n private a cell may also gain or lose m at a time, the total T then
weighing T!/Γ(T+Σα) · π(T/m). Steps are log-uniform up to a few scales of the noise, so that both a cell that
is probably empty and one known only to within the noise are met at their own scale.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.compiled import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit(inline="always")
def _log_weight(s: int, alpha: float, noisy: float, scale: float, laplacian: bool) -> float:  # noqa: FBT001
    z = abs(noisy - s) / scale
    return math.lgamma(s + alpha) - math.lgamma(s + 1.0) - (z if laplacian else 0.5 * z * z)


@njit(inline="always")
def _step(reach: float) -> int:
    size = int(math.exp(np.random.random() * reach))  # noqa: NPY002 - numba's own stream
    return size if np.random.random() < 0.5 else -size  # noqa: NPY002


@njit
def exchange(
    s: NDArray[np.int64],
    order: NDArray[np.int64],
    noisy: NDArray[np.float64],
    alpha: NDArray[np.float64],
    scale: float,
    laplacian: bool,  # noqa: FBT001
    reach: float,
) -> None:
    """One sweep of pairs: s_i + δ and s_j − δ, by Metropolis' rule; every cell meets a random other."""
    d = s.size
    for i in range(d - 1, 0, -1):
        j = np.random.randint(i + 1)  # noqa: NPY002
        order[i], order[j] = order[j], order[i]
    for k in range(0, d - 1, 2):
        i, j = order[k], order[k + 1]
        step = _step(reach)
        a, b = s[i] + step, s[j] - step
        if a < 0 or b < 0:
            continue
        gain = (
            _log_weight(a, alpha[i], noisy[i], scale, laplacian)
            - _log_weight(s[i], alpha[i], noisy[i], scale, laplacian)
            + _log_weight(b, alpha[j], noisy[j], scale, laplacian)
            - _log_weight(s[j], alpha[j], noisy[j], scale, laplacian)
        )
        if gain >= 0 or math.log(1 - np.random.random()) < gain:  # noqa: NPY002
            s[i], s[j] = a, b


@njit
def change_total(
    s: NDArray[np.int64],
    total: int,
    noisy: NDArray[np.float64],
    alpha: NDArray[np.float64],
    scale: float,
    laplacian: bool,  # noqa: FBT001
    reach: float,
    each: int,
    size_prior: NDArray[np.float64],
) -> int:
    """One sweep of single cells: s_j ± m·δ, and n with it; `size_prior` is log π(n) for n = 0, 1, …."""
    whole = alpha.sum()
    for j in range(s.size):
        step = each * _step(reach)
        a, t = s[j] + step, total + step
        if a < 0 or t // each >= size_prior.size:
            continue
        gain = (
            _log_weight(a, alpha[j], noisy[j], scale, laplacian)
            - _log_weight(s[j], alpha[j], noisy[j], scale, laplacian)
            + math.lgamma(t + 1.0)
            - math.lgamma(t + whole)
            - math.lgamma(total + 1.0)
            + math.lgamma(total + whole)
            + size_prior[t // each]
            - size_prior[total // each]
        )
        if gain >= 0 or math.log(1 - np.random.random()) < gain:  # noqa: NPY002
            s[j], total = a, t
    return total


@njit
def chain(
    start: NDArray[np.int64],
    noisy: NDArray[np.float64],
    alpha: NDArray[np.float64],
    scale: float,
    laplacian: bool,  # noqa: FBT001
    reach: float,
    each: int,
    size_prior: NDArray[np.float64],
    burn: int,
    keep: int,
    thin: int,
    seed: int,
) -> NDArray[Any]:
    """`keep` states, `thin` sweeps apart, after `burn`; an empty size_prior holds the total where it is."""
    np.random.seed(seed)  # noqa: NPY002
    s, order = start.copy(), np.arange(start.size)
    total, kept = s.sum(), np.empty((keep, start.size), dtype=np.int32)
    few = math.log(max(1.0, math.exp(reach) / each)) + 0.7
    for sweep in range(burn + keep * thin):
        exchange(s, order, noisy, alpha, scale, laplacian, reach)
        if size_prior.size > 0:
            total = change_total(s, total, noisy, alpha, scale, laplacian, few, each, size_prior)
        if sweep >= burn and (sweep - burn) % thin == thin - 1:
            kept[(sweep - burn) // thin] = s
    return kept
