"""Noise on every table of counts of a model, once; every reading of them is free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import public_size, table_size
from discreet.mechanisms.mechanism import WIDEST_DISCRETE, ModelMechanism, least_noise, positive
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.statistics.noised_vector import NOISES
from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.count_model import CountModel
from discreet.privacy.accounting.composition import compose, repeat
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee, Relation, group_size
from discreet.sampling.source import SYSTEM, Source

GAUSSIAN = ("gaussian", "discrete_gaussian")  # a table costs ρ or μ² ∝ 1/σ², not ε ∝ 1/b
ROUNDING = 1e-9  # shares that are written as decimals add up to 1 only nearly; only their ratios matter


@final
@dataclass(frozen=True, kw_only=True)
class NoisyCounts(ModelMechanism):
    """Ĉ_t = C_t + noise of scale s_t for each table t: one record moves every table, so the costs compose.

    A table moves by L1 = L2² = 1 when a record is added, 2 when one is substituted: out of one cell, into
    another, each noised on its own. Laplace: 1/b_t for each such move, composed as tightly as is proved;
    Gaussian: μ² = ΣΔ₂²/σ_t² [DRS22 Cor. 3.3]; discrete Gaussian:
    ρ = ΣΔ₂²/(2σ_t²) [Bun, Steinke 2016 Lemma 2.3].
    """

    name: ClassVar[str] = "noisy_counts"
    theorem: ClassVar[str] = "the noise mechanism's theorem for each table; composition; post-processing"
    knows_units: ClassVar[bool] = True

    model: CountModel = field(kw_only=False)
    n: int | None = None
    noise: str = "discrete_laplace"
    scales: tuple[Exact, ...]  # one for each table; σ for the Gaussian kinds
    relation: Relation = SUBSTITUTE

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        object.__setattr__(self, "scales", tuple(self.scales))
        if len(self.scales) != len(self.model.layout):
            raise ValueError(
                f"the model has {len(self.model.layout)} tables of counts, got {len(self.scales)} scales"
            )
        _ = self.noisers, self.model.cells

    @classmethod
    def calibrate(
        cls,
        model: CountModel,
        *,
        n: int | None = None,
        target: Guarantee,
        noise: str = "discrete_laplace",
        shares: Sequence[Exact] | None = None,
        rows_per_unit: int = 1,
    ) -> Self:
        """Least noise, to one double, whose certified composition meets the target for `rows_per_unit` rows.

        Shares are of ε for Laplace noise and of ρ or μ² for Gaussian noise; even if left out.
        """
        weights, k = _weights(model, noise, shares), group_size(rows_per_unit)

        def at(scale: float) -> Self:
            return cls(
                model, n=n, noise=noise, scales=tuple(scale / w for w in weights), relation=target.relation
            )

        widest = WIDEST_DISCRETE * min(weights)
        return at(least_noise(lambda scale: at(scale).guarantee.group(k), target, widest=widest))

    @property
    def noisers(self) -> tuple[BasicMechanism, ...]:
        """The noise mechanism of each table; they carry the guarantee."""
        _known(self.noise)
        one = self.model.table_sensitivity(self.relation)
        return tuple(NOISES[self.noise](one, scale, self.relation) for scale in self.scales)

    @property
    def guarantee(self) -> Guarantee:
        """What the release promises for one row; every reading of it, however often, is free."""
        if self.noise in GAUSSIAN or not self.relation.replaces:
            return compose(*(noiser.guarantee for noiser in self.noisers))
        one = self.model.table_sensitivity(ADD_REMOVE)
        moves = [NOISES[self.noise](one, scale, self.relation).guarantee for scale in self.scales]
        return compose(*(repeat(move, 2) for move in moves))  # out of one cell, into another

    def release(
        self, value: ArrayLike, source: Source | None = None, *, count: int | None = None
    ) -> NoisyCells:
        """Noise all cells once. `count` is the private number of records, needed only under ADD_REMOVE."""
        if (count is None) == (self.relation is ADD_REMOVE):
            raise ValueError("give count, the private number of records, under ADD_REMOVE and only there")
        bits = source or SYSTEM
        exact = self.model.check(value, table_size(self.n or count or 0))
        tables: Any = zip(self.model.split(exact).values(), self.noisers, strict=True)
        noisy = [np.atleast_1d(noiser.release(table.reshape(-1), bits)) for table, noiser in tables]
        return NoisyCells(
            model=self.model,
            noisy=np.concatenate(noisy),
            n=self.n,
            noise=self.noise,
            scales=self.scales,
            guarantee=self.guarantee,
            seeded=bits.seeded,
        )


def _known(noise: str) -> None:
    if noise not in NOISES:
        raise ValueError(f"unknown noise {noise!r}; known: {', '.join(NOISES)}")


def _weights(model: CountModel, noise: str, shares: Sequence[Exact] | None) -> tuple[float, ...]:
    """w_t with s_t = s/w_t, so that table t costs its share: linear in 1/b, quadratic in 1/σ."""
    _known(noise)
    tables = len(model.layout)
    given = [Fraction(1, tables)] * tables if shares is None else [positive(x, "every share") for x in shares]
    if len(given) != tables or abs(float(sum(given)) - 1) > ROUNDING:
        raise ValueError(
            f"shares must be {tables} numbers that add up to 1, one for each of "
            f"{', '.join(name for name, _ in model.layout)}; got {[float(x) for x in given]}"
        )
    return tuple(sqrt(x) if noise in GAUSSIAN else float(x) for x in given)
