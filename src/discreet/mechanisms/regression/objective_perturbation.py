"""A regularised fit whose objective is tilted by noise, and its noisy Hessian: one release, then free draws.

What is ideal in the proof and not in a computer is paid for: the tilt is drawn on a grid, the minimum is
found to a proved tolerance r, both move θ̃ by at most 9r/8, and Gaussian noise of its own small μ₃ hides that.
The Hessian is taken at what was released, so it is a Gaussian mechanism given that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import isqrt, sqrt
from typing import ClassVar, Self, final

import numpy as np

from discreet.families.exact_fields import power_of_two_above
from discreet.families.family import public_size
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.mechanisms.regression.objective_calibration import analysed, calibrated
from discreet.mechanisms.regression.perturbed_fit import PerturbedFit
from discreet.mechanisms.regression.samplers.certified_minimum import TiltedSum, added, curvature, minimum
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.models.regression_records import Passes, Records
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation, Unreachable
from discreet.privacy.worst_pairs.perturbed_objective import PerturbedObjective
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM, Source

HESSIAN_SHARE = Fraction(3, 20)  # of μ²
OUTPUT_SHARE = Fraction(1, 1024)  # of μ², for what the computer rounds
# Records that the tolerance is made for: a public n, the second where it is private. Doubles then prove the
# minimum whatever the records are (at weights of usual length); beyond, it depends on them how long it takes.
USUAL, MANY, MOST = 2**16, 2**20, 2**26
FINE = Fraction(1, 2**42)  # tolerance, relative to the norm of the gradients over λ,
WIDE = 16  # or to this much of the noise, if that is more: b is then exact in doubles
CELLS = 2**48  # of a grid, the widest noise; 32 standard deviations are then whole numbers in doubles
COMPUTED = 1 + Fraction(1, 2**6)  # a Hessian of up to 2^36 records, summed in doubles, moves by this at most


@final
@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbation(ModelMechanism):
    """θ̃ = argmin Σφ + (λ/2)‖w‖² + b·w, b ~ N(0, σ²I), then Σ∇²φ(θ̃) + noise; μ² is split between them."""

    name: ClassVar[str] = "objective_perturbation"
    theorem: ClassVar[str] = (
        "KST12's density of the minimum, with the exact loss max_q qX + q(1−q)(c²/λ − μ²/2); substitution "
        "through the union; E[δ*(ε − X₂)] for the Gaussian releases that follow"
    )
    reads: ClassVar[str] = "passes"

    model: GeneralizedLinear = field(kw_only=False)
    n: int | None = None
    mu_squared: Exact  # of all that is released
    strength: float  # λ
    epsilon: Exact  # where δ is stated, if λ is too small for GaussianDP
    hessian_share: Exact = HESSIAN_SHARE
    relation: Relation = SUBSTITUTE

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        object.__setattr__(self, "strength", float(self.strength))
        share = Fraction(self.hessian_share)
        if not 0 < share < 1 - OUTPUT_SHARE:
            raise ValueError(
                f"hessian_share is the part of μ² that buys the Hessian, in (0, 0.99), got {share}"
            )
        if not (0 < self.strength < np.inf and self.mu_squared > 0 and self.epsilon > 0):
            raise ValueError("λ, μ² and ε must be finite and above 0; calibrate() finds them for a target")

    @classmethod
    def calibrate(
        cls,
        model: GeneralizedLinear,
        *,
        n: int | None = None,
        target: Guarantee,
        hessian_share: Exact = HESSIAN_SHARE,
    ) -> Self:
        """λ = the prior's d/R², or the least that the target allows; the largest μ for it."""

        def at(mu_squared: Exact, strength: float, epsilon: Exact) -> Self:
            return cls(
                model,
                n=n,
                mu_squared=mu_squared,
                strength=strength,
                epsilon=epsilon,
                hessian_share=hessian_share,
                relation=target.relation,
            )

        found = calibrated(target, at, model)
        if not found.guarantee <= target:
            raise Unreachable(f"the calibrated promise could not be proved to meet {target}")
        return found

    # ── what is promised ────────────────────────────────────────────────────────────────────────────
    @cached_property
    def profile(self) -> PerturbedObjective:
        """The certified profile of everything released."""
        hessian, output = self._parts
        return analysed(
            self.model.loss,
            self.model,
            Fraction(self.strength),
            self._objective,
            hessian + output,
            self.relation,
        )

    @cached_property
    def guarantee(self) -> Guarantee:
        """GaussianDP where λ is large enough for it, else ApproxDP at ε."""
        variances = (self.variance, self.output_variance, self.hessian_variance)
        if any(v > (CELLS * grid) ** 2 for v, grid in zip(variances, self._grids(), strict=True)):
            raise Unreachable(
                f"μ² = {float(self.mu_squared):.3g} asks for more noise than doubles hold to the last digit: "
                "give a target that is not so small"
            )
        return self.profile.guarantee(self.epsilon)

    @property
    def _parts(self) -> tuple[Fraction, Fraction]:
        total = Fraction(self.mu_squared)
        return total * Fraction(self.hessian_share), total * OUTPUT_SHARE

    @property
    def _objective(self) -> Fraction:
        return Fraction(self.mu_squared) - sum(self._parts)

    # ── the noise ───────────────────────────────────────────────────────────────────────────────────
    @property
    def variance(self) -> Fraction:
        """σ² = Δ²/μ₁²"""
        return self.model.gradient_square(self.relation) / self._objective

    @property
    def tolerance(self) -> float:
        """r: the minimum is found to this, whatever the data; public."""
        records = MANY if self.n is None else min(max(self.n, USUAL), MOST)
        steepest = sqrt(self.model.gradient_square(SUBSTITUTE) / 4)
        return float(FINE) * max(records * steepest, WIDE * sqrt(self.variance)) / self.strength

    @property
    def output_variance(self) -> Fraction:
        """τ² = (2·9r/8)²/μ₃²"""
        return (Fraction(self.tolerance) * Fraction(9, 4)) ** 2 / self._parts[1]

    @property
    def hessian_variance(self) -> Fraction:
        """σ_H² = (κc²)²/μ_H², twice that under SUBSTITUTE: ⟨xxᵀ, zzᵀ⟩ = (x·z)² ≥ 0; computing it included."""
        moved = 2 if self.relation is SUBSTITUTE else 1
        return moved * (self._hessian_bound * COMPUTED) ** 2 / self._parts[0]

    @property
    def _hessian_bound(self) -> Fraction:
        return self.model.loss.curvature * self.model.bound_square

    def _grids(self) -> tuple[Fraction, Fraction, Fraction]:
        """Of b (it moves θ̃ by r/16 at most), of θ̃ (r/32), of H̃ (2^-20 of its sensitivity)."""
        r, root = Fraction(self.tolerance), isqrt(self.model.dimension - 1) + 1
        return (
            power_of_two_above(r * Fraction(self.strength) / (8 * root)) / 2,
            power_of_two_above(r / (16 * root)) / 2,
            power_of_two_above(self._hessian_bound / (2**20 * self.model.dimension)) / 2,
        )

    # ── the release ─────────────────────────────────────────────────────────────────────────────────
    def release(
        self, value: Records | Passes, source: Source | None = None, *, count: int | None = None
    ) -> PerturbedFit:
        """Fit once, with noise inside and out; the private `count` is not needed."""
        del count
        guarantee = self.guarantee  # refuses before a row is looked at
        self._check(value.held_to(self.model))
        bits = source or SYSTEM
        estimate = self._estimate(value, bits)
        return PerturbedFit(
            model=self.model,
            estimate=estimate,
            hessian=self._hessian(value, estimate, bits),
            strength=self.strength,
            noise=sqrt(self.variance),
            hessian_noise=sqrt(self.hessian_variance),
            n=self.n,
            guarantee=guarantee,
            seeded=bits.seeded,
        )

    def _check(self, value: Records | Passes) -> None:
        if self.n is not None and value.n != self.n:
            raise ValueError(f"the promise is for n = {self.n} records, which is public: give as many")

    def _estimate(self, value: Records | Passes, source: Source) -> Floats:
        tilt, grid, _ = self._grids()
        d = self.model.dimension
        b = exact.normal(source, 0, self.variance, d, tilt)
        found = minimum(TiltedSum(self.model, value, self.strength, b), self.tolerance, grid)
        noise = exact.normal(source, 0, self.output_variance / grid**2, d, 1)
        return np.array([float((k + int(z)) * grid) for k, z in zip(found, noise, strict=True)])

    def _hessian(self, value: Records | Passes, estimate: Floats, source: Source) -> Floats:
        d, grid = self.model.dimension, self._grids()[2]
        near = coarse(estimate)
        parts = (
            curvature(part.rows, self.model.loss.bend(part.rows @ near, part.answers))
            for part in value.chunks()
        )
        cells = np.rint(added(parts, np.zeros((d, d))) / float(grid))
        scaled = self.hessian_variance / grid**2
        diagonal = exact.normal(source, 0, scaled, d, 1)
        upper = exact.normal(source, 0, scaled / 2, d * (d - 1) // 2, 1) if d > 1 else np.zeros(0)
        noise = np.diag(diagonal)
        noise[np.triu_indices(d, 1)] = upper
        noise.T[np.triu_indices(d, 1)] = upper
        return np.asarray((cells.astype(np.int64) + noise.astype(np.int64)) * float(grid))


def coarse(estimate: Floats) -> Floats:
    """Round to 31 bits of the norm: x·θ̃ is then exact in doubles, hence the same in every table that has x.

    Rows have 21 bits, so every partial sum is a whole number of units below 2^53.
    """
    norm = float(np.linalg.norm(estimate))
    if not norm > 0:
        return np.zeros_like(estimate)
    grid = 2.0 ** (np.ceil(np.log2(norm)) - 30)
    return np.asarray(np.rint(estimate / grid) * grid)
