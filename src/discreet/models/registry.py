"""Models of counts and regressions by name; a class is imported when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.registry import Registry

if TYPE_CHECKING:
    from discreet.models.count_model import CountModel
    from discreet.models.generalized_linear import GeneralizedLinear

_HOME = {
    "naive_bayes": "naive_bayes:NaiveBayes",
    "bayesian_network": "bayes_net:BayesianNetwork",
    "mixture": "mixture:Mixture",
    "hidden_markov": "hidden_markov:HiddenMarkov",
}


MODELS: Registry[CountModel] = Registry("discreet.models", "model", _HOME)
REGRESSIONS: Registry[GeneralizedLinear] = Registry(
    "discreet.models",
    "regression",
    {
        "bayesian_logistic_regression": "generalized_linear:BayesianLogisticRegression",
        "generalized_linear": "generalized_linear:GeneralizedLinear",
    },
)
