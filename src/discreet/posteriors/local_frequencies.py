"""Frequencies behind randomised observations: unbiased, with intervals that hold. Post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

if TYPE_CHECKING:
    from discreet.mechanisms.local.profile_base import ProfileMechanism

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Frequencies:
    """Estimated share of each value among the observations, and intervals that all hold together."""

    estimate: Floats
    lower: Floats
    upper: Floats
    level: float


def frequencies(
    mechanism: ProfileMechanism, released: ArrayLike, *, profile: str | int, level: float = 0.9
) -> Frequencies:
    """Solve p A = q̂ for observations of one profile; Clopper–Pearson for q, widened to p by |A⁻¹|.

    The estimate is unbiased, hence may leave [0, 1]; intervals are simultaneous (Bonferroni over values)
    and are cut to [0, 1]. They cover the law that the observations came from.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
    place = mechanism.graph.place(profile)
    seen = np.asarray(released)
    d = mechanism.graph.values
    if seen.dtype.kind not in "iub" or not seen.size or not (seen.min() >= 0 and seen.max() < d):
        raise ValueError(f"released values are integers from 0 to {d - 1}, and at least one")
    try:
        inverse = np.linalg.inv(mechanism.kernels.matrix(place))
    except np.linalg.LinAlgError:
        raise ValueError("this kernel forgets everything: nothing can be said of the frequencies") from None
    counts = np.bincount(seen.reshape(-1), minlength=d)
    low, high = _clopper_pearson(counts, seen.size, (1 - level) / d)
    share, rising = counts / seen.size, np.maximum(inverse, 0)
    falling = rising - inverse
    return Frequencies(
        share @ inverse,
        np.clip(low @ rising - high @ falling, 0, 1),
        np.clip(high @ rising - low @ falling, 0, 1),
        level,
    )


def _clopper_pearson(counts: NDArray[np.int64], n: int, level: float) -> tuple[Floats, Floats]:
    """Two-sided intervals of error `level` each."""
    safe = np.clip(counts, 1, None)
    low = np.where(counts > 0, betaincinv(safe, n - safe + 1, level / 2), 0.0)
    short = np.clip(counts, None, n - 1)
    high = np.where(counts < n, betaincinv(short + 1, n - short, 1 - level / 2), 1.0)
    return low, high
