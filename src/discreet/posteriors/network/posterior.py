"""Posteriors of a Bayesian network: products of Dirichlets, and draws where there is no closed form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
from scipy.special import betainccinv, betaincinv, logsumexp

from discreet.families.family import credible
from discreet.posteriors.counts.dirichlet_draws import dirichlet_draws
from discreet.posteriors.draws import OnlyDraws
from discreet.posteriors.network.queries import ancestral, log_probabilities, marginal
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.families.family import Floats, Integers
    from discreet.models.bayes_net import BayesianNetwork
    from discreet.posteriors.base import Diagnostics
    from discreet.posteriors.network.queries import Records
    from discreet.sampling.source import Source

    Tables = dict[str, NDArray[Any]]

ONE = (
    "one network was drawn and released, and the posterior itself stays as private as the data: intervals "
    "and further draws need mechanism='noisy_counts', which pays once and is then read freely"
)
AT_ONCE = 2**22  # entries of a matrix draws × records


class NetworkPosterior(ABC):
    """θ given what was released; a table (parents…, node) for each node. All of it is post-processing."""

    model: BayesianNetwork
    reading: str

    @abstractmethod
    def mean(self) -> Tables:
        """E θ, node → (parents…, node)"""

    @abstractmethod
    def variance(self) -> Tables:
        """Var θ, entry by entry"""

    @abstractmethod
    def interval(self, level: float) -> Tables:
        """Equal-tailed credible intervals of every entry; the last axis holds both ends."""

    @abstractmethod
    def flat(self, size: int, source: Source | None = None) -> Floats:
        """`size` draws of θ, all tables in one row."""

    @abstractmethod
    def log_predictive(self, records: Records) -> Floats:
        """Log posterior-predictive probability of each record; codes by column."""

    @abstractmethod
    def marginal(self, columns: Sequence[str]) -> Floats:
        """Posterior-predictive probability of the joint values of some columns, exact in the network."""

    def prior(self) -> NetworkDirichlet:
        """Return the same without data."""
        return NetworkDirichlet(self.model, np.full(self.model.size, float(self.model.prior)), "prior")

    def sample(self, size: int, source: Source | None = None) -> Tables:
        """Draws of the whole network: node → (size, parents…, node)."""
        return tables(self.model, self.flat(size, source))

    def synthetic(self, size: int, source: Source | None = None) -> dict[str, Integers]:
        """Draw a network, then `size` records from it: a data set from the posterior predictive."""
        bits = source or SYSTEM
        network = self.model.split(self.flat(1, bits)[0])
        return ancestral(self.model, network, size, generator(bits))

    def log_likelihood(self, records: Records) -> float:
        """Mean log predictive probability of held-out records."""
        return float(self.log_predictive(records).mean())


def generator(source: Source) -> np.random.Generator:
    """Return a generator for what is public, seeded from a source."""
    return np.random.default_rng(source.words(4).tolist())


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
@dataclass(frozen=True, eq=False)
class NetworkDirichlet(NetworkPosterior):
    """Every row of every table Dirichlet(prior + counts), independent: exact when the counts are."""

    model: BayesianNetwork
    concentrations: Floats  # flat
    reading: str

    def _share(self) -> Floats:
        return self.concentrations / per_row(self.model, self.concentrations)

    def mean(self) -> Tables:
        return self.model.split(self._share())

    def variance(self) -> Tables:
        share = self._share()
        return self.model.split(share * (1 - share) / (per_row(self.model, self.concentrations) + 1))

    def interval(self, level: float) -> Tables:
        """Each entry is Beta(α_j, Σα − α_j)."""
        tail, rest = credible(level)[0], per_row(self.model, self.concentrations) - self.concentrations
        ends = [f(self.concentrations, rest, tail) for f in (betaincinv, betainccinv)]
        low, high = (self.model.split(end) for end in ends)
        return {node: np.stack((low[node], high[node]), axis=-1) for node in low}

    def flat(self, size: int, source: Source | None = None) -> Floats:
        rng = generator(source or SYSTEM)
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
@dataclass(frozen=True, eq=False)
class NetworkDraws(NetworkPosterior):
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

    @property
    def _all(self) -> NDArray[np.float32]:
        return self.draws.reshape(-1, self.draws.shape[-1])

    def mean(self) -> Tables:
        return self.model.split(self._all.mean(axis=0, dtype=np.float64))

    def variance(self) -> Tables:
        return self.model.split(self._all.var(axis=0, dtype=np.float64))

    def interval(self, level: float) -> Tables:
        ends = np.quantile(self._all, credible(level), axis=0).astype(np.float64)
        return {node: np.moveaxis(both, 0, -1) for node, both in tables(self.model, ends).items()}

    def flat(self, size: int, source: Source | None = None) -> Floats:
        """Choose among the draws that were kept, with replacement."""
        chosen = generator(source or SYSTEM).integers(len(self._all), size=size)
        return self._all[chosen].astype(np.float64)

    def log_predictive(self, records: Records) -> Floats:
        """Take the mean of p(x|θ) over the draws."""
        thetas = self._all
        first = np.atleast_1d(np.asarray(records[self.model.columns[0]]))
        step = max(1, AT_ONCE // len(thetas))
        parts = []
        for i in range(0, len(first), step):
            some = {c: np.atleast_1d(np.asarray(records[c]))[i : i + step] for c in self.model.columns}
            parts.append(logsumexp(log_probabilities(self.model, thetas, some), axis=0) - np.log(len(thetas)))
        return np.concatenate(parts)

    def marginal(self, columns: Sequence[str]) -> Floats:
        return np.asarray(marginal(self.model, self._all.astype(np.float64), columns).mean(axis=0))

    def __repr__(self) -> str:
        said = "".join(f"; {note}" for note in self.notes)
        return f"NetworkDraws(reading={self.reading!r}, {self.model!r}, {self.diagnostics!r}{said})"


@final
@dataclass(frozen=True, eq=False)
class OneNetwork(NetworkPosterior):
    """The one network that was released: its tables, and nothing of the posterior around it."""

    model: BayesianNetwork
    theta: Floats  # flat
    reading: str = "one draw"

    def mean(self) -> Tables:
        """Return the tables as drawn; an estimate of the posterior mean."""
        return self.model.split(self.theta)

    def variance(self) -> NoReturn:
        raise OnlyDraws(ONE)

    def interval(self, level: float) -> NoReturn:  # noqa: ARG002 - as every posterior
        raise OnlyDraws(ONE)

    def flat(self, size: int, source: Source | None = None) -> Floats:
        del source
        if not 0 <= size <= 1:
            raise OnlyDraws(ONE)
        return self.theta[None][:size]

    def log_predictive(self, records: Records) -> Floats:
        return log_probabilities(self.model, self.theta, records)

    def marginal(self, columns: Sequence[str]) -> Floats:
        return marginal(self.model, self.theta, columns)
