"""p(Ŝ | θ) = Σ_n π(n) Σ_s p(s | θ, n) p(noise = Ŝ − s): one bounded sum, its noise marginalised exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.inference.noise_aware_noise import NoiseLaw
from discreet.inference.noise_aware_records import record_law
from discreet.inference.noise_aware_sums import EVEN, FINE, sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.families.family import Floats, Integers
    from discreet.families.scalar import ScalarFamily
    from discreet.inference.noise_aware_records import RecordLaw
    from discreet.inference.noise_aware_sums import Fineness, Sums
    from discreet.mechanisms.noisy_release import NoisyRelease

SizePrior = Callable[[Any], Any]  # log π(n) of an integer array, up to a constant
BLOCK = 64  # values of θ that share a grid of sums
MOST_SIZES = 64  # values of an unknown n that are summed over
SIZE_NATS = 28.0
FAR_NATS = 60.0
LOWEST = -1e5


@final
@dataclass(frozen=True, eq=False)
class Likelihood:
    """Of one release design: the family, n or None, whether n was noised along, and the noise."""

    model: ScalarFamily
    n: int | None
    joint: bool
    noise: NoiseLaw
    size_prior: SizePrior | None = None  # flat on 0, 1, 2, … unless given

    @classmethod
    def of(
        cls, release: NoisyRelease, model: ScalarFamily, size_prior: SizePrior | None = None
    ) -> Likelihood:
        return cls(model, release.n, release.joint, NoiseLaw.of(release), size_prior)

    @cached_property
    def record(self) -> RecordLaw:
        return record_law(self.model)

    @property
    def noise_variance(self) -> float:
        """Of what is known about Σq, in integers of q: two observations of it halve the noise's."""
        return self.noise.variance / self.record.unit**2 / (2 if self.joint else 1)

    def log(self, noisy: Floats, theta: Floats, fineness: Fineness = FINE) -> Floats:
        """Log p(Ŝ_r | θ_j), for rows of Ŝ: (r, θ)."""
        known = self._known if self.n is not None else self._unknown
        parts = np.array_split(theta, max(1, -(-theta.size // BLOCK)))
        return np.concatenate([known(noisy, part, fineness) for part in parts], axis=1)

    def _known(self, noisy: Floats, theta: Floats, fineness: Fineness) -> Floats:
        """Log Σ_s p(s|θ) p(Ŝ|s): all terms are positive, so that a likelihood far out is still right."""
        n = self.n or 0
        law = sums(self.record, theta, (n, n), self.noise_variance, fineness)
        near = self._near(noisy, law)
        log = np.full((len(noisy), theta.size), LOWEST)
        weights = self._log_noise(noisy[near], law, n)
        top = weights.max(axis=1, keepdims=True)
        total = np.exp(np.maximum(weights - top, -745)) @ law.law(n * self.record.copies).T
        log[near] = _log_above(total, 0.0) + top
        return log

    def _near(self, noisy: Floats, law: Sums) -> NDArray[np.bool_]:
        """Which of many releases these sums can explain; a single one is never given up."""
        if len(noisy) == 1 or self.joint:
            return np.ones(len(noisy), dtype=np.bool_)
        low, high = self.record.unit * law.points[[0, -1]]
        reach = self.noise.reach(FAR_NATS)
        return np.asarray((noisy[:, 0] > low - reach) & (noisy[:, 0] < high + reach))

    def _log_noise(self, noisy: Floats, law: Sums, n: int) -> Floats:
        """Log of the noise's density at every Ŝ − s; averaged over the cell where the grid is coarse."""
        unit, lattice = self.record.unit, self.model.lattice
        s = unit * law.points
        half = unit * law.step / 2

        def log(z: Floats) -> Floats:
            if law.exact:
                return self.noise.log_density(z)
            return np.asarray(self.noise.log_between(z - half, z + half) - np.log(2 * half))

        if not self.joint:
            return log(noisy[:, :1] - s)
        return log(noisy[:, :1] + n * lattice.low - s) + log(n * lattice.high - noisy[:, 1:] - s)

    # ── n private: A = S − n·low and B = n·high − S were noised, so that A + B tells n ──────────────────
    def sizes(self, noisy: Floats) -> tuple[Integers, int]:
        """Return the n that matter, every one of them or evenly spaced, and how many each stands for."""
        lattice = self.model.lattice
        width = lattice.high - lattice.low
        guess, reach = float(noisy.sum()) / width, self.noise.reach(SIZE_NATS) / width
        low, high = max(0, int(np.floor(guess - reach))), max(0, int(np.ceil(guess + reach)))
        stride = max(1, -(-(high - low) // MOST_SIZES))
        return np.arange(low, high + stride, stride), stride

    def _unknown(self, noisy: Floats, theta: Floats, fineness: Fineness) -> Floats:
        return np.stack([self._over_sizes(row[None], theta, fineness) for row in noisy])

    def _over_sizes(self, row: Floats, theta: Floats, fineness: Fineness) -> Floats:
        """Log Σ_n π(n) Σ_s p(s|θ,n) p(Ŝ|s, n), the inner sums by Parseval: no law need be inverted."""
        sizes, stride = self.sizes(row[0])
        coarse = EVEN if fineness is FINE else fineness
        law = sums(self.record, theta, (int(sizes[0]), int(sizes[-1])), self.noise_variance, coarse)
        prior = np.zeros(sizes.size) if self.size_prior is None else np.asarray(self.size_prior(sizes))
        weights = np.concatenate([self._log_noise(row, law, n) for n in sizes.tolist()]) + prior[:, None]
        top = weights.max()
        observed = law.spectrum(np.exp(np.maximum(weights - top, -745)))
        copies = self.record.copies
        power = law.power(int(sizes[0]) * copies, law.first)
        factor = law.power(stride * copies, 0.0)
        total = np.zeros(theta.size)
        for spectrum in observed:
            total += (power @ spectrum).real
            power *= factor
        least = 4 * law.rounding(int(sizes[-1]) * copies)
        return np.asarray(_log_above(total, least) + np.log(stride) + top)


def _log_above(total: Floats, least: float) -> Floats:
    """Log where it is above what rounding may leave; else a likelihood that counts as none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(total > least, np.log(total), LOWEST))
