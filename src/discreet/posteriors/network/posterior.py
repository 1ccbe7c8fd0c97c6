"""Posteriors of a Bayesian network: products of Dirichlets, and draws where there is no closed form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv, logsumexp

from discreet.families.family import Floats, Integers, credible
from discreet.models.bayes_net import BayesianNetwork
from discreet.posteriors.counts.dirichlet_draws import dirichlet_draws
from discreet.posteriors.drawn import DrawnPosterior
from discreet.posteriors.network.queries import Records, ancestral, log_probabilities, marginal
from discreet.posteriors.posterior import Diagnostics, Sampled, generator
from discreet.posteriors.tables import ProbabilityTable, TableAxis, TablePosterior
from discreet.sampling.source import SYSTEM, Source

Tables = dict[str, NDArray[Any]]


AT_ONCE = 2**22  # entries of a matrix draws × records


class NetworkPosterior(TablePosterior):
    """θ given what was released; a table (parents…, node) for each node. All of it is post-processing."""

    if TYPE_CHECKING:

        @property
        def model(self) -> BayesianNetwork: ...

    def layout(self) -> tuple[ProbabilityTable, ...]:
        axes = {name: TableAxis.of(self.labels, name, size) for name, size in self.model.size_of.items()}
        return tuple(
            ProbabilityTable(name, tuple(axes[c] for c in columns)) for name, columns in self.model.layout
        )

    @abstractmethod
    def log_predictive(self, records: Records) -> Floats:
        """Log posterior-predictive probability of each record; codes by column."""

    @abstractmethod
    def marginal(self, columns: Sequence[str]) -> Floats:
        """Posterior-predictive probability of the joint values of some columns, exact in the network."""

    def prior(self) -> NetworkDirichlet:
        """Return the same without data."""
        return NetworkDirichlet(self.model, np.full(self.model.size, float(self.model.prior)), "prior")

    def synthetic(self, size: int, source: Source | None = None) -> dict[str, Integers]:
        """Draw a network, then `size` records from it: a data set from the posterior predictive."""
        bits = source or SYSTEM
        network = self.model.split(self.flat_sample(1, bits)[0])
        return ancestral(self.model, network, size, generator(bits))

    def log_likelihood(self, records: Records) -> float:
        """Mean log predictive probability of held-out records."""
        return float(self.log_predictive(records).mean())


def tables(model: BayesianNetwork, flat: Floats) -> Tables:
    """Split the last axis into the tables of the network, in their shapes."""
    parts = np.split(flat, np.cumsum([cells.size for cells in model.cells])[:-1], axis=-1)
    each = zip(model.cells, parts, strict=True)
    return {cells.name: part.reshape(*flat.shape[:-1], *cells.shape) for cells, part in each}


def per_row(model: BayesianNetwork, flat: Floats) -> Floats:
    """Add up every row of every table, and say it at each of its cells."""
    return np.concatenate(
        [
            np.broadcast_to(t.sum(axis=-1, keepdims=True), t.shape).reshape(-1)
            for t in model.split(flat).values()
        ]
    )


@final
@dataclass(frozen=True, eq=False, repr=False)
class NetworkDirichlet(NetworkPosterior):
    """Every row of every table Dirichlet(prior + counts), independent: exact when the counts are."""

    model: BayesianNetwork
    concentrations: Floats  # flat
    reading: str

    def _share(self) -> Floats:
        return self.concentrations / per_row(self.model, self.concentrations)

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics("closed form")

    def flat_mean(self) -> Floats:
        return self._share()

    def flat_variance(self) -> Floats:
        share = self._share()
        return np.asarray(share * (1 - share) / (per_row(self.model, self.concentrations) + 1))

    def flat_interval(self, level: float) -> Floats:
        """Each entry is Beta(α_j, Σα − α_j)."""
        tail, rest = credible(level)[0], per_row(self.model, self.concentrations) - self.concentrations
        return np.stack([f(self.concentrations, rest, tail) for f in (betaincinv, betainccinv)], axis=-1)

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        rng = generator(source)
        shapes = np.broadcast_to(self.concentrations, (size, self.concentrations.size))
        each = (
            dirichlet_draws(t, rng).reshape(size, int(np.prod(t.shape[1:])))
            for t in tables(self.model, shapes).values()
        )
        return np.concatenate(list(each), axis=1)

    def log_predictive(self, records: Records) -> Floats:
        """E ∏θ = ∏Eθ: a record reads one row of each node, and rows are independent."""
        return log_probabilities(self.model, self._share(), records)

    def marginal(self, columns: Sequence[str]) -> Floats:
        return marginal(self.model, self._share(), columns)


@final
@dataclass(frozen=True, eq=False, repr=False)
class NetworkDraws(Sampled, NetworkPosterior):
    """Draws of θ by Markov chains, the noise accounted for."""

    model: BayesianNetwork
    draws: NDArray[np.float32]  # (chains, kept, cells)
    reading: str
    diagnostics: Diagnostics
    records: Integers  # n along the chains, (chains, kept); constant where n is public
    notes: tuple[str, ...] = ()

    @property
    def cautions(self) -> tuple[str, ...]:
        return self.notes

    def chains(self) -> NDArray[np.float32]:
        return self.draws

    def log_predictive(self, records: Records) -> Floats:
        """Take the mean of p(x|θ) over the draws."""
        thetas = self._all()
        first = np.atleast_1d(np.asarray(records[self.model.columns[0]]))
        step = max(1, AT_ONCE // len(thetas))
        parts = []
        for i in range(0, len(first), step):
            some = {c: np.atleast_1d(np.asarray(records[c]))[i : i + step] for c in self.model.columns}
            parts.append(logsumexp(log_probabilities(self.model, thetas, some), axis=0) - np.log(len(thetas)))
        return np.concatenate(parts)

    def marginal(self, columns: Sequence[str]) -> Floats:
        return np.asarray(marginal(self.model, self._all().astype(np.float64), columns).mean(axis=0))


@final
class OneNetwork(NetworkPosterior, DrawnPosterior):
    """The one network that was released: its tables, and nothing of the posterior around it."""

    REFUSED: ClassVar[str] = (
        "one network was drawn and released, and the posterior itself stays as private as the data: {what} "
        "was not released, and intervals and further draws need mechanism='noisy_counts', which pays once "
        "and is then read freely"
    )

    def log_predictive(self, records: Records) -> Floats:
        return log_probabilities(self.model, self.held[0], records)

    def marginal(self, columns: Sequence[str]) -> Floats:
        return marginal(self.model, self.held[0], columns)
