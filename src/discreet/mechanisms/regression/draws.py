"""One draw of the weights of a regression, from a posterior made private by ρ, by m, or by both.

U(w) = ρΣφ(x_i·w, y_i) + (m/2)‖w‖², μ = ρΔ/√m for an exact draw and less for the last iterate of Langevin.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np

from discreet.families.exact_fields import rational
from discreet.families.family import public_size
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.mechanisms.posterior.draw import SeveralDraws, fraction_of_one, verified
from discreet.mechanisms.regression.knobs import Size, allowed, counted, largest_knob, least_strength, ruled
from discreet.mechanisms.regression.samplers.potential import Potential
from discreet.mechanisms.regression.samplers.sampler import SAMPLERS, RegressionSampler
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.models.regression_records import Records
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation, Unreachable
from discreet.sampling.source import SYSTEM, Source

DRAW = "μ = ρΔ/√m [GLL22]; by Langevin's last iterate less [BSA24, shifted interpolation], rounding paid for"


@dataclass(frozen=True)
class RegressionDraw(ModelMechanism):
    """ONE draw of w; each further one is a further release and costs as much."""

    reads: ClassVar[str] = "records"
    repeats: ClassVar[bool] = True
    theorem: ClassVar[str] = DRAW

    model: GeneralizedLinear
    n: int | None = field(default=None, kw_only=True)
    relation: Relation = field(default=SUBSTITUTE, kw_only=True)
    most: int | None = field(default=None, kw_only=True)  # public cap of a private n
    sampler: str = field(default="langevin", kw_only=True)
    at: Exact | None = field(default=None, kw_only=True)  # ε where δ is promised, for samplers that need one
    remembered: Exact = field(default=0.0625, kw_only=True)  # share of its start that Langevin keeps

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        if self.sampler not in SAMPLERS:
            raise ValueError(f"sampler must be one of {', '.join(SAMPLERS)}, got {self.sampler!r}")
        if not 0 < self.remembered < 1:
            raise ValueError(
                f"remembered must lie in (0, 1), got {self.remembered!r}: how far Langevin stops "
                "from stationarity, 1 being where it started"
            )
        _ = self.size, self.model.dimension  # refused here, not at the release

    @property
    def weight(self) -> Fraction:
        """ρ: what one record counts."""
        return Fraction(1)

    @property
    def strength(self) -> Fraction:
        """m: the precision of the prior."""
        return self.model.strength

    @property
    def way(self) -> RegressionSampler:
        return SAMPLERS[self.sampler]

    @cached_property
    def size(self) -> Size:
        """How many records count."""
        return counted(self.n, self.most)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What ONE draw promises; q draws promise `.draws(q).guarantee`."""
        return self.way.guarantee(self)

    @classmethod
    def calibrate(
        cls,
        model: GeneralizedLinear,
        *,
        target: Guarantee,
        n: int | None = None,
        most: int | None = None,
        sampler: str = "langevin",
        remembered: Exact | None = None,
    ) -> Self:
        """Find the knobs, ρ and m to 24 significant bits, whose own certified guarantee meets the target."""
        if sampler not in SAMPLERS:
            raise ValueError(f"sampler must be one of {', '.join(SAMPLERS)}, got {sampler!r}")
        at = SAMPLERS[sampler].promised_at(target)
        common = {"n": n, "most": most, "sampler": sampler, "at": at, "relation": target.relation}
        common |= {} if remembered is None else {"remembered": remembered}
        found = verified(cls.plain(model, common).fitted(target), target)
        found.way.refuse_endless(found)
        return found

    @classmethod
    def plain(cls, model: GeneralizedLinear, common: dict[str, Any]) -> Self:
        """Return the posterior as it is: ρ = 1 and m = d/R²."""
        knobs: dict[str, Any] = {"rho": 1, "m": model.strength}
        own = {f.name: knobs[f.name] for f in fields(cls) if f.name in knobs}
        return cls(model, **own, **common)

    @abstractmethod
    def fitted(self, target: Guarantee) -> Self:
        """Return the same with the knobs that meet the target."""

    def release(self, value: Records, source: Source | None = None, *, count: int | None = None) -> Floats:
        """Draw w once. Under ADD_REMOVE the private number of records is that of the rows."""
        del count
        return np.asarray(self._drawn(value, 1, source)[0])

    def draws(self, q: int) -> RegressionDraws:
        """Return the mechanism that releases q draws and pays for all of them."""
        return RegressionDraws(self, q)

    def _drawn(self, records: Records, size: int, source: Source | None) -> Floats:
        return self.way.draw(self, self._private_potential(records), size, source or SYSTEM)

    def _private_potential(self, records: Records) -> Potential:
        return private_potential(self.model, self.size, self.weight, self.strength, records)


def private_potential(
    model: GeneralizedLinear, size: Size, weight: Fraction, strength: Fraction, records: Records
) -> Potential:
    """−ln of the law that is drawn from. It is PRIVATE: never release it, its minimum or its value."""
    return Potential(records.held_to(model), model.loss, weight * size.weight(records.n), strength)


@final
@dataclass(frozen=True)
class RegressionDraws(SeveralDraws):
    """q independent draws, composed: √q·μ where one draw is μ-GDP [DRS22 Cor. 3.3]."""

    name: ClassVar[str] = "regression_draws"
    theorem: ClassVar[str] = "composition of q releases [DRS22 Cor. 3.3]"
    reads: ClassVar[str] = "records"

    one: RegressionDraw

    def release(self, value: Records, source: Source | None = None, *, count: int | None = None) -> Floats:
        del count
        return self.one._drawn(value, self.q, source)  # noqa: SLF001


def simulate(mechanism: RegressionDraw, records: Records, size: int, source: Source) -> Floats:
    """`size` independent outputs, for audits on simulated data. NOT a release: nothing pays for it."""
    return mechanism._drawn(records, size, source)  # noqa: SLF001


# ── the mechanisms ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Weighed(RegressionDraw):
    """Every record counts ρ ≤ 1."""

    rho: Exact = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", fraction_of_one(self.rho, "rho"))
        super().__post_init__()

    @property
    def weight(self) -> Fraction:
        return Fraction(self.rho)


@dataclass(frozen=True)
class _Strengthened(RegressionDraw):
    """The prior's precision is m ≥ d/R²."""

    m: Exact = field(kw_only=True)

    def __post_init__(self) -> None:
        if not rational(self.m, what="m") >= self.model.strength:
            raise ValueError(
                f"m must be at least the prior's, d/R² = {float(self.model.strength):g}, "
                f"got {float(self.m):g}"
            )
        super().__post_init__()

    @property
    def strength(self) -> Fraction:
        return Fraction(self.m)


@final
@dataclass(frozen=True)
class DirectRegression(RegressionDraw):
    """The posterior as it is: ρ = 1, m = d/R²."""

    name: ClassVar[str] = "direct_regression"

    def fitted(self, target: Guarantee) -> Self:
        """There is no knob: the draw, if it meets the target."""
        if not self.guarantee <= target:
            raise Unreachable(
                f"one draw of the posterior as it is does not meet {target}; a smaller norm or radius would, "
                "or 'diffused', 'concentrated' and 'tuned', which calibrate"
            )
        return self


@final
@dataclass(frozen=True)
class DiffusedRegression(_Weighed):
    """Every record counts ρ ≤ 1 at the prior's own m = d/R² [GSC17 Alg. 2]."""

    name: ClassVar[str] = "diffused_regression"

    def fitted(self, target: Guarantee) -> Self:
        return replace(self, rho=largest_knob(lambda rho: replace(self, rho=rho), target))


@final
@dataclass(frozen=True)
class ConcentratedRegression(_Strengthened):
    """Records count in full, ρ = 1, against a stronger prior, m ≥ d/R² [GSC17 Alg. 3]."""

    name: ClassVar[str] = "concentrated_regression"

    def fitted(self, target: Guarantee) -> Self:
        return replace(self, m=least_strength(lambda m: replace(self, m=m), self.model, target))


@final
@dataclass(frozen=True)
class TunedRegression(_Weighed, _Strengthened):
    """ρ and m together, by a public rule that weighs the prior's pull against the noise of the draw.

    Langevin stops half-way in directions that only the prior speaks of: at equal μ records then count more.
    λ = m/ρ = max{√dΔ/(μR), (.1nc²Δ²/(2μ²R²))^⅓} and m = (λμ/Δ)²; where that asks for ρ > 1, the least m
    at ρ = 1.
    """

    name: ClassVar[str] = "tuned_regression"

    remembered: Exact = field(default=0.5, kw_only=True)

    def fitted(self, target: Guarantee) -> Self:
        """Take m by the rule at the μ that the target allows, then the largest ρ that meets it."""
        m, tempered = ruled(self.model, self.size.usual, self.relation, allowed(target).mu)
        if not tempered:
            return replace(self, m=least_strength(lambda m: replace(self, m=m), self.model, target))
        placed = replace(self, m=m)
        return replace(placed, rho=largest_knob(lambda rho: replace(placed, rho=rho), target))
