"""One text for one public setting of a kernel, so that a file is continued by the kernel that began it.

A function goes by what it computes: its code, constants, defaults, what it closes over and what it reads of
its own module; those of other modules go by their names. Another version of Python may write other code.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType

import numpy as np


class CheckpointError(ValueError):
    """The file cannot be used as asked; the message says why."""


def fingerprint(thing: object) -> str:
    """Return the same text in every process, and another for whatever computes differently."""
    return _told(thing, set())


def _told(thing: object, seen: set[int]) -> str:
    if is_dataclass(thing) and not isinstance(thing, type):
        inside = ",".join(f"{f.name}={_told(getattr(thing, f.name), seen)}" for f in fields(thing))
        return f"{type(thing).__name__}({inside})"
    if isinstance(thing, tuple | list):
        return f"({','.join(_told(each, seen) for each in thing)})"
    if isinstance(thing, dict):
        return f"dict{_told(tuple(thing.items()), seen)}"
    if isinstance(thing, set | frozenset):  # whose order differs between processes
        return f"set({','.join(sorted(_told(each, seen) for each in thing))})"
    if (
        isinstance(thing, np.ndarray) and not thing.dtype.hasobject
    ):  # repr leaves out the middle of a long one
        digest = hashlib.sha256(np.ascontiguousarray(thing).tobytes()).hexdigest()
        return f"array({thing.dtype.str},{thing.shape},{digest})"
    if isinstance(thing, CodeType):
        return _code(thing, seen)
    return _callable(thing, seen) if callable(thing) else _plain(thing)


def _callable(thing: object, seen: set[int]) -> str:
    if isinstance(thing, FunctionType):
        return _function(thing, seen)
    if isinstance(thing, MethodType):
        return f"method{_told((thing.__self__, thing.__func__), seen)}"
    if isinstance(thing, partial):
        return f"partial{_told((thing.func, thing.args, thing.keywords), seen)}"
    if isinstance(thing, type | np.ufunc | BuiltinFunctionType):
        return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', thing.__name__)}"
    raise _refusal(thing)


def _function(function: FunctionType, seen: set[int]) -> str:
    name = f"{function.__module__}.{function.__qualname__}"
    if id(function) in seen:
        return name
    seen.add(id(function))
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    reads = [function.__globals__[x] for x in _names(function.__code__) if x in function.__globals__]
    for other in reads:
        if isinstance(other, FunctionType) and other.__module__ != function.__module__:
            seen.add(id(other))  # by its name
    held = (function.__code__, cells, function.__defaults__, function.__kwdefaults__, reads)
    return f"{name}{_told(held, seen)}"


def _names(code: CodeType) -> list[str]:
    """Return the globals that a function, or one written inside it, may read."""
    inside = [name for const in code.co_consts if isinstance(const, CodeType) for name in _names(const)]
    return sorted({*code.co_names, *inside})


def _code(code: CodeType, seen: set[int]) -> str:
    parts = (code.co_code.hex(), code.co_consts, code.co_names, code.co_varnames, code.co_freevars)
    return hashlib.sha256(_told(parts, seen).encode()).hexdigest()


def _plain(thing: object) -> str:
    text = repr(thing)
    if isinstance(thing, ModuleType):
        return thing.__name__
    if " at 0x" in text:
        raise _refusal(thing)
    return text


def _refusal(thing: object) -> CheckpointError:
    return CheckpointError(
        f"a kernel that holds a {type(thing).__name__} cannot be distinguished from one that holds another, "
        "so its file could be continued by the wrong one: give a function, numbers, arrays or a frozen "
        "dataclass in its place, or run without a file"
    )
