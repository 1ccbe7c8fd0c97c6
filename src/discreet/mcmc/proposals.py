"""Symmetric walks: q(θ'|θ) = q(θ|θ'). They never see data, and their longest step is public."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np

from discreet.mcmc.kernel import State
from discreet.privacy.arithmetic.ball import Exact
from discreet.sampling import exact
from discreet.sampling.checked_arguments import dyadic_grid
from discreet.sampling.source import Source


@dataclass(frozen=True)
class Walk(ABC):
    """A proposal, each entry moved by at most `width`, in multiples of a public grid."""

    width: Exact
    grid: Exact = Fraction(1, 2**32)

    def __post_init__(self) -> None:
        step = dyadic_grid(self.grid)
        if not Fraction(self.width) >= step:
            raise ValueError(f"width must be at least the grid {step}, got {self.width!r}")

    @abstractmethod
    def propose(self, state: State, source: Source) -> State: ...

    def shift(self, source: Source) -> float:
        """Uniform on the multiples of the grid within ±width."""
        drawn = int(exact.uniform_integers(source, 2 * self._most + 1, 1)[0]) - self._most
        return drawn * float(self.grid)  # the grid is a power of two

    @cached_property
    def _most(self) -> int:
        return int(Fraction(self.width) / Fraction(self.grid))


@final
@dataclass(frozen=True)
class SimplexWalk(Walk):
    """Give from one entry of a probability vector to another; the sum stays what it is."""

    def propose(self, state: State, source: Source) -> State:
        i = int(exact.uniform_integers(source, state.size, 1)[0])
        j = (i + 1 + int(exact.uniform_integers(source, state.size - 1, 1)[0])) % state.size
        moved, amount = state.copy(), self.shift(source)
        moved[i] += amount
        moved[j] -= amount
        return moved


@final
@dataclass(frozen=True)
class CoordinateWalk(Walk):
    """Move one coordinate of a vector."""

    def propose(self, state: State, source: Source) -> State:
        i = int(exact.uniform_integers(source, state.size, 1)[0])
        moved = np.array(state)
        moved[i] += self.shift(source)
        return moved
