"""One noisy statistic for several audiences: a Gaussian chain, of which each audience sees its own tier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Family, Floats, Integers, public_size, root_above
from discreet.mechanisms.noise.ornstein_uhlenbeck import TieredGaussian
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True, kw_only=True)
class TieredStatistics:
    """Ŝ_k = S + Z₁ + … + Z_k on the family's integer statistic: tier k alone is NoisyStatistics at σ_k."""

    theorem: ClassVar[str] = TieredGaussian.theorem

    model: Family = field(kw_only=False)
    n: int | None = None
    sigmas: tuple[Exact, ...]  # strictly increasing: from the innermost audience outward
    relation: Relation = SUBSTITUTE

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        _ = self.chain

    @classmethod
    def calibrate(cls, model: Family, *, n: int | None = None, targets: Sequence[Guarantee]) -> Self:
        """Return the least σ for each target; equal ones share a tier. `tier_of` finds a target's own."""
        if not targets or len({target.relation for target in targets}) != 1:
            raise ValueError("name at least one target, all with the same relation between neighbours")
        alone = [NoisyStatistics.calibrate(model, n=n, target=t, noise="gaussian") for t in targets]
        return cls(model, n=n, sigmas=tuple(sorted({a.scale for a in alone})), relation=targets[0].relation)

    @property
    def tiers(self) -> tuple[NoisyStatistics, ...]:
        """What each audience is promised and reads, on its own."""
        return tuple(
            NoisyStatistics(self.model, n=self.n, noise="gaussian", scale=s, relation=self.relation)
            for s in self.sigmas
        )

    @property
    def chain(self) -> TieredGaussian:
        return TieredGaussian(self.tiers[0].sensitivity.l2, self.sigmas, relation=self.relation)

    @property
    def guarantee(self) -> Guarantee:
        """What all tiers together promise: the innermost one's."""
        return self.chain.guarantee

    def tier_of(self, target: Guarantee) -> int:
        """Return the innermost tier that keeps a target."""
        kept = (k for k, tier in enumerate(self.tiers) if tier.guarantee <= target)
        found = next(kept, None)
        if found is None:
            raise ValueError(f"no tier keeps {target}")
        return found

    def release(
        self, value: ArrayLike, source: Source | None = None, *, count: int | None = None
    ) -> tuple[NoisyStatistic, ...]:
        """Noise the statistic once for all; `count`, the private number of records, only under ADD_REMOVE."""
        bits = source or SYSTEM
        drawn = self._noised(self.tiers[0].vector(value, count), bits)
        return tuple(tier.as_release(drawn[k], seeded=bits.seeded) for k, tier in enumerate(self.tiers))

    def _noised(self, vector: Integers, source: Source) -> Floats:
        """Return a row for each tier; a coordinate's variances are its share of every tier's."""
        shares, chain = self.tiers[0].shares(vector.size), self.chain
        out = np.empty((len(self.sigmas), vector.size))
        for share in np.unique(shares).tolist():
            sigmas = [root_above(Fraction(s) ** 2 * Fraction(share)) for s in self.sigmas]
            part = replace(chain, sigmas=tuple(sigmas) if share < 1 else self.sigmas)
            out[:, shares == share] = part.release(vector[shares == share], source)
        return out
