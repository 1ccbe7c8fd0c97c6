"""What ObjectivePerturbation releases. Reading it is post-processing: it costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from discreet.mechanisms.released import ReleasedArrays
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.privacy.guarantee import Guarantee


@final
@dataclass(frozen=True, eq=False)
class PerturbedFit(ReleasedArrays):
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
            self._hold(name, getattr(self, name), shape)
