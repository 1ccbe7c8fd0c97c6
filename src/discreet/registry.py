"""Names → classes, each imported when it is first asked for, so that looking is cheap."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar, final

T = TypeVar("T")


@final
@dataclass(frozen=True)
class Registry(Mapping[str, type[T]], Generic[T]):
    """name → "module:Class" of a package; `kind` is what people call the things in it."""

    package: str
    kind: str
    home: Mapping[str, str]

    def __getitem__(self, name: str) -> type[T]:
        if name not in self.home:
            raise KeyError(f"no {self.kind} is called {name!r}; there are {', '.join(self.home)}")
        module, _, attribute = self.home[name].partition(":")
        found: type[T] = getattr(importlib.import_module(f"{self.package}.{module}"), attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.home)

    def __len__(self) -> int:
        return len(self.home)
