"""Geweke's test of the walk over moments: S moves given Ŝ, then Ŝ is drawn anew given S; S keeps its own law.

That law is simulated row by row, without the kernel's formula: parameters from the prior, n rows, their
moments. Ranks of ln T_ii and T_ij are compared with 1/2 and 1/12, in standard errors that count the
chain's effective size: about 70 comparisons at 4.8 deviations, an error below 2e-4. A private n is in
tests/attacks/test_unconverged.py.
"""

import numpy as np
import pytest

from discreet.posteriors.normal.moments_kernel import walk
from discreet.sampling.agreement import effective_size as ess

LIMIT, ROUNDS, STEPS = 4.8, 4000, 6
N, NOISE = 9, 8.0  # rows, and the scale of the noise on their moments

W = (np.array([0.4, -0.2]), np.linalg.cholesky([[1.5, 0.3], [0.3, 1.0]]), 4.0, 2.0)
NO_W = (np.zeros(0), np.zeros((0, 0)), 1.0, 1.0)
X = (np.array([0.3, -0.4]), np.array([[2.0, 0.5], [0.5, 1.5]]), 7.0, 1.5)
CASES = {
    "normal rows": (1, (*NO_W, *X)),
    "regression": (0, (*W, np.zeros(2), X[1], X[2], X[3])),
    "regression with intercept": (1, (*W, np.array([0.2]), np.array([[2.0]]), 6.0, 1.5)),
}


def rows_of(rng, fixed, prior, n):
    m, root, a, b, mean, scale, nu, kappa = prior
    p = len(mean)
    A = np.tril(rng.standard_normal((p, p)), -1) + np.diag(np.sqrt(rng.chisquare(nu - np.arange(p))))
    wide = np.linalg.cholesky(scale) @ np.linalg.inv(A).T
    middle = mean + wide @ rng.standard_normal(p) / np.sqrt(kappa) if fixed else np.zeros(p)
    z = middle + rng.standard_normal((n, p)) @ wide.T
    z = np.column_stack([np.ones(n), z]) if fixed else z
    if len(m):
        variance = b / rng.gamma(a)
        w = m + np.sqrt(variance) * np.linalg.solve(root.T, rng.standard_normal(len(m)))
        z = np.column_stack([z, z @ w + np.sqrt(variance) * rng.standard_normal(n)])
    return z


def flat(T):
    rows, columns = np.tril_indices(len(T))
    return np.where(rows == columns, np.log(abs(T[rows, columns])), T[rows, columns])


def reference(rng, fixed, prior, size=4000):
    rows = (rows_of(rng, fixed, prior, N) for _ in range(size))
    return np.array([flat(np.linalg.cholesky(z.T @ z)) for z in rows])


def chain(rng, fixed, prior, *, power, believed=1.0):
    """`believed`: what a broken twin takes the noise for, in units of its scale."""
    z = rows_of(rng, fixed, prior, N)
    T, D = np.linalg.cholesky(z.T @ z), z.shape[1]
    start, x = T.copy(), np.zeros(D * (D + 1) // 2 - fixed)
    rates = np.full((D, D), 1 / (believed * NOISE) if power == 1 else 0.5 / (believed * NOISE) ** 2)
    rates[0, 0] = 0.0 if fixed else rates[0, 0]
    draw, out = rng.laplace if power == 1 else rng.normal, np.empty((ROUNDS, D * (D + 1) // 2))
    root, row = np.eye(x.size) * 0.35, np.empty((1, D * D + 2))
    centres = np.tril(np.full((D, D), 0.4), -1)  # rows are stretched about these; the law is the same for any
    for k in range(ROUNDS):
        below = np.tril(draw(0, NOISE, (D, D)))
        seen = (T @ T.T + below + np.tril(below, -1).T, rates, power, 0.0, 0.0, start, fixed)
        walk(rng, x, N, root, seen, prior, centres, 0, 0, row, STEPS)
        T = row[0, :-2].reshape(D, D).copy()
        out[k] = flat(T)
    return out


def worst(found, wanted):
    keep = wanted.std(axis=0) > 1e-3
    ranks = np.stack(
        [np.searchsorted(np.sort(r), c) / r.size for c, r in zip(found.T[keep], wanted.T[keep], strict=True)],
        -1,
    )
    z = []
    for values, mean, variance in ((ranks, 1 / 2, 1 / 12), ((ranks - 0.5) ** 2, 1 / 12, 1 / 180)):
        error = np.sqrt(variance * (1 / ess(values[None]) + 1 / len(wanted)))
        z.append(abs(values.mean(axis=0) - mean) / error)
    return float(np.max(z))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_the_walk_keeps_the_law_of_the_moments_and_a_twin_that_believes_in_less_noise_does_not(name, power):
    rng, (fixed, prior) = np.random.default_rng(11), CASES[name]
    wanted = reference(rng, fixed, prior)
    assert worst(chain(rng, fixed, prior, power=power), wanted) < LIMIT
    assert worst(chain(rng, fixed, prior, power=power, believed=0.3), wanted) > LIMIT
