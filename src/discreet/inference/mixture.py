"""Noisy joint counts of a mixture → its posterior by several chains: naive, or the noise accounted for."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.inference.bayes_net import public_source
from discreet.inference.bayes_net_chain import (
    WARMING,
    Problem,
    check_length,
    layout_of,
    moves,
    noise_of,
    size_of,
)
from discreet.inference.cell_posteriors import known_reading, refitted
from discreet.inference.mixture_chain import Evidence, MixtureChain
from discreet.inference.mixture_posterior import MixturePosterior
from discreet.inference.progress import watched

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.families.family import Floats
    from discreet.mechanisms.noisy_cells import NoisyCells
    from discreet.models.mixture import Mixture
    from discreet.sampling.source import Source

MOVES = 4_000_000  # records times sweeps in a chain, which bounds its time; and within it
FEWEST, MOST = 400, 2000  # sweeps to keep
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
    """p(π, θ | Ĉ): Gibbs over classes, records and tables; the same numbers every time without a source.

    The naive reading takes max(Ĉ, 0), rounded, as if it were C.
    """
    model = refitted(model, cells)
    if known_reading(reading) == "naive":
        evidence = _exactly("naive", np.rint(np.maximum(cells.noisy, 0)).astype(np.int64), model)
    else:
        evidence = _noisily(cells, model)
    made = _posterior(evidence, source or public_source(cells, model), chains, sweeps, keep)
    return replace(made, notes=_notes(made, cells.noisy))


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
    made = _posterior(_exactly("exact", known, model), source, chains, sweeps, keep)
    return replace(made, notes=_notes(made, known))


def _noisily(cells: NoisyCells, model: Mixture) -> Evidence:
    """Only the joint table is noised; moves of many records reach as far in every node."""
    (n, most), nodes = size_of(cells), len(model.features) + 2
    joint, sharpness = noise_of(cells, most), np.zeros(nodes)
    sharpness[-1] = joint.sharpness[0]
    noise = joint._replace(sharpness=sharpness, reach=np.full(nodes, joint.reach[0]))
    codes, counts = np.zeros((most, nodes), np.int32), cells.noisy.astype(np.float64)
    public, scale = cells.n is not None, float(cells.scales[0])
    return Evidence(model, "noise_aware", counts, codes, n, noise, public, frozen=False, scale=scale)


def _exactly(reading: str, counts: NDArray[np.int64], model: Mixture) -> Evidence:
    from discreet.inference.bayes_net_kernel import Noise  # noqa: PLC0415 - loads numba

    where, nodes = np.repeat(np.arange(counts.size), counts), len(model.features) + 2
    codes = np.zeros((len(where), nodes), np.int32)
    codes[:, 1:-1] = np.stack(np.unravel_index(where, model.sizes), axis=1)
    silent = Noise(np.zeros(nodes), squared=False, reach=np.ones(nodes, np.int64))
    joint = counts.astype(np.float64)
    return Evidence(model, reading, joint, codes, len(where), silent, fixed=True, frozen=True)


def _posterior(
    evidence: Evidence, source: Source, chains: int, sweeps: int | None, keep: int
) -> MixturePosterior:
    check_length(chains, sweeps, keep)
    model, width = evidence.model, prior_of(evidence.model).size - evidence.model.size
    total = sweeps or int(np.clip(MOVES // max(evidence.n, 1), FEWEST, MOST))
    kept = min(keep, total)
    flat, levels = np.empty((chains, kept, width)), np.empty((chains, kept))
    sizes = np.empty((chains, kept), np.int64)
    begun = (_begun(evidence, int(seed)) for seed in source.words(chains))
    work = moves(begun, total // 2, max(total // kept, 1), kept)
    for c, s, chain, many in watched(work, chains * (WARMING + kept), "classes behind the counts"):
        level = chain.advance(many)
        if s >= 0:
            flat[c, s], sizes[c, s], levels[c, s] = chain.inner.theta[:width], chain.inner.n, level
    K = model.components
    ends = pairwise((K + K * np.cumsum([0, *model.sizes])).tolist())
    tables = [flat[..., a:b].reshape(*flat.shape[:2], K, (b - a) // K) for a, b in ends]
    return MixturePosterior.of(
        model=model,
        reading=evidence.reading,
        weights=flat[..., :K],
        tables=np.concatenate(tables, axis=-1),
        log_joint=levels,
        records=sizes,
    )


def _begun(evidence: Evidence, seed: int) -> MixtureChain:
    """Start one chain; numba's generator is seeded with it."""
    model, prior = evidence.model, prior_of(evidence.model)
    noisy = np.concatenate([np.zeros(prior.size - model.size), evidence.joint])
    layout, room = layout_of(model.network), len(evidence.codes)
    problem = Problem(layout, evidence.noise, noisy, prior, room, evidence.fixed)
    return MixtureChain.begin(problem, evidence, start(model, evidence.joint, seed), seed)


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
    return np.concatenate([*shapes, np.ones(joint.size)])


def prior_of(model: Mixture) -> Floats:
    """Dirichlet entries of π, of every θ, and of the joint table's rows of one code."""
    weights = np.full(model.components, float(model.weight))
    tables = np.full(model.components * sum(model.sizes), float(model.prior))
    return np.concatenate([weights, tables, np.ones(model.size)])


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
    if not made.agreed:
        notes.append(
            f"the chains found {len(made.modes)} different answers {made.modes}: what is said of all of them "
            "at once is said of the likeliest group"
        )
    return tuple(notes)
