"""A noise-aware posterior that is held as draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import Family, Floats
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.posteriors.base import NoiseAware
from discreet.posteriors.labels import Labels
from discreet.posteriors.posterior import Diagnostics, Sampled


@singledispatch
def declared(prior: Family, labels: Labels) -> tuple[str, ...]:
    """Say what the declared columns alone give reason for."""
    del prior, labels
    return ()


@declared.register(BayesianLinearRegression)
def _declared_linear_regression(prior: BayesianLinearRegression, labels: Labels) -> tuple[str, ...]:
    """Look for a line through 0, and for rows beyond the radius, of columns that are read as they are."""
    ends = [labels.range_of(name) for name in labels.columns]
    if prior.named is not None or not ends or None in ends:
        return ()
    known = [end for end in ends if end is not None]
    said = [] if any(map(labels.constant, labels.columns[:-1])) else [THROUGH_0]
    longest, radius = float(np.sqrt(sum(max(low**2, high**2) for low, high in known))), float(prior.radius)
    if longest > radius * (1 + 1e-9):
        said.append(BEYOND.format(longest=longest, radius=radius))
    return tuple(said)


THROUGH_0 = (
    "no column is constant, so the line goes through 0: give the model target= and features=, which add an "
    "intercept, or derive a constant column"
)
BEYOND = (
    "the public bounds allow rows as long as {longest:.3g}, and the radius is {radius:.3g}: longer rows are "
    "scaled down to it, and count for less; target= and features= scale columns to [−1, 1] and choose a "
    "radius"
)
LINES = 2**20  # observations × draws of a predictive that are in memory at once


@final
@dataclass(frozen=True, eq=False, repr=False)
class SampledPosterior(Sampled, NoiseAware):
    """Draws (chains, draws, θ) of θ | Ŝ, n along with them where it is private."""

    prior: Family
    draws: Floats
    size: NDArray[Any] | None  # draws of n, (chains, draws); None where n is public
    computed: Diagnostics
    said: tuple[str, ...] = ()  # its cautions

    @property
    def diagnostics(self) -> Diagnostics:
        return self.computed

    @property
    def cautions(self) -> tuple[str, ...]:
        return (*self.said, *declared(self.prior, self.labels)) or super().cautions

    def chains(self) -> Floats:
        return self.draws

    def log_predictive(self, x: ArrayLike) -> Floats:
        """Log of the average of p(x|θ) over the draws."""
        observed = np.asarray(x, dtype=np.float64)
        held = self._all()
        row = np.shape(self.prior.log_likelihood(observed, held[0]))
        cells = observed.reshape(int(np.prod(row)), *observed.shape[len(row) :])
        parts = np.array_split(cells, max(1, len(cells) * len(held) // LINES))
        done = [
            np.logaddexp.reduce(self.prior.log_likelihood(part[None], held[:, None]), axis=0)
            for part in parts
        ]
        return np.asarray(np.concatenate(done).reshape(row) - np.log(len(held)))
