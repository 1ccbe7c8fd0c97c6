"""K classes, each against the rest: K fits to the same records, whose promises compose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.calibration import gaussian_share
from discreet.mechanisms.user_functions import unseen
from discreet.models.margin_losses import Floats
from discreet.privacy.accounting.composition import repeat
from discreet.privacy.group_privacy import per_draw
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import ApproxDP

Labels = NDArray[Any]


FEW = 5  # fits up to which objective perturbation does better with (ε/K, δ/K), whose λ is smaller


def shares(target: Guarantee, fits: int, mechanism: str = "") -> list[Guarantee]:
    """Promises for one of K fits, any of which suffices: K of them give the target.

    Of an (ε, δ) target: (ε/K, δ/K) [DR14 Thm 3.16], and μ/√K with the largest μ whose exact profile meets
    (ε, δ) [DRS22 Cor. 3.3]. Of other kinds: their own composition. Both are proved; their order is a choice
    for utility, by public numbers alone.
    """
    if fits == 1:
        return [target]
    plain = per_draw(target, fits)
    if not isinstance(target, ApproxDP):
        return [plain]
    gaussian = gaussian_share(target, fits)
    shrinks = mechanism == "objective_perturbation" and fits <= FEW
    return [plain, gaussian] if shrinks else [gaussian, plain]


def composed(own: Guarantee, fits: int, target: Guarantee) -> Guarantee:
    """Return what K fits promise together: their composition, or the target where that says more."""
    together = repeat(own, fits)
    return min(together, target)


def answers(y: Labels, classes: Labels) -> list[Floats]:
    """±1 for each fit: this class, or another declared one; 0 for a label that was not declared."""
    is_class = np.array([_equal(y, label) for label in classes], dtype=np.float64)
    declared = is_class.sum(axis=0)
    chosen = is_class[1:] if len(classes) == 2 else is_class
    return [2 * one - declared for one in chosen]


def _equal(y: Labels, label: object) -> NDArray[np.bool_]:
    """Which answers are this label; one that cannot be compared, such as a missing one, is not."""
    return y == label if y.dtype.kind != "O" else np.array([_same(value, label) for value in y], dtype=bool)


def _same(value: object, label: object) -> bool:
    return unseen(lambda: bool(value == label), missing=False)  # failing would tell of one record


def probabilities(each: list[Floats]) -> Floats:
    """Of two classes (1 − p, p); of more, each fit's probability over their sum."""
    if len(each) == 1:
        return np.column_stack([1 - each[0], each[0]])
    stacked = np.maximum(np.column_stack(each), np.finfo(np.float64).tiny)
    return np.asarray(stacked / stacked.sum(axis=1, keepdims=True))
