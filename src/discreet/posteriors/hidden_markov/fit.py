"""Fit the hidden Markov model to released counts by several chains. Post-processing: it costs nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.chain import READINGS_OF, StateChain, unread_cells
from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior
from discreet.posteriors.hidden_markov.run import SweepPlan, run
from discreet.posteriors.noise_law import unexplained
from discreet.sampling.source import SYSTEM, SeededSource, Source

if TYPE_CHECKING:
    from discreet.posteriors.hidden_markov.chain import Data


# ── What is allowed in a hidden Markov fit but may surprise, said aloud; all of it is read off the release.
FEW = 5  # a state with fewer records than this shows mostly its prior
DEVIATIONS = 2.0  # of noise, which a number of records must exceed to be told from none


def notes_of(data: Data, made: HiddenMarkovPosterior) -> tuple[str, ...]:
    return (*_of_cells(data, made.model.states), *_of_states(data, made.best))


def _of_cells(data: Data, states: int) -> list[str]:
    """Of cells that are missing or empty, as far as the noise lets one tell."""
    cells, missing = data.sizes.size, int(data.unread.sum())
    told = int((data.sizes[~data.unread] > DEVIATIONS * data.spread).sum())
    empty, notes = cells - missing - told, []
    if missing:
        notes.append(f"{missing} of {cells} cells were not read, as asked")
    if empty and data.spread:
        notes.append(
            f"{empty} of {cells} cells cannot be distinguished from empty ones (two deviations of noise)"
        )
    elif empty:
        notes.append(f"{empty} of {cells} cells show no records: their states come from their neighbours")
    if states > told:
        occupied = "cells distinguishable from empty ones" if data.spread else "occupied cells"
        notes.append(
            f"{states} states for {told} {occupied}: the data cannot support them all, and the states "
            "without cells show the prior"
        )
    return notes


def _of_states(data: Data, best: HiddenMarkovPosterior) -> list[str]:
    """Of states whose cells hold, by Σ_c P(z_c = k)·(records of c), too few records or no more than noise."""
    shares = best.assignments().mean(axis=0).reshape(data.sizes.size, -1) * ~data.unread[:, None]
    held, noise = data.sizes @ shares, data.spread * np.sqrt((shares**2).sum(axis=0))
    if not (small := int((held < np.maximum(FEW, DEVIATIONS * noise)).sum())):
        return []
    limit = f"fewer than {FEW} records" + (", or no more than two deviations of noise" if data.spread else "")
    said = f"{small} of {best.model.states} states hold {limit}: the data do not support so many, and those"
    return [f"{said} show mostly the prior"]


# ── fit
def fit(
    counts: NoisyCells | Mapping[str, ArrayLike] | ArrayLike,
    model: HiddenMarkov,
    *,
    reading: str = "noise_aware",
    kernel: str = "ffbs",
    missing: ArrayLike | None = None,
    chains: int = 4,
    sweeps: int = 1000,
    burn: int = 1000,
    keep: int = 500,
    source: Source | None = None,
    checkpoint: Path | str | None = None,
    progress: bool = True,
) -> HiddenMarkovPosterior:
    """z, θ, A | counts: `burn` sweeps to warm up and `sweeps` more, of which about `keep` draws are kept.

    `counts` is a release of NoisyCounts (readings noise_aware, naive), or exact counts (reading exact): flat,
    or one array a feature. `missing`, public booleans (chains, steps), names cells whose counts are not read:
    their states come from their neighbours. A run with a `checkpoint` file that was stopped goes on there,
    bit for bit.
    """
    released, bound = _bound(counts, model)
    data = READINGS_OF[_known(reading, READINGS_OF)](released, bound, unread_cells(missing, bound))
    _known(kernel, StateChain.PATHS)
    plan = SweepPlan(
        kernel, _whole(chains, "chains"), _whole(sweeps, "sweeps", 4), _whole(burn, "burn", 0), keep
    )
    raw = run(data, bound, plan, source or SYSTEM, checkpoint, show=progress)
    odd = unexplained(float(raw.pop("strain").mean()))
    made = HiddenMarkovPosterior.of(
        model=bound, reading=reading, kernel=kernel, warm_up=burn, missing=data.unread, **raw
    )
    return replace(made, notes=(*notes_of(data, made), *((odd,) if odd else ())))


def _bound(
    counts: NoisyCells | Mapping[str, ArrayLike] | ArrayLike, model: HiddenMarkov
) -> tuple[NoisyCells | NDArray[Any], HiddenMarkov]:
    """Return the counts flat (or the release) and the model that knows its sizes."""
    if isinstance(counts, NoisyCells):
        bound = model if model.sizes else model.bind(counts.model.size_of)
        if bound.cells != counts.model.cells:
            raise ValueError(
                "the release holds other tables of counts than this model's chain, step and features"
            )
        return counts, bound
    if not isinstance(counts, Mapping):
        return np.asarray(counts), model
    tables = {name: np.asarray(counts[name]) for name in model.features}
    if any(table.ndim != 3 for table in tables.values()):
        raise ValueError("counts by feature must have the shape (chains, steps, values)")
    first = next(iter(tables.values())).shape
    sizes = {model.chain: first[0], model.step: first[1], **{n: t.shape[2] for n, t in tables.items()}}
    bound = model if model.sizes else model.bind(sizes)
    return np.concatenate([table.reshape(-1) for table in tables.values()]), bound


def _known(name: str, table: Mapping[str, Any]) -> str:
    if name not in table:
        raise ValueError(f"unknown choice {name!r}; known: {', '.join(table)}")
    return name


def _whole(number: int, what: str, least: int = 1) -> int:
    if isinstance(number, bool) or not (isinstance(number, int) and number >= least):
        raise ValueError(f"{what} must be an integer of at least {least}, got {number!r}")
    return number


# ── A release of noisy counts read by the hidden Markov model: several chains, the same numbers every time.
def read(cells: NoisyCells, model: HiddenMarkov, reading: str) -> HiddenMarkovPosterior:
    """Fit with the usual settings; `hmm.fit` has them all as arguments."""
    text = repr((cells.noisy.tobytes(), cells.n, cells.noise, cells.scales, model))
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")  # public anyway
    return fit(cells, model, reading=reading, source=SeededSource(seed))
