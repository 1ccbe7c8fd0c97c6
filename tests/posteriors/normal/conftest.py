"""Small priors of each family, θ and records drawn from them, and releases noised by NumPy, which is fast."""

import numpy as np
import pytest

from discreet.families.laws.matrices import unpack
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource

GAMMA = NormalInverseGamma(
    0.5, 2, shape=5.5, scale=4, lower=-1.5, upper=2
)  # a tenth of the records are clipped
WISHART = NormalInverseWishart([0.5, -0.5], 2, degrees=7.5, scale=[[3, 1], [1, 2]], radius=2.5)
REGRESSION = BayesianLinearRegression([0.5, -1], [[3, 1], [1, 2]], shape=5.5, scale=4, radius=3)


@pytest.fixture(params=[GAMMA, WISHART, REGRESSION], ids=lambda model: model.name)
def model(request):
    return request.param


def noised(model, records, rng, scale, *, noise="laplace", private=False):
    """A release with noise of `scale` times the square of the radius; n private on request."""
    n, unit = len(records), scale * model.count_unit
    exact = model.joint(model.statistic(records), n) if private else model.statistic(records)
    draw = rng.laplace if noise == "laplace" else rng.normal
    noisy = exact + np.rint(draw(0, unit, exact.size))
    return NoisyStatistic(
        model=model,
        noisy=tuple(noisy.tolist()),
        n=None if private else n,
        joint=private,
        noise=noise,
        scale=unit,
        guarantee=PureDP(1),
        seeded=True,
    )


def from_prior(model, n, rng):
    """(θ, records); the design of a regression follows the default of the reading."""
    theta = model.sample(1, SeededSource(int(rng.integers(2**62))))[0]
    if model is GAMMA:
        return theta, rng.normal(theta[0], theta[1] ** 0.5, n)
    if model is WISHART:
        return theta, rng.multivariate_normal(theta[:2], unpack(theta[2:]), n)
    spread = float(model.radius) / np.sqrt(4 * 3)
    covariance = inverse_wishart(rng, 2 + 1 + 2.0, 2.0 * spread**2 * np.eye(2))
    x = rng.multivariate_normal(rng.multivariate_normal(np.zeros(2), covariance), covariance, n)
    return theta, np.column_stack([x, x @ theta[:2] + rng.normal(0, theta[2] ** 0.5, n)])


def inverse_wishart(rng, degrees, scale):
    p = len(scale)
    A = np.tril(rng.standard_normal((p, p)), -1) + np.diag(np.sqrt(rng.chisquare(degrees - np.arange(p))))
    root = np.linalg.cholesky(scale) @ np.linalg.inv(A).T
    return root @ root.T


@pytest.fixture
def simulate():
    return from_prior


@pytest.fixture
def release_of():
    return noised


@pytest.fixture
def models():
    return {"gamma": GAMMA, "wishart": WISHART, "regression": REGRESSION}
