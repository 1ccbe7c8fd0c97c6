"""A noise-aware posterior that is held as draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import Family, Floats
from discreet.posteriors.base import NoiseAware
from discreet.posteriors.posterior import Diagnostics, Sampled

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
        return self.said or super().cautions

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
