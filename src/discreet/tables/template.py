"""A schema to fill in: names and types from metadata, and nothing read from values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis

from discreet.tables.opening.sources import open_source
from discreet.tables.schema import PLACEHOLDER, toml_column

if TYPE_CHECKING:
    from ibis.expr import datatypes as dt

HEAD = """\
# Columns of the table, from its metadata. Fill in every "?" from public knowledge, never from the data;
# delete the columns that no model reads.
#   kind = "binary"      true = "yes"                        1 where equal, 0 elsewhere
#   kind = "categories"  levels = ["a", "b"]                 all else and missing count as the first, or
#                      unknown = "b"                         as b; "(unknown)" makes them one more category
#   kind = "label"       levels = ["a", "b"]                 the same: the class to predict
#   kind = "bounded"     lower = 0, upper = 100              missing goes to lower, or missing = 50;
#                      clips = true                          where there are values beyond, which are clipped
#   kind = "count"       max = 20                            whole numbers from 0, clipped
"""
NUMBER = {"kind": "bounded", "lower": PLACEHOLDER, "upper": PLACEHOLDER}
TEXT = {"kind": "categories", "levels": [PLACEHOLDER], "unknown": PLACEHOLDER}
EITHER = {"kind": PLACEHOLDER}


def schema_template(source: object, *, table: str | None = None) -> str:
    """Return TOML to fill in. For CSV only the header is read: a type would be a guess from the values."""
    columns = _types(source, table)
    return "\n".join([HEAD, *(toml_column(name, *_guess(dtype)) for name, dtype in columns.items())])


def _types(source: Any, table: str | None) -> dict[str, str | Any]:  # noqa: ANN401 - any kind of frame
    if isinstance(source, str | Path | ibis.Table):
        opened = open_source(source, table, {})
        return {n: None if opened.text else t for n, t in opened.relation.schema().items()}
    dtypes = source.schema if hasattr(source, "schema") else source.dtypes
    if hasattr(dtypes, "names") and hasattr(dtypes, "types") and not callable(dtypes.names):
        return dict(zip(dtypes.names, map(str, dtypes.types), strict=True))  # Arrow
    return {str(name): str(dtype) for name, dtype in dict(dtypes).items()}  # Polars, pandas


def _guess(dtype: dt.DataType | str) -> tuple[dict[str, Any], str]:
    name = str(dtype or "").lower().removeprefix("!")
    if name.startswith("bool"):
        return {"kind": "binary"}, name
    if name.startswith(("int", "uint", "float", "double", "decimal", "halffloat")):
        return NUMBER, name
    if name.startswith(("string", "str", "large_string", "utf8", "varchar", "categorical", "dictionary")):
        return TEXT, name
    return EITHER, name
