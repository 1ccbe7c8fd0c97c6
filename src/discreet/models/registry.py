"""Every model of counts by name; a class is imported when it is first asked for, so that looking is cheap."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from discreet.models.count_model import CountModel

_HOME = {
    "naive_bayes": "naive_bayes:NaiveBayes",
    "bayesian_network": "bayes_net:BayesianNetwork",
    "mixture": "mixture:Mixture",
    "hidden_markov": "hidden_markov:HiddenMarkov",
}


@final
@dataclass(frozen=True)
class Models(Mapping[str, type["CountModel"]]):
    """name → class, imported on use."""

    home: Mapping[str, str]

    def __getitem__(self, name: str) -> type[CountModel]:
        if name not in self.home:
            raise KeyError(f"no model is called {name!r}; there are {', '.join(self.home)}")
        module, _, attribute = self.home[name].partition(":")
        found: type[CountModel] = getattr(importlib.import_module(f"discreet.models.{module}"), attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.home)

    def __len__(self) -> int:
        return len(self.home)


MODELS = Models(_HOME)
