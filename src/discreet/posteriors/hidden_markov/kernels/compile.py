# mypy: disable-error-code="no-any-return"
"""Compilation of the hidden Markov kernels: which sums may be reordered.

numba's cache does not tell a serial from a parallel version of one function, so none is parallel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import config

from discreet.compiled import njit

REORDERED = frozenset({"contract", "nsz", "reassoc"})  # sums may be; NaN and infinity stay what they are
AS_WRITTEN = frozenset({"contract", "nsz"})


def _compiled(function: Callable[..., Any], fastmath: frozenset[str]) -> Any:  # noqa: ANN401 - numba's own type
    return njit(error_model="numpy", fastmath=set(fastmath))(function)


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
