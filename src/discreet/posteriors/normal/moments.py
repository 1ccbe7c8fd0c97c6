"""Chains over S itself, the exact moments behind a noisy release, with every parameter integrated out.

Given S the parameters are conjugate, and p(S) is known for at least as many rows as columns; so S is all that
chains have to find [Bernstein, Sheldon 2018, 2019 draw S and θ in turn]. The noise is as it is, and S is
positive definite. Clipped rows are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Floats
from discreet.families.laws.matrices import nearest_semidefinite
from discreet.posteriors.noise_law import FEWEST, MIXED, judged, misfit
from discreet.posteriors.normal.chains import ChainLengths
from discreet.posteriors.normal.latent_model import Observed
from discreet.posteriors.normal.starts import settle, shape
from discreet.posteriors.posterior import Diagnostics
from discreet.shown import steps

if TYPE_CHECKING:
    from discreet.posteriors.normal.moments_kernel import Prior, Seen


METHOD = "chains over the exact moments; clipped rows not modelled"
SWARM = 256
ROUNDS = 4  # each twice as long as the one before, until chains have met
CHUNKS = 10  # pieces of a chain, between which it can be stopped


@final
@dataclass(frozen=True, eq=False)
class Moments:
    """The target of the chains, in natural units; a swarm starts from Wishart draws about S₀ = T₀T₀ᵀ."""

    seen: Seen
    prior: Prior
    n: int  # or where chains start, where it is private
    unsure: float  # deviation of n̂, 0 where n is public
    degrees: float  # of the Wishart draws: as narrow as the noise

    @classmethod
    def of(
        cls,
        observed: Observed,
        prior: Prior,
        *,
        noisy: Floats,
        unit: Floats,
        shares: Floats,
        fixed: int,
        trace: float,
    ) -> Moments:
        """Moments `noisy` in steps of `unit`, 0 where one is exact; a row's square is at most `trace`.

        `shares` are those of the noise's variance, 1 in all unless it is Gaussian.
        """
        D, power = len(noisy), observed.power
        n = observed.n if observed.n is not None else max(observed.about, D + 1)
        rates = np.where(unit > 0, observed.rate / shares / np.where(unit > 0, unit, 1.0) ** power, 0.0)
        deviation = observed.variance**0.5 * unit.max()
        root, narrow = near(noisy, deviation, n * trace)
        counted = (0.0, 0.0)
        if observed.n is None:
            counted = observed.count / observed.count_unit, observed.rate * observed.count_unit**power
        return cls(
            seen=(noisy, rates, power, *counted, root, fixed),
            prior=prior,
            n=n,
            unsure=observed.variance**0.5 / observed.count_unit if observed.n is None else 0.0,
            degrees=float(np.clip(narrow**-2, D + 4, 1e14)),
        )

    @cached_property
    def diagonal(self) -> NDArray[np.bool_]:
        """Which coordinates are logarithms of the diagonal of B; n is none of them."""
        rows, columns = np.tril_indices(len(self.seen[0]))
        return np.asarray(rows == columns)[self.seen[6] :]

    @cached_property
    def centres(self) -> Floats:
        """Row by row, how the prior regresses a column on those before it."""
        weights, _, _, _, m, scale, _, _ = self.prior
        D, fixed = len(self.seen[0]), self.seen[6]
        out = np.zeros((D, D))
        for i in range(m.size):
            beside = np.linalg.solve(scale[:i, :i], scale[:i, i])
            out[fixed + i, fixed : fixed + i] = beside
            if fixed:
                out[fixed + i, 0] = m[i] - beside @ m[:i]
        out[D - 1, : weights.size] = weights
        return out

    @property
    def _freedom(self) -> Floats:
        return np.asarray(self.degrees - np.arange(self.seen[6], len(self.seen[0])), dtype=np.float64)

    # ── the swarm's start, and what leads from it to the posterior ──
    def imagine(self, size: int, rng: np.random.Generator) -> Floats:
        x = rng.standard_normal((size, self.diagonal.size)) / np.sqrt(self.degrees)
        squares = rng.chisquare(self._freedom, (size, self._freedom.size))
        x[:, self.diagonal] = np.log(squares / self.degrees) / 2
        if not self.unsure:
            return np.asarray(x)
        return np.column_stack([x, self.n + self.unsure * abs(rng.standard_normal(size))])

    def log_prior(self, x: Floats) -> Floats:
        inner = x[:, : self.diagonal.size]
        logs, others = inner[:, self.diagonal], inner[:, ~self.diagonal]
        total = np.sum(self._freedom * logs - 0.5 * self.degrees * np.exp(2 * logs), axis=1)
        total -= 0.5 * self.degrees * np.sum(others**2, axis=1)
        return np.asarray(total - 0.5 * ((x[:, -1] - self.n) / self.unsure) ** 2 if self.unsure else total)

    def log_likelihood(self, x: Floats) -> Floats:
        from discreet.posteriors.normal.moments_kernel import log_targets  # noqa: PLC0415 - loads numba

        found = log_targets(np.ascontiguousarray(x), float(self.n), self.seen, self.prior)
        return np.asarray(np.maximum(found, -1e200) - self.log_prior(x))


def near(noisy: Floats, deviation: float, trace: float) -> tuple[Floats, float]:
    """T₀ of a positive definite matrix near Ŝ, and the noise over its least eigenvalue."""
    values, vectors = np.linalg.eigh(nearest_semidefinite(noisy, trace))
    values = np.maximum(values, max(0.3 * deviation, 1e-12 * trace))
    return np.linalg.cholesky((vectors * values) @ vectors.T), float(deviation / values.min())


@final
@dataclass(frozen=True, eq=False)
class MomentDraws:
    """Draws of T and n, and how the chains went."""

    T: Floats  # (chains, draws, D, D)
    n: Floats
    level: Floats  # the log target
    target: Moments
    plan: ChainLengths

    @property
    def size(self) -> NDArray[np.int64] | None:
        return self.n.astype(np.int64) if self.target.unsure else None

    def diagnostics(self, fitted: Floats) -> Diagnostics:
        """Judged by `fitted` (chains, draws, …), E[θ|S] and the like, and by what every such model has."""
        return Diagnostics(METHOD, self.plan.chains, self.plan.draws, *self.judged(fitted))

    def judged(self, fitted: Floats) -> tuple[float, float]:
        logs = np.log(np.diagonal(self.T, axis1=-2, axis2=-1))[..., self.target.seen[6] :]
        held = [fitted, logs, self.level[..., None]]
        held += [self.n[..., None]] if self.target.unsure else []
        return judged(np.concatenate(held, axis=-1))

    @property
    def apart(self) -> float:
        """How far the noise that is left is from its law."""
        noisy, rates, power = self.target.seen[:3]
        rows, columns = np.nonzero(np.tril(rates))
        left = (noisy - self.T @ np.swapaxes(self.T, -1, -2))[..., rows, columns].reshape(-1, rows.size)
        rate = rates[rows, columns]
        return misfit(left * (rate if power == 1 else np.sqrt(2 * rate)), power)


def sample(
    target: Moments,
    plan: ChainLengths | None,
    rng: np.random.Generator,
    fitted: Callable[[MomentDraws], Floats],
) -> MomentDraws:
    """Run chains by `plan`, or without one by ever longer ones until they have met, ROUNDS at most."""
    size = target.diagonal.size
    how = plan or ChainLengths(thin=2 * size, burn=2000 * size)
    swarm = settle(target, SWARM, rng)
    states = [(row, shape(swarm)) for row in swarm[np.arange(how.chains) % SWARM].copy()]
    for _ in range(ROUNDS):
        pieces = (piece for state in states for piece in _walk(target, state, how, rng))
        parts = list(steps(pieces, "noise-aware posterior", CHUNKS * how.chains))
        out = np.stack([np.concatenate(parts[k : k + CHUNKS]) for k in range(0, len(parts), CHUNKS)])
        D = len(target.seen[0])
        T = out[..., :-2].reshape(*out.shape[:-1], D, D)
        found = MomentDraws(T, out[..., -2], out[..., -1], target, how)
        worst, least = found.judged(fitted(found))
        if plan or (worst < 1 + (MIXED - 1) / 2 and least > FEWEST):
            break
        how = ChainLengths(chains=how.chains, draws=how.draws, thin=2 * how.thin, burn=2 * how.burn)
    return found


def _walk(
    target: Moments, state: tuple[Floats, Floats], how: ChainLengths, rng: np.random.Generator
) -> Iterator[Floats]:
    """Go on from `state`, which moves: burn, then pieces of draws."""
    from discreet.posteriors.normal.moments_kernel import walk  # noqa: PLC0415 - loads numba

    row, root = state
    x, n = row[: target.diagonal.size], target.n
    if target.unsure:
        n = max(len(target.seen[0]), round(row[-1]))
    lengths = [(1, how.burn), *((len(part), how.thin) for part in np.array_split(range(how.draws), CHUNKS))]
    done = 0
    for k, (size, thin) in enumerate(lengths):
        out = np.empty((size, target.seen[0].size + 2))
        n = walk(rng, x, n, root, target.seen, target.prior, target.centres, done, how.burn, out, thin)
        done += size * thin
        if k:
            yield out
    if target.unsure:
        row[-1] = n
