"""The noise-aware reading of a network table by table: counts drawn exactly, no chain, whatever the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from discreet.families.family import Floats, credible
from discreet.mechanisms.statistics.noisy_tables import NoisyCells
from discreet.models.bayes_net import BayesianNetwork
from discreet.posteriors.counts.dirichlet_draws import dirichlet_draws
from discreet.posteriors.counts.nested_counts import NestedProblem, NoisyTable, draw
from discreet.posteriors.network.posterior import AT_ONCE, NetworkPosterior, tables
from discreet.posteriors.network.queries import Records, cells_of, marginal
from discreet.posteriors.noise_law import NoiseLaw
from discreet.posteriors.posterior import Diagnostics, generator
from discreet.sampling.source import Source

DRAWS = 500
DENSE = 4000  # draws of θ that intervals are read from


@final
@dataclass(frozen=True, eq=False, repr=False)
class NetworkCounts(NetworkPosterior):
    """Mixture over draws of the counts: given them, every row of every table is Dirichlet, independently."""

    model: BayesianNetwork
    counts: NDArray[np.float32]  # (draws, cells)
    notes: tuple[str, ...] = ()
    reading: str = "noise_aware"

    @property
    def cautions(self) -> tuple[str, ...]:
        return self.notes

    @property
    def diagnostics(self) -> Diagnostics:
        size = len(self.counts)
        return Diagnostics("independent draws of the counts, table by table", draws=size, ess=float(size))

    @cached_property
    def _shapes(self) -> Floats:
        return float(self.model.prior) + self.counts.astype(np.float64)

    def _rows(self, flat: Floats) -> Floats:
        """Add up every row, and say it at each of its cells."""
        each = (
            np.broadcast_to(t.sum(axis=-1, keepdims=True), t.shape) for t in tables(self.model, flat).values()
        )
        return np.concatenate([t.reshape(len(flat), -1) for t in each], axis=1)

    @cached_property
    def _means(self) -> Floats:
        """E(θ | counts) for each draw of them."""
        return np.asarray(self._shapes / self._rows(self._shapes))

    def flat_mean(self) -> Floats:
        return np.asarray(self._means.mean(axis=0))

    def flat_variance(self) -> Floats:
        """Return the mean of the variances and the variance of the means."""
        m = self._means
        within = m * (1 - m) / (self._rows(self._shapes) + 1)
        return np.asarray(within.mean(axis=0) + m.var(axis=0))

    def flat_interval(self, level: float) -> Floats:
        return np.quantile(self._dense, credible(level), axis=0).T.astype(np.float64)

    @cached_property
    def _dense(self) -> NDArray[np.float32]:
        """As many draws of θ as intervals need; the same each time."""
        rng = np.random.default_rng(len(self.counts))
        times = max(1, DENSE // len(self.counts))
        parts = [self._drawn(self._shapes, rng).astype(np.float32) for _ in range(times)]
        return np.concatenate(parts)

    def _drawn(self, shapes: Floats, rng: np.random.Generator) -> Floats:
        each = (
            dirichlet_draws(t, rng).reshape(len(shapes), int(np.prod(t.shape[1:])))
            for t in tables(self.model, shapes).values()
        )
        return np.concatenate(list(each), axis=1)

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        rng = generator(source)
        return self._drawn(self._shapes[rng.integers(len(self.counts), size=size)], rng)

    def log_predictive(self, records: Records) -> Floats:
        """Take the mean over draws of ∏E(θ | counts): a record reads one row of each node."""
        logs, cells = np.log(self._means), cells_of(self.model, records)
        step = max(1, AT_ONCE // len(logs))
        parts = [
            logsumexp(sum(logs[:, cell] for cell in cells[i : i + step].T), axis=0)
            for i in range(0, len(cells), step)
        ]
        return np.asarray(np.concatenate(parts) - np.log(len(logs)))

    def marginal(self, columns: Sequence[str]) -> Floats:
        return np.asarray(marginal(self.model, self._means, columns).mean(axis=0))


def by_table(
    cells: NoisyCells, model: BayesianNetwork, rng: np.random.Generator, draws: int = DRAWS
) -> NDArray[np.float32]:
    """Draw the counts of each table given its own noisy ones, all cells alike a priori: rows sum to n."""
    parts, alpha = [], float(model.prior)
    for table, scale in zip(cells.tables().values(), cells.scales, strict=True):
        law = NoiseLaw(cells.noise, float(scale))
        one = NoisyTable(table.reshape(1, -1).astype(np.float64), law, alpha)
        _, (counts,) = draw(NestedProblem((one,), table.size * alpha, cells.n), draws, rng)
        parts.append(counts.reshape(draws, -1).astype(np.float32))
    return np.concatenate(parts, axis=1)
