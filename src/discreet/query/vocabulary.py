"""What a query may name: parameters and, of networks and naive Bayes, columns and levels. All public."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, singledispatch
from math import isfinite
from typing import final

import numpy as np

from discreet.families.family import Family
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.naive_bayes import NaiveBayes
from discreet.posteriors.conjugate import ConjugatePosterior
from discreet.posteriors.counts.naive_bayes import NaiveBayesPosterior
from discreet.posteriors.labels import UNNAMED, Labels, unique
from discreet.posteriors.network.posterior import NetworkDirichlet
from discreet.posteriors.posterior import Posterior
from discreet.posteriors.tables import ProbabilityTable, TablePosterior
from discreet.query.text import QueryError

CONDITIONAL = (BayesianNetwork, NaiveBayes)  # models of which E[… | …] may be asked


@final
@dataclass(frozen=True)
class Vocabulary:
    """The names of θ in their order; `tables` where conditional expectations may be asked."""

    parameters: tuple[str, ...]
    tables: tuple[ProbabilityTable, ...] = ()
    binary: tuple[str, ...] = ()  # columns whose levels "no" and "yes" count as 0 and 1

    @classmethod
    def of(cls, posterior: Posterior) -> Vocabulary:
        """Return what may be asked of a posterior."""
        if not isinstance(posterior, TablePosterior) or not isinstance(posterior.model, CONDITIONAL):
            return cls(posterior.names)
        declared = posterior.labels.schema.get("columns", {})
        binary = tuple(name for name, said in declared.items() if said.get("kind") == "binary")
        return cls(posterior.names, posterior.layout(), binary)

    @classmethod
    def of_model(cls, model: object, labels: Labels = UNNAMED) -> Vocabulary:
        """Return what may be asked of a model before anything is released; one of counts must be bound."""
        return _of_model(model, labels)

    @cached_property
    def place_of(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.parameters)}

    @cached_property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """Column → its levels, of the columns that E and P may name."""
        return {table.axes[-1].name: table.axes[-1].levels for table in self.tables}

    def place(self, name: str) -> int:
        if name not in self.place_of:
            raise QueryError(f"no parameter is called {name!r}; {_some(self.parameters)}")
        return self.place_of[name]

    def column(self, name: str) -> str:
        if not self.levels:
            raise QueryError(
                "E[… | …] and P[… | …] are answered for Bayesian networks and naive Bayes; this model has "
                f"parameters alone: {_some(self.parameters)}"
            )
        if name not in self.levels:
            raise QueryError(f"no column of the model is called {name!r}; {_some(self.levels)}")
        return name

    def code(self, column: str, level: str) -> int:
        """Return the code of a level, which may also be given by the number that it is."""
        levels = self.levels[self.column(column)]
        if level in levels:
            return levels.index(level)
        numbers, asked = self._as_numbers(column), _number(level)
        if asked is not None and asked in numbers:
            return numbers.index(asked)
        raise QueryError(f"{column!r} has no level {level!r}; {_some(levels)}")

    def numbers(self, column: str) -> tuple[float, ...]:
        """Return the numbers that the levels of a column are, or refuse and name the query that is right."""
        levels, found = self.levels[self.column(column)], self._as_numbers(column)
        odd = next((level for level, number in zip(levels, found, strict=True) if number is None), None)
        if odd is not None:
            raise QueryError(
                f"the levels of {column!r} are not all numbers ({odd!r}), so that it has no expectation; ask "
                "for the probability of a level instead: P[column = level | …]"
            )
        return tuple(number for number in found if number is not None)

    def _as_numbers(self, column: str) -> list[float | None]:
        levels = self.levels[column]
        yes_no = column in self.binary and levels == ("no", "yes")
        return [0.0, 1.0] if yes_no else [_number(level) for level in levels]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _some(names: Iterable[str], most: int = 8) -> str:
    known = [*names]
    more = f", … and {len(known) - most} more" if len(known) > most else ""
    return f"there are {', '.join(map(repr, known[:most]))}{more}"


@singledispatch
def _of_model(model: object, labels: Labels) -> Vocabulary:
    del labels
    raise QueryError(
        "queries on θ are asked of families, networks, naive Bayes and regressions, not of "
        f"{type(model).__name__}"
    )


@_of_model.register
def _of_family(model: Family, labels: Labels) -> Vocabulary:
    return Vocabulary.of(ConjugatePosterior(model, model, "prior", labels=labels))


@_of_model.register
def _of_network(model: BayesianNetwork, labels: Labels) -> Vocabulary:
    return Vocabulary.of(NetworkDirichlet(model, np.ones(model.size), "prior", labels=labels))


@_of_model.register
def _of_naive_bayes(model: NaiveBayes, labels: Labels) -> Vocabulary:
    return Vocabulary.of(NaiveBayesPosterior(model, "prior", np.zeros((1, 1)), (), labels=labels))


@_of_model.register
def _of_regression(model: GeneralizedLinear, labels: Labels) -> Vocabulary:
    del labels
    return Vocabulary(unique(model.names))
