"""Draws under priors so small that every gamma of a row underflows: points of the simplex, near corners."""

import numpy as np
import pytest

from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.naive_bayes import NaiveBayes
from discreet.posteriors.counts import naive_bayes
from discreet.posteriors.counts.dirichlet import CountDraws
from discreet.posteriors.network import read as bayes_net
from discreet.sampling.source import SeededSource

DRAWS, PRIOR = 2000, 1e-3


def naive_bayes_draws():
    model = NaiveBayes("y", ("a",), prior=PRIOR).bind({"y": 2, "a": 2})
    return naive_bayes.exact(model, np.zeros(4)).flat_sample(DRAWS, SeededSource(1))[:, 2:4]


def network_draws():
    model = BayesianNetwork([("y", "a")], prior=PRIOR).bind({"y": 2, "a": 2})
    return bayes_net.exact(np.zeros(6), model).flat_sample(DRAWS, SeededSource(1))[:, :2]


def dirichlet_draws():
    prior = DirichletCategorical(np.full(2, PRIOR))
    return CountDraws(prior, np.zeros((8, 2), np.int32), 1).flat_sample(DRAWS, SeededSource(1))


@pytest.mark.parametrize("drawn", [naive_bayes_draws, network_draws, dirichlet_draws])
def test_rows_add_up_to_one_and_lie_in_the_corners(drawn):
    """θ ~ Dirichlet(ε, ε): E θ = ½ and Var θ = ¼/(2ε + 1), each to five standard errors of 2000 draws."""
    theta = drawn()
    assert theta.sum(axis=1) == pytest.approx(np.ones(DRAWS), abs=1e-12)
    assert theta[:, 0].mean() == pytest.approx(0.5, abs=5 * 0.5 / DRAWS**0.5)
    assert theta[:, 0].var() == pytest.approx(0.25 / (2 * PRIOR + 1), abs=0.01)
