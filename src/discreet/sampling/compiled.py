# mypy: disable-error-code="no-any-return"
"""Compilation of kernels. Their cache is filed under a digest of every kernel source.

numba alone checks only the file of the cached function, so a corrected error bound in another file would
leave the old machine code in use: no private draw may come from a bound that has been withdrawn.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numba import config, njit

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCES = ("attempts", "compiled", "elementary", "fast", "fast_simplex", "strips")


def digest() -> str:
    """Fingerprint of all that is compiled into a kernel"""
    here = Path(__file__).parent
    return hashlib.sha256(b"\0".join((here / f"{name}.py").read_bytes() for name in SOURCES)).hexdigest()[:16]


def _directory() -> str | None:
    """Return a place beside the package, where only its owner writes; None if it is read-only."""
    place = Path(__file__).parent / "__pycache__" / f"kernels-{digest()}"
    try:
        place.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return None
    return str(place)


_PLACE = _directory()


def kernel(function: Callable[..., Any]) -> Any:  # noqa: ANN401 (numba's functions carry no types)
    """Compile with IEEE arithmetic as written: never fast-math, division by zero gives an infinity."""
    return _compiled(function, "never")


def inlined(function: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Compile into the callers."""
    return _compiled(function, "always")


def _compiled(function: Callable[..., Any], inline: str) -> Any:  # noqa: ANN401
    before = config.CACHE_DIR
    config.CACHE_DIR = _PLACE or before  # read by numba while it decorates, and only then
    try:
        return njit(cache=_PLACE is not None, error_model="numpy", inline=inline)(function)
    finally:
        config.CACHE_DIR = before
