"""The posterior of a statistic that is known, or taken as if it were: a member of the prior's own family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Family, Floats
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic, naive_law
from discreet.posteriors.posterior import Diagnostics, FamilyPosterior
from discreet.sampling.source import Source


@final
@dataclass(frozen=True, eq=False, repr=False)
class ConjugatePosterior(FamilyPosterior):
    """`law`, the updated member of the family, with the methods of every posterior."""

    prior: Family
    law: Family
    reading: str = "naive"

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics("closed form")

    def flat_mean(self) -> Floats:
        return np.ravel(self.law.mean()).astype(np.float64)

    def flat_variance(self) -> Floats:
        return np.ravel(self.law.variance()).astype(np.float64)

    def flat_interval(self, level: float) -> Floats:
        return np.reshape(self.law.interval(level), (-1, 2))

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        return np.asarray(self.law.sample(size, source), dtype=np.float64).reshape(size, -1)

    def log_predictive(self, x: ArrayLike) -> Floats:
        return self.law.log_predictive(x)

    def log_density(self, theta: ArrayLike) -> Floats:
        return self.law.log_density(theta)


def naive(release: NoisyStatistic, prior: Family, *, project: bool = True) -> FamilyPosterior:
    """Take Ŝ, projected to where a statistic can lie, for S; its intervals under-cover at small n."""
    from discreet.posteriors.normal.in_units import in_units  # noqa: PLC0415 - stands on this class

    return in_units(ConjugatePosterior(prior, naive_law(release, prior, project=project)))
