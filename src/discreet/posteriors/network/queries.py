"""What may be asked of a network whose tables are known: probabilities of records, margins, new records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import Floats, Integers
from discreet.models.bayes_net import BayesianNetwork

Records = Mapping[str, ArrayLike]  # column → integer codes, as the schema has them
Tables = Mapping[str, NDArray[Any]]


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
    model: BayesianNetwork, tables: Tables, size: int, rng: np.random.Generator
) -> dict[str, Integers]:
    """Draw records from p(x|θ), parents before children."""
    drawn: dict[str, Integers] = {}
    for node, parents in model.parents.items():
        rows = tables[node][tuple(drawn[parent] for parent in parents)]
        chances = np.cumsum(rows, axis=-1)
        u = rng.random(size) * chances[..., -1]
        drawn[node] = (np.atleast_2d(chances) <= u[:, None]).sum(axis=-1).clip(max=chances.shape[-1] - 1)
    return drawn
