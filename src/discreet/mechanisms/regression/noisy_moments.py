"""What PolynomialStatistics releases. Reading it is post-processing: it costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from discreet.mechanisms.released import ReleasedArrays
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.privacy.guarantee import Guarantee


@final
@dataclass(frozen=True, eq=False)
class NoisyMoments(ReleasedArrays):
    """first = Σyx + N(0, first_noise²I); second = Σxxᵀ + GOE: second_noise² on the diagonal, half of it off.

    Σ is over the rows with a declared label. Neither is projected: `second` may be indefinite.
    """

    kind: ClassVar[str] = "noisy_moments"  # what files and the catalogue call it

    model: GeneralizedLinear  # bound
    first: Floats  # d, read-only
    second: Floats  # d × d, symmetric, read-only
    first_noise: float
    second_noise: float
    n: int | None  # public; None when it is private
    guarantee: Guarantee  # of one row
    seeded: bool  # drawn from a public seed, hence not private
    quadratic: tuple[float, float] | None = None  # of a declared loss: φ(s, y) ≈ slope·ys + bend·s²/2

    def __post_init__(self) -> None:
        d = self.model.dimension
        for name, shape in (("first", (d,)), ("second", (d, d))):
            self._hold(name, getattr(self, name), shape)
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} must be finite numbers")
        if not (self.first_noise > 0 and self.second_noise > 0):
            raise ValueError("the noise of both moments must be greater than 0")
