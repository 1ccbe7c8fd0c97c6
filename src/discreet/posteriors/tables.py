"""Posteriors whose parameters are tables of probabilities: cells named by their levels, tables with axes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Floats
from discreet.posteriors.labels import Labels
from discreet.posteriors.posterior import Posterior
from discreet.posteriors.variables import Variable
from discreet.sampling.source import Source

if TYPE_CHECKING:
    import xarray as xr

N = TypeVar("N", bound=np.generic)


@final
@dataclass(frozen=True)
class TableAxis:
    """One axis of a table: a column and its levels, or hidden classes, whose levels speak for themselves."""

    name: str
    levels: tuple[str, ...]
    words: tuple[str, ...] = ()  # what a level is called within a sentence; "column = level" unless given

    @classmethod
    def of(cls, labels: Labels, column: str, size: int) -> TableAxis:
        return cls(column, labels.levels(column, size))

    @property
    def spoken(self) -> tuple[str, ...]:
        return self.words or tuple(f"{self.name} = {level}" for level in self.levels)


@final
@dataclass(frozen=True)
class ProbabilityTable:
    """Probabilities of the last axis given the others."""

    name: str
    axes: tuple[TableAxis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis.levels) for axis in self.axes)

    @property
    def rows(self) -> tuple[str, ...]:
        """Name every row: what its probabilities are given; one empty name where they are given nothing."""
        return tuple(", ".join(place) for place in product(*(axis.spoken for axis in self.axes[:-1])))

    @property
    def cells(self) -> tuple[str, ...]:
        """Name every cell, the last axis fastest: “what | given”."""
        last = self.axes[-1].spoken
        return tuple(f"{level} | {row}" if row else level for row in self.rows for level in last)


class TablePosterior(Posterior):
    """A posterior over tables of probabilities: one parameter for each cell, table after table."""

    @abstractmethod
    def layout(self) -> tuple[ProbabilityTable, ...]:
        """Return every table with its axes, in the order of the parameters."""

    @cached_property
    def _layout(self) -> tuple[ProbabilityTable, ...]:
        return self.layout()

    def prior(self) -> TablePosterior | None:
        """Return the same without data, where that is cheap."""
        return None

    def prior_sample(self, size: int, source: Source) -> Floats | None:
        without = self.prior()
        return None if without is None else without.flat_sample(size, source)

    def arrangement(self) -> tuple[Variable, ...]:
        places = split(self._layout, np.arange(sum(prod(table.shape) for table in self._layout)))
        return tuple(
            Variable(table.name, tuple((axis.name, axis.levels) for axis in table.axes), part)
            for table, part in zip(self._layout, places, strict=True)
        )

    def own_names(self) -> tuple[str, ...]:
        return tuple(cell for table in self._layout for cell in table.cells)

    def tables(self, of: xr.DataArray | None = None) -> dict[str, xr.DataArray]:
        """Return the means, or any labelled answer of this posterior, as tables: one axis for each column.

        tables(posterior.interval(0.9)) keeps the axis `bound` last, tables(posterior.sample(9)) `draw` first.
        """
        from xarray import DataArray  # noqa: PLC0415 - heavy

        given = self.mean() if of is None else of
        place = given.dims.index("parameter")
        before, after = given.dims[:place], given.dims[place + 1 :]
        rest = {name: given[name] for name in (*before, *after) if name in given.coords}
        found = {}
        for table, part in zip(self._layout, split(self._layout, given.values, place), strict=True):
            levels = {axis.name: list(axis.levels) for axis in table.axes}
            found[table.name] = DataArray(part, dims=(*before, *levels, *after), coords={**rest, **levels})
        return found

    def table(self, name: str) -> xr.DataArray:
        """Return the means of one table."""
        return self.tables()[name]


def split(layout: tuple[ProbabilityTable, ...], flat: NDArray[N], axis: int = -1) -> list[NDArray[N]]:
    """Cut the axis of parameters into the tables, in their shapes."""
    ends = np.cumsum([prod(table.shape) for table in layout])[:-1]
    place = axis % flat.ndim
    parts = np.split(flat, ends, axis=place)
    return [
        part.reshape(*flat.shape[:place], *table.shape, *flat.shape[place + 1 :])
        for table, part in zip(layout, parts, strict=True)
    ]
