"""Rows that look like a table's and tell nothing of it, and models as they are offered."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from discreet.catalogue import ROWS
from discreet.cli.typed.job import BOUND
from discreet.tables.schema import Binary, Bounded, Categorical, Count, Kind, Schema


def dummy_rows(schema: Mapping[str, Any], rows: int, seed: int) -> dict[str, Any]:
    """Draw every column uniformly over what its declaration allows, columns independently."""
    declared, rng = Schema.from_dict(schema), np.random.default_rng(seed)
    columns = [_column(kind, rows, rng) for kind in declared.values()]
    return {"columns": list(declared), "rows": [list(row) for row in zip(*columns, strict=True)]}


def _column(kind: Kind, rows: int, rng: np.random.Generator) -> list[Any]:
    if isinstance(kind, Binary):
        return [kind.true if yes else other_than(kind.true) for yes in rng.integers(2, size=rows)]
    if isinstance(kind, Categorical):
        return [kind.levels[i] for i in rng.integers(len(kind.levels), size=rows)]
    if isinstance(kind, Count):
        whole: list[Any] = rng.integers(kind.max + 1, size=rows).tolist()
        return whole
    if isinstance(kind, Bounded):
        drawn: list[Any] = np.round(rng.uniform(kind.lower, kind.upper, size=rows), 6).tolist()
        return drawn
    raise TypeError(f"no dummy values are known for a {kind.kind} column")


OPPOSITES = (("1", "0"), ("yes", "no"), ("true", "false"), ("y", "n"), ("t", "f"), ("on", "off"))


def other_than(true: bool | float | str) -> bool | float | str:  # noqa: FBT001 - whatever a column holds
    """Return a value that stands for false beside the one that stands for true: every other one does."""
    if isinstance(true, bool):
        return not true
    if not isinstance(true, str):
        return 0 if true != 0 else 1
    pairs = dict([*OPPOSITES, *((false, yes) for yes, false in OPPOSITES)])
    other = pairs.get(true.lower(), f"not {true}")
    return other.upper() if true.isupper() else other.title() if true.istitle() else other


@cache
def model_facts(name: str) -> dict[str, Any]:
    """Say of a model what it is told and how it can be released."""
    row = ROWS[name]
    known = inspect.signature(row.load("model")).parameters.items()
    given = [(said, p) for said, p in known if said not in BOUND]
    return {
        "name": name,
        "title": name.replace("_", " "),
        "kind": row.kind,
        "parameters": [
            {"name": said, "needed": p.default is inspect.Parameter.empty, "default": _plain(p.default)}
            for said, p in given
        ],
        "prior": {key: _plain(value) for key, value in row.examples[0].prior.items()},
        "mechanisms": list(row.mechanisms),
        "cannot": dict(row.cannot),
    }


def _plain(value: object) -> object:
    if value is inspect.Parameter.empty or value is None:
        return None
    if isinstance(value, int | float | str | bool):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else str(value)
