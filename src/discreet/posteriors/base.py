"""The posterior of θ given the noisy statistic and the law of its noise: p(θ | Ŝ) ∝ p(θ) Σ_S p(S|θ) p(Ŝ|S).

[BS18, BS19; Ju et al. 2022]. Ŝ is data, not S: nothing is projected, and a negative count says what it says.
The catalogue names the reader of each family, a function `read(release, prior, **options) -> NoiseAware`.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from discreet.posteriors.cautions import cautions
from discreet.privacy.guarantee import NotProved
from discreet.sampling.source import SeededSource

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.families.family import Family, Floats
    from discreet.mechanisms.statistics.noisy_statistic import NoisyRelease
    from discreet.sampling.source import Source

READING = "noise_aware"


@final
@dataclass(frozen=True)
class Diagnostics:
    """How the posterior was computed, and how far to trust it: worst R-hat and least ESS over what was kept.

    A posterior by quadrature has no chains: `chains` is 0, R-hat 1 and ESS infinite.
    """

    method: str
    chains: int = 0
    draws: int = 0  # kept, in each chain
    r_hat: float = 1.0
    ess: float = float("inf")


class NoiseAware(ABC):
    """θ | Ŝ with the noise accounted for. Same shapes as the family's own methods; frozen and public."""

    reading: ClassVar[str] = READING
    prior: Family

    @property
    @abstractmethod
    def diagnostics(self) -> Diagnostics:
        """By what method, and what its chains say of themselves."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """Where the reading is not to be trusted, and why; empty where there is nothing to say."""
        return cautions(self.diagnostics)

    @abstractmethod
    def mean(self) -> Any:  # noqa: ANN401 - a number or an array, as θ is
        """E θ"""

    @abstractmethod
    def variance(self) -> Any:  # noqa: ANN401
        """Var θ, coordinatewise"""

    @abstractmethod
    def interval(self, level: float) -> Floats:
        """Equal-tailed credible intervals; the last axis holds both ends."""

    @abstractmethod
    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        """`size` draws of θ, free: the release is public already."""

    @abstractmethod
    def log_predictive(self, x: ArrayLike) -> Floats:
        """Log posterior-predictive mass or density of single observations, of the unclipped likelihood."""

    def log_density(self, theta: ArrayLike) -> Floats:
        """Log density of θ, where it is cheap."""
        del theta
        raise NotProved(f"no density of a noise-aware {type(self.prior).__name__} posterior; use its draws")

    def __repr__(self) -> str:
        said = "".join(f"; {words}" for words in self.cautions)
        how = f"reading={self.reading!r}, prior={self.prior!r}, {self.diagnostics!r}"
        return f"{type(self).__name__}({how}{said})"


def public_source(release: NoisyRelease, prior: Family) -> SeededSource:
    """Bits fixed by what is public anyway: reading one release twice gives the same numbers."""
    text = repr((release.noisy, release.n, release.joint, release.noise, release.scale, prior))
    return SeededSource(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))
