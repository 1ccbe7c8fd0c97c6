"""The stub that type checkers read: `python -m discreet.stub` writes the names that the catalogue has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import discreet
from discreet.mechanisms.registry import MECHANISMS

STUB = Path(__file__).with_name("__init__.pyi")
WIDEST = 110  # letters of a line, as the formatter has them
HEAD = "# The public names with their types; __init__.py loads each on first use. Made by `make stub`.\n\n"


def stub() -> str:
    """Return an import of every public name from the module it stands in."""
    package: dict[str, Any] = vars(discreet)
    where = {home.partition(":")[2]: home.partition(":")[0] for home in MECHANISMS.home.values()}
    homes = package["_MODULE"] | {name: where[name] for name in package["__all__"] if name in where}
    inside = [
        (".".join(("discreet", *at.split(".")[:-1])), name) for name, at in package["_PACKAGES"].items()
    ]
    names = [(f"discreet.{homes[name]}", name) for name in package["__all__"]]
    order = sorted([*inside, *names], key=lambda one: (one[0], not one[1].isupper(), one[1]))
    lines = [_line(*one) for one in order]
    return f"{HEAD}{''.join(lines)}\n__version__: str\n"


def _line(module: str, name: str) -> str:
    plain = f"from {module} import {name} as {name}\n"
    return plain if len(plain) <= WIDEST + 1 else f"from {module} import (\n    {name} as {name},\n)\n"


if __name__ == "__main__":
    STUB.write_text(stub())
