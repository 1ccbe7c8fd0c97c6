"""Data sets of a model of counts that might be: probabilities from the prior, records, their counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import final

import numpy as np
from scipy.optimize import linear_sum_assignment

from discreet.families.family import Floats, Integers
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.count_model import CountModel
from discreet.models.hidden_markov import HiddenMarkov
from discreet.models.mixture import Mixture
from discreet.models.naive_bayes import NaiveBayes
from discreet.privacy.guarantee import NotProved

Rng = np.random.Generator
Codes = Mapping[str, Integers]


@final
@dataclass(frozen=True, eq=False)
class Part:
    """One table of probabilities; so many of its first axes are hidden classes, whose labels mean nothing."""

    table: Floats
    hidden: int = 0

    def relabelled(self, order: Integers) -> Floats:
        """Return the table with its classes in another order."""
        for axis in range(self.hidden):
            self = Part(np.take(self.table, order, axis=axis), self.hidden)  # noqa: PLW0642
        return self.table


@final
@dataclass(frozen=True, eq=False)
class ImaginedCounts:
    """Probabilities in the order of the posterior's parameters, and records who follow them."""

    parts: tuple[Part, ...]
    records: Codes

    def truth(self, mean: Floats) -> Floats:
        """Return the probabilities, hidden classes labelled as in the posterior mean that was read."""
        tables = [part.table for part in self.parts]
        if any(part.hidden for part in self.parts):
            order = self._matching(mean)
            tables = [part.relabelled(order) for part in self.parts]
        return np.concatenate([table.reshape(-1) for table in tables])

    def _matching(self, mean: Floats) -> Integers:
        """order[k] = the class here that is the posterior's k: the least total distance of their rows."""
        ends = np.cumsum([part.table.size for part in self.parts])[:-1]
        both = zip(self.parts, np.split(mean, ends), strict=True)
        rows = [
            (part.table.reshape(len(part.table), -1), read.reshape(len(part.table), -1))
            for part, read in both
            if part.hidden == 1
        ]
        cost = sum(np.abs(read[:, None] - true[None]).sum(axis=2) for true, read in rows)
        return np.asarray(linear_sum_assignment(cost)[1])


@singledispatch
def world(model: CountModel, n: int, rng: Rng) -> ImaginedCounts:
    """Draw the probabilities from the prior, and n records."""
    del n, rng
    raise NotProved(f"planning cannot simulate records of {type(model).__name__}")


@world.register
def _world_naive_bayes(model: NaiveBayes, n: int, rng: Rng) -> ImaginedCounts:
    alpha, sizes = float(model.prior), model.size_of
    classes = rng.dirichlet([alpha] * model.classes)
    tables = {name: rng.dirichlet([alpha] * sizes[name], size=model.classes) for name in model.features}
    label = rng.choice(model.classes, size=n, p=classes)
    records = {model.label: label, **{name: chosen(table[label], rng) for name, table in tables.items()}}
    return ImaginedCounts((Part(classes), *map(Part, tables.values())), records)


@world.register
def _world_network(model: BayesianNetwork, n: int, rng: Rng) -> ImaginedCounts:
    """Parents stand before children."""
    alpha, records, parts = float(model.prior), dict[str, Integers](), list[Part]()
    for cells in model.cells:
        *parents, node = cells.columns
        table = rng.dirichlet([alpha] * cells.shape[-1], size=cells.shape[:-1])
        given = table[tuple(records[parent] for parent in parents)] if parents else np.tile(table, (n, 1))
        records[node] = chosen(given, rng)
        parts.append(Part(table))
    return ImaginedCounts(tuple(parts), records)


@world.register
def _world_mixture(model: Mixture, n: int, rng: Rng) -> ImaginedCounts:
    sizes, k = model.size_of, model.components
    weights = rng.dirichlet([float(model.weight)] * k)
    tables = {name: rng.dirichlet([float(model.prior)] * sizes[name], size=k) for name in model.features}
    classes = rng.choice(k, size=n, p=weights)
    records = {name: chosen(table[classes], rng) for name, table in tables.items()}
    return ImaginedCounts((Part(weights, 1), *(Part(table, 1) for table in tables.values())), records)


@world.register
def _world_hidden_markov(model: HiddenMarkov, n: int, rng: Rng) -> ImaginedCounts:
    """Spread the records evenly over the steps of the chains."""
    sizes, k, alpha = model.size_of, model.states, float(model.transition)
    tables = {name: rng.dirichlet([float(model.emission)] * sizes[name], size=k) for name in model.features}
    moves, first = rng.dirichlet([alpha] * k, size=k), rng.dirichlet([alpha] * k)
    state = np.empty((model.chains, model.steps), dtype=np.int64)
    state[:, 0] = rng.choice(k, size=model.chains, p=first)
    for t in range(1, model.steps):
        state[:, t] = chosen(moves[state[:, t - 1]], rng)
    chain, step = (rng.integers(size, size=n) for size in state.shape)
    at = state[chain, step]
    records = {name: chosen(table[at], rng) for name, table in tables.items()}
    records |= {model.chain: chain, model.step: step}
    return ImaginedCounts(
        (*(Part(table, 1) for table in tables.values()), Part(moves, 2), Part(first, 1)), records
    )


def chosen(probabilities: Floats, rng: Rng) -> Integers:
    """Draw one category for each row."""
    steps = np.cumsum(probabilities, axis=1)[:, :-1]
    return np.asarray((rng.random(len(probabilities))[:, None] > steps).sum(axis=1))


def counted(model: CountModel, records: Codes) -> Integers:
    """Return the counts of all tables, flat, in the model's order."""
    each = [
        np.bincount(
            np.ravel_multi_index([records[column] for column in cells.columns], cells.shape),
            minlength=cells.size,
        )
        for cells in model.cells
    ]
    return np.concatenate(each).astype(np.int64)
