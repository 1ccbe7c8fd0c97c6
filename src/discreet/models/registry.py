"""Every model of counts by name; a class is imported when it is first asked for, so that looking is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.registry import Registry

if TYPE_CHECKING:
    from discreet.models.count_model import CountModel

_HOME = {
    "naive_bayes": "naive_bayes:NaiveBayes",
    "bayesian_network": "bayes_net:BayesianNetwork",
    "mixture": "mixture:Mixture",
    "hidden_markov": "hidden_markov:HiddenMarkov",
}


MODELS: Registry[CountModel] = Registry("discreet.models", "model", _HOME)
