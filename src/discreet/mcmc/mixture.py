"""Finite mixtures of products of categorical columns: what Gibbs kernels over them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.mcmc.kernel import Counts, State
from discreet.mcmc.simplex import truncated_simplex
from discreet.mcmc.target import UNIT, in_units
from discreet.privacy.arithmetic.ball import Exact, ceiling, settle
from discreet.privacy.worst_pairs.tempered_posterior import log_odds_range
from discreet.sampling import exact
from discreet.sampling.source import Source


@final
@dataclass(frozen=True, kw_only=True)
class Mixture:
    """p(x) = Σ_k π_k Π_d θ_{k,d,x_d}; π ~ Dirichlet(weight), θ_{k,d} ~ Dirichlet(emission), all truncated.

    A simplex of J entries is truncated at truncation/J, so one number serves all. With one class it is naive
    Bayes without a label; the state is (π, θ_{1,1,·}, θ_{1,2,·}, …), flat.
    """

    classes: int
    columns: tuple[str, ...]
    shape: tuple[int, ...]
    truncation: Exact
    weight: Exact = 1
    emission: Exact = 1

    def __post_init__(self) -> None:
        if self.classes < 1 or len(self.columns) != len(self.shape) or not self.shape:
            raise ValueError("a mixture needs at least one class and one size for each of its columns")
        if len(set(self.columns)) != len(self.columns) or min(self.shape) < 2:
            raise ValueError(f"columns must differ and have at least two codes each, got {self.shape}")
        if not 0 < Fraction(self.truncation) < 1:
            raise ValueError(
                f"truncation must lie strictly between 0 and 1 (J entries are cut at truncation/J), "
                f"got {self.truncation!r}"
            )
        if not (Fraction(self.weight) > 0 and Fraction(self.emission) > 0):
            raise ValueError("the priors' entries must be above 0")

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Sizes of the simplices behind the state."""
        return (self.classes, *(size for _ in range(self.classes) for size in self.shape))

    @property
    def labels(self) -> tuple[str, ...]:
        weights = [f"weight[{k}]" for k in range(self.classes)]
        entries = [
            f"{column}[{k},{x}]"
            for k in range(self.classes)
            for column, size in zip(self.columns, self.shape, strict=True)
            for x in range(size)
        ]
        return (*weights, *entries)

    def floor(self, size: int) -> Fraction:
        return Fraction(self.truncation) / size

    def spread(self, size: int) -> Fraction:
        """Δ = ln((1 − (J−1)a)/a) of a simplex of J entries, rounded up; 0 where there is one entry."""
        if size == 1:
            return Fraction(0)
        return Fraction(ceiling(settle(lambda: log_odds_range(self.floor(size), size))))

    # --- the state ------------
    def split(self, state: State) -> tuple[State, list[list[State]]]:
        """π and θ[k][d]."""
        ends = np.cumsum([0, *self.blocks])
        parts = [state[a:b] for a, b in pairwise(ends.tolist())]
        D = len(self.shape)
        return parts[0], [parts[1 + k * D : 1 + (k + 1) * D] for k in range(self.classes)]

    def told(self, draws: State) -> tuple[tuple[str, ...], State]:
        """Name what no renaming of the classes moves: sorted weights, means and deviations over them."""
        weights = draws[..., : self.classes]
        tables = draws[..., self.classes :].reshape(*draws.shape[:-1], self.classes, sum(self.shape))
        values = [f"{c}[{x}]" for c, k in zip(self.columns, self.shape, strict=True) for x in range(k)]
        names = (*(f"weight({k + 1})" for k in range(self.classes)), *over_classes(values))
        return names, np.concatenate([-np.sort(-weights, axis=-1), *moments(weights, tables)], axis=-1)

    def log_joint(self, state: State) -> NDArray[np.int64]:
        """Log π_k Π_d θ_{k,d,x_d} in units, one row a cell; integers, so that sums are exact."""
        weights, emissions = self.split(state)
        rows = []
        for k, log_weight in enumerate(in_units(np.log(weights))):
            row: NDArray[np.int64] = np.array([log_weight], dtype=np.int64)
            for entry in emissions[k]:
                row = np.add.outer(row, np.array(in_units(np.log(entry)), dtype=np.int64)).reshape(-1)
            rows.append(row)
        return np.stack(rows, axis=1)

    @staticmethod
    def responsibility(row: NDArray[np.int64], heat: Fraction) -> list[Fraction]:
        """Log weights of the classes for one cell of `log_joint`, over T."""
        return [int(unit) * UNIT / heat for unit in row]

    # --- what a sweep draws ------------
    def assigned(self, state: State, counts: Counts, heat: Fraction, source: Source) -> NDArray[np.int64]:
        """How many records of each cell fall to each class, P(k | c) ∝ (π_k Π_d θ_{k,d,c_d})^{1/T}."""
        joint = self.log_joint(state)
        found = np.zeros((self.cells, self.classes), dtype=np.int64)
        for c in np.flatnonzero(counts):
            drawn = exact.categorical(source, self.responsibility(joint[c], heat), int(counts[c]))
            found[c] = np.bincount(drawn, minlength=self.classes)
        return found

    def weights_given(self, sizes: NDArray[np.int64], heat: Fraction, source: Source) -> State:
        """π ~ Dirichlet(weight + N_k/T), truncated."""
        return self._simplex(Fraction(self.weight), sizes, heat, source)

    def emissions_given(self, found: NDArray[np.int64], heat: Fraction, source: Source) -> list[State]:
        """θ_{k,d} ~ Dirichlet(emission + N_{k,d,·}/T), truncated; `found` is cells × classes."""
        table = found.reshape(*self.shape, self.classes)
        axes = range(len(self.shape))
        return [
            self._simplex(
                Fraction(self.emission), table[..., k].sum(axis=tuple(set(axes) - {d})), heat, source
            )
            for k in range(self.classes)
            for d in axes
        ]

    def _simplex(self, prior: Fraction, counts: NDArray[np.int64], heat: Fraction, source: Source) -> State:
        alpha = [prior + int(count) / heat for count in counts]
        return truncated_simplex(alpha, self.floor(counts.size), source)

    def start(self, source: Source) -> State:
        """Draw from the prior: no count, no class."""
        none = np.zeros((self.cells, self.classes), dtype=np.int64)
        weights = self.weights_given(none.sum(axis=0), Fraction(1), source)
        return np.concatenate([weights, *self.emissions_given(none, Fraction(1), source)])


def over_classes(values: Sequence[str]) -> tuple[str, ...]:
    """Name what `moments` gives of these values."""
    return (*values, *(f"{value} between classes" for value in values))


def moments(weights: State, tables: State) -> tuple[State, State]:
    """Σ_k w_k θ_kj and (Σ_k w_k (θ_kj − mean)²)^½: no renaming of the classes moves them."""
    mean = np.einsum("...k,...kj->...j", weights, tables)
    square = np.einsum("...k,...kj->...j", weights, (tables - mean[..., None, :]) ** 2)
    return mean, np.sqrt(square)
