"""Every family and its examples, as the catalogue has them: what the laws run over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from discreet.catalogue import FAMILY, ROWS, Example, Registry, classes, names
from discreet.families.family import Family

FAMILIES: Registry[Family] = classes(FAMILY)


def _records(example: Example) -> Sequence[Any]:
    """Return numbers where a record is one, else lists of them."""
    return [row[0] if len(row) == 1 else list(row) for row in example.rows]


def _examples() -> Iterator[tuple[Family, Sequence[Any]]]:
    for name in names(FAMILY):
        for example in ROWS[name].examples:
            yield FAMILIES[name](**example.prior), _records(example)


EXAMPLES = list(_examples())  # a prior, and records within its bounds
