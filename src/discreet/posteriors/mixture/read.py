"""Noisy joint counts of a mixture → its posterior by several chains: naive, or the noise accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import Floats
from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.mixture import Mixture
from discreet.posteriors.mixture.posterior import MixturePosterior
from discreet.posteriors.network.chain import (
    REACH,
    WARMING,
    check_length,
    jittered,
    moves,
    noise_of,
    size_of,
    strain,
)
from discreet.posteriors.network.read import public_source
from discreet.posteriors.noise_law import FEWEST as FEWEST_DRAWS
from discreet.posteriors.noise_law import MIXED, strayed, unexplained
from discreet.posteriors.read import known_reading, refitted
from discreet.sampling.source import Source
from discreet.shown import steps

if TYPE_CHECKING:
    from discreet.posteriors.mixture.kernel import Shape


# ── One Markov chain of a mixture, as Python holds it; its moves are compiled.
@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """What a chain conditions on: joint counts, exact or noisy, and n."""

    model: Mixture
    reading: str
    joint: Floats
    n: int  # or where to start, if it is private
    most: int
    sharpness: float = 0.0  # of the noise
    squared: bool = False
    scale: float = 0.0
    fixed: bool = True  # n is public
    frozen: bool = False  # the counts are taken as exact

    @classmethod
    def exactly(cls, reading: str, counts: NDArray[np.int64], model: Mixture) -> Evidence:
        n = int(counts.sum())
        return cls(model, reading, counts.astype(np.float64), n, n, frozen=True)

    @classmethod
    def noisily(cls, cells: NoisyCells, model: Mixture) -> Evidence:
        (n, most), noisy = size_of(cells), cells.noisy.astype(np.float64)
        noise, scale, public = noise_of(cells, most), float(cells.scales[0]), cells.n is not None
        sharpness = float(noise.sharpness[0])
        return cls(model, "noise_aware", noisy, n, most, sharpness, noise.squared, scale, fixed=public)

    def counts(self, seed: int) -> NDArray[np.int64]:
        """Return the counts or, of noisy ones, some that add up to n: theirs with as much noise again."""
        if self.frozen:
            return self.joint.astype(np.int64)
        rng = np.random.default_rng(seed)
        weight = jittered(self.joint, np.full(self.joint.size, self.scale), rng) + 1e-9
        ends = np.floor(self.n * np.cumsum(weight) / weight.sum() + rng.random()).clip(max=self.n)
        ends[-1] = self.n
        return np.asarray(np.diff(ends, prepend=0.0), dtype=np.int64)


@final
@dataclass
class MixtureChain:
    """The state (counts, n, θ); numba's generator is seeded when it begins."""

    shape: Any  # the kernel's Shape and Said: importing them compiles
    said: Any
    prior: Floats
    joint: NDArray[np.int64]
    n: int
    theta: Floats  # π, then the tables of each feature, class by class

    @classmethod
    def begin(cls, evidence: Evidence, shapes: Floats, seed: int) -> MixtureChain:
        """Start from the mean of `shapes`, and counts such as the noisy ones speak of."""
        from discreet.posteriors.mixture import kernel  # noqa: PLC0415 - compiles on first use
        from discreet.posteriors.network.kernel import seed as sow  # noqa: PLC0415

        sow(seed % 2**31)
        shape, joint = shape_of(evidence.model), evidence.counts(seed)
        reach = int(np.clip(REACH * evidence.scale, 1, max(evidence.most, 1)))
        said = kernel.NoisyInput(
            evidence.joint.copy(),
            evidence.sharpness,
            evidence.squared,
            reach,
            evidence.most,
            evidence.fixed,
            evidence.frozen,
        )
        rows = zip(shape.rows.tolist(), shape.length.tolist(), strict=True)
        theta = np.concatenate([shapes[a : a + b] / shapes[a : a + b].sum() for a, b in rows])
        return cls(shape, said, prior_of(evidence.model), joint, int(joint.sum()), theta)

    def strain(self) -> float:
        """Σ|e|/b or Σe²/σ² of the noise that the counts leave"""
        return strain(self.said.noisy - self.joint, self.said.sharpness, self.said.squared)

    def advance(self, sweeps: int) -> float:
        """Sweep; return ln p(π, θ, counts, ŷ) up to a constant, before the last draw of θ."""
        from discreet.posteriors.mixture.kernel import sweep  # noqa: PLC0415

        self.n, level = sweep(self.joint, self.n, self.theta, self.prior, self.shape, self.said, sweeps)
        return float(level)


def prior_of(model: Mixture) -> Floats:
    """Dirichlet entries of π and of every θ."""
    weights = np.full(model.components, float(model.weight))
    return np.concatenate([weights, np.full(model.components * sum(model.sizes), float(model.prior))])


def shape_of(model: Mixture) -> Shape:
    """Say where each θ lies, for the kernel."""
    from discreet.posteriors.mixture.kernel import Shape  # noqa: PLC0415 - loads numba

    K, size = model.components, np.array(model.sizes, dtype=np.int64)
    begins = K + K * (np.cumsum(size) - size)
    codes = np.stack(np.unravel_index(np.arange(model.size), model.sizes), axis=1)
    rows = [0, *(b + k * s for b, s in zip(begins.tolist(), size.tolist(), strict=True) for k in range(K))]
    return Shape(
        classes=K,
        place=np.ascontiguousarray(codes + begins, dtype=np.int64),
        size=size,
        rows=np.array(rows, dtype=np.int64),
        length=np.concatenate([[K], np.repeat(size, K)]).astype(np.int64),
    )


# ── read
WORK = 100_000_000  # cells times classes times columns that a chain may look at, a few seconds; and within it
FEWEST, MOST = 1000, 20_000  # sweeps to keep
ROUNDS = 3  # each twice as long as the one before, until chains have met
PULL = 5.0  # prior records that a start puts where its seed is
FEW = 5  # a class with fewer records than this shows mostly its prior


def read(cells: NoisyCells, model: Mixture, reading: str) -> MixturePosterior:
    """Read noisy counts by the name of the reading."""
    return fit(cells, model, reading=reading)


def fit(
    cells: NoisyCells,
    model: Mixture,
    *,
    reading: str = "noise_aware",
    chains: int = 4,
    sweeps: int | None = None,
    keep: int = 500,
    source: Source | None = None,
) -> MixturePosterior:
    """p(π, θ | Ĉ): Gibbs over counts, classes and tables; the same numbers every time without a source.

    The naive reading takes max(Ĉ, 0), rounded, as if it were C.
    """
    model = refitted(model, cells)
    if known_reading(reading) == "naive":
        evidence = Evidence.exactly("naive", np.rint(np.maximum(cells.noisy, 0)).astype(np.int64), model)
    else:
        evidence = Evidence.noisily(cells, model)
    made = _posterior(evidence, source or public_source(cells, model), chains, sweeps, keep)
    return replace(made, notes=(*_notes(made, cells.noisy), *made.notes))


def exact(
    counts: ArrayLike,
    model: Mixture,
    *,
    source: Source,
    chains: int = 4,
    sweeps: int | None = None,
    keep: int = 500,
) -> MixturePosterior:
    """Fit where the joint counts are known: Gibbs over classes and tables."""
    known = np.asarray(counts, dtype=np.int64)
    made = _posterior(Evidence.exactly("exact", known, model), source, chains, sweeps, keep)
    return replace(made, notes=_notes(made, known))


def _posterior(
    evidence: Evidence, source: Source, chains: int, sweeps: int | None, keep: int
) -> MixturePosterior:
    """Chains of so many sweeps or, if nobody says, of ever more until they have met."""
    check_length(chains, sweeps, keep)
    model = evidence.model
    looks = model.size * model.components * (len(model.features) + 1)
    total = sweeps or int(np.clip(WORK // looks, FEWEST, MOST))
    seeds = [int(seed) for seed in source.words(chains)]
    made = _chains(evidence, seeds, total, keep)
    for doubled in range(1, 1 if sweeps else ROUNDS):
        found = made.best.diagnostics
        if found.r_hat < 1 + (MIXED - 1) / 2 and found.ess > FEWEST_DRAWS:
            break
        made = _chains(evidence, seeds, total << doubled, keep)
    return made


def _chains(evidence: Evidence, seeds: Sequence[int], total: int, keep: int) -> MixturePosterior:
    model, width, chains = evidence.model, prior_of(evidence.model).size, len(seeds)
    kept = min(keep, total)
    flat, levels = np.empty((chains, kept, width)), np.empty((chains, kept))
    sizes, strains = np.empty((chains, kept), np.int64), np.empty((chains, kept))
    begun = (MixtureChain.begin(evidence, start(model, evidence.joint, seed), seed) for seed in seeds)
    work = moves(begun, total // 2, max(total // kept, 1), kept)
    for c, s, chain, many in steps(work, "classes behind the counts", chains * (WARMING + kept)):
        level = chain.advance(many)
        if s >= 0:
            flat[c, s], sizes[c, s], levels[c, s], strains[c, s] = chain.theta, chain.n, level, chain.strain()
    K = model.components
    ends = pairwise((K + K * np.cumsum([0, *model.sizes])).tolist())
    tables = [flat[..., a:b].reshape(*flat.shape[:2], K, (b - a) // K) for a, b in ends]
    odd = unexplained(strayed(strains, model.size, 2.0 if evidence.squared else 1.0))
    return MixturePosterior.of(
        model=model,
        reading=evidence.reading,
        weights=flat[..., :K],
        theta=np.concatenate(tables, axis=-1),
        log_joint=levels,
        records=sizes,
        notes=(odd,) if odd else (),
    )


def start(model: Mixture, joint: Floats, seed: int) -> Floats:
    """Shapes whose mean is the first θ: each class is pulled to a seed cell, seeds far apart [k-means++]."""
    rng = np.random.default_rng(seed)
    chance, away = np.maximum(joint, 0) + 1e-9, np.ones(joint.size)
    values = np.stack(np.unravel_index(np.arange(joint.size), model.sizes), axis=1)
    seeds: list[int] = []
    for _ in range(model.components):
        weight = chance * (away**2 + 1e-9)
        seeds.append(int(rng.choice(joint.size, p=weight / weight.sum())))
        away = np.minimum(away, (values != values[seeds[-1]]).mean(axis=1))
    shapes = [np.ones(model.components)]
    for d, size in enumerate(model.sizes):
        margin = np.bincount(values[:, d], weights=chance, minlength=size)
        table = np.tile(0.5 + margin / margin.sum(), (model.components, 1))
        table[np.arange(model.components), values[seeds, d]] += PULL
        shapes.append(table.reshape(-1))
    return np.concatenate(shapes)


def _notes(made: MixturePosterior, shown: NDArray[Any]) -> tuple[str, ...]:
    """Say aloud what is allowed but may surprise."""
    notes, empty = [], int((shown <= 0).sum())
    if empty:
        notes.append(f"{empty} of {shown.size} joint cells show no records; they stay possible")
    held = made.best.weights.mean(axis=(0, 1)) * float(made.records.mean())
    if small := int((held < FEW).sum()):
        notes.append(
            f"{small} of {made.model.components} classes hold fewer than {FEW} records: the data do not "
            "support so many, and those show the prior"
        )
    return tuple(notes)
