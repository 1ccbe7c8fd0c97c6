"""What a mechanism releases as arrays: read-only, and equal where all of it is."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.privacy.guarantee import Guarantee, Relation


class ReleasedArrays:
    """A frozen dataclass of public numbers, some of them arrays, with what was promised for them."""

    guarantee: Guarantee

    @property
    def relation(self) -> Relation:
        return self.guarantee.relation

    def _hold(self, name: str, values: ArrayLike, shape: tuple[int, ...] | None = None) -> None:
        """Keep a read-only array; doubles where a shape is asked for."""
        kept = np.array(values, dtype=None if shape is None else np.float64)
        if shape not in {None, kept.shape}:
            raise ValueError(
                f"{name} must have the shape {shape} of the model's weights, got shape {kept.shape}"
            )
        kept.flags.writeable = False
        object.__setattr__(self, name, kept)

    def _parts(self) -> list[Any]:
        return [getattr(self, f.name) for f in fields(self)]  # type: ignore[arg-type]  # of a dataclass

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        pairs = zip(self._parts(), other._parts(), strict=True)
        return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)

    def __hash__(self) -> int:
        arrays: list[NDArray[np.float64]] = [part for part in self._parts() if isinstance(part, np.ndarray)]
        return hash((type(self), *(array.tobytes() for array in arrays)))
