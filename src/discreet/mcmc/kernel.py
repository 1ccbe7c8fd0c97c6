"""What a Kernel is: a Markov step that looks at private counts, with its guarantee. No budget, no rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.accounting.composition import repeat
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation
from discreet.privacy.kinds import BoundedRange, MixedRange
from discreet.sampling.source import Source

State: TypeAlias = NDArray[np.float64]  # released: each entry a short dyadic double
Counts: TypeAlias = NDArray[np.int64]  # private: how many records lie in each cell

BITS = 128


@dataclass(frozen=True, kw_only=True)
class Kernel(ABC):
    """(init, step), pure functions of their arguments, the random source among them.

    Every state is released, so the guarantee of k steps is that of k adaptive releases. The counts are an
    argument and never kept: a kernel is public. `temperature` divides the log-likelihood.
    """

    name: ClassVar[str]
    theorem: ClassVar[str]  # what proves the guarantee, cited

    temperature: Exact = field(default=1)
    relation: Relation = SUBSTITUTE

    no_posterior: ClassVar[str] = ""  # why its runs are not read as draws, in the words that users are shown

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """What is counted; `count_tables` says how."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Return the number of codes of each column."""

    @property
    def count_tables(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(by, features): each feature is counted within `by`; all columns jointly unless said."""
        return self.columns[:-1], self.columns[-1:]

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Return a name for each entry of the state."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What ONE step promises, from every state."""

    @abstractmethod
    def init(self, source: Source) -> State:
        """Draw a start without looking at the data."""

    @abstractmethod
    def step(self, state: State, counts: Counts, source: Source) -> State:
        """Draw the next state exactly from its law given the counts."""

    def told(self, draws: State) -> tuple[tuple[str, ...], State]:
        """Name what is averaged and compared over chains, (chains, steps, quantities): numbers, no labels."""
        return self.labels, draws

    def spent(self, steps: int) -> Guarantee:
        """Return what the first `steps` steps of one chain promise together."""
        return repeat(self.guarantee, steps)

    @property
    def length(self) -> int | None:
        """How many steps a run has, where the kernel fixes that."""
        return None

    @property
    def memoryless(self) -> bool:
        """Whether a released state and the counts are all that a step needs: any process may go on."""
        return True

    def at(self, temperature: Exact) -> Self:
        """Return the same kernel, hotter or colder."""
        return replace(self, temperature=temperature)

    def arranged(self, counts: Counts, source: Source) -> Counts:  # noqa: ARG002 - some shuffle
        """Return what `step` is given for these counts, once a run. Private as they are."""
        return self.check(counts)

    def check_size(self, n: int | None) -> None:  # noqa: B027 - most kernels run on any size
        """Refuse a table of another public size than the kernel was built for, before anything is paid."""

    # --- checks shared by all kernels ------------
    @cached_property
    def heat(self) -> Fraction:
        """Return T exactly."""
        return Fraction(self.temperature)

    @property
    def cells(self) -> int:
        """How many counts there are, feature after feature, the last column fastest."""
        sizes, (by, features) = dict(zip(self.columns, self.shape, strict=True)), self.count_tables
        return prod(sizes[name] for name in by) * sum(sizes[name] for name in features)

    def check(self, counts: Counts) -> Counts:
        """Return the counts as integers, or refuse; no value is shown."""
        flat = np.asarray(counts)
        if flat.shape != (self.cells,) or flat.dtype.kind not in "iu" or flat.min() < 0:
            raise ValueError(f"the counts must be {self.cells} integers of at least 0")
        return flat.astype(np.int64)


def check_temperature(kernel: Kernel) -> None:
    try:
        hot = Fraction(kernel.temperature) > 0
    except (TypeError, ValueError, OverflowError):
        hot = False
    if not hot:
        raise ValueError(
            f"temperature must be a number above 0 (1 is the posterior itself), got {kernel.temperature!r}"
        )


def bounded_range(length: Fraction, relation: Relation) -> BoundedRange:
    """Round the length of the interval that holds the privacy loss up to a double."""
    with precision(BITS):
        return BoundedRange(ceiling(ball(length)), relation=relation)


def mixed_range(length: Fraction, relation: Relation) -> MixedRange:
    """Say the same of a step whose interval moves with a coin that no data moves, such as a proposal."""
    return MixedRange(bounded_range(length, relation).loss, relation=relation)
