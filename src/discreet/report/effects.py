"""What the weights of a regression say in one sentence: which column matters most surely, and how much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.report.numbers import decimals, shown
from discreet.report.subject import Group, Summary, quoted


@final
@dataclass(frozen=True)
class Effect:
    """What a weight does to the answer, and the number that says it: the weight, or its exponential."""

    words: str  # as the start of a sentence goes on: "the odds of “ill” are multiplied by"
    of: Callable[[float], float] = float


def clearest(ends: np.ndarray, indices: Sequence[int]) -> tuple[int, bool]:
    """Return the index whose interval lies farthest from 0, and whether it leaves 0 out."""
    distance = np.maximum(ends[:, 0], -ends[:, 1])
    best = max(indices, key=lambda i: float(distance[i]))
    return best, bool(distance[best] > 0)


def effect(group: Group, here: Summary, top: int, change: Effect, *, sure: bool) -> str:
    """Say what one column does, with its interval."""
    low, mean, high = (
        change.of(float(v)) for v in (here.interval[top, 0], here.mean[top], here.interval[top, 1])
    )
    places = max(0, decimals(high - low) - 1)
    said = [shown(value, places) for value in (mean, low, high)]
    label = group.labels[top]
    when = f"Where {label}" if " = " in label else f"For one more unit of {quoted(label)}"
    doubt = "" if sure else "No effect is beyond doubt; the clearest is this. "
    return (
        f"{doubt}{when}, {change.words} about {said[0]}, and with 90 % probability between {said[1]} and "
        f"{said[2]}."
    )
