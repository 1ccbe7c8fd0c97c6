# mypy: disable-error-code="no-any-return"
"""Compilation of the hidden Markov kernels, cached under a digest of all their sources.

numba alone looks only at the file of the cached function, so that one kernel would go on running another
one's old code; and it does not tell a serial from a parallel version of one function, so none is parallel.
"""

from __future__ import annotations

import hashlib
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numba import config, njit

if TYPE_CHECKING:
    from collections.abc import Callable

REORDERED = frozenset({"contract", "nsz", "reassoc"})  # sums may be; NaN and infinity stay what they are
AS_WRITTEN = frozenset({"contract", "nsz"})


def _directory() -> str | None:
    """Return a place beside the package; None if it is read-only."""
    here = Path(__file__).parent
    sources = [source.read_bytes() for source in sorted(here.glob("hmm_*.py"))]
    kernels = [text for text in sources if b"hmm_compiled" in text]  # the other files hold none
    digest = hashlib.sha256(b"\0".join(kernels)).hexdigest()[:16]
    place = here / "__pycache__" / f"hmm-{digest}"
    try:
        place.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return None
    return str(place)


_PLACE = _directory()


def _compiled(function: Callable[..., Any], fastmath: frozenset[str]) -> Any:  # noqa: ANN401 - numba's own type
    before = config.CACHE_DIR
    config.CACHE_DIR = _PLACE or before  # read by numba while it decorates, and only then
    try:
        return njit(cache=_PLACE is not None, error_model="numpy", fastmath=set(fastmath))(function)
    finally:
        config.CACHE_DIR = before


def _in_fours(function: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Let LLVM put four equal lines of scalars into one vector instruction, which numba leaves off."""
    dispatcher = _compiled(function, AS_WRITTEN)
    plain = dispatcher.compile

    def compile_(signature: Any) -> Any:  # noqa: ANN401
        before, config.SLP_VECTORIZE = config.SLP_VECTORIZE, 1  # read by numba while it compiles
        try:
            return plain(signature)
        finally:
            config.SLP_VECTORIZE = before

    dispatcher.compile = compile_
    return dispatcher


kernel = partial(_compiled, fastmath=REORDERED)
kernel_in_fours = _in_fours
kernel_as_written = partial(_compiled, fastmath=AS_WRITTEN)
