"""How the importance weights of an annealed run leave."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from discreet.mcmc.kernel import State, bounded_range
from discreet.mechanisms.choice.exponential import softmax
from discreet.mechanisms.noise.laplace import DiscreteLaplace
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.sampling import exact
from discreet.sampling.source import Source, nearest

WEIGHT_BITS = 20  # released weights are multiples of 2⁻²⁰


@dataclass(frozen=True)
class Ending(ABC):
    """How the importance weights leave."""

    @abstractmethod
    def parts(self, loss: Fraction, particles: int, relation: Relation) -> list[tuple[Guarantee, int]]:
        """Promises and how often; one record changes differences of log weights within a range `loss`."""

    @abstractmethod
    def weights(self, log_weights: Sequence[Fraction], relation: Relation, source: Source) -> State: ...


@final
@dataclass(frozen=True)
class Resampled(Ending):
    """Choose particles with P(s) ∝ w_s, an exponential mechanism: each choice has range β_J·2Δ."""

    choices: int = 1

    def parts(self, loss: Fraction, particles: int, relation: Relation) -> list[tuple[Guarantee, int]]:  # noqa: ARG002
        return [(bounded_range(loss, relation), self.choices)]

    def weights(self, log_weights: Sequence[Fraction], relation: Relation, source: Source) -> State:  # noqa: ARG002
        chosen = exact.categorical(source, list(log_weights), self.choices)
        return np.bincount(chosen, minlength=len(log_weights)) / self.choices


@final
@dataclass(frozen=True)
class NoisyWeights(Ending):
    """w̄ + Laplace: two points of the simplex are at most 2 apart in L1, whatever the data [F16 suppl. C.2].

    w̄ is rounded to 2⁻²⁰ first, which can add one unit for each particle. Negative entries are left as they
    are: whoever averages with them may project.
    """

    epsilon: Exact

    def mechanism(self, particles: int, relation: Relation) -> DiscreteLaplace:
        distance = 2 * 2**WEIGHT_BITS + particles
        return DiscreteLaplace(distance, distance / Fraction(self.epsilon), relation=relation)

    def parts(self, loss: Fraction, particles: int, relation: Relation) -> list[tuple[Guarantee, int]]:  # noqa: ARG002
        return [(self.mechanism(particles, relation).guarantee, 1)]

    def weights(self, log_weights: Sequence[Fraction], relation: Relation, source: Source) -> State:
        shares = [self._share(log_weights, s) for s in range(len(log_weights))]
        noisy = self.mechanism(len(shares), relation).release(np.array(shares, dtype=np.int64), source)
        return np.ldexp(np.asarray(noisy, dtype=np.float64), -WEIGHT_BITS)

    @staticmethod
    def _share(log_weights: Sequence[Fraction], s: int) -> int:
        """Round w̄_s to whole units, decided on the ideal real."""
        return nearest(lambda: softmax(log_weights)[s] * 2**WEIGHT_BITS)
