"""Draws of a posterior by variable: dimensions are columns, coordinates their levels, chains stay apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Floats

if TYPE_CHECKING:
    import xarray as xr


Axis = tuple[str, tuple[str, ...]]  # what a dimension is called, and the label of each place along it
SAMPLES = ("chain", "draw")


@final
@dataclass(frozen=True, eq=False)
class Variable:
    """A named part of θ: its dimensions with their labels, and which parameter stands at each place."""

    name: str
    axes: tuple[Axis, ...]
    places: NDArray[np.int64]


def in_a_row(name: str, axis: Axis) -> tuple[Variable, ...]:
    """All parameters as one vector."""
    return (Variable(name, (axis,), np.arange(len(axis[1]))),)


def by_variable(
    variables: Sequence[Variable], draws: Floats, beside: Sequence[str] = ()
) -> dict[str, xr.DataArray]:
    """Arrange draws (chains, draws, parameters) as a labelled array for each variable, with others beside."""
    taken = (*SAMPLES, *beside)
    names = distinct((variable.name for variable in variables), taken)
    return {
        name: labelled(draws[..., variable.places], variable.axes, (*taken, *names))
        for name, variable in zip(names, variables, strict=True)
    }


def labelled(values: NDArray[np.generic], axes: Sequence[Axis], taken: Sequence[str]) -> xr.DataArray:
    """(chain, draw, …) with labels; a dimension that is called like a variable gets another name."""
    from xarray import DataArray  # noqa: PLC0415 - heavy

    dims = distinct((name for name, _ in axes), taken, " level")
    coords = {name: list(labels) for name, (_, labels) in zip(dims, axes, strict=True)}
    return DataArray(values, dims=(*SAMPLES, *dims), coords=coords)


def distinct(names: Iterable[str], taken: Sequence[str], more: str = " variable") -> tuple[str, ...]:
    """Names that a file of arrays can hold, none alike and none that is taken."""
    found: list[str] = []
    for name in names:
        new = name.replace("/", "∕").strip() or "unnamed"  # a slash would be a path in the file
        while new in taken or new in found:
            new += more
        found.append(new)
    return tuple(found)


def thinned(held: NDArray[np.generic], most: int) -> Floats:
    """At most so many draws of each chain, evenly spaced: (chains, draws, …)."""
    kept = held.shape[1]
    chosen = np.unique(np.linspace(0, kept - 1, min(most, kept)).astype(int))
    return np.asarray(held[:, chosen], dtype=np.float64)
