"""Hidden Markov states and emission tables drawn from the private counts themselves, a sweep at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from discreet.mcmc.simplex import truncated_simplex
from discreet.privacy.certified import Exact, ball, ceiling, largest, settle
from discreet.privacy.guarantee import SUBSTITUTE, Relation, Unreachable
from discreet.privacy.guarantees import PureDP, ZeroCDP
from discreet.privacy.ops_worst import log_odds_range
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.models.hidden_markov import HiddenMarkov
    from discreet.privacy.guarantee import Guarantee
    from discreet.sampling.source import Source

UNIT = 2**32  # logarithms of released θ are taken to multiples of 1/UNIT before they meet the counts
SLACK = Fraction(4, UNIT)  # so that the range of one is at most Δ + 4/UNIT
BITS = 20  # significant bits of 1/T: short exact parameters, a millionth of utility
Promise = type[PureDP] | type[ZeroCDP]


@final
@dataclass(frozen=True, eq=False)
class HiddenMarkovDraws:
    """Every sweep's states and emission tables; all of them are paid for."""

    model: HiddenMarkov
    z: NDArray[np.int16]  # (sweeps, R·T)
    theta: NDArray[np.float64]  # (sweeps, K, ΣK_d)
    guarantee: Guarantee
    seeded: bool


@final
@dataclass(frozen=True, kw_only=True)
class HiddenMarkovOPS:
    """One posterior sample's way to the hidden Markov model [F16 §4.1, §5]: Gibbs by exponential mechanisms.

    A sweep draws θ_{k,d} | z from Dirichlet(β + Σ_{z=k} n/T) on θ ≥ a₀ = 1/(depth·K_d), then every z_{r,t} |
    z elsewhere with ∏θ^{n/T}, transitions integrated out. With Δ_d = ln((1 − (K_d−1)a₀)/a₀), a substituted
    record changes for each feature one θ by a substitution or two by one record (ranges 2Δ_d/T in all), and
    one z by a substitution or two by one record (2ΣΔ_d/T in all), so a sweep is D + 1 mechanisms of bounded
    range [DDR20 Lemma 3.2]: 4ΣΔ_d/T-DP and ((2ΣΔ_d)² + Σ(2Δ_d)²)/(8T²)-zCDP; two of range w/2 cost less than
    one of range w. Sweeps add up, the start is random, and whatever a sweep drew may be read.
    """

    theorem: ClassVar[str] = "F16 §4.1; DDR20 Lemma 3.2 (bounded range), adaptive composition of zCDP"

    model: HiddenMarkov
    sweeps: int
    temperature: Exact
    depth: int = 10
    promise: Promise = ZeroCDP
    relation: Relation = SUBSTITUTE

    def __post_init__(self) -> None:
        if not (self.sweeps >= 1 and self.depth >= 2 and Fraction(self.temperature) >= 1):
            raise ValueError(
                "sweeps must be at least 1, depth at least 2 and temperature at least 1, got "
                f"{self.sweeps}, {self.depth} and {self.temperature!r}"
            )

    @classmethod
    def calibrate(cls, model: HiddenMarkov, *, target: Guarantee, sweeps: int = 20, depth: int = 10) -> Self:
        """Least temperature, to 20 bits, whose promise, pure or zCDP, implies the target."""
        cold = cls(model=model, sweeps=sweeps, temperature=1, depth=depth, relation=target.relation)
        found = []
        for promise in (PureDP, ZeroCDP):
            weight = replace(cold, promise=promise)._heaviest(target)  # noqa: SLF001 - its own
            if weight > 0:
                found.append(replace(cold, promise=promise, temperature=1 / Fraction(weight)))
        if not found:
            raise Unreachable(f"no temperature is proved to meet {target}")
        return min(found, key=lambda m: float(m.temperature))

    def _heaviest(self, target: Guarantee) -> float:
        """Largest 1/T that meets the target; 0 when none does."""
        return largest(lambda w: w > 0 and self.at(1 / Fraction(w)).guarantee <= target, 1.0, bits=BITS)

    def at(self, temperature: Exact) -> Self:
        return replace(self, temperature=temperature)

    # --- what is promised ------------
    def lower(self, size: int) -> Fraction:
        """a₀ of a feature with so many values"""
        return Fraction(1, self.depth * size)

    @cached_property
    def spreads(self) -> tuple[Fraction, ...]:
        """Δ_d, rounded up, with the slack of the rounded logarithms"""
        sizes = np.diff(self.model.offsets).tolist()
        return tuple(self._spread(size) for size in sizes)

    def _spread(self, size: int) -> Fraction:
        if size == 1:
            return SLACK
        return Fraction(ceiling(settle(lambda: log_odds_range(self.lower(size), size)))) + SLACK

    @cached_property
    def guarantee(self) -> Guarantee:
        """What all sweeps promise together, everything they drew being released."""
        records = 2 if self.relation is SUBSTITUTE else 1
        ranges = [records * spread / Fraction(self.temperature) for spread in self.spreads]
        if self.promise is PureDP:
            return PureDP(ceiling(ball(2 * self.sweeps * sum(ranges, Fraction(0)))), relation=self.relation)
        rho = sum((w * w for w in ranges), sum(ranges, Fraction(0)) ** 2) * self.sweeps / 8
        return ZeroCDP(ceiling(ball(rho)), relation=self.relation)

    # --- the draws ------------
    def release(self, counts: ArrayLike, source: Source | None = None) -> HiddenMarkovDraws:
        """Run all sweeps on exact flat counts; states start uniformly at random."""
        bits, model = source or SYSTEM, self.model
        flat = np.asarray(counts)
        if flat.shape != (model.size,) or flat.dtype.kind not in "iu" or flat.min() < 0:
            raise ValueError(f"the counts must be {model.size} integers of at least 0")
        by_cell = model.by_cell(flat.astype(np.int64))
        z = exact.uniform_integers(bits, model.states, len(by_cell))
        paths, tables = [], []
        for _ in range(self.sweeps):
            tables.append(self._tables(by_cell, z, bits))
            z = self._path(by_cell @ self._logs(tables[-1]).T, z, bits)
            paths.append(z.astype(np.int16))
        return HiddenMarkovDraws(model, np.array(paths), np.array(tables), self.guarantee, bits.seeded)

    def _tables(
        self, by_cell: NDArray[np.int64], z: NDArray[np.int64], source: Source
    ) -> NDArray[np.float64]:
        """θ_{k,d} ~ Dirichlet(β + Σ_{z=k} n/T) on θ ≥ a₀, exactly."""
        model, heat = self.model, Fraction(self.temperature)
        theta = np.empty((model.states, model.offsets[-1]))
        for k in range(model.states):
            totals = by_cell[z == k].sum(axis=0).tolist()
            for first, last in zip(model.offsets[:-1], model.offsets[1:], strict=True):
                alpha = [model.emission + n / heat for n in totals[first:last]]
                theta[k, first:last] = truncated_simplex(alpha, self.lower(last - first), source)
        return theta

    def _logs(self, theta: NDArray[np.float64]) -> NDArray[np.int64]:
        """Ln θ in units, held within what θ ≥ a₀ allows, so that rounding cannot widen the range."""
        logs = np.rint(np.log(theta) * UNIT)
        for first, last in zip(self.model.offsets[:-1], self.model.offsets[1:], strict=True):
            least = self.lower(last - first)
            most = 1 - (last - first - 1) * least
            bounds = math.floor(math.log(least) * UNIT), math.ceil(math.log(most) * UNIT)
            logs[:, first:last] = np.clip(logs[:, first:last], *bounds)
        units: NDArray[np.int64] = logs.astype(np.int64)
        return units

    def _path(self, scores: NDArray[np.int64], z: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
        """Draw z_{r,t} | z elsewhere with probability ∝ (public weight)·exp(score/T), exactly as stated."""
        model, unit = self.model, 1 / (Fraction(self.temperature) * UNIT)
        z, states, steps = z.copy(), model.states, model.steps
        counts = np.zeros((states + 1, states))
        for c in range(z.size):
            counts[states if c % steps == 0 else z[c - 1], z[c]] += 1
        for c in range(z.size):
            p, f = states if c % steps == 0 else z[c - 1], z[c + 1] if (c + 1) % steps else -1
            counts[p, z[c]] -= 1
            if f >= 0:
                counts[z[c], f] -= 1
            weights = _log_weights(counts, int(p), int(f), float(model.transition))
            own = [Fraction(w) + int(s) * unit for w, s in zip(weights.tolist(), scores[c], strict=True)]
            z[c] = exact.categorical(source, own, 1)[0]
            counts[p, z[c]] += 1
            if f >= 0:
                counts[z[c], f] += 1
        return z


def _log_weights(counts: NDArray[np.float64], p: int, f: int, alpha: float) -> NDArray[np.float64]:
    """Ln[(n_{p→k}+α)(n_{k→f}+I[p=k=f]+α)/(n_{k→·}+I[p=k]+Kα)]: of released states alone, so in doubles"""
    states = counts.shape[1]
    weights: NDArray[np.float64] = np.log(counts[p] + alpha)
    if f >= 0:
        own = np.arange(states) == p
        into, out = counts[:states, f] + (own & (p == f)), counts[:states].sum(axis=1) + own
        weights += np.log((into + alpha) / (out + states * alpha))
    return weights
