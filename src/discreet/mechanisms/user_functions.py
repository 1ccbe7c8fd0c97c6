"""Functions that users bring: tried on made-up rows, then run on private ones, where failures are silent."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import TextIOBase
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


T = TypeVar("T")
NUMERIC = "biuf"  # kinds of arrays whose rows can be made up


def private_answer(function: Callable[[Any], float], rows: object, missing: float) -> float:
    """Return function(rows), or the public `missing` where it fails or is not finite, whatever was raised."""
    answer = unseen(lambda: float(function(rows)), missing)
    return answer if math.isfinite(answer) else missing


def private_gradient(gradient: Callable[..., Any], w: Floats, x: Floats, y: float) -> Floats:
    """Return the gradient at one private record, or 0 where it fails or has another shape."""
    nothing = np.zeros(w.size)
    pull = unseen(lambda: np.asarray(gradient(w, x, y), dtype=np.float64), nothing)
    return pull if pull.shape == w.shape else nothing


@final
class Nowhere(TextIOBase):
    """What is written here is gone."""

    def write(self, text: str, /) -> int:
        return len(text)


NOWHERE = Nowhere()


def unseen(call: Callable[[], T], missing: T) -> T:
    """Return what the call gives, or `missing`: an error, a warning or an exit would be a release unpaid for.

    So would be what Python prints meanwhile. Ctrl-C passes, with no trace of the rows: it is raised after the
    handler, so that its context does not lead to them.
    """
    try:
        with (
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
            redirect_stdout(NOWHERE),
            redirect_stderr(NOWHERE),
        ):
            warnings.simplefilter("ignore")
            return call()
    except KeyboardInterrupt:
        pass
    except BaseException:  # noqa: BLE001 - SystemExit and a library's own classes quote rows as well
        return missing
    raise KeyboardInterrupt


def made_up(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return rows of a public shape and type that are no one's: uniform on [0, 1), or digits."""
    rng = np.random.default_rng(0)
    if dtype.kind == "f":
        return rng.random(shape).astype(dtype)
    return rng.integers(0, 2 if dtype.kind == "b" else 10, shape).astype(dtype)


def rehearse(function: Callable[[Any], float], example: object) -> None:
    """Refuse a function that fails on made-up rows: on private rows nobody would see it fail."""
    try:
        answer = float(function(example))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an exit, too, is a failure
        raise ValueError(
            f"the function failed on made-up rows with {type(error).__name__}: {error}; on private rows such "
            "a failure is hidden and would leave nothing but noise. Mend it, or give example=, made-up rows "
            "that it can take"
        ) from error
    if not math.isfinite(answer):
        raise ValueError(
            f"the function answered {answer} on made-up rows, where a finite number is needed; mend it, or "
            "give example=, made-up rows that it can take"
        )
