"""Releases of noisy moments of normal rows over everything that may be asked for, drawn from a seed."""

import numpy as np

from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.privacy.guarantee import SUBSTITUTE

KINDS = ("discrete_laplace", "discrete_gaussian", "laplace", "gaussian")
FAMILIES = ("gamma", "wishart", "regression")


def between(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def any_rows(rng, p, n):
    """Normal rows, correlated: deviations of any size, the mean up to a few of them off."""
    wide = np.diag([between(rng, 0.1, 10) for _ in range(p)]) @ (rng.standard_normal((p, p)) + np.eye(p))
    mean = rng.choice([0, 0.5, 3]) * rng.standard_normal(p) * np.linalg.norm(wide, axis=1)
    return mean + rng.standard_normal((n, p)) @ wide.T


def variance(rng, shape, scale):
    """Inverse gamma, kept to where doubles and bounds go: tiny shapes have no bound of their own."""
    log = np.log(scale) - np.log(rng.gamma(shape + 1)) - np.log(rng.random()) / shape
    return np.exp(np.clip(log, -14, 14))


def positive(rng, p):
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    found = (turn * [between(rng, 0.01, 1e4) for _ in range(p)]) @ turn.T
    return np.round((found + found.T) / 2, 9)


def world(rng, name, p, n):
    """Rows and priors from 0.01 to 10 000; half of the rows have parameters that the prior drew."""
    kappa, a, b = (between(rng, 0.01, 1e4) for _ in range(3))
    own, rows = rng.random() < 0.5, any_rows(rng, p, n)
    if name == "regression":
        m, P = rng.normal(0, 1, p - 1), positive(rng, p - 1)
        if own:
            v = variance(rng, a, b)
            w = m + np.sqrt(v) * np.linalg.solve(np.linalg.cholesky(P).T, rng.standard_normal(p - 1))
            rows[:, :-1] *= np.sqrt(v) / np.abs(rows).max()
            rows[:, -1] = rows[:, :-1] @ w + np.sqrt(v) * rng.standard_normal(n)
        return rows, (m.tolist(), P.tolist(), a, b)
    scatter = positive(rng, p)
    m = rng.normal(0, np.linalg.norm(rows, axis=1).max() / 3, p)
    if own:
        root = np.linalg.cholesky(scatter) * np.sqrt(variance(rng, a / 2, 0.5))
        m = m / 10
        rows = m + (rng.standard_normal(p) / np.sqrt(kappa) + rng.standard_normal((n, p))) @ root.T
    if name == "gamma":
        return rows[:, 0], (float(m[0]), kappa, a / 2, float(scatter[0, 0]) / 2)
    return rows, (m.tolist(), kappa, p - 1 + a, scatter.tolist())


def model_of(name, prior, far, rng):
    if name == "gamma":
        return NormalInverseGamma(*prior, -far * rng.uniform(1, 2), far)
    return (NormalInverseWishart if name == "wishart" else BayesianLinearRegression)(*prior, far)


def setting(name, seed, *, private, least=5, most=1e5):
    """A release of any noise; three in four as rows have it, the others impossible or far off."""
    rng = np.random.default_rng([seed, FAMILIES.index(name), private])
    p = 1 if name == "gamma" else int(rng.integers(2, 4 if name == "wishart" else 5))
    n, epsilon, kind = int(between(rng, least, most)), between(rng, 0.01, 1e4), KINDS[rng.integers(4)]
    rows, prior = world(rng, name, p, n)
    far = np.linalg.norm(rows.reshape(n, -1), axis=1).max() * between(rng, 1, 10)
    model = model_of(name, prior, float(far), rng)
    exact = model.statistic(rows).astype(float)
    if private:
        exact = np.append(exact, float(n) * model.count_unit)
    change = model.joint_sensitivity() if private else model.sensitivity(SUBSTITUTE)
    scale = change.l1 / epsilon if kind.endswith("laplace") else change.l2 * 3 / epsilon
    noise = (rng.laplace if kind.endswith("laplace") else rng.normal)(0, scale, exact.size)
    if rng.random() > 0.75:
        noise += rng.choice([-1, 0, 1], exact.size) * scale * rng.uniform(1, 40)
    noisy = exact + noise
    noisy = np.rint(noisy) if kind.startswith("discrete") else noisy
    return NoisyStatistic(
        model, tuple(noisy.tolist()), None if private else n, private, kind, scale, None, seeded=True
    )
