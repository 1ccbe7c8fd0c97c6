"""The law of the sum of n records on a grid, by characteristic functions: φ(t)^n, inverted by FFT.

While the lattice of sums is short the law is exact; the window leaves out what Bernstein's inequality bounds
by e^{−32}. Beyond that it is taken on a grid fine against the standard deviation of sum and noise together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.families.family import Floats
    from discreet.inference.noise_aware_records import Masses, RecordLaw

    Complexes = NDArray[np.complex128]

MOST_LEVELS = 2**9  # of a record that is taken as it is, whatever the noise
SPLIT = 0.05  # of √(v + noise/n): levels merged up to here add 4e-4 to the variance
NATS = 32.0
MOST_RECORDS = 20_000  # for the lattice itself, by whose number rounding grows


@final
@dataclass(frozen=True)
class Fineness:
    """How many points of an exact lattice to allow; beyond, how many to a standard deviation."""

    points: int = 2**13
    per_deviation: int = 48


FINE, EVEN, ROUGH = Fineness(), Fineness(2**11, 24), Fineness(2**10, 8)


@final
@dataclass(frozen=True, eq=False)
class Sums:
    """Σq over n records on {first + step·m}, for every θ_j, by its transform; `exact` on the lattice."""

    mean: Floats  # of a record, (θ,)
    first: float
    step: float
    size: int
    log_phi: Complexes  # ln E exp(−it(q − mean)), (θ, frequencies)
    blur: Floats  # sinc² where S is split between neighbours of a coarse grid
    exact: bool

    @property
    def points(self) -> Floats:
        return self.first + self.step * np.arange(self.size, dtype=np.float64)

    def power(self, n: int, first: float) -> Complexes:
        """φ^n, turned so that `first` comes to 0."""
        t = 2 * np.pi * np.arange(self.log_phi.shape[1]) / (self.size * self.step)
        return np.asarray(np.exp(n * self.log_phi + 1j * np.outer(first - n * self.mean, t)))

    def spectrum(self, weights: Floats) -> Complexes:
        """Rows w ↦ ŵ such that Σ_m P(m)·w(m) = Re Σ_f φ^n(f)·ŵ(f) [Parseval]."""
        transform = np.conj(rfft(weights, axis=1)) * self.blur / self.size
        transform[:, 1 : (self.size + 1) // 2] *= 2
        return np.asarray(transform)

    def law(self, n: int) -> Floats:
        """P(S = points | θ_j), (θ, points); what the transform's rounding may have left is put to 0."""
        mass = irfft(self.power(n, self.first) * self.blur, self.size, axis=1)
        least = self.rounding(n) * mass.max(axis=1, keepdims=True)
        return np.where(np.abs(mass) > least, mass, 0.0)

    def rounding(self, n: int) -> float:
        """Bound what the n-th power makes of rounding: n·2⁻⁵³ of φ, √n of a φ − 1 summed as such."""
        return 1e-15 * max(1.0, n / 8) if self.exact else 5e-14 * max(1.0, n**0.5)


def sums(
    record: RecordLaw, theta: Floats, sizes: tuple[int, int], noise_variance: float, fineness: Fineness = FINE
) -> Sums:
    """Prepare Σq for n records between two sizes (each `copies` of q), in integers of q."""
    low_n, high_n = (n * record.copies for n in sizes)
    masses = record.masses(theta, merge_step(record, theta, high_n, noise_variance))
    low, high, spread = _window(masses, low_n, high_n)
    points = round((high - low) / masses.step) + 1
    if points <= fineness.points and high_n <= MOST_RECORDS and masses.step == 1:
        return _on_lattice(masses, low, points)
    step = max(float(masses.step), (spread**2 + noise_variance) ** 0.5 / fineness.per_deviation)
    return _on_grid(masses, low, step, int((high - low) / step) + 2)


def merge_step(record: RecordLaw, theta: Floats, n: int, noise_variance: float) -> int:
    """Return the power of two by which a record's levels may be merged."""
    first, last = record.within(theta)
    if last - first <= MOST_LEVELS:
        return 1
    variance = float(record.moments(theta)[1].min()) + noise_variance / max(n, 1)
    return int(2 ** np.floor(np.log2(max(1.0, SPLIT * variance**0.5))))


def _window(masses: Masses, low_n: int, high_n: int) -> tuple[int, int, float]:
    """Return mean ± t with P(|S − mean| > t) ≤ 2e^{−32} [Bernstein], and the least deviation."""
    mean, variance = masses.moments
    step, width = masses.step, masses.step * (masses.mass.shape[1] - 1)
    slack, ends = NATS / 3 * width, []
    for n in (low_n, high_n):
        reach = slack + np.sqrt(slack**2 + 2 * NATS * n * variance)
        found = np.concatenate([n * mean - reach, n * mean + reach])
        ends += np.clip(found, n * masses.first, n * (masses.first + width)).tolist()
    low, high = int(np.floor(min(ends) / step)), int(np.ceil(max(ends) / step))
    return low * step, high * step, float(np.sqrt(low_n * variance.min()))


def _on_lattice(masses: Masses, low: int, points: int) -> Sums:
    """φ at the M-th roots of unity: exact but for what wraps around from outside the window."""
    size = next_fast_len(points, real=True)
    levels = masses.mass.shape[1]
    folded = np.zeros((masses.mass.shape[0], -(-levels // size) * size))
    folded[:, :levels] = masses.mass
    phi = rfft(folded.reshape(len(folded), -1, size).sum(axis=1), axis=1)
    mean = masses.moments[0]
    t = 2 * np.pi * np.arange(phi.shape[1]) / size
    log_phi = np.log(np.where(np.abs(phi) > 1e-300, phi, 1e-300)) + 1j * np.outer(mean - masses.first, t)
    return Sums(mean, float(low), 1.0, size, log_phi, np.ones(t.size), exact=True)


def _on_grid(masses: Masses, low: float, step: float, points: int) -> Sums:
    """Low frequencies only: S is split between neighbours of a grid that the noise and S blur anyway.

    φ − 1 is summed as such, since its rounding is what the n-th power magnifies.
    """
    size = next_fast_len(points, real=True)
    t = 2 * np.pi * np.arange(size // 2 + 1) / (size * step)
    centre = masses.mass.shape[1] // 2
    turn = masses.step * np.outer(np.arange(masses.mass.shape[1]) - centre, t)
    moved = masses.mass @ (-2 * np.sin(turn / 2) ** 2) - 1j * (masses.mass @ np.sin(turn))
    mean = masses.moments[0]
    log_phi = _log1p(moved) + 1j * np.outer(mean - (masses.first + masses.step * centre), t)
    blur = np.sinc(t * step / (2 * np.pi)) ** 2
    return Sums(mean, float(low), step, size, log_phi, blur, exact=False)


def _log1p(z: Complexes) -> Complexes:
    """Log(1 + z) = ½log1p(2x + |z|²) + i·arg, without cancellation where z is small."""
    modulus = np.maximum(2 * z.real + np.abs(z) ** 2, -1 + 1e-15)
    return np.asarray(0.5 * np.log1p(modulus) + 1j * np.arctan2(z.imag, 1 + z.real))
