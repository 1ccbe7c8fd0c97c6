"""What ObjectivePerturbation releases. Reading it is post-processing: it costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.privacy.guarantee import Guarantee, Relation


@final
@dataclass(frozen=True, eq=False)
class PerturbedFit:
    """θ̃ with Σ∇ℓ(θ̃) + λθ̃ + N(0, σ²I) = 0; H̃ = Σ∇²ℓ(θ̃) + noise, σ_H on the diagonal, σ_H/√2 off it."""

    kind: ClassVar[str] = "perturbed_fit"  # what files and the catalogue call it

    model: GeneralizedLinear  # bound
    estimate: Floats  # θ̃
    hessian: Floats  # H̃, without λ; may be indefinite
    strength: float  # λ
    noise: float  # σ
    hessian_noise: float  # σ_H
    n: int | None  # public; None when it is private
    guarantee: Guarantee  # of one row
    seeded: bool  # drawn from a public seed, hence not private

    def __post_init__(self) -> None:
        d = self.model.dimension
        for name, shape in (("estimate", (d,)), ("hessian", (d, d))):
            kept = np.array(getattr(self, name), dtype=np.float64)
            if kept.shape != shape:
                raise ValueError(
                    f"{name} must have the shape {shape} of the model's weights, got {kept.shape}"
                )
            kept.flags.writeable = False
            object.__setattr__(self, name, kept)

    @property
    def relation(self) -> Relation:
        return self.guarantee.relation

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PerturbedFit):
            return NotImplemented
        return (
            self._facts() == other._facts()
            and np.array_equal(self.estimate, other.estimate)
            and np.array_equal(self.hessian, other.hessian)
        )

    def __hash__(self) -> int:
        return hash((self._facts()[:4], self.estimate.tobytes()))

    def _facts(self) -> tuple[object, ...]:
        return (
            *(self.strength, self.noise, self.hessian_noise, self.n),
            *(self.model, self.seeded, self.guarantee),
        )
