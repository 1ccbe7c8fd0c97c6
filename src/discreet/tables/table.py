"""A private table: rows that never leave, behind a public schema; and its errors, which never quote."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, TypeVar, final
from urllib.parse import unquote

from discreet.families.family import Family
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Relation
from discreet.shown import HIDDEN, without_secrets
from discreet.tables.derived.columns import Expression
from discreet.tables.schema import Kind, Schema, as_schema

if TYPE_CHECKING:
    from discreet.statistics import BoundedStatistic
    from discreet.tables.opening.sources import TableSource


# ── Errors of the data layer, which never carry what an engine said: engines quote values.
T = TypeVar("T")
# an address whose password holds no character that ends it, and whose port is a number
_HOST = r"(?:\[[0-9A-Fa-f:.]*\]|[^:/?#@]*)(?::[0-9]*)?"
_PLAIN = re.compile(r"[a-z]+://(?:[^:/?#@]*(?::[^:/?#@]*)?@)?" + _HOST + r"(?:[/?][^@#]*)?")
WITHHELD = (
    "the engine's own message is withheld, because it may quote private values: run the same query with the "
    "engine's tools to see it"
)


class TableError(RuntimeError):
    """The engine could not open or read the table."""


class MissingExtra(ImportError):  # noqa: N818 - said in the user's words
    """A driver is not installed; the message names the extra."""


def guarded(doing: str, call: Callable[[], T]) -> T:
    """Return call(), which opens and looks at no value; of a failure only the name of its class gets out."""
    return _guarded(doing, call, lambda error: f" ({type(error).__name__}); {WITHHELD}")


def blindly(doing: str, call: Callable[[], T]) -> T:
    """Return call(), which reads values; of a failure only that it failed: its class may tell of one row."""
    return _guarded(doing, call, lambda _: f"; {WITHHELD}")


def connected(doing: str, call: Callable[[], T], url: str) -> T:
    """Return call(), which connects to a database and asks nothing of it: of a failure the driver's words.

    They are of host, port and user; whatever stands in the address as a secret is taken out. Where a driver
    may take a part of a password for something else, its words are withheld.
    """

    def told(error: BaseException) -> str:
        if _PLAIN.fullmatch(url) is None:
            return f" ({type(error).__name__}); a password must be percent-encoded in an address"
        words = without_secrets(" ".join(str(error).split())) or type(error).__name__
        for secret in sorted(secrets_of(url), key=len, reverse=True):
            words = words.replace(secret, HIDDEN)
        return f": {words.rstrip('.')}; check the address, the server and the password"

    return _guarded(doing, call, told)


def secrets_of(url: str) -> set[str]:
    """Return the password of an address and what its query assigns, as they stand there and decoded."""
    rest, _, query = url.partition("://")[2].partition("?")
    who = rest.partition("@")[0] if "@" in rest else ""
    typed = {who.partition(":")[2], *(part.partition("=")[2] for part in query.split("&"))}
    return {form for word in typed for form in (word, unquote(word)) if form}


def _guarded(doing: str, call: Callable[[], T], told: Callable[[BaseException], str]) -> T:
    """Whatever is raised, SystemExit and the panic of an engine too, is no reason to quote a row.

    Raised after the handler and not inside it, so that neither __cause__ nor __context__ holds the original.
    """
    try:
        with warnings.catch_warnings():
            # Ibis 12 calls this method of DuckDB 2; the user can do nothing about it
            warnings.filterwarnings("ignore", message="fetch_arrow_table", category=DeprecationWarning)
            return call()
    except (TableError, MissingExtra, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as error:
        missing = error.name or "a driver"
    except BaseException as error:  # noqa: BLE001 - any engine, any error
        raised, missing = told(error), None
    if missing is not None:
        raise MissingExtra(f"{doing} needs {missing}; {_extra(missing)}")
    raise TableError(f"{doing} failed{raised}")


EXTRAS = {"psycopg": "postgres", "psycopg2": "postgres", "pyspark": "spark", "polars": "frames"}


def _extra(module: str) -> str:
    extra = EXTRAS.get(module.partition(".")[0])
    return f"pip install 'discreet[{extra}]'" if extra else f"pip install {module}"


# ── A private table: rows that never leave, behind a public schema.
@final
@dataclass(frozen=True, repr=False, eq=False)
class Table:
    """Where private rows live, what is public of them, and whom a row belongs to. It never returns rows."""

    schema: Schema
    columns: tuple[str, ...]
    unit: str | None
    rows_per_unit: int | None
    declared: Schema = field(compare=False)
    source: TableSource = field(compare=False)
    n: int | None = None  # as declared
    filters: tuple[Expression, ...] = ()
    derived: Mapping[str, Expression] = field(default_factory=lambda: MappingProxyType({}))
    label: str = ""  # what the data set is called, in public
    fingerprint: str = ""  # SHA-256 of the declared schema and of where the rows live; of no row
    place: str = ""  # SHA-256 of where the rows live alone, whatever is declared of them

    @classmethod
    def open(
        cls,
        source: object,
        *,
        schema: Schema | Mapping[str, Kind] | str | Path,
        unit: str | None = None,
        rows_per_unit: int | None = None,
        table: str | None = None,
        n: int | None = None,
        label: str | None = None,
    ) -> Table:
        """Connect, and hold the columns' names and types against the schema. Reads no value.

        `unit` names the column that says who a row belongs to, `rows_per_unit` how many rows of one count;
        without it every row counts as a person of its own. `n` is the public number of records, and `label`
        what the data set is called in the ledger: the name of the file or table unless said.
        """
        from discreet.tables.opening.named import fingerprint, name_of, place_of  # noqa: PLC0415
        from discreet.tables.opening.sources import open_source  # noqa: PLC0415
        from discreet.tables.rows import refuse_columns  # noqa: PLC0415 - Ibis is heavy

        declared = as_schema(schema)
        k = _whole("rows_per_unit", rows_per_unit)
        if (unit is None) != (k is None):
            raise ValueError(
                "unit and rows_per_unit go together: unit names the column that says who a row belongs to, "
                "rows_per_unit how many rows of one unit may count"
            )
        types = {name: kind.stored for name, kind in declared.items()}
        opened = open_source(source, table, types if unit is None else {**types, unit: "string"})
        refuse_columns(opened, declared, unit)
        return cls(
            declared,
            tuple(declared),
            unit,
            k,
            declared,
            opened,
            _whole("n", n),
            label=name_of(source, table) if label is None else label,
            fingerprint=fingerprint(source, table, declared.hash),
            place=place_of(source, table),
        )

    def __getitem__(self, names: str | tuple[str, ...]) -> Table:
        """Select columns, in that order."""
        chosen = names if isinstance(names, tuple) else (names,)
        if not chosen or len(set(chosen)) != len(chosen):
            raise ValueError("select at least one column, each once")
        for name in chosen:
            _ = self.schema[name]
        return replace(self, columns=tuple(chosen))

    __iter__ = None  # a table has no rows to give

    def where(self, predicate: Expression) -> Table:
        """Keep the rows for which the predicate holds. How many they are is private."""
        self._refuse_number(predicate)
        return replace(self, filters=(*self.filters, predicate))

    def derive(self, **expressions: Expression) -> Table:
        """Add columns computed row by row; their bounds follow from the schema."""
        kinds: dict[str, Kind] = {}
        for name, expression in expressions.items():
            if name in self.schema:
                raise ValueError(f"column {name!r} is there already; give the derived one another name")
            kinds[name] = expression.kind(self.schema)
        return replace(
            self,
            schema=Schema({**self.schema, **kinds}),
            columns=(*self.columns, *kinds),
            derived=MappingProxyType({**self.derived, **expressions}),
        )

    def _refuse_number(self, predicate: Expression) -> None:
        kind = predicate.kind(self.schema)
        if kind.kind != "binary":
            raise TypeError(f"where takes a predicate such as col('age') >= 65, got a {kind.kind} column")

    # --- what is public ------------
    @property
    def n_is_public(self) -> bool:
        """Whether replacing a unit keeps the number of records: unfiltered, and one row a unit."""
        return not self.filters and self.rows_per_unit in {None, 1}

    def relation_for(self, relation: Relation = SUBSTITUTE) -> Relation:
        """Return the relation if this table supports it, or refuse and name the one it supports."""
        if relation.replaces and not self.n_is_public:
            why = (
                "where(…) makes the number of rows private"
                if self.filters
                else "units have differing numbers of rows"
            )
            raise ValueError(f"{why}: ask for a target with relation={ADD_REMOVE.name}, not {relation.name}")
        return relation

    def size(self) -> int:
        """Return the public number of records (of units, where there are units): declared, or counted."""
        self.relation_for(SUBSTITUTE)
        if self.n is not None:
            return self.n
        from discreet.tables.rows import count_records  # noqa: PLC0415

        n = count_records(self)
        if n < 1:
            raise ValueError("the table is empty; without data, the posterior is the prior")
        return n

    def bounded(
        self, model: Family, relation: Relation = SUBSTITUTE, *, clip: bool = False
    ) -> BoundedStatistic:
        """Return the model's exact integer statistic of the selected columns, unread, and its sensitivity.

        A model that takes less than its columns may hold is refused, unless `clip` asks for the cut.
        """
        from discreet.statistics import bounded  # noqa: PLC0415 - statistics stands on tables

        return bounded(self, model, relation, clip=clip)

    # --- nothing of the rows shows ------------
    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {self.schema[name]!r}" for name in self.columns)
        unit = "" if self.unit is None else f", unit={self.unit!r}, rows_per_unit={self.rows_per_unit}"
        return f"Table({{{shown}}}{unit}{', filtered' if self.filters else ''})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a table is a door to private rows and is not copied or pickled; keep its schema, open it anew"
        )


def _whole(name: str, value: int | None) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
        raise ValueError(f"{name} must be a whole number from 1 to 2**31 − 1, got {value!r}")
    return value
