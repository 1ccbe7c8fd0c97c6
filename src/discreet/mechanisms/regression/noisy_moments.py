"""What PolynomialStatistics releases. Reading it is post-processing: it costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.privacy.guarantee import Guarantee, Relation


@final
@dataclass(frozen=True, eq=False)
class NoisyMoments:
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
            kept = np.array(getattr(self, name), dtype=np.float64)
            if kept.shape != shape or not np.isfinite(kept).all():
                raise ValueError(f"{name} must be finite numbers of shape {shape}, got shape {kept.shape}")
            kept.flags.writeable = False
            object.__setattr__(self, name, kept)
        if not (self.first_noise > 0 and self.second_noise > 0):
            raise ValueError("the noise of both moments must be greater than 0")

    @property
    def relation(self) -> Relation:
        return self.guarantee.relation

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NoisyMoments):
            return NotImplemented
        return (
            self._facts() == other._facts()
            and np.array_equal(self.first, other.first)
            and np.array_equal(self.second, other.second)
        )

    def __hash__(self) -> int:
        return hash((self.first_noise, self.second_noise, self.first.tobytes(), self.second.tobytes()))

    def _facts(self) -> tuple[object, ...]:
        noise = self.first_noise, self.second_noise
        return self.model, *noise, self.n, self.guarantee, self.seeded, self.quadratic
