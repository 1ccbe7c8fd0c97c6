"""A posterior for every group, read off one release: the groups are one more labelled dimension."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Family, Floats
from discreet.mechanisms.statistics.noisy_groups import NoisyGroups
from discreet.models.grouped import Grouped
from discreet.posteriors.labels import Labels
from discreet.posteriors.posterior import Diagnostics, FamilyPosterior, Posterior
from discreet.posteriors.variables import Variable
from discreet.sampling.source import Source

if TYPE_CHECKING:
    import xarray as xr


@final
@dataclass(frozen=True, eq=False, repr=False)
class GroupedPosterior(Posterior):
    """θ_g for every group g, independent given the release. Parameter by parameter, all groups of each."""

    grouped: Grouped
    parts: tuple[FamilyPosterior, ...]  # one for each group

    @property
    def model(self) -> Grouped:
        return self.grouped

    @property
    def reading(self) -> str:
        return self.parts[0].reading

    @property
    def groups(self) -> tuple[str, ...]:
        """Name every group by its levels: “ward = A, sex = f”."""
        return tuple(", ".join(where) for where in product(*(self._spoken(name) for name in self.grouped.by)))

    def _spoken(self, column: str) -> list[str]:
        return [f"{column} = {level}" for level in self._levels(column)]

    def _levels(self, column: str) -> tuple[str, ...]:
        return self.labels.levels(column, self.grouped.sizes[self.grouped.by.index(column)])

    def group(self, *levels: object) -> FamilyPosterior:
        """Return the posterior of one group, named by a level of each column that was grouped by."""
        if len(levels) != len(self.grouped.by):
            raise ValueError(f"give one level for each of {', '.join(self.grouped.by)}")
        known = [self._levels(name) for name in self.grouped.by]
        for name, level, those in zip(self.grouped.by, levels, known, strict=True):
            if str(level) not in those:
                raise ValueError(f"{name} has the levels {', '.join(those)}; got {level!r}")
        place = [those.index(str(level)) for level, those in zip(levels, known, strict=True)]
        return self.parts[int(np.ravel_multi_index(place, self.grouped.sizes))]

    def by_group(self, of: xr.DataArray | None = None) -> xr.DataArray:
        """Return the means, or any labelled answer of this posterior, with an axis for each key column.

        by_group(posterior.interval(0.9)) has the axes parameter, the key columns, and bound.
        """
        from xarray import DataArray  # noqa: PLC0415 - heavy

        given = self.mean() if of is None else of
        place = given.dims.index("parameter")
        before, after = given.dims[:place], given.dims[place + 1 :]
        keys = {name: list(self._levels(name)) for name in self.grouped.by}
        own = list(self.parts[0].names)
        shape = (*given.shape[:place], len(own), *self.grouped.sizes, *given.shape[place + 1 :])
        rest = {name: given[name] for name in (*before, *after) if name in given.coords}
        dims = (*before, "parameter", *keys, *after)
        return DataArray(given.values.reshape(shape), dims=dims, coords={**rest, "parameter": own, **keys})

    # --- what every posterior says, parameter by parameter, all groups of each ------------
    @property
    def diagnostics(self) -> Diagnostics:
        """Of the group whose chains mixed worst."""
        each = [part.diagnostics for part in self.parts]
        return max(each, key=lambda one: (one.r_hat, -one.ess))

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the readings of groups say against themselves, each sentence once, and of how many."""
        said: dict[str, int] = {}
        for part in self.parts:
            for words in part.cautions:
                said[words] = said.get(words, 0) + 1
        return tuple(f"in {count} of {len(self.parts)} groups: {words}" for words, count in said.items())

    def own_names(self) -> tuple[str, ...]:
        return tuple(f"{name} | {group}" for name in self.parts[0].names for group in self.groups)

    def arrangement(self) -> tuple[Variable, ...]:
        """Each variable of the family with the key columns before its own axes."""
        count, keys = len(self.parts), tuple((name, self._levels(name)) for name in self.grouped.by)
        found = []
        for variable in self.parts[0].arrangement():
            own = np.asarray(variable.places)
            places = np.stack([own * count + g for g in range(count)])
            shaped = places.reshape(*self.grouped.sizes, *own.shape).astype(np.int64)
            found.append(Variable(variable.name, (*keys, *variable.axes), shaped))
        return tuple(found)

    def flat_mean(self) -> Floats:
        return self._flat([part.flat_mean() for part in self.parts])

    def flat_variance(self) -> Floats:
        return self._flat([part.flat_variance() for part in self.parts])

    def flat_interval(self, level: float) -> Floats:
        return self._flat([part.flat_interval(level) for part in self.parts])

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        drawn = np.stack([part.flat_sample(size, source) for part in self.parts], axis=-1)
        return np.asarray(drawn.reshape(size, -1))

    def prior_sample(self, size: int, source: Source) -> Floats:
        drawn = [part.prior_sample(size, source) for part in self.parts]
        return np.asarray(np.stack(drawn, axis=-1).reshape(size, -1))

    @staticmethod
    def _flat(each: list[Floats]) -> Floats:
        """Put (groups, parameters, …) parameter by parameter, all groups of each."""
        held: NDArray[np.float64] = np.stack(each, axis=1)
        return held.reshape(-1, *held.shape[2:])

    def labelled(self, labels: Labels) -> Self:
        """Call the groups by the levels of their columns, and each part by the columns of the family."""
        own = replace(labels, columns=tuple(x for x in labels.columns if x not in self.grouped.by))
        return replace(self, labels=labels, parts=tuple(part.labelled(own) for part in self.parts))


def read(value: NoisyGroups, model: Grouped, reading: str, **options: object) -> GroupedPosterior:
    """Read each group's noisy statistic and number of records as if they had been released alone.

    Noise is independent from group to group, and so are the posteriors. That public n is the sum of noisy
    group sizes is not used.
    """
    parts = (_part(value, group, model.model, reading, options) for group in range(model.count))
    return GroupedPosterior(model, tuple(parts))


def _part(
    value: NoisyGroups, group: int, prior: Family, reading: str, options: Mapping[str, object]
) -> FamilyPosterior:
    found = value.part(group).read(model=prior, reading=reading, **options)
    if not isinstance(found, FamilyPosterior):
        raise TypeError(f"no posterior of a group is known for {type(prior).__name__}")
    return found
