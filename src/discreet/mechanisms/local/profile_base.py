"""What profile mechanisms share: a randomised map for each profile, verified exactly, drawn exactly [GC19].

Every probability that is drawn is a multiple of 2^-53, so that one 64-bit word decides exactly, and the
promise is of the very numbers drawn: what was verified, not what was asked for.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.mechanism import Mechanism
from discreet.privacy.amplification.mixing import Row
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.bounded_loss import PureDP
from discreet.privacy.guarantee import Unreachable
from discreet.privacy.profile_graph import ProfileGraph
from discreet.sampling.source import SYSTEM, Source

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


GRID = 2**53
ONE = Fraction(1)
INSIDE = 1e-9  # by how much, relatively, a solver is kept away from e^ε
NOTHING = 2.0**-1000  # the promise of a graph whose outputs agree on every edge


class Kernels(ABC):
    """One Markov kernel for each profile, of probabilities that can be drawn exactly."""

    @abstractmethod
    def outputs(self, profiles: Sequence[Row]) -> tuple[Row, ...]:
        """P_i A_i for each profile, exactly."""

    @abstractmethod
    def matrix(self, place: int) -> Floats:
        """A_i(x, y) as doubles."""

    @abstractmethod
    def drawn(self, place: int, values: Integers, source: Source) -> Integers:
        """Released values of observations of one profile."""

    @abstractmethod
    def blended(self, constant: Row, share: Fraction) -> Kernels:
        """(1 − share)·A_i + share·(forget, and draw from the constant law), on the grid."""


@dataclass(frozen=True)
class ProfileMechanism(Mechanism):
    """An observation of a known profile ↦ a released value. One observation may be released once."""

    graph: ProfileGraph
    kernels: Kernels

    @classmethod
    @abstractmethod
    def solve(cls, graph: ProfileGraph, epsilon: Exact) -> Self:
        """Find the kernels that change least and keep ε on every edge."""

    @cached_property
    def outputs(self) -> tuple[Row, ...]:
        """q_i: the law of what is released for each profile, exactly."""
        return self.kernels.outputs(self.graph.profiles)

    @cached_property
    def guarantee(self) -> PureDP:
        """ε as verified on every edge in rational arithmetic; independent observations add up."""
        return PureDP(self.graph.loss(self.outputs) or NOTHING, relation=self.graph.relation)

    def release(self, value: ArrayLike, source: Source | None = None, *, profile: str | int = 0) -> Any:  # noqa: ANN401
        """Randomise observations (0 … d−1) of one profile, each on its own."""
        place = self.graph.place(profile)
        observed = np.asarray(value)
        if observed.dtype.kind not in "iub" or (
            observed.size and not (observed.min() >= 0 and observed.max() < self.graph.values)
        ):
            raise ValueError(f"observations must be integers from 0 to {self.graph.values - 1}, as declared")
        flat = observed.reshape(-1).astype(np.int64, copy=False)
        return self.kernels.drawn(place, flat, source or SYSTEM).reshape(observed.shape)[()]

    def corruption(self) -> Floats:
        """P(released ≠ observed), for each profile."""
        laws = np.array([[float(p) for p in law] for law in self.graph.profiles])
        return 1 - np.array([law @ np.diag(self.kernels.matrix(i)) for i, law in enumerate(laws)])

    @property
    def largest_error(self) -> float:
        """Return max A_i(x, y) over x ≠ y, the cost that the paper minimises."""
        whole = [self.kernels.matrix(i) for i in range(len(self.graph.profiles))]
        return float(max((m - np.diag(np.diag(m))).max() for m in whole))


def settled(graph: ProfileGraph, kernels: Kernels, epsilon: Exact) -> Kernels:
    """Verify exactly, and repair what a solver's rounding missed by mixing in a little forgetting."""
    laws = kernels.outputs(graph.profiles)
    if graph.loss(laws) <= epsilon:
        return kernels
    k = len(laws)
    centre = on_grid([sum(column, Fraction(0)) / k for column in zip(*laws, strict=True)])
    for power in range(-45, 1, 2):
        repaired = kernels.blended(centre, min(Fraction(2) ** power, ONE))
        if graph.loss(repaired.outputs(graph.profiles)) <= epsilon:
            return repaired
    return kernels.blended(centre, ONE)


def wanted(epsilon: Exact) -> float:
    """Check the target; a solver is asked for a little less, so that its rounding stays inside."""
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon must be positive and finite, got {epsilon}")
    return math.exp(float(epsilon)) * (1 - INSIDE)


def on_grid(law: Sequence[Exact]) -> Row:
    """Round a law to multiples of 2^-53 that sum to 1; what is cut goes to its largest entry."""
    ratios = (max(p, 0).as_integer_ratio() for p in law)
    cut = [above * GRID // below for above, below in ratios]
    largest = max(range(len(cut)), key=cut.__getitem__)
    cut[largest] += GRID - sum(cut)
    if not 0 <= cut[largest] <= GRID:
        raise Unreachable(
            "the solver's answer is not a probability law: these profiles are too badly scaled for it"
        )
    return tuple(Fraction(c, GRID) for c in cut)


def blend(law: Row, constant: Row, share: Fraction) -> Row:
    return on_grid([(1 - share) * p + share * c for p, c in zip(law, constant, strict=True)])


def chosen(law: Sequence[Fraction], words: NDArray[np.uint64]) -> Integers:
    """One exact draw from the law for each word: value y where word/2^64 falls into its part of [0, 1)."""
    support = [y for y, p in enumerate(law) if p > 0]
    ends = list(itertools.accumulate(law[y] for y in support))[:-1]
    cuts = np.array([int(end * 2**64) for end in ends], dtype=np.uint64)
    return np.array(support, dtype=np.int64)[np.searchsorted(cuts, words, side="right")]
