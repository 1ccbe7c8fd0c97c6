"""Posteriors of a Bayesian network: products of Dirichlets, and draws where there is no closed form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, logsumexp

from discreet.families.family import Floats, Integers, credible
from discreet.models.bayes_net import BayesianNetwork
from discreet.posteriors.counts.dirichlet import dirichlet_draws
from discreet.posteriors.posterior import Diagnostics, Sampled, generator
from discreet.posteriors.read import DrawnPosterior
from discreet.posteriors.tables import ProbabilityTable, TableAxis, TablePosterior
from discreet.sampling.source import SYSTEM, Source

# ── What may be asked of a network whose tables are known: probabilities of records, margins, new records.
Records = Mapping[str, ArrayLike]  # column → integer codes, as the schema has them
KnownTables = Mapping[str, NDArray[Any]]


MOST_LETTERS = 50  # numpy.einsum names axes by letters


def codes_of(model: BayesianNetwork, records: Records) -> Integers:
    """Return the codes as one row a record, or refuse what is not a code."""
    missing = [column for column in model.columns if column not in records]
    if missing:
        raise ValueError(f"the records lack {', '.join(missing)}; give the codes of every column")
    codes = np.stack([np.atleast_1d(np.asarray(records[column])) for column in model.columns], axis=1)
    if codes.dtype.kind not in "iu" or ((codes < 0) | (codes >= np.array(model.sizes))).any():
        raise ValueError("records are integer codes, from 0 to the number of codes of the column less 1")
    return codes.astype(np.int64)


def cells_of(model: BayesianNetwork, records: Records) -> Integers:
    """Return the flat index of each record's cell in every table: (records, nodes)."""
    codes, column = codes_of(model, records), {name: i for i, name in enumerate(model.columns)}
    starts = np.cumsum([0, *(cells.size for cells in model.cells[:-1])])
    each = [
        start + np.ravel_multi_index(tuple(codes[:, column[c]] for c in cells.columns), cells.shape)
        for start, cells in zip(starts, model.cells, strict=True)
    ]
    return np.stack(each, axis=1)


def counts_of(model: BayesianNetwork, records: Records) -> Integers:
    """Return the sufficient statistic of records in memory, flat: what a table's query returns."""
    return np.bincount(cells_of(model, records).reshape(-1), minlength=model.size)


def log_probabilities(model: BayesianNetwork, theta: NDArray[Any], records: Records) -> Floats:
    """Return ln p(x|θ) for flat θ of shape (…, cells): (…, records)."""
    with np.errstate(divide="ignore"):
        logs = np.log(theta, dtype=np.float64)
    return np.asarray(sum(logs[..., cell] for cell in cells_of(model, records).T))


def marginal(model: BayesianNetwork, theta: Floats, columns: Sequence[str]) -> Floats:
    """p(columns|θ), exact, by eliminating the other variables; θ flat or one row a draw."""
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    strange = [name for name in names if name not in model.nodes]
    if strange or not names:
        raise ValueError(f"the network has the columns {', '.join(model.nodes)}; asked for {list(names)}")
    needed = _ancestors(model, names)
    if len(needed) > MOST_LETTERS:
        raise ValueError(f"the query involves {len(needed)} columns, more than {MOST_LETTERS}: draw records")
    axis = {name: i for i, name in enumerate(needed)}
    operands: list[Any] = []
    starts = np.cumsum([0, *(cells.size for cells in model.cells)])
    for start, stop, cells in zip(starts, starts[1:], model.cells, strict=False):
        if cells.name in axis:
            table = theta[..., start:stop].reshape(*theta.shape[:-1], *cells.shape)
            operands += [table, [..., *(axis[c] for c in cells.columns)]]
    return np.asarray(np.einsum(*operands, [..., *(axis[name] for name in names)], optimize="greedy"))


def _ancestors(model: BayesianNetwork, names: Sequence[str]) -> tuple[str, ...]:
    """Return the named nodes and all above them: the others add up to 1."""
    needed = set(names)
    for node in reversed(model.nodes):
        if node in needed:
            needed |= set(model.parents[node])
    return tuple(node for node in model.nodes if node in needed)


def ancestral(
    model: BayesianNetwork, tables: KnownTables, size: int, rng: np.random.Generator
) -> dict[str, Integers]:
    """Draw records from p(x|θ), parents before children."""
    drawn: dict[str, Integers] = {}
    for node, parents in model.parents.items():
        rows = tables[node][tuple(drawn[parent] for parent in parents)]
        chances = np.cumsum(rows, axis=-1)
        u = rng.random(size) * chances[..., -1]
        drawn[node] = (np.atleast_2d(chances) <= u[:, None]).sum(axis=-1).clip(max=chances.shape[-1] - 1)
    return drawn


# ── posterior
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
