"""A noise-aware posterior that is held as draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.families.family import credible
from discreet.posteriors.base import Diagnostics, NoiseAware

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.families.family import Family, Floats
    from discreet.sampling.source import Source

LINES = 2**20  # observations × draws of a predictive that are in memory at once


@final
@dataclass(frozen=True, eq=False, repr=False)
class SampledPosterior(NoiseAware):
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
        return self.said

    @property
    def _flat(self) -> Floats:
        return self.draws.reshape(-1, self.draws.shape[-1])

    def mean(self) -> Floats:
        return np.asarray(self._flat.mean(axis=0))

    def variance(self) -> Floats:
        return np.asarray(self._flat.var(axis=0))

    def interval(self, level: float) -> Floats:
        return np.asarray(np.quantile(self._flat, credible(level), axis=0).T)

    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        """Choose among the kept draws, evenly and with repetition."""
        from discreet.sampling.source import SYSTEM  # noqa: PLC0415

        words = (source or SYSTEM).words(size)
        return np.asarray(self._flat[(words % np.uint64(len(self._flat))).astype(np.int64)])

    def log_predictive(self, x: ArrayLike) -> Floats:
        """Log of the average of p(x|θ) over the draws."""
        observed = np.asarray(x, dtype=np.float64)
        row = np.shape(self.prior.log_likelihood(observed, self._flat[0]))
        cells = observed.reshape(int(np.prod(row)), *observed.shape[len(row) :])
        parts = np.array_split(cells, max(1, len(cells) * len(self._flat) // LINES))
        done = [
            np.logaddexp.reduce(self.prior.log_likelihood(part[None], self._flat[:, None]), axis=0)
            for part in parts
        ]
        return np.asarray(np.concatenate(done).reshape(row) - np.log(len(self._flat)))
