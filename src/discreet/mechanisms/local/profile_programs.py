"""The linear programs behind profile mechanisms, sparse, by HiGHS. Their answers are verified elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from discreet.privacy.guarantee import Unreachable
from discreet.privacy.profile_graph import ProfileGraph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]


TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
MANY = 10_000  # variables from which on the interior-point method is the faster one
SLACK = 1e-9  # how far the second stage may leave the first one's optimum


def laws(graph: ProfileGraph) -> Floats:
    return np.array([[float(p) for p in law] for law in graph.profiles])


def solved(  # noqa: PLR0917
    cost: Floats, upper: object, limit: Floats, equal: object, right: object, bounds: object
) -> Floats:
    """Minimise cost·x with upper x ≤ limit and equal x = right."""
    found = linprog(
        cost,
        A_ub=upper,
        b_ub=limit,
        A_eq=equal,
        b_eq=right,
        bounds=bounds,
        method="highs-ipm" if len(cost) > MANY else "highs",
        options=TIGHT,
    )
    if found.status != 0:
        raise Unreachable(f"the linear program has no solution that HiGHS could find: {found.message}")
    answer: Floats = found.x
    return answer


def indistinguishable(graph: ProfileGraph, ratio: float) -> csr_array:
    """Rows q_i(y) − ratio·q_j(y) ≤ 0 over flat q (profile by profile), for every edge, both ways."""
    d, k = graph.values, len(graph.profiles)
    pairs = np.array(graph.edges, dtype=int).reshape(-1, 2)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    first = (both[:, :1] * d + np.arange(d)).ravel()
    second = (both[:, 1:] * d + np.arange(d)).ravel()
    rows = np.arange(first.size)
    shape = (first.size, k * d)
    return sparse.csr_array((np.ones(first.size), (rows, first)), shape) - sparse.csr_array(
        (np.full(first.size, ratio), (rows, second)), shape
    )


def between(graph: ProfileGraph, ratio: float) -> tuple[Any, Any]:
    """Say it for a complete graph by one variable lo_y for each value: lo ≤ q_i ≤ ratio·lo, 2kd rows."""
    d, k = graph.values, len(graph.profiles)
    every = sparse.eye_array(k * d, format="csr")
    column = sparse.csr_array(np.tile(np.eye(d), (k, 1)))
    return sparse.vstack([every, -every]), sparse.vstack([-ratio * column, column])


def edge_rows(graph: ProfileGraph, ratio: float) -> tuple[Any, Any]:
    """(rows over q, rows over the extra variables) of all indistinguishability constraints."""
    if graph.is_complete and len(graph.profiles) > 2:
        return between(graph, ratio)
    rows = indistinguishable(graph, ratio)
    return rows, sparse.csr_array((rows.shape[0], 0))


def sums(k: int, d: int) -> csr_array:
    """Σ_y q_i(y) for each i."""
    return sparse.kron(sparse.eye_array(k), np.ones((1, d)), format="csr")


def most_kept(graph: ProfileGraph, ratio: float) -> Floats:
    """Find outputs q = sP + f, f ≥ 0, with the largest s."""
    known, (k, d) = laws(graph), (len(graph.profiles), graph.values)
    over_q, over_extra = edge_rows(graph, ratio)
    times_s = sparse.csr_array((over_q @ known.ravel()).reshape(-1, 1))
    upper = sparse.hstack([over_q, times_s, over_extra], format="csr")
    extra = over_extra.shape[1]
    equal = sparse.hstack([sums(k, d), np.ones((k, 1)), sparse.csr_array((k, extra))], format="csr")
    cost = np.zeros(k * d + 1 + extra)
    cost[k * d] = -1
    bounds = [(0, None)] * (k * d) + [(0, 1)] + [(0, None)] * extra
    found = solved(cost, upper, np.zeros(upper.shape[0]), equal, np.ones(k), bounds)
    outputs: Floats = found[k * d] * known + np.maximum(found[: k * d], 0).reshape(k, d)
    return outputs


def nearest_outputs(graph: ProfileGraph, ratio: float) -> Floats:
    """Find outputs q with the least Σ wᵢ TV(Pᵢ, qᵢ), as P + excess − lack."""
    known, (k, d) = laws(graph), (len(graph.profiles), graph.values)
    over_q, over_extra = edge_rows(graph, ratio)
    size, extra = k * d, over_extra.shape[1]
    # q = P + e − m, with e, m ≥ 0: excess and lack; only e − m enters the constraints
    moved = sparse.hstack([over_q, -over_q, over_extra], format="csr")
    limit = -(over_q @ known.ravel())
    one = sparse.hstack([sums(k, d), -sums(k, d), sparse.csr_array((k, extra))], format="csr")
    cost = np.concatenate([np.repeat([float(w) for w in graph.weights], d), np.zeros(size + extra)])
    bounds = [(0, None)] * size + [(0, p) for p in known.ravel()] + [(0, None)] * extra
    found = solved(cost, moved, limit, one, np.zeros(k), bounds)
    outputs: Floats = np.maximum(known + (found[:size] - found[size : 2 * size]).reshape(k, d), 0)
    return outputs


# ── programs over whole matrices: kd² variables A_i(x, y) ───────────────────────────────────────────


def pushed(graph: ProfileGraph) -> csr_array:
    """Map from all A_i(x, y) to all q_i(y) = Σ_x P_i(x)A_i(x, y)."""
    blocks = [sparse.kron(law[None, :], sparse.eye_array(graph.values)) for law in laws(graph)]
    return sparse.block_diag(blocks, format="csr")


def off_diagonal(k: int, d: int) -> NDArray[np.int64]:
    return np.flatnonzero(np.tile(~np.eye(d, dtype=bool).ravel(), k))


def corruption_cost(graph: ProfileGraph) -> Floats:
    """wᵢPᵢ(x) for each x ≠ y."""
    d = graph.values
    off = 1 - np.eye(d)
    parts = [float(w) * law[:, None] * off for w, law in zip(graph.weights, laws(graph), strict=True)]
    return np.concatenate([part.ravel() for part in parts])


def least_largest_error(graph: ProfileGraph, ratio: float) -> list[Floats]:
    """First the least largest off-diagonal entry, which is not unique; then the least expected corruption."""
    k, d = len(graph.profiles), graph.values
    size, push = k * d * d, pushed(graph)
    over_q, over_extra = edge_rows(graph, ratio)
    off = off_diagonal(k, d)
    below = sparse.csr_array((np.ones(off.size), (np.arange(off.size), off)), (off.size, size))
    extra = over_extra.shape[1]
    upper = sparse.vstack(
        [
            sparse.hstack([over_q @ push, sparse.csr_array((over_q.shape[0], 1)), over_extra]),
            sparse.hstack([below, -np.ones((off.size, 1)), sparse.csr_array((off.size, extra))]),
        ],
        format="csr",
    )
    equal = sparse.hstack([sums(k * d, d), sparse.csr_array((k * d, 1 + extra))], format="csr")
    none, first = np.zeros(upper.shape[0]), np.zeros(size + 1 + extra)
    first[size] = 1
    open_ended = [(0, 1)] * (size + 1) + [(0, None)] * extra
    most = solved(first, upper, none, equal, np.ones(k * d), open_ended)[size] + SLACK
    capped = [(0, 1)] * size + [(0, most)] + [(0, None)] * extra
    second = np.concatenate([corruption_cost(graph), np.zeros(1 + extra)])
    found = solved(second, upper, none, equal, np.ones(k * d), capped)
    return list(found[:size].reshape(k, d, d))


def cheapest(graph: ProfileGraph, ratio: float, cost: Floats) -> list[Floats]:
    """Least Σ wᵢ Σ Pᵢ(x)Aᵢ(x, y)C(x, y)."""
    k, d = len(graph.profiles), graph.values
    if cost.shape != (d, d) or not np.isfinite(cost).all():
        raise ValueError(f"the cost must be a {d} × {d} matrix of finite numbers, got shape {cost.shape}")
    over_q, over_extra = edge_rows(graph, ratio)
    extra = over_extra.shape[1]
    upper = sparse.hstack([over_q @ pushed(graph), over_extra], format="csr")
    equal = sparse.hstack([sums(k * d, d), sparse.csr_array((k * d, extra))], format="csr")
    paid = [float(w) * law[:, None] * cost for w, law in zip(graph.weights, laws(graph), strict=True)]
    whole = np.concatenate([*(part.ravel() for part in paid), np.zeros(extra)])
    bounds = [(0, 1)] * (k * d * d) + [(0, None)] * extra
    found = solved(whole, upper, np.zeros(upper.shape[0]), equal, np.ones(k * d), bounds)
    return list(found[: k * d * d].reshape(k, d, d))


def smooth_flips(graph: ProfileGraph, ratio: float) -> Floats:
    """Least largest flip α, then the least weighted sum: q = p + α(1 − 2p)."""
    ones, k = laws(graph)[:, 1], len(graph.profiles)
    rows, limits = [], []
    for i, j in graph.edges:
        for a, b in ((i, j), (j, i)):
            for p, r in ((ones[a], ones[b]), (1 - ones[a], 1 - ones[b])):
                row = np.zeros(k + 1)
                row[a], row[b] = 1 - 2 * p, -ratio * (1 - 2 * r)
                rows.append(row)
                limits.append(ratio * r - p)
    cap = np.hstack([np.eye(k), -np.ones((k, 1))])
    upper = sparse.csr_array(np.vstack([*rows, cap]) if rows else cap)
    right = np.concatenate([limits, np.zeros(k)])

    def least(cost: Floats, most: float) -> Floats:
        return solved(cost, upper, right, None, None, [(0, most)] * (k + 1))

    top = least(np.eye(k + 1)[k], 0.5)[k]
    weights = np.append([float(w) for w in graph.weights], 0)
    return np.maximum(least(weights, min(top + SLACK, 0.5))[:k], 0)
