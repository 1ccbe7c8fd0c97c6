"""Likelihoods with their conjugate priors, one a file."""

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.family import Family, Sensitivity
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean

__all__ = [
    "BetaBernoulli",
    "DirichletCategorical",
    "Family",
    "GammaExponential",
    "GammaPoisson",
    "NormalMean",
    "Sensitivity",
]
