"""Every family, by name: what the laws run over. A new family is one file and one line in each table here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.dirichlet_multinomial import DirichletMultinomial
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.families.normal_mean import NormalMean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.families.family import Family

    Data = Sequence[float] | Sequence[Sequence[float]] | Sequence[object]

FAMILIES: dict[str, type[Family]] = {
    family.name: family
    for family in (
        BetaBernoulli,
        BetaBinomial,
        BetaGeometric,
        DirichletCategorical,
        DirichletMultinomial,
        GammaPoisson,
        GammaExponential,
        NormalMean,
        NormalInverseGamma,
        NormalInverseWishart,
        BayesianLinearRegression,
    )
}

EXAMPLES: list[tuple[Family, Data]] = [  # a prior, and records within its bounds
    (BetaBernoulli(6, 12), [0, 1, 1, 0, 1]),
    (BetaBernoulli(0.5, 0.75, grid=2**-4), [0.25, 1, 0.5, 0.0625]),
    (BetaBinomial(2.5, 4, trials=7), [0, 3, 7, 5]),
    (BetaGeometric(3.25, 2, upper=12), [0, 4, 12, 1]),
    (DirichletCategorical([1, 2.5, 4]), [0, 2, 2, 1, 0]),
    (DirichletCategorical([0.5, 3]), [0, 1, 1]),
    (DirichletMultinomial([1, 2.5, 4], trials=3), [[3, 0, 0], [1, 1, 1], [0, 2, 1]]),
    (GammaPoisson(3.5, 1.25, upper=20), [0, 3, 20, 7]),
    (GammaExponential(4.5, 2, upper=8), [0.5, 8, 2.25, 0]),
    (NormalMean(0.5, 2, variance=2.25, lower=-4, upper=6), [-4, 6, 1.5, 0.25]),
    (NormalInverseGamma(0.5, 2, shape=5.5, scale=4, lower=-4, upper=6), [-4, 6, 1.5, 0.25]),
    (
        NormalInverseWishart([0.5, -1], 2, degrees=7.5, scale=[[3, 1], [1, 2]], radius=4),
        [[1, 2], [-3, 0.5], [0, 0], [2.5, -2.5]],
    ),
    (
        BayesianLinearRegression([0.5, -1], [[3, 1], [1, 2]], shape=5.5, scale=4, radius=4),
        [[1, 2, 0.5], [1, -1, 2], [1, 0, -3], [1, 1.5, 1]],
    ),
]
