"""Public names of a package, each loaded when it is first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def public(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], list[str]]:
    """Return the package's `__getattr__` and `__all__`, by module: "name other=public_name" or "*"."""
    found = {}
    for module, names in homes.items():
        for name in names.split():
            inner, _, outer = name.partition("=")
            found[module if inner == "*" else outer or inner] = (module, inner)

    def get(name: str) -> Any:  # noqa: ANN401 - any public name
        if name not in found:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, inner = found[name]
        home = importlib.import_module(f"{package}.{module}")
        return home if inner == "*" else getattr(home, inner)

    return get, sorted(found)
