"""Fits with two and three states at total ε = 5: who is in which state when, and what events a state has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.datasets.event_log import FEATURES, EventLog
from discreet.experiments.hidden_markov.held_out import METHODS, CellSplit, Effort, hash_of, model_of
from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior, confusion, modal, relabelling
from discreet.sampling.source import SeededSource

EPSILON = 5.0  # of F16 §5, over all five features together
STATES = (2, 3)
SHOWN = {"exact": "no privacy", "noise_aware": "noise-aware", "naive": "naive", "ops": "OPS"}
FULL = Effort((EPSILON,), 1, 0, 4, 150, 150, 10, 5)
QUICK = Effort((EPSILON,), 1, 0, 2, 4, 8, 1, 1)
EMISSION_TITLES = (
    "states",
    "method",
    "chain",
    "likeliest_chain",
    "state",
    "feature",
    "value",
    "mean",
    "low_5",
    "high_95",
)
ASSIGNMENT_TITLES = (
    "states",
    "method",
    "region",
    "month",
    "state",
    "probability",
    "chains_that_say_otherwise",
)


@final
@dataclass(frozen=True)
class FittedStates:
    """One fit, its states named as in the fit without privacy."""

    states: int
    method: str
    posterior: HiddenMarkovPosterior

    @property
    def likeliest(self) -> int:
        return self.posterior.modes[0][0]

    @property
    def title(self) -> str:
        """Method, and whether its chains agree: a picture never hides that."""
        chains, answers = len(self.posterior.z), len(self.posterior.modes)
        if chains == 1:
            return f"{SHOWN[self.method]}: 1 chain, agreement unknown"
        said = "1 answer" if answers == 1 else f"{answers} DIFFERENT ANSWERS"
        return f"{SHOWN[self.method]}: {said}, least agreement {self.posterior.agreement.min():.0%}"


def fits(log: EventLog, seed: int, effort: Effort) -> Iterator[FittedStates]:
    """Every method on all records, for each number of states; no privacy first, which names the states."""
    everything = CellSplit.none(log)
    for states in STATES:
        model, reference = model_of(log, states), None
        for method in SHOWN:
            source = SeededSource(hash_of(f"{seed}/states/{states}/{method}"))
            found = METHODS[method](everything, model, EPSILON, effort, source)
            if reference is None:
                reference = modal(found.z[found.modes[0][0]], states)
            yield FittedStates(states, method, renamed(found, reference))


def renamed(found: HiddenMarkovPosterior, reference: NDArray[np.int64]) -> HiddenMarkovPosterior:
    """Rename the states of all chains alike, so that the likeliest chain comes nearest to the reference."""
    states = found.model.states
    names = relabelling(confusion(modal(found.z[found.modes[0][0]], states), reference, states))
    old = np.argsort(names)
    return replace(
        found,
        z=names[found.z].astype(np.int16),
        theta=found.theta[:, :, old],
        transitions=found.transitions[:, :, np.append(old, states)][..., old],
    )


def emission_rows(log: EventLog, found: FittedStates) -> Iterator[tuple[object, ...]]:
    """Every chain's own tables, with equal-tailed 90 % intervals."""
    means, ends = found.posterior.emissions(), found.posterior.emission_intervals(0.9)
    for feature in FEATURES:
        for chain, state, j in np.ndindex(means[feature].shape):
            yield (
                found.states,
                found.method,
                chain,
                chain == found.likeliest,
                state,
                feature,
                log.levels[feature][j],
                means[feature][chain, state, j],
                *ends[feature][chain, state, j],
            )


def assignment_rows(log: EventLog, found: FittedStates) -> Iterator[tuple[object, ...]]:
    """Give the likeliest chain's state of every region and month, and how many chains say otherwise."""
    paths, chances = found.posterior.paths(), found.posterior.assignments()[found.likeliest]
    said = paths[found.likeliest]
    others = (paths != said).sum(axis=0)
    for r, t in np.ndindex(said.shape):
        state = int(said[r, t])
        region = log.levels["region"][r]
        yield (found.states, found.method, region, t, state, chances[r, t, state], int(others[r, t]))
