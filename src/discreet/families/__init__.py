"""Likelihoods with their conjugate priors, one per file."""

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.dirichlet_multinomial import DirichletMultinomial
from discreet.families.family import Family, Sensitivity
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.families.normal_mean import NormalMean
from discreet.families.registry import FAMILIES

__all__ = [
    "FAMILIES",
    "BayesianLinearRegression",
    "BetaBernoulli",
    "BetaBinomial",
    "BetaGeometric",
    "DirichletCategorical",
    "DirichletMultinomial",
    "Family",
    "GammaExponential",
    "GammaPoisson",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalMean",
    "Sensitivity",
]
