"""Posteriors of a Bayesian network: products of Dirichlets, and draws where there is no closed form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, logsumexp

from discreet.encoding.answers import Scalar, by_column, by_label, by_row, labelled_records, table_by_label
from discreet.families.family import Floats, Integers, credible
from discreet.models.bayes_net import BayesianNetwork
from discreet.posteriors.counts.dirichlet import dirichlet_draws
from discreet.posteriors.posterior import Diagnostics, Sampled, generator
from discreet.posteriors.read import DrawnPosterior
from discreet.posteriors.tables import ProbabilityTable, TableAxis, TablePosterior
from discreet.sampling.source import SYSTEM, Source

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


# ── What may be asked of a network whose tables are known: probabilities of records, margins, new records.
Records = Mapping[str, ArrayLike]  # column → integer codes, as the schema has them
KnownTables = Mapping[str, NDArray[Any]]


MOST_LETTERS = 50  # numpy.einsum names axes by letters


def codes_in(records: Records, column: str) -> Integers:
    """Return the codes of one column."""
    if column not in records:
        raise ValueError(f"the records lack {column}; give its codes")
    return np.atleast_1d(np.asarray(records[column])).astype(np.int64)


def codes_of(model: BayesianNetwork, records: Records) -> Integers:
    """Return the codes as one row per record, or refuse what is not a code."""
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
    names = known(model, columns)
    flat = np.atleast_2d(theta)
    found = joint_given(model, flat, names, {})[:, 0]
    return found.reshape(*theta.shape[:-1], *found.shape[1:])


def known(model: BayesianNetwork, columns: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns of the network, at least one, or refuse them."""
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if [name for name in names if name not in model.nodes] or not names or len(set(names)) < len(names):
        raise ValueError(f"the network has the columns {', '.join(model.nodes)}; asked for {list(names)}")
    return names


def joint_given(
    model: BayesianNetwork, theta: Floats, wanted: Sequence[str], seen: Mapping[str, Integers]
) -> Floats:
    """p(wanted, seen = codes | θ) for every draw and every row of codes: (draws, rows, codes of wanted…).

    Exact, by eliminating the other variables. What is seen has one code per row, and no axis.
    """
    needed = _ancestors(model, (*wanted, *seen))
    axis = {name: i + 2 for i, name in enumerate(n for n in needed if n not in seen)}  # 0 the draw, 1 the row
    if len(axis) > MOST_LETTERS:
        raise ValueError(f"the query involves {len(axis)} columns, more than {MOST_LETTERS}: draw records")
    rows = max((len(codes) for codes in seen.values()), default=1)
    operands: list[Any] = [np.ones((len(theta), rows)), [0, 1]]
    starts = np.cumsum([0, *(cells.size for cells in model.cells)])
    for start, stop, cells in zip(starts, starts[1:], model.cells, strict=False):
        if cells.name in needed:
            table = theta[:, start:stop].reshape(len(theta), *cells.shape)
            operands += _at_codes(table, cells.columns, seen, axis)
    return np.asarray(np.einsum(*operands, [0, 1, *(axis[name] for name in wanted)], optimize="greedy"))


def _at_codes(
    table: Floats, columns: Sequence[str], seen: Mapping[str, Integers], axis: Mapping[str, int]
) -> list[Any]:
    """Return a table at the codes that are seen, and its axes: the rows stand where the codes stood."""
    held = [i for i, name in enumerate(columns) if name in seen]
    free = [axis[name] for name in columns if name not in seen]
    if not held:
        return [table, [0, *free]]
    first = np.moveaxis(table, [i + 1 for i in held], range(1, len(held) + 1))
    place: tuple[Any, ...] = (slice(None), *(seen[columns[i]] for i in held))
    return [first[place], [0, 1, *free]]


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
    def log_of_codes(self, records: Records) -> Floats:
        """Log posterior-predictive probability of each record; codes by column."""

    @abstractmethod
    def thetas(self) -> Floats:
        """Return tables, flat, (draws, cells), whose average answers every question about one record."""

    def marginal(self, columns: Sequence[str]) -> Floats:
        """Posterior-predictive probability of the joint codes of some columns, exact in the network."""
        return np.asarray(marginal(self.model, self.thetas(), columns).mean(axis=0))

    def probability(
        self, columns: str | Sequence[str], given: Mapping[str, Scalar] | None = None
    ) -> xr.DataArray:
        """P(columns | given), by names and labels, exact in the network: an axis of labels per column.

        probability("income", given={"sex": "Female"}) is averaged over the posterior: a ratio of averages.
        """
        names, known_values = known(self.model, columns), given or {}
        _ = known(self.model, (*names, *known_values))
        seen = {name: np.array([self.encoder.code(name, x)]) for name, x in known_values.items()}
        joint = joint_given(self.model, self.thetas(), names, seen).mean(axis=0)[0]
        return table_by_label(joint / joint.sum(), names, self.encoder)

    def log_predictive(self, records: object, *, codes: bool = False) -> xr.DataArray | Floats:
        """Log posterior-predictive probability of each labelled record; with `codes`, of codes by column."""
        if codes:
            return self.log_of_codes(by_column(records))
        rows = self.encoder.encode(records, self.model.columns)
        return by_row(self.log_of_codes(rows.columns), rows)

    def predict_proba(
        self, rows: object, target: str = "", *, given: Sequence[str] | None = None, codes: bool = False
    ) -> xr.DataArray | Floats:
        """P(target | the other columns of the row), or the `given` ones alone: (row, label)."""
        others = self._others(target, given)
        if codes:
            return self._shares(target, {name: codes_in(by_column(rows), name) for name in others})
        held = self.encoder.encode(rows, others)
        return by_label(self._shares(target, held.columns), held, target, self.encoder.labels(target))

    def predict(
        self, rows: object, target: str = "", *, given: Sequence[str] | None = None, codes: bool = False
    ) -> NDArray[Any]:
        """Likeliest label of one column of each row, from the others or from the `given` ones alone."""
        shares = np.asarray(self.predict_proba(rows, target, given=given, codes=codes)).argmax(axis=1)
        return shares if codes else self.encoder.decode(target, shares)

    def _others(self, target: str, given: Sequence[str] | None) -> tuple[str, ...]:
        if target not in self.model.nodes:
            raise ValueError(
                f"a network predicts any of its columns: say target=, one of {', '.join(self.model.nodes)}; "
                f"got {target!r}"
            )
        if given is None:
            return tuple(name for name in self.model.nodes if name != target)
        return known(self.model, (target, *given))[1:]

    def _shares(self, target: str, seen: Mapping[str, Integers]) -> Floats:
        """P(target | seen) for each row, equal rows once."""
        if not seen:
            raise ValueError("the probability without any given column is probability(target)")
        rows, back = np.unique(np.stack(list(seen.values()), axis=1), axis=0, return_inverse=True)
        thetas = self.thetas()
        sizes = (
            [n for c, n in zip(x.columns, x.shape, strict=True) if c not in seen] for x in self.model.cells
        )
        step = max(1, AT_ONCE // (len(thetas) * max(map(prod, sizes))))
        parts = []
        for i in range(0, max(1, len(rows)), step):
            some = dict(zip(seen, rows[i : i + step].T, strict=True))
            parts.append(joint_given(self.model, thetas, (target,), some).mean(axis=0))
        joint = np.concatenate(parts)[back.reshape(-1)]
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    def prior(self) -> NetworkDirichlet:
        """Return the same without data."""
        return NetworkDirichlet(self.model, np.full(self.model.size, float(self.model.prior)), "prior")

    def synthetic(
        self, size: int, source: Source | None = None, *, codes: bool = False
    ) -> pd.DataFrame | dict[str, Integers]:
        """Draw a network, then `size` records from it: a data set from the posterior predictive, free."""
        bits = source or SYSTEM
        network = self.model.split(self.flat_sample(1, bits)[0])
        drawn = ancestral(self.model, network, size, generator(bits))
        return drawn if codes else labelled_records(drawn, self.encoder)

    def log_likelihood(self, records: object, *, codes: bool = False) -> float:
        """Mean log predictive probability of held-out records."""
        return float(np.mean(self.log_predictive(records, codes=codes)))


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

    def thetas(self) -> Floats:
        return self._share()[None]

    def log_of_codes(self, records: Records) -> Floats:
        """E ∏θ = ∏Eθ: a record reads one row of each node, and rows are independent."""
        return log_probabilities(self.model, self._share(), records)


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

    def thetas(self) -> Floats:
        return self._all().astype(np.float64)

    def log_of_codes(self, records: Records) -> Floats:
        """Take the mean of p(x|θ) over the draws."""
        thetas = self._all()
        first = np.atleast_1d(np.asarray(records[self.model.columns[0]]))
        step = max(1, AT_ONCE // len(thetas))
        parts = []
        for i in range(0, len(first), step):
            some = {c: np.atleast_1d(np.asarray(records[c]))[i : i + step] for c in self.model.columns}
            parts.append(logsumexp(log_probabilities(self.model, thetas, some), axis=0) - np.log(len(thetas)))
        return np.concatenate(parts)


@final
class OneNetwork(NetworkPosterior, DrawnPosterior):
    """The one network that was released: its tables, and nothing of the posterior around it."""

    REFUSED: ClassVar[str] = (
        "one network was drawn and released, and the posterior itself stays as private as the data: {what} "
        "was not released, and intervals and further draws need mechanism='noisy_counts', which pays once "
        "and is then read freely"
    )

    def thetas(self) -> Floats:
        return self.held

    def log_of_codes(self, records: Records) -> Floats:
        return log_probabilities(self.model, self.held[0], records)
