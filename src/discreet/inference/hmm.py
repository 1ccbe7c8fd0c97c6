"""Fit the hidden Markov model to released counts by several chains. Post-processing: it costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.inference.hmm_posterior import HiddenMarkovPosterior
from discreet.inference.hmm_run import Plan, run
from discreet.inference.hmm_state import Chain, CountEmissions, Emissions
from discreet.mechanisms.noisy_cells import NoisyCells
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from discreet.models.hidden_markov import HiddenMarkov
    from discreet.sampling.source import Source


def fit(
    counts: NoisyCells | Mapping[str, ArrayLike] | ArrayLike,
    model: HiddenMarkov,
    *,
    reading: str = "noise_aware",
    kernel: str = "ffbs",
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
    or one array a feature. A run with a `checkpoint` file that was stopped goes on there, bit for bit.
    """
    released, bound = _bound(counts, model)
    data = READINGS_OF[_known(reading, READINGS_OF)](released, bound)
    _known(kernel, Chain.PATHS)
    plan = Plan(kernel, _whole(chains, "chains"), _whole(sweeps, "sweeps", 4), _whole(burn, "burn", 0), keep)
    raw = run(data.fresh, data.start_counts, bound, plan, source or SYSTEM, checkpoint, show=progress)
    return HiddenMarkovPosterior.of(
        model=bound,
        reading=reading,
        kernel=kernel,
        warm_up=burn,
        notes=_notes(data.start_counts, bound),
        **raw,
    )


@final
@dataclass(frozen=True)
class Data:
    """What a reading makes of the counts: how a chain's emissions begin, and what k-means++ looks at."""

    fresh: Callable[[], Emissions]
    start_counts: NDArray[Any]


def _exact(counts: NoisyCells | NDArray[Any], model: HiddenMarkov) -> Data:
    if isinstance(counts, NoisyCells):
        raise TypeError("these counts are noisy: read them as 'noise_aware' (or 'naive'), not as 'exact'")
    return _plain(counts, model)


def _plain(counts: NDArray[Any], model: HiddenMarkov) -> Data:
    by_cell = model.by_cell(counts)
    if not (np.isfinite(by_cell).all() and by_cell.min() >= 0):
        raise ValueError("exact counts must be numbers of at least 0")
    return Data(partial(CountEmissions.of, model, by_cell), by_cell)


def _naive(counts: NoisyCells | NDArray[Any], model: HiddenMarkov) -> Data:
    """Noisy counts as if exact, negative ones clipped at 0, as the papers do."""
    noisy = counts.noisy if isinstance(counts, NoisyCells) else counts
    return _plain(np.maximum(noisy, 0), model)


def _noise_aware(counts: NoisyCells | NDArray[Any], model: HiddenMarkov) -> Data:
    if not isinstance(counts, NoisyCells):
        raise TypeError(
            "the noise-aware reading needs a release of NoisyCounts, which knows its noise; for counts "
            "without noise ask for reading='exact'"
        )
    from discreet.inference.hmm_noise_aware import NoisyEmissions, noisy_data  # noqa: PLC0415 - numba on use

    by_cell = model.by_cell(counts.noisy)
    return Data(partial(NoisyEmissions.of, model, noisy_data(model, counts)), by_cell)


READINGS_OF: dict[str, Callable[[Any, HiddenMarkov], Data]] = {
    "noise_aware": _noise_aware,
    "naive": _naive,
    "exact": _exact,
}


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
    if not (isinstance(number, int) and number >= least):
        raise ValueError(f"{what} must be an integer of at least {least}, got {number!r}")
    return number


def _notes(by_cell: NDArray[Any], model: HiddenMarkov) -> tuple[str, ...]:
    """Say aloud what is allowed but may surprise; all of it is read off the release."""
    seen = np.maximum(by_cell[:, : model.offsets[1]], 0).sum(axis=1)
    empty, occupied = int((seen <= 0).sum()), int((seen > 0).sum())
    notes = []
    if empty:
        notes.append(f"{empty} of {len(seen)} cells show no records: their states come from their neighbours")
    if model.states > occupied:
        notes.append(
            f"{model.states} states for {occupied} occupied cells: the data cannot support them all, and the "
            "states without cells show the prior"
        )
    return tuple(notes)
