"""Losses for noisy SGD: convex, with constants that hold for every admissible record."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.records import FAR, doubles, tight

Floats = NDArray[np.float64]
Gradient = Callable[[Floats, Floats, float], Floats]  # (w, x, y) ↦ gradient of the data part


@final
@dataclass(frozen=True)
class Loss:
    """ℓ(w; x, y) + (penalty/2)‖w‖², ℓ convex, C-Lipschitz and β-smooth in w for every admissible record.

    The constants are public promises about all ‖x‖ ≤ norm, |y| ≤ largest and ‖w‖ ≤ radius.
    A gradient compiled by numba runs in compiled steps.
    """

    gradient: Gradient
    lipschitz: float  # C
    smooth: float  # β
    norm: float  # longer rows are scaled down to it
    largest: float = 1.0  # longer answers are clipped to it
    penalty: float = 0.0
    radius: float = math.inf  # of w; a trainer that may walk farther is refused

    def __post_init__(self) -> None:
        for name in ("lipschitz", "smooth", "norm", "largest"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(
                    f"declare {name}, a finite bound that is public and holds for every record, got "
                    f"{getattr(self, name)}"
                )
        if not self.radius > 0:  # also refuses NaN
            raise ValueError(
                f"radius, the largest ‖w‖ for which the constants hold, must be above 0, got {self.radius}"
            )
        if not 0 <= self.penalty < math.inf:
            raise ValueError(f"penalty must be finite and at least 0, got {self.penalty}")


def logistic_loss(*, norm: float, penalty: float = 0.0) -> Loss:
    """ln(1 + e^{−y x·w}), y = ±1: C = norm, β = norm²/4."""
    return Loss(_builtin("logistic"), norm, norm**2 / 4, norm, 1.0, penalty)


def ridge_loss(*, norm: float, largest: float, radius: float, penalty: float = 0.0) -> Loss:
    """½(y − x·w)² for ‖w‖ ≤ radius: C = norm(largest + norm·radius), β = norm²."""
    return Loss(_builtin("ridge"), norm * (largest + norm * radius), norm**2, norm, largest, penalty, radius)


def clipped(value: tuple[ArrayLike, ArrayLike], loss: Loss) -> tuple[Floats, Floats]:
    """Rows scaled down to the norm, answers clipped; what is not a number becomes 0. How many is private."""
    rows, answers = (np.nan_to_num(doubles(part)) for part in value)
    if rows.ndim != 2 or answers.shape != rows.shape[:1]:
        raise ValueError("give a matrix with one row for each record, and one answer for each row")
    unit = math.ldexp(0.5, math.frexp(loss.norm)[1])  # ≤ norm, so that squares neither vanish nor overflow
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.clip(rows / unit, -FAR, FAR)
        most = loss.norm / unit
        shrink = most / np.maximum(np.sqrt((scaled * scaled).sum(axis=1)), most) * tight(rows.shape[1])
        short = np.ascontiguousarray(scaled * shrink[:, None] * unit)
    return short, np.clip(answers, -loss.largest, loss.largest)


def compiled(gradient: object) -> bool:
    return hasattr(gradient, "py_func")


@cache
def _builtin(name: str) -> Any:  # noqa: ANN401 - a numba dispatcher
    import numba  # noqa: PLC0415 - compiles on first use

    return numba.njit({"logistic": _logistic, "ridge": _ridge}[name])


def _logistic(w: Floats, x: Floats, y: float) -> Floats:
    pull: Floats = -y * x / (1.0 + np.exp(min(y * np.dot(x, w), 700.0)))
    return pull


def _ridge(w: Floats, x: Floats, y: float) -> Floats:
    pull: Floats = (np.dot(x, w) - y) * x
    return pull
