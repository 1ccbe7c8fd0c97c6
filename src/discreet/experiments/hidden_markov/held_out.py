"""Held-out log-likelihood of the hidden Markov model against ε: noisy counts, OPS and no privacy [F16 §5].

As there, a tenth of the pairs (region, month) is held out at random: their records are taken out before any
release, no fit reads those cells, and their states come from their neighbours. Every method gets the whole ε.
Noisy counts split it evenly over the five features and are read twice, as if exact and with the law of their
noise. OPS spends it on a planned number of Gibbs sweeps, and its final sample is read.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.datasets.event_log import CHAIN, FEATURES, STEP, EventLog
from discreet.mcmc.hidden_markov_gibbs import HiddenMarkovGibbs
from discreet.mcmc.running.plan import ChainPlan, calibrate
from discreet.mcmc.running.run import run
from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.fit import fit
from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior
from discreet.posteriors.hidden_markov.private_chain import read
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource, Source

HELD_OUT = 0.1  # of the cells (region, month), at random
READINGS = ("noise_aware", "naive")
TITLES = (
    "states",
    "method",
    "epsilon",
    "split",
    "cells_held_out",
    "records_held_out",
    "log_likelihood_per_record",  # of the likeliest chain
    "lowest_chain",
    "highest_chain",
    "chains",
    "different_answers",
    "least_agreement",
)


@final
@dataclass(frozen=True)
class Effort:
    """How many points, and how long the chains."""

    epsilons: tuple[float, ...]
    splits: int
    states: int
    chains: int
    burn: int
    sweeps: int
    private_sweeps: int  # of OPS, each of which costs
    private_kept: int  # of them are read, the last ones; F16 reads the final sample


FULL = Effort((0.1, 0.5, 2.0, 10.0), 10, 10, 4, 75, 75, 5, 1)
QUICK = Effort((1.0,), 1, 10, 2, 4, 8, 1, 1)


@final
@dataclass(frozen=True)
class CellSplit:
    """One random division of the cells, counted."""

    index: int
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    records: int
    held_out: int
    missing: NDArray[np.bool_]  # (regions, months): the cells held out

    @classmethod
    def of(cls, log: EventLog, index: int, seed: int) -> CellSplit:
        """Hold out a uniform random tenth of all pairs (region, month), whether they have records or not."""
        shape = (log.sizes[CHAIN], log.sizes[STEP])
        order = np.random.default_rng([seed, index]).permutation(shape[0] * shape[1])
        missing = (order < round(HELD_OUT * order.size)).reshape(shape)
        held = missing[log.codes[CHAIN], log.codes[STEP]]
        held_out = int(held.sum())
        return cls(index, log.counts(~held), log.counts(held), len(log) - held_out, held_out, missing)

    @classmethod
    def none(cls, log: EventLog) -> CellSplit:
        """All records, nothing held out."""
        shape = (log.sizes[CHAIN], log.sizes[STEP])
        return cls(0, log.counts(), log.counts(), len(log), len(log), np.zeros(shape, dtype=bool))


def model_of(log: EventLog, states: int) -> HiddenMarkov:
    """K states; one chain a region, one step a month, five features; uniform priors, as in F16 §5."""
    return HiddenMarkov(states=states, chain=CHAIN, step=STEP, features=tuple(FEATURES)).bind(log.sizes)


def points(effort: Effort) -> list[tuple[int, int, str, float]]:
    """(split, states, method, ε) of everything that is fitted; one state is naive Bayes without a label."""
    private = [(method, epsilon) for epsilon in effort.epsilons for method in (*READINGS, "ops")]
    every = [("exact", math.inf), *private]
    return [
        (split, states, *one)
        for split in range(effort.splits)
        for states in (effort.states, 1)
        for one in every
    ]


def rows(log: EventLog, seed: int, effort: Effort) -> Iterator[tuple[object, ...]]:
    """One row a fit, in the order of `points`; all of one split's fits see the same records."""
    split = CellSplit.of(log, 0, seed)
    for index, states, method, epsilon in points(effort):
        if index != split.index:
            split = CellSplit.of(log, index, seed)
        model = model_of(log, states)
        draws = _source(seed, index, states, method, epsilon)
        found = METHODS[method](split, model, epsilon, effort, draws)
        held = int(split.missing.sum()), split.held_out
        yield (states, method, epsilon, index, *held, *summary(found, split), *_chains(found))


def _source(seed: int, split: int, states: int, method: str, epsilon: float) -> Source:
    """Noise is the same for both readings of one release, and independent between all else."""
    of = "noisy" if method in READINGS else method
    return SeededSource(hash_of(f"{seed}/{split}/{states}/{of}/{epsilon}"))


def hash_of(text: str) -> int:
    """Return a number for a name, the same on every machine."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def summary(found: HiddenMarkovPosterior, split: CellSplit) -> tuple[float, float, float]:
    """Held-out log-likelihood a record by the likeliest chain, by the worst and by the best of them."""
    each = found.log_predictive(split.test) / split.held_out
    return float(each[found.modes[0][0]]), float(each.min()), float(each.max())


def _chains(found: HiddenMarkovPosterior) -> tuple[int, int, float]:
    """One chain has nobody to agree with."""
    chains = len(found.z)
    return chains, len(found.modes), float(found.agreement.min()) if chains > 1 else math.nan


# --- the methods; each gets the split, the model, ε, and a source ------------
def exact(
    split: CellSplit, model: HiddenMarkov, epsilon: float, effort: Effort, source: Source
) -> HiddenMarkovPosterior:
    """Without privacy."""
    _ = epsilon
    return _fit(split.train, split, model, "exact", effort, source)


def noisy(reading: str) -> Callable[..., HiddenMarkovPosterior]:
    """Discrete Laplace noise on all cells, ε split evenly over the features; then one of the readings."""

    def fitted(
        split: CellSplit, model: HiddenMarkov, epsilon: float, effort: Effort, source: Source
    ) -> HiddenMarkovPosterior:
        mechanism = NoisyCounts.calibrate(model, n=split.records, target=PureDP(epsilon))
        return _fit(mechanism.release(split.train, source), split, model, reading, effort, source)

    return fitted


def ops(
    split: CellSplit, model: HiddenMarkov, epsilon: float, effort: Effort, source: Source
) -> HiddenMarkovPosterior:
    """Run truncated, tempered Gibbs on the exact counts; one chain, for a second would cost as much again.

    Cells held out have no records left: nothing of them is read, and their states follow their neighbours.
    """
    steps = effort.private_sweeps if model.states > 1 else 1
    kernel = calibrate(HiddenMarkovGibbs(model), steps=steps, chains=1, target=PureDP(epsilon))
    made = run(ChainPlan(kernel, steps, 1), split.train, source=source)
    return read(made, burn=max(steps - effort.private_kept, 0), missing=split.missing)


def _fit(  # noqa: PLR0917 - what a method gets, and what it read
    counts: NoisyCells | NDArray[Any],
    split: CellSplit,
    model: HiddenMarkov,
    reading: str,
    effort: Effort,
    source: Source,
) -> HiddenMarkovPosterior:
    chains = effort.chains if model.states > 1 else 1
    return fit(
        counts,
        model,
        reading=reading,
        missing=split.missing,
        chains=chains,
        burn=effort.burn,
        sweeps=effort.sweeps,
        source=source,
        progress=False,
    )


METHODS: dict[str, Callable[..., HiddenMarkovPosterior]] = {
    "exact": exact,
    **{reading: noisy(reading) for reading in READINGS},
    "ops": ops,
}
