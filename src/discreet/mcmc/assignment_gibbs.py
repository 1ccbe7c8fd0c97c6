"""Gibbs through the exponential mechanism, with one released assignment for each record."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.mcmc.kernel import Counts, Kernel, State, bounded_range, check_temperature, mixed_range
from discreet.mcmc.mixture import Mixture
from discreet.mcmc.target import SLACK
from discreet.privacy.accounting.composition import compose
from discreet.privacy.amplification.mixing import visible_scan
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, NotProved
from discreet.sampling import exact
from discreet.sampling.source import Source


@final
@dataclass(frozen=True, kw_only=True)
class AssignmentGibbs(Kernel):
    """z_i | x_i, φ for Q of N records, π | z for free, θ | z, x; the state (z, π, θ) is released [F16 §4.1].

    An assignment reads its own record alone, so all of them together cost one: 2Δ_x/T, Δ_x = Σ_d Δ_d
    [McSherry 2009, parallel]. With z public a record belongs to one class, so the θ_{k,d} of all classes cost
    2Δ_d/T together. Who was chosen can be seen in z, hence visible_scan and NOT ln(1 + (Q/N)(e^ε − 1)).
    Records stand in a secret random order, drawn once by `arranged`. MixtureGibbs is cheaper; use it where
    assignments are not wanted.
    """

    name: ClassVar[str] = "assignment_gibbs"
    theorem: ClassVar[str] = "F16 §4.1: DDR20 Lemma 3.2, McSherry 2009 parallel composition; visible_scan"

    model: Mixture
    records: int  # N, public
    scan: int | None = None  # Q; None: all

    def __post_init__(self) -> None:
        check_temperature(self)
        if self.relation is not SUBSTITUTE:
            raise NotProved(
                "one assignment per record reveals how many there are: only SUBSTITUTE (n public) holds"
            )
        if self.records < 1 or not 1 <= self.chosen <= self.records:
            raise ValueError(f"a scan chooses between 1 and all of {self.records} records, got {self.scan}")

    @property
    def chosen(self) -> int:
        return self.records if self.scan is None else self.scan

    @property
    def columns(self) -> tuple[str, ...]:
        return self.model.columns

    @property
    def shape(self) -> tuple[int, ...]:
        return self.model.shape

    @property
    def labels(self) -> tuple[str, ...]:
        return (*(f"z[{i}]" for i in range(self.records)), *self.model.labels)

    @property
    def guarantee(self) -> Guarantee:
        spreads = [self.model.spread(size) for size in self.model.shape]
        blocks = [bounded_range(2 * s / self.heat, self.relation) for s in spreads]
        if self.model.classes == 1:
            return compose(*blocks)
        rounded = sum((s + SLACK for s in spreads), Fraction(0))  # responsibilities are in whole units
        one = mixed_range(2 * rounded / self.heat, self.relation)  # whose place is whose is a secret coin
        every = one if self.chosen == self.records else visible_scan(one, self.chosen, self.records)
        return compose(every, *blocks)

    def told(self, draws: State) -> tuple[tuple[str, ...], State]:
        """Of (π, θ) alone: which class a record is in has no mean."""
        return self.model.told(draws[..., self.records :])

    def init(self, source: Source) -> State:
        everyone = exact.uniform_integers(source, self.model.classes, self.records)
        return np.concatenate([everyone.astype(np.float64), self.model.start(source)])

    @property
    def memoryless(self) -> bool:
        """A full scan forgets z at once; a partial one needs the secret order, which is kept nowhere."""
        return self.chosen == self.records

    def check_size(self, n: int | None) -> None:
        if n != self.records:
            raise ValueError(f"the kernel is for {self.records} records, the table has {n}")

    def arranged(self, counts: Counts, source: Source) -> NDArray[np.int64]:
        """Return the cell of every record in a uniformly random order. PRIVATE, and kept in memory only."""
        order = np.repeat(np.arange(self.cells), self.check(counts))
        if order.size != self.records:
            raise ValueError("the counts do not add up to the public number of records")
        return order[permutation(order.size, source)]

    def step(self, state: State, counts: Counts, source: Source) -> State:
        """Take as `counts` what `arranged` made of them."""
        cells, z = counts, state[: self.records].astype(np.int64)
        joint = self.model.log_joint(state[self.records :])
        scanned = self._subset(source)
        for c in np.unique(cells[scanned]):  # records of one cell have one law
            mine = scanned[cells[scanned] == c]
            z[mine] = exact.categorical(source, self.model.responsibility(joint[c], self.heat), mine.size)
        found = np.zeros((self.cells, self.model.classes), dtype=np.int64)
        np.add.at(found, (cells, z), 1)
        weights = self.model.weights_given(found.sum(axis=0), self.heat, source)
        emissions = self.model.emissions_given(found, self.heat, source)
        return np.concatenate([z.astype(np.float64), weights, *emissions])

    def _subset(self, source: Source) -> NDArray[np.int64]:
        """Q different records, uniformly."""
        if self.chosen == self.records:
            return np.arange(self.records)
        return np.sort(permutation(self.records, source)[: self.chosen])


def permutation(size: int, source: Source) -> NDArray[np.int64]:
    """Sort by random keys, all different: given that, every order is equally likely, exactly."""
    while True:
        keys = source.words(size)
        order = np.argsort(keys, kind="stable")
        if (np.diff(keys[order]) > 0).all():
            return order
