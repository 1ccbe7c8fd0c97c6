"""The one place where randomness enters: 64-bit words from the operating system, or from a seed for tests."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


class Source(ABC):
    """A stream of independent uniform bits. `seeded` is stamped on every release drawn from it."""

    seeded: ClassVar[bool]

    @abstractmethod
    def words(self, count: int) -> Words:
        """Return `count` fresh independent uniform 64-bit words."""


@final
@dataclass(frozen=True)
class SystemSource(Source):
    """The operating system's generator: the only source a private release may use."""

    seeded: ClassVar[bool] = False

    def words(self, count: int) -> Words:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@final
@dataclass(frozen=True)
class SeededSource(Source):
    """Philox from a public seed: reproducible, hence NOT private; for tests and demonstrations."""

    seed: int
    seeded: ClassVar[bool] = True
    _stream: np.random.Philox = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_stream", np.random.Philox(self.seed))

    def words(self, count: int) -> Words:
        return np.asarray(self._stream.random_raw(count), dtype=np.uint64)


SYSTEM = SystemSource()
