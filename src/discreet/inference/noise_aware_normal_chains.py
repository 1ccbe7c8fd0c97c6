"""Several chains of either kernel, from starts drawn from the prior: (chains, draws, φ and n)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.families.family import Floats
    from discreet.inference.noise_aware_normal_model import LatentNormal, Observed

STARTS = 256  # prior draws that a start is chosen from
LONGEST = 16  # steps in proportion to the length of φ, but no more than for this length
CHUNKS = 20  # pieces of a chain, between which it can be stopped and shows its progress


@final
@dataclass(frozen=True, kw_only=True)
class Plan:
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
            raise ValueError(f"R-hat and ESS need at least 4 draws a chain, got {self.draws}")

    @classmethod
    def suggested(cls, law: str, model: LatentNormal) -> Plan:
        """Take steps in proportion to the length of φ; a sweep over records does more than one without."""
        steps = min(LONGEST, model.size if law == "limit" else max(2, model.size // 2))
        return cls(thin=2 * steps, burn=1000 * steps)

    @property
    def pieces(self) -> int:
        return self.chains * 2 * CHUNKS


def augmented(
    model: LatentNormal, observed: Observed, plan: Plan, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield (draws, φ and n) piece by piece, chain by chain, from the data-augmentation kernel."""
    from discreet.inference.noise_aware_augment_kernel import sweeps  # noqa: PLC0415 - loads numba

    seen = observed.seen(model)
    for phi, root in _starts(model, observed, plan, rng):
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
    model: LatentNormal, observed: Observed, plan: Plan, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield the same from the central-limit kernel."""
    from discreet.inference.noise_aware_normal_kernel import steps  # noqa: PLC0415 - loads numba

    seen, points = observed.seen(model), normal_points(model.columns, observed.most)
    for phi, start in _starts(model, observed, plan, rng):
        omega, n, done = np.full(observed.noisy.size, observed.variance), observed.about, 0
        root = start
        if observed.count_unit:  # n moves along with φ
            root = np.eye(phi.size + 1) * (0.5 * observed.variance**0.5 / observed.count_unit + 0.5)
            root[:-1, :-1] = start
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


def collect(pieces: Iterator[Floats], plan: Plan) -> Floats:
    """(chains, draws, φ and n), the burn-in left out."""
    parts = list(pieces)
    return np.stack(
        [
            np.concatenate(parts[k + CHUNKS : k + 2 * CHUNKS])[: plan.draws]
            for k in range(0, len(parts), 2 * CHUNKS)
        ]
    )


def _lengths(plan: Plan) -> list[tuple[int, int]]:
    """(draws, thin) of each piece: CHUNKS of burn-in, CHUNKS of draws."""
    return [(1, -(-plan.burn // CHUNKS))] * CHUNKS + [(-(-plan.draws // CHUNKS), plan.thin)] * CHUNKS


def normal_points(d: int, n: int) -> Floats:
    """Sobol' points (d, K) through Φ⁻¹, a fixed public scramble, made to have mean 0, covariance I exactly.

    More of them for more records, as n times their error must stay small against √n records.
    """
    from scipy.special import ndtri  # noqa: PLC0415
    from scipy.stats.qmc import Sobol  # noqa: PLC0415 - scipy.stats is slow to load

    power = 9 if n <= 2000 else 11 if n <= 30_000 else 13
    points: Floats = ndtri(Sobol(d, rng=np.random.default_rng(1)).random_base2(power))
    points -= points.mean(axis=0)
    root = np.linalg.cholesky(points.T @ points / len(points))
    return np.ascontiguousarray(np.linalg.solve(root, points.T))


def _starts(
    model: LatentNormal, observed: Observed, plan: Plan, rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Yield a start φ for each chain, prior draws weighed by tempered likelihood, and a first proposal."""
    from discreet.inference.noise_aware_normal_kernel import weigh  # noqa: PLC0415 - loads numba

    drawn, value, seen = np.zeros((STARTS, model.size)), np.empty(STARTS), observed.seen(model)
    points = normal_points(model.columns, 0)
    weigh(rng, drawn, value, model.layout, model.prior, seen, model.grid, points, observed.about)
    weight = np.exp((value - value.max()) / 4)
    spread = np.subtract(*np.quantile(drawn, [0.75, 0.25], axis=0))
    for k in rng.choice(STARTS, plan.chains, p=weight / weight.sum()):
        yield drawn[k].copy(), np.diag(0.2 * spread / np.sqrt(model.size))
