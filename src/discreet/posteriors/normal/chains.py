"""Several chains of either kernel, from starts near the posterior: (chains, draws, φ and n)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.families.family import Floats
from discreet.posteriors.normal.latent_model import LatentNormal, Observed
from discreet.posteriors.normal.starts import as_phi, normal_points, shape, starts

LONGEST = 16  # steps in proportion to the length of φ, but no more than for this length
CHUNKS = 20  # pieces of a chain, between which it can be stopped and shows its progress


@final
@dataclass(frozen=True, kw_only=True)
class ChainLengths:
    """How long to run: `burn` steps adapt the proposal and are dropped; then `thin` steps make a draw."""

    chains: int = 4
    draws: int = 1000
    thin: int = 8
    burn: int = 4000

    def __post_init__(self) -> None:
        for name in ("chains", "draws", "thin", "burn"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} of a plan must be at least 1, got {getattr(self, name)!r}")
        if not self.draws >= 4:
            raise ValueError(f"R-hat and ESS need at least 4 draws per chain, got {self.draws}")

    @classmethod
    def suggested(cls, law: str, model: LatentNormal) -> ChainLengths:
        """Take steps in proportion to the length of φ; a sweep over records does more than one without."""
        steps = min(LONGEST, model.size if law == "limit" else max(2, model.size // 2))
        return cls(thin=2 * steps, burn=400 * steps)

    @property
    def pieces(self) -> int:
        return self.chains * 2 * CHUNKS


def augmented(
    model: LatentNormal, observed: Observed, plan: ChainLengths, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield (draws, φ and n) piece by piece, chain by chain, from the data-augmentation kernel."""
    from discreet.posteriors.normal.augment_kernel import sweeps  # noqa: PLC0415 - loads numba

    seen = observed.seen(model)
    swarm = as_phi(starts(model, observed, rng), model)
    for phi in rng.permutation(swarm)[np.arange(plan.chains) % len(swarm)]:
        root = shape(swarm)
        u = rng.standard_normal((observed.most, model.columns))
        n, done = observed.about, 0
        for size, thin in _lengths(plan):
            out = np.empty((size, phi.size + 1))
            n = sweeps(
                rng, phi, u, n, root, model.layout, model.prior, seen, model.grid, done, plan.burn, out, thin
            )
            done += size * thin
            yield out


def limiting(
    model: LatentNormal, observed: Observed, plan: ChainLengths, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield the same from the central-limit kernel."""
    from discreet.posteriors.normal.limit_kernel import steps  # noqa: PLC0415 - loads numba

    seen, points = observed.seen(model), normal_points(model.columns, observed.most)
    swarm = starts(model, observed, rng)
    for phi in as_phi(rng.permutation(swarm)[np.arange(plan.chains) % len(swarm)], model):
        omega, n, done = observed.variances, observed.about, 0
        root = shape(swarm)
        if observed.count_unit:  # n moves along with φ
            root = np.eye(phi.size + 1) * (0.5 * observed.variance**0.5 / observed.count_unit + 0.5)
            root[:-1, :-1] = shape(swarm)
        for size, thin in _lengths(plan):
            out = np.empty((size, phi.size + 1))
            n = steps(
                rng,
                phi,
                n,
                observed.most,
                omega,
                root,
                model.layout,
                model.prior,
                seen,
                model.grid,
                points,
                done,
                plan.burn,
                out,
                thin,
            )
            done += size * thin
            yield out


def collect(pieces: Iterator[Floats], plan: ChainLengths) -> Floats:
    """(chains, draws, φ and n), the burn-in left out."""
    parts = list(pieces)
    return np.stack(
        [
            np.concatenate(parts[k + CHUNKS : k + 2 * CHUNKS])[: plan.draws]
            for k in range(0, len(parts), 2 * CHUNKS)
        ]
    )


def _lengths(plan: ChainLengths) -> list[tuple[int, int]]:
    """(draws, thin) of each piece: CHUNKS of burn-in, CHUNKS of draws."""
    return [(1, -(-plan.burn // CHUNKS))] * CHUNKS + [(-(-plan.draws // CHUNKS), plan.thin)] * CHUNKS
