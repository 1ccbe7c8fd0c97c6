"""Posteriors whose parameters are tables of probabilities: cells named by their levels, tables with axes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Floats
from discreet.posteriors.labels import Labels
from discreet.posteriors.posterior import Posterior, Sampled, generator
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


# ── Posteriors of latent classes, whose chains may find several answers: grouped, compared, never averaged.
AGREED = 0.9  # chains of one mode agree at least this much …
SPREADS = 6.0  # … and their mean log joints differ by no more than this many standard deviations of a draw's


class Disagreement(ValueError):  # noqa: N818 - a fact about the fit, said in the user's words
    """One answer was asked of chains that give several; the message says how to choose."""


class Answers(Sampled, TablePosterior):
    """Draws by chain, labels resolved; moments, intervals and draws are of the likeliest group of chains."""

    HELD: ClassVar[tuple[str, ...]]  # fields whose first axis counts the chains

    @property
    @abstractmethod
    def agreement(self) -> Floats:
        """(chains, chains): how far two chains tell the same, 1 where they do."""

    @property
    @abstractmethod
    def kept_log_joint(self) -> Floats:
        """Log joint of the draws that were kept, (chains, draws); comparable within one fit only."""

    @abstractmethod
    def flat_chains(self) -> Floats:
        """Draws of all tables by every chain: (chains, draws, parameters)."""

    @abstractmethod
    def concentration(self, table: ProbabilityTable) -> float:
        """Return the entry of the Dirichlet prior of each row of a table."""

    def prior_sample(self, size: int, source: Source) -> Floats:
        """Draw every row of every table from its Dirichlet prior."""
        rng, parts = generator(source), []
        for table in self.layout():
            *rows, levels = table.shape
            alpha = np.full(levels, self.concentration(table))
            parts.append(rng.dirichlet(alpha, (size, prod(rows))).reshape(size, -1))
        return np.concatenate(parts, axis=1)

    def every_chain(self) -> Floats:
        return self.flat_chains()

    def chains(self) -> NDArray[np.float64]:
        return self.flat_chains() if self.agreed else self.best.flat_chains()

    @property
    def level(self) -> Floats:
        """Mean log joint of each chain; compare it with its own spread, not with 0."""
        return np.asarray(self.kept_log_joint.mean(axis=1))

    @cached_property
    def modes(self) -> tuple[tuple[int, ...], ...]:
        """Groups of chains that agree, the likeliest group first; more than one means several answers."""
        left, groups = [int(i) for i in np.argsort(-self.level)], []
        gap = SPREADS * float(np.median(self.kept_log_joint.std(axis=1)))
        while left:
            near = self.level[left[0]] - self.level <= gap
            group = [i for i in left if (near[i] and self.agreement[left[0], i] >= AGREED) or i == left[0]]
            groups.append(tuple(group))
            left = [i for i in left if i not in group]
        return tuple(groups)

    @property
    def agreed(self) -> bool:
        return len(self.modes) == 1

    def only(self, chains: Sequence[int]) -> Self:
        """Return the same fit, told by these chains alone."""
        pick = list(chains)
        return replace(self, **{name: getattr(self, name)[pick] for name in self.HELD})

    @cached_property
    def best(self) -> Self:
        """Return the fit as the likeliest group of agreeing chains tells it."""
        return self.only(self.modes[0])

    def settled(self) -> Self:
        """Return the fit without its warm-up."""
        return self

    def pooled(self) -> Self:
        """All chains as one, if they agree."""
        if not self.agreed:
            raise Disagreement(
                f"the chains found {len(self.modes)} different answers {self.modes}, so their average is "
                "none of them: read .modes, .agreement and .level, then take .best or .only(chains)"
            )
        kept = self.settled()
        each = {name: getattr(kept, name) for name in self.HELD}
        return replace(kept, **{name: x.reshape(1, -1, *x.shape[2:]) for name, x in each.items()})

    @property
    def _several(self) -> tuple[str, ...]:
        found = f"the chains found {len(self.modes)} different answers, and the likeliest is shown"
        return () if self.agreed else (found,)

    @property
    def _verdict(self) -> str:
        answers = "one answer" if self.agreed else f"{len(self.modes)} DIFFERENT ANSWERS {self.modes}"
        return f"{answers}, {self.diagnostics!r}"


def hidden(what: str, count: int, taken: Sequence[str], word: str = "") -> TableAxis:
    """Return the axis of hidden classes or states, under a name that no column has."""
    name = f"{word}{what}"
    while name in taken:
        name = f"hidden {name}"
    levels = tuple(f"{what} {k + 1}" for k in range(count))
    return TableAxis(name, levels, tuple(f"{word}{level}" for level in levels))
