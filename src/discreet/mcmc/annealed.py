"""Annealed importance sampling, every transition and the weights private."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, final

import numpy as np

from discreet.mcmc.barker import Barker
from discreet.mcmc.kernel import Counts, State, check_temperature
from discreet.mcmc.random_walk import Targeted
from discreet.mcmc.running.endings import Ending, Resampled
from discreet.mcmc.target import weighed
from discreet.privacy.accounting.composition import compose_counted, parallel
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee
from discreet.sampling.source import Source


@final
@dataclass(frozen=True, kw_only=True)
class AnnealedImportance(Targeted):
    """θ₀ ~ p₀; for each β_j: w ← w·p(n|θ)^{β_j − β_{j−1}}, a Barker move under p₀ p(n|θ)^{β_j} [Neal 2001].

    A move at β_j = ε_j/(2Δ) costs ε_j, each particle pays [F16 suppl. C.2]; one more step draws weights.
    One record moves each ln w_s by at most β_J·Δ either way. The state holds the whole released path, from
    which the private weights are computed when they leave, so nothing private is carried along.
    """

    name: ClassVar[str] = "annealed_importance"
    theorem: ClassVar[str] = (
        "F16 suppl. C.2; moves: barker; weights: DMNS06 on the simplex, or DDR20 Lemma 3.2"
    )

    no_posterior: ClassVar[str] = (
        "a run of annealed_importance ends in weighted particles, which are not draws: take them, with their "
        "weights, from .draws"
    )

    inverse_temperatures: tuple[Exact, ...]  # β₁ < … < β_J
    particles: int
    moves: int = 1  # at each β_j
    ending: Ending = field(default_factory=Resampled)

    def __post_init__(self) -> None:
        check_temperature(self)
        ladder = [Fraction(0), *(Fraction(b) for b in self.inverse_temperatures)]
        if len(ladder) < 2 or any(not a < b for a, b in pairwise(ladder)):
            raise ValueError(
                f"inverse temperatures must rise from above 0, got {tuple(self.inverse_temperatures)}"
            )
        if min(self.particles, self.moves) < 1:
            raise ValueError("annealing needs at least one particle and one move at each temperature")

    @property
    def labels(self) -> tuple[str, ...]:
        levels = range(len(self.betas) + 1)
        path = [f"{x}@{j}.{s}" for j in levels for s in range(self.particles) for x in self.target.labels]
        return ("level", *path, *(f"weight.{s}" for s in range(self.particles)))

    # --- what it costs ------------
    @property
    def betas(self) -> tuple[Fraction, ...]:
        """β_j/T, exactly."""
        return tuple(Fraction(b) / self.heat for b in self.inverse_temperatures)

    def mover(self, beta: Fraction) -> Barker:
        return Barker(target=self.target, walk=self.walk, temperature=1 / beta, relation=self.relation)

    @property
    def length(self) -> int:
        return len(self.betas) + 1

    @property
    def weight_range(self) -> Fraction:
        """β_J·2Δ, or β_J·Δ where a record is added or removed."""
        return self.betas[-1] * self.target.spread * (2 if self.relation.replaces else 1)

    def spent(self, steps: int) -> Guarantee:
        times = self.particles * self.moves
        parts = [(self.mover(b).guarantee, times) for b in self.betas[:steps]]
        last = self.ending.parts(self.weight_range, self.particles, self.relation)
        return compose_counted([*parts, *(last if steps >= self.length else [])])

    @property
    def guarantee(self) -> Guarantee:
        """The costliest of the steps; `spent` adds what each of them costs."""
        times = self.particles * self.moves
        last = compose_counted(self.ending.parts(self.weight_range, self.particles, self.relation))
        return parallel(*(compose_counted([(self.mover(b).guarantee, times)]) for b in self.betas), last)

    # --- the pair ------------
    def init(self, source: Source) -> State:
        state = np.full(len(self.labels), np.nan)
        state[0] = 0
        first = np.stack([self.target.start(source) for _ in range(self.particles)])
        self.path(state)[0] = first
        return state

    def step(self, state: State, counts: Counts, source: Source) -> State:
        after, level = state.copy(), int(state[0])
        if level >= self.length:
            raise ValueError("the weights are released: this run is over")
        after[0] = level + 1
        if level < len(self.betas):
            mover = self.mover(self.betas[level])
            for s, particle in enumerate(self.path(state)[level]):
                for _ in range(self.moves):
                    particle = mover.step(particle, counts, source)  # noqa: PLW2901 - the chain itself
                self.path(after)[level + 1, s] = particle
        else:
            after[-self.particles :] = self.ending.weights(
                self.private_log_weights(state, counts), self.relation, source
            )
        return after

    def path(self, state: State) -> State:
        """Levels × particles × entries, as a view."""
        return state[1 : -self.particles].reshape(len(self.betas) + 1, self.particles, -1)

    def private_log_weights(self, state: State, counts: Counts) -> list[Fraction]:
        """Σ_j (β_j − β_{j−1}) Σ_c n_c ℓ(c, θ_{j−1,s}), exactly. PRIVATE: only an ending may see it."""
        ladder, path = (Fraction(0), *self.betas), self.path(state)
        rises = [b - a for a, b in pairwise(ladder)]
        return [
            sum(
                (
                    rise * weighed(counts, self.target.log_likelihoods(path[j, s]))
                    for j, rise in enumerate(rises)
                ),
                Fraction(0),
            )
            for s in range(self.particles)
        ]

    def released(self, state: State) -> tuple[State, State]:
        """Return the last particles and their weights, once a run is over."""
        return self.path(state)[-1], state[-self.particles :]
