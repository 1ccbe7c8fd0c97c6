"""What is public about a private table: its columns, and the place of every value that is not as declared."""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from abc import ABC
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, final

from discreet.families.exact_fields import power_of_two_above, rational
from discreet.shown import visible


# ── Columns written as TOML; the standard library only reads it.
def toml_column(name: str, declared: Mapping[str, Any], note: str = "") -> str:
    """One [columns.NAME] table; JSON's texts, numbers and lists are TOML's too."""
    lines = [f"{key} = {_toml(value)}" for key, value in declared.items()]
    head = f"[columns.{_toml(name)}]"
    return "\n".join([f"{head}  # {note}" if note else head, *lines, ""])


def _toml(value: object) -> str:
    """JSON, but for characters that a terminal would obey: those as TOML's own escapes."""
    return "".join(_escaped(c) for c in json.dumps(value, ensure_ascii=False))


def _escaped(character: str) -> str:
    if visible(character) == character:
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"


# ── schema
Scalar = str | int | float | bool
UNKNOWN = "(unknown)"
PLACEHOLDER = "?"
STORED = ((str, "string"), (bool, "bool"), (int, "int64"))


@dataclass(frozen=True)
class Kind(ABC):
    """Where each possible value of a column goes, NULL, NaN and the undeclared included: never an error."""

    kind: ClassVar[str]

    @property
    def stored(self) -> str:
        """The type, as Arrow calls it, of a column of this kind that holds no value to tell it by."""
        return "float64"

    def described(self) -> dict[str, Any]:
        """Return what a reader would write in TOML to declare this column; defaults left out."""
        given = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}
        return {"kind": self.kind} | {k: v for k, (v, default) in given.items() if v != default}


@final
@dataclass(frozen=True)
class Binary(Kind):
    """1 where the column equals `true`, `missing` where it is NULL or NaN, 0 elsewhere."""

    kind: ClassVar[str] = "binary"
    true: Scalar = True
    missing: bool = False

    @property
    def stored(self) -> str:
        return _stored(self.true)

    def __post_init__(self) -> None:
        _refuse_placeholder(self.true, "true")
        if isinstance(self.true, float) and not math.isfinite(self.true):
            raise ValueError(f"true must be a value that a column can equal, got {self.true}")
        if not isinstance(self.missing, bool):
            raise TypeError(f"missing must be true or false, got {self.missing!r}")


@dataclass(frozen=True)
class Categorical(Kind):
    """Codes 0, 1, … of the declared levels; all else (NULL too) counts as the level `unknown`.

    That is the first level unless another is named, as missing truths are false and missing counts are 0.
    With unknown="(unknown)" it is one more category.
    """

    levels: tuple[Scalar, ...] = ()
    unknown: Scalar | None = None  # None: the first level

    @property
    def stored(self) -> str:
        return _stored(self.levels[0])

    def __post_init__(self) -> None:
        if isinstance(self.levels, str | bytes):
            raise TypeError("levels must be a list of values, not one text")
        levels = tuple(self.levels)
        object.__setattr__(self, "levels", levels)
        for level in levels:
            _refuse_placeholder(level, "levels")
        _refuse_placeholder(self.unknown, "unknown")
        if not levels or len(set(levels)) != len(levels):
            raise ValueError(f"levels must be at least one value, each once, got {list(levels)}")
        if len({_sort(level) for level in levels}) != 1:
            raise TypeError("levels must be all texts, all numbers or all booleans: a column has one type")
        if any(isinstance(x, float) and not math.isfinite(x) for x in levels):
            raise ValueError("levels must be finite; NaN and infinity go to the unknown place")
        place = levels[0] if self.unknown is None else self.unknown
        object.__setattr__(self, "unknown", place)  # so that what is stored always says it
        if place not in levels and place != UNKNOWN:
            raise ValueError(
                f"unknown must be one of the levels, or {UNKNOWN!r} for one more category, got {place!r}"
            )

    @property
    def labels(self) -> tuple[Scalar, ...]:
        """The level of each code."""
        return self.levels if self.unknown in self.levels else (*self.levels, UNKNOWN)

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def elsewhere(self) -> int:
        """The code of everything undeclared."""
        return self.labels.index(self.unknown)

    def code(self, level: Scalar) -> int:
        if level not in self.labels:
            raise ValueError(
                f"{level!r} is not a declared level; declared: {list(self.labels)}"
                + (f"; unknown={UNKNOWN!r} in the schema adds that category" if level == UNKNOWN else "")
            )
        return self.labels.index(level)


@final
@dataclass(frozen=True)
class Categories(Categorical):
    """One of finitely many declared levels."""

    kind: ClassVar[str] = "categories"


@final
@dataclass(frozen=True)
class Label(Categorical):
    """The class to predict: categories."""

    kind: ClassVar[str] = "label"


@final
@dataclass(frozen=True)
class Bounded(Kind):
    """A number clipped to [lower, upper], on multiples of `grid` when given; NULL and NaN go to `missing`.

    The bounds are facts about the data, unless `clips` says that there are values beyond them, which were
    clipped: then posteriors allow for it.
    """

    kind: ClassVar[str] = "bounded"
    lower: float
    upper: float
    grid: float | None = None
    missing: float | None = None  # None: the lower bound
    clips: bool | None = None  # None: False, and said so in what is stored

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "grid", "missing"):
            _refuse_placeholder(getattr(self, name), name)
        _settle_clips(self)
        if not (-math.inf < self.lower < self.upper < math.inf):
            raise ValueError(
                f"bounds need lower < upper, both finite, got [{self.lower}, {self.upper}]; "
                "they must be public knowledge, not read from the data"
            )
        if self.missing is not None and not self.lower <= self.missing <= self.upper:
            raise ValueError(f"missing must lie within [{self.lower}, {self.upper}], got {self.missing}")
        if self.grid is not None:
            grid = rational(self.grid, what="grid")
            if grid != power_of_two_above(grid) or not grid <= self.upper - self.lower:
                raise ValueError(
                    f"grid must be a power of two within the bounds, e.g. 2**-10, got {self.grid}"
                )

    @property
    def elsewhere(self) -> float:
        return float(self.lower if self.missing is None else self.missing)


@final
@dataclass(frozen=True)
class Count(Kind):
    """A whole number ⌊x + ½⌋ clipped to {0, …, max}; NULL and NaN go to `missing`. `clips` as in Bounded."""

    kind: ClassVar[str] = "count"
    max: int
    missing: int = 0
    clips: bool | None = None  # None: False, and said so in what is stored

    def __post_init__(self) -> None:
        _settle_clips(self)
        for name in ("max", "missing"):
            value = getattr(self, name)
            _refuse_placeholder(value, name)
            if isinstance(value, bool) or value != int(value):
                raise ValueError(f"{name} must be a whole number, got {value!r}")
            object.__setattr__(self, name, int(value))
        if not 1 <= self.max < 2**53:
            raise ValueError(f"max must be a whole number from 1 to 2**53 − 1, got {self.max}")
        if not 0 <= self.missing <= self.max:
            raise ValueError(f"missing must lie in 0, …, {self.max}, got {self.missing}")


def _settle_clips(kind: Bounded | Count) -> None:
    """Take nothing to be clipped unless it is said; releases from before this was asked do not say it."""
    if not (kind.clips is None or isinstance(kind.clips, bool)):
        raise TypeError(f"clips must be true or false, got {kind.clips!r}")
    object.__setattr__(kind, "clips", bool(kind.clips))


KINDS: dict[str, type[Kind]] = {k.kind: k for k in (Binary, Categories, Bounded, Count, Label)}


@final
@dataclass(frozen=True, repr=False)
class Schema(Mapping[str, Kind]):
    """The public columns, by name."""

    columns: Mapping[str, Kind]

    def __post_init__(self) -> None:
        columns = dict(self.columns)
        if not columns:
            raise ValueError(
                "a schema declares at least one column; `discreet schema init` writes a template"
            )
        for name, kind in columns.items():
            if not isinstance(name, str) or not name:
                raise TypeError(f"columns are named by texts, got {name!r}")
            if not isinstance(kind, Kind):
                raise TypeError(
                    f"column {name!r} needs one of {', '.join(k.__name__ for k in KINDS.values())}, "
                    f"got {type(kind).__name__}"
                )
        object.__setattr__(self, "columns", MappingProxyType(columns))

    def __getitem__(self, name: str) -> Kind:
        if name not in self.columns:
            raise KeyError(f"no column {name!r} is declared; declared: {', '.join(self.columns)}")
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        return f"Schema({dict(self.columns)!r})"

    def __reduce__(self) -> tuple[type[Schema], tuple[dict[str, Kind]]]:
        return Schema, (dict(self.columns),)

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON: keys sorted, no spaces, UTF-8."""
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        return {"columns": {name: kind.described() for name, kind in self.columns.items()}}

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Schema:
        columns = written.get("columns")
        if not isinstance(columns, Mapping):
            raise ValueError("a schema has one table [columns.NAME] for each column")  # noqa: TRY004 - bad input
        return cls({name: _kind(name, declared) for name, declared in columns.items()})

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        return cls.from_dict(json.loads(text))

    def to_toml(self) -> str:
        return "\n".join(toml_column(name, kind.described()) for name, kind in self.columns.items())

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        return cls.from_dict(tomllib.loads(text))

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a .toml or .json file."""
        text = Path(path).read_text(encoding="utf-8")
        return cls.from_json(text) if Path(path).suffix == ".json" else cls.from_toml(text)


def as_schema(given: Schema | Mapping[str, Kind] | str | Path) -> Schema:
    if isinstance(given, Schema):
        return given
    return Schema.load(given) if isinstance(given, str | Path) else Schema(given)


def _kind(name: str, declared: object) -> Kind:
    known = ", ".join(KINDS)
    if not isinstance(declared, Mapping) or declared.get("kind") not in KINDS:
        raise ValueError(f"column {name!r} needs kind = one of {known}; fill in every {PLACEHOLDER!r}")
    kind = KINDS[declared["kind"]]
    given = {key: value for key, value in declared.items() if key != "kind"}
    allowed = {f.name: f for f in fields(kind)}
    needed = {key for key, f in allowed.items() if f.default is MISSING or (key == "levels")}
    if not needed <= set(given) <= set(allowed):
        raise ValueError(
            f"column {name!r} of kind {kind.kind} takes {', '.join(allowed)}, "
            f"got {', '.join(given) or 'nothing'}"
        )
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r}: {error}") from None


def _stored(value: Scalar) -> str:
    return next((name for kind, name in STORED if isinstance(value, kind)), "float64")


def _refuse_placeholder(value: object, what: str) -> None:
    if value == PLACEHOLDER:
        raise ValueError(
            f"{what} is still {PLACEHOLDER!r}: fill it in from public knowledge, not from the data"
        )


def _sort(level: Scalar) -> str:
    if isinstance(level, bool):
        return "boolean"
    if isinstance(level, str):
        return "text"
    if isinstance(level, int | float):
        return "number"
    raise TypeError(f"a level is a text, a number or a boolean, got {type(level).__name__}")
