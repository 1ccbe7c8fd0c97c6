"""The posterior of θ given the noisy statistic and the law of its noise: p(θ | Ŝ) ∝ p(θ) Σ_S p(S|θ) p(Ŝ|S).

[BS18, BS19; Ju et al. 2022]. Ŝ is data, not S: nothing is projected, and a negative count says what it says.
The catalogue names the reader of each family, a function `read(release, prior, **options) -> NoiseAware`.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Family, Floats
from discreet.posteriors.labels import family_names, family_variables
from discreet.posteriors.posterior import Posterior
from discreet.posteriors.variables import Variable
from discreet.privacy.guarantee import NotProved
from discreet.sampling.source import SeededSource, Source

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic


READING = "noise_aware"


class FamilyPosterior(Posterior):
    """θ of a family given a release: its names are the family's parameters, its records the family's."""

    prior: Family

    @property
    def model(self) -> Family:
        return self.prior

    def own_names(self) -> tuple[str, ...]:
        return family_names(self.prior, int(np.size(self.prior.mean())), self.labels)

    def arrangement(self) -> tuple[Variable, ...]:
        return family_variables(self.prior, int(np.size(self.prior.mean())), self.labels)

    def prior_sample(self, size: int, source: Source) -> Floats:
        return np.asarray(self.prior.sample(size, source), dtype=np.float64).reshape(size, -1)

    @abstractmethod
    def log_predictive(self, x: ArrayLike) -> Floats:
        """Log posterior-predictive mass or density of single observations, of the unclipped likelihood."""

    def log_density(self, theta: ArrayLike) -> Floats:
        """Log density of θ, where it is cheap."""
        del theta
        raise NotProved(f"no density of a noise-aware {type(self.prior).__name__} posterior; use its draws")


class NoiseAware(FamilyPosterior):
    """θ | Ŝ with the noise accounted for; frozen and public."""

    @property
    def reading(self) -> str:
        return READING


def public_source(release: NoisyStatistic, prior: Family) -> SeededSource:
    """Bits fixed by what is public anyway: reading one release twice gives the same numbers."""
    text = repr((release.noisy, release.n, release.joint, release.noise, release.scale, prior))
    return SeededSource(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))
