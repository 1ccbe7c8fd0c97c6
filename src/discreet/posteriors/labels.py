"""What parameters are called in public: columns and their levels, as the schema declares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.catalogue import ROWS
from discreet.families.family import Family, Floats
from discreet.families.laws.matrices import unpack
from discreet.posteriors.variables import Variable

if TYPE_CHECKING:
    from discreet.encoding.encoder import Encoder


# ── θ as the families sample it, by the names that people use: for tables, pictures and files.
Named = dict[str, "Floats"]


def whole(theta: Floats) -> tuple[Floats, ...]:
    """Leave θ in one part."""
    return (theta,)


def mean_and_variance(theta: Floats) -> tuple[Floats, ...]:
    return theta[..., 0], theta[..., 1]


def mean_and_covariance(theta: Floats) -> tuple[Floats, ...]:
    """θ = (μ, Σ packed) has d + d(d+1)/2 coordinates, so that d = (√(9 + 8c) − 3)/2."""
    d = round((np.sqrt(9 + 8 * theta.shape[-1]) - 3) / 2)
    return theta[..., :d], unpack(theta[..., d:])


def weights_and_variance(theta: Floats) -> tuple[Floats, ...]:
    return theta[..., :-1], theta[..., -1]


def named(model: Family, theta: ArrayLike) -> Named:
    """Draws of θ, first axis the draw, as {name: array}: by the names in the catalogue, or `theta`."""
    row, values = ROWS.get(model.name), np.asarray(theta, dtype=np.float64)
    return (
        {"theta": values}
        if row is None
        else dict(zip(row.parameters, row.load("parts")(values), strict=True))
    )


# ── labels
UNKNOWN = "(unknown)"  # the category that a schema may add for all that its levels leave out
AXES = {"p": "category", "weights": "weight"}
MEASURE = "measure"  # an axis over columns: ArviZ 1 keeps "column" for its own
BARE = ("p", "weights")  # variables whose coordinates are known by their label alone


@final
@dataclass(frozen=True)
class Labels:
    """The columns of a release and its public schema; empty where a value is read without a release."""

    columns: tuple[str, ...] = ()
    schema: Mapping[str, Any] = field(default_factory=dict)
    selection: str = ""  # the release's words for derived columns

    @cached_property
    def encoder(self) -> Encoder:
        """Return what encodes rows by the public schema, and decodes answers into labels."""
        from discreet.encoding.encoder import Encoder  # noqa: PLC0415 - schemas and expressions, for whoever predicts

        if not self.schema.get("columns"):
            raise ValueError(
                "the public schema is not known here, because this was read without a release, or the "
                "release was saved without one: read it from a release, or give integer codes with codes=True"
            )
        return Encoder.of(self.schema, self.selection)

    def declared(self, column: str) -> tuple[str, ...]:
        """Return the label of every code of a column; empty where the schema does not say."""
        said = self.schema.get("columns", {}).get(column, {})
        if said.get("kind") == "binary":
            return "no", "yes"
        if "levels" not in said:
            return ()
        added = said.get("unknown", UNKNOWN) not in said["levels"]  # old releases leave it out: it was added
        return (*map(str, said["levels"]), *((UNKNOWN,) if added else ()))

    def range_of(self, column: str) -> tuple[float, float] | None:
        """Return the declared bounds of a column of numbers; None where the schema does not say."""
        said = self.schema.get("columns", {}).get(column, {})
        if said.get("kind") == "binary":
            return 0.0, 1.0
        low, high = said.get("lower", 0), said.get("upper", said.get("max"))
        return None if high is None else (float(low), float(high))

    def constant(self, column: str) -> bool:
        """Whether a column is known to hold one number other than 0."""
        ends = self.range_of(column)
        one = ends is not None and ends[0] == ends[1] != 0
        return one or f"{column} = constant(" in self.selection

    @property
    def clips(self) -> bool:
        """Whether values beyond some column's bounds were clipped; old releases leave it out and mean it."""
        declared = self.schema.get("columns", {})
        kinds = [declared.get(name, {}) for name in self.columns]
        return any(said.get("clips", True) for said in kinds if said.get("kind") in {"bounded", "count"})

    def levels(self, column: str, size: int) -> tuple[str, ...]:
        """Return the label of every code, or the codes themselves where the schema does not say."""
        found = self.declared(column)
        return found if len(found) == size else tuple(map(str, range(size)))

    def axis(self, size: int, what: str) -> tuple[str, ...]:
        """Name the coordinates of a vector: by levels, by columns, by all columns but the response."""
        only = self.declared(self.columns[0]) if len(self.columns) == 1 else ()
        for found in (only, self.columns, self.columns[:-1]):
            if len(found) == size:
                return found
        return tuple(f"{what} {i + 1}" for i in range(size))


UNNAMED = Labels()


def family_names(model: Family, size: int, labels: Labels) -> tuple[str, ...]:
    """Name the coordinates of a family's θ: its parameters, and within one the levels or columns."""
    places = named(model, np.arange(size, dtype=np.float64) if size > 1 else np.zeros(()))
    found: dict[int, str] = {}
    for name, indices in places.items():
        axis = labels.axis(indices.shape[0], _one_of(name)) if indices.ndim else ()
        for place in np.ndindex(indices.shape):
            found.setdefault(int(indices[place]), _spoken(name, tuple(axis[i] for i in place)))
    return tuple(found[i] for i in range(size))


def family_variables(model: Family, size: int, labels: Labels) -> tuple[Variable, ...]:
    """Say which coordinates of a family's θ make up each of its parameters, by levels or columns."""
    places = named(model, np.arange(size, dtype=np.float64) if size > 1 else np.zeros(()))
    return tuple(
        Variable(
            name,
            tuple(
                (f"{'other ' * i}{AXES.get(name, MEASURE)}", labels.axis(length, _one_of(name)))
                for i, length in enumerate(indices.shape)
            ),
            indices.astype(np.int64),
        )
        for name, indices in places.items()
    )


def _one_of(name: str) -> str:
    return AXES.get(name, "column")


def _spoken(name: str, where: tuple[str, ...]) -> str:
    if len(set(where)) == 2:
        return f"{name} of {where[0]} and {where[1]}"
    if len(where) == 2:
        return f"variance of {where[0]}"
    return name if not where else where[0] if name in BARE else f"{name} of {where[0]}"


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, a repeated one with its number behind it: no two parameters are called alike."""
    seen: dict[str, int] = {}
    found: list[str] = []
    for name in names:
        new = name
        while new in seen:
            seen[name] += 1
            new = f"{name} ({seen[name]})"
        seen.setdefault(new, 1)
        found.append(new)
    return tuple(found)
