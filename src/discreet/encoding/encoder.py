"""The public schema as an encoder: labels and numbers in, codes and clean numbers out, and labels back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.encoding.columns import GivenColumn, clean, typed
from discreet.encoding.computed import computed
from discreet.encoding.given import GivenRows, given
from discreet.tables.derived.columns import Expression
from discreet.tables.derived.parsed import parse
from discreet.tables.schema import UNKNOWN, Binary, Bounded, Categorical, Count, Kind, Scalar, Schema

_PARTS = re.compile(r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^;'"]|;(?! ))+""")  # "; " outside of texts


@final
@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Codes of categories, truths and counts, numbers of the rest, by column; `index` names the rows."""

    index: NDArray[Any]
    columns: Mapping[str, NDArray[Any]]

    def stacked(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the codes of some columns side by side: (rows, columns)."""
        return np.stack([self.columns[name] for name in names], axis=1).astype(np.int64)


@final
@dataclass(frozen=True, eq=False)
class Encoder:
    """What is public of a table, for rows that are the user's own: derived columns are computed too.

    Missing and undeclared values go where the schema sends them. A derived column that the rows have already,
    without the columns it is made of, is taken as it is.
    """

    schema: Schema
    derived: Mapping[str, Expression | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        schema = self.schema
        for name, expression in self.derived.items():
            if name not in schema:
                found = parse(expression) if isinstance(expression, str) else expression
                schema = Schema({**schema, name: found.kind(schema)})
        object.__setattr__(self, "schema", schema)

    @classmethod
    def of(cls, schema: Mapping[str, Any], selection: str | None = None) -> Self:
        """Build it from what a release says in public: its schema, and the words for derived columns."""
        derived = {}
        for part in _PARTS.findall(selection or ""):
            name, sign, expression = part.strip().partition(" = ")
            if sign and name in schema.get("columns", {}):
                derived[name] = expression
        return cls(
            Schema.from_dict({"columns": {x: _placed(kind) for x, kind in schema["columns"].items()}}),
            derived,
        )

    # ── in ──────────────────────────────────────────────────────────────────────────────────────────
    def encode(self, rows: object, columns: Iterable[str] | None = None) -> EncodedRows:
        """Encode some columns of the rows, or all that are declared or derived."""
        found = given(rows)
        memo: dict[str, NDArray[Any]] = {}
        cells = {
            name: self._cell(name, found, memo) for name in (self.schema if columns is None else columns)
        }
        coded = {name: x.astype(np.int64) if x.dtype.kind == "b" else x for name, x in cells.items()}
        return EncodedRows(found.index, coded)

    def typed(self, texts: Mapping[str, Sequence[str | None]]) -> dict[str, Any]:
        """Read the texts of a CSV file as what their columns hold; columns of no schema stay texts."""
        return {name: typed(self.schema[name], x) if name in self.schema else x for name, x in texts.items()}

    def _cell(self, name: str, rows: GivenRows, memo: dict[str, NDArray[Any]]) -> NDArray[Any]:
        """Return the clean values of a declared or derived column."""
        if name not in memo:
            kind = self.schema[name]
            expression = self._expression(name) if name in self.derived else None
            if expression is None or (name in rows.columns and not self._made_of(name) <= set(rows.columns)):
                memo[name] = clean(kind, GivenColumn(name, self._values(name, rows)))
            else:
                cells = {x: self._cell(x, rows, memo) for x in expression.names()}
                memo[name] = np.broadcast_to(computed(expression, cells, self.schema), rows.index.shape)
        return memo[name]

    def _values(self, name: str, rows: GivenRows) -> NDArray[Any]:
        if name not in rows.columns:
            like = [other for other in rows.columns if other.lower() == name.lower()]
            hint = f"; there is {like[0]!r}: names are compared letter by letter" if like else ""
            raise ValueError(f"the rows have no column {name!r}, which the model reads{hint}")
        return rows.columns[name]

    def _made_of(self, name: str) -> set[str]:
        """Return the declared columns that a column is computed from, through derived ones too."""
        if name not in self.derived:
            return {name}
        return set().union(*(self._made_of(each) for each in self._expression(name).names()))

    def _expression(self, name: str) -> Expression:
        held = self.derived[name]
        if isinstance(held, Expression):
            return held
        try:
            return parse(held)
        except ValueError as error:
            raise ValueError(f"how column {name!r} is derived cannot be read back: {error}") from None

    def code(self, name: str, label: Scalar) -> int:
        """Return the code of one declared label, or refuse it and name those that are declared."""
        labels = self.labels(name)
        kind = self.schema[name]
        if isinstance(kind, Binary) and isinstance(label, bool):
            return int(label)
        if label not in labels or isinstance(label, bool) != isinstance(labels[labels.index(label)], bool):
            raise ValueError(f"{label!r} is not a label of column {name!r}; its labels are {_listed(labels)}")
        return labels.index(label)

    def value(self, name: str, label: Scalar) -> Scalar:
        """Return the clean value of a label: its code, or the number itself where a column holds numbers."""
        return label if isinstance(self.schema[name], Bounded) else self.code(name, label)

    # ── out ─────────────────────────────────────────────────────────────────────────────────────────
    def labels(self, name: str) -> tuple[Scalar, ...]:
        """Return the label of each code, as the schema has them."""
        return labels_of(self.schema[name], name)

    def words(self, name: str, labels: Iterable[Scalar]) -> NDArray[Any]:
        """Return labels in the schema's own words: ">50K" for True where that is what is true."""
        if isinstance(self.schema[name], Bounded):
            return label_array(list(labels))
        return self.decode(name, [self.code(name, label) for label in labels])

    def decode(self, name: str, codes: ArrayLike) -> NDArray[Any]:
        """Return labels for codes."""
        return np.asarray(label_array(self.labels(name))[np.asarray(codes)])


def _placed(kind: Mapping[str, Any]) -> Mapping[str, Any]:
    """Say what a stored schema of before November 2026 left out: undeclared levels were a category more."""
    return {"unknown": UNKNOWN, **kind} if "levels" in kind else kind


@singledispatch
def labels_of(kind: Kind, name: str) -> tuple[Scalar, ...]:
    """Return the label of each code of a column of that kind."""
    raise TypeError(f"column {name!r} is {kind.kind}: it holds numbers, and has no codes")


@labels_of.register
def _labels_of_categorical(kind: Categorical, name: str) -> tuple[Scalar, ...]:
    del name
    return kind.labels


@labels_of.register
def _labels_of_binary(kind: Binary, name: str) -> tuple[Scalar, ...]:
    """Name what is not `true`: the other of True and False, or of 1 and 0; else it has no name of its own."""
    del name
    if kind.true in {0, 1} and not isinstance(kind.true, str):
        return type(kind.true)(1 - kind.true), kind.true
    return f"not {kind.true}", kind.true


@labels_of.register
def _labels_of_count(kind: Count, name: str) -> tuple[Scalar, ...]:
    del name
    return tuple(range(kind.max + 1))


def label_array(labels: Sequence[Scalar]) -> NDArray[Any]:
    """Return labels as an array of their own type; of several types, as objects."""
    if len({type(label) for label in labels}) == 1:
        return np.asarray(labels)
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found


def _listed(labels: Sequence[Scalar]) -> str:
    few = 20
    return ", ".join(map(repr, labels[:few])) + (", …" if len(labels) > few else "")
