"""Labels that are declared and not learned from y: what they are, and which of them an answer is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Integers
from discreet.mechanisms.user_functions import unseen

Labels = NDArray[Any]


def declared_classes(classes: Sequence[Any] | None) -> Labels:
    """Return the declared labels, sorted; refuse what was not declared."""
    declared = [] if classes is None else list(classes)
    if len(declared) < 2:
        raise ValueError(
            f"classes must be declared, at least two labels, got {classes!r}: which labels occur is a fact "
            "about the records, so they must be public knowledge, e.g. classes=[0, 1]"
        )
    labels = np.unique(np.asarray(declared))
    if len(labels) != len(declared):
        raise ValueError(f"classes must be labels of one type, each once, got {classes!r}")
    return labels


def codes_of(values: Labels, labels: Sequence[Any] | Labels) -> Integers:
    """Return the place of each value among the labels, −1 for whatever is none of them."""
    if values.dtype.kind in "biuf" and np.asarray(labels).dtype.kind in "biuf":
        return _of_numbers(values, np.asarray(labels))
    if values.dtype.kind == "O":
        table = {label: code for code, label in enumerate(np.asarray(labels, dtype=object).tolist())}
        return np.array([_place(table, value) for value in values], dtype=np.int64)
    codes = np.full(len(values), -1, np.int64)
    for code, label in enumerate(labels):
        codes[equal(values, label)] = code
    return codes


def _of_numbers(values: Labels, labels: Labels) -> Integers:
    order = np.argsort(labels, kind="stable")
    places = np.minimum(np.searchsorted(labels[order], values), len(labels) - 1)
    found = order[places]
    return np.where(labels[found] == values, found, -1).astype(np.int64)


def _place(table: dict[Any, int], value: object) -> int:
    try:
        return table.get(value, -1)
    except TypeError:  # no label can be what has no hash; raising would tell of one record
        return -1


def equal(values: Labels, label: object) -> NDArray[np.bool_]:
    """Which values are this label; one that cannot be compared, such as a missing one, is not."""
    if values.dtype.kind != "O":
        return np.asarray(values == label)
    return np.array([_same(value, label) for value in values], dtype=bool)


def _same(value: object, label: object) -> bool:
    return unseen(lambda: bool(value == label), missing=False)  # failing would tell of one record
