"""What each reading makes of the counts: emissions for a chain, what the starts look at, what is believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.statistics.noisy_tables import NoisyCells
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.chain import CountEmissions, Emissions
from discreet.posteriors.noise_law import NoiseLaw


@final
@dataclass(frozen=True)
class Data:
    """What a reading makes of the counts. Nothing in it depends on what a missing cell shows."""

    fresh: Callable[[], Emissions]
    start_counts: NDArray[Any]  # (R·T, ΣK_d): what k-means++ looks at, 0 in missing cells
    unread: NDArray[np.bool_]  # (R·T,): the missing cells
    sizes: NDArray[np.float64]  # (R·T,): records of a cell, as its counts tell; 0 in missing cells
    spread: float  # deviation of the noise in them
    believed: tuple[Any, ...]  # what besides the counts decides how they are read


def unread_cells(missing: ArrayLike | None, model: HiddenMarkov) -> NDArray[np.bool_]:
    """(R·T,): cells whose counts are not looked at; (chains, steps) of booleans, public."""
    shape = (model.chains, model.steps)
    if missing is None:
        return np.zeros(shape, dtype=bool).reshape(-1)
    mask = np.asarray(missing)
    if mask.dtype != bool or mask.shape != shape:
        raise ValueError(
            f"missing must be an array of booleans of shape (chains, steps) = {shape}, true where a cell is "
            f"not to be read; got {mask.dtype} of shape {mask.shape}"
        )
    if mask.all():
        raise ValueError("missing names every cell: leave at least one to be read")
    return mask.reshape(-1)


def _exact(counts: NoisyCells | NDArray[Any], model: HiddenMarkov, unread: NDArray[np.bool_]) -> Data:
    if isinstance(counts, NoisyCells):
        raise TypeError("these counts are noisy: read them as 'noise_aware' (or 'naive'), not as 'exact'")
    return _plain(counts, model, unread, ("exact",))


def _naive(counts: NoisyCells | NDArray[Any], model: HiddenMarkov, unread: NDArray[np.bool_]) -> Data:
    """Noisy counts as if exact, negative ones clipped at 0, as the papers do."""
    if not isinstance(counts, NoisyCells):
        return _plain(np.maximum(counts, 0), model, unread, ("naive",))
    shown = _told(counts, model, unread)
    return _plain(np.maximum(counts.noisy, 0), model, unread, ("naive", *_law(counts)), shown)


def _plain(
    counts: NDArray[Any],
    model: HiddenMarkov,
    unread: NDArray[np.bool_],
    believed: tuple[Any, ...],
    shown: tuple[NDArray[np.float64], float] | None = None,
) -> Data:
    by_cell = _blank(model.by_cell(counts), unread)
    if not (np.isfinite(by_cell).all() and by_cell.min() >= 0):
        raise ValueError("exact counts must be numbers of at least 0")
    sizes, spread = shown or (by_cell.sum(axis=1) / len(model.features), 0.0)
    return Data(partial(CountEmissions.of, model, by_cell), by_cell, unread, sizes, spread, believed)


def _noise_aware(counts: NoisyCells | NDArray[Any], model: HiddenMarkov, unread: NDArray[np.bool_]) -> Data:
    if not isinstance(counts, NoisyCells):
        raise TypeError(
            "the noise-aware reading needs a release of NoisyCounts, which knows its noise; for counts "
            "without noise ask for reading='exact'"
        )
    from discreet.posteriors.hidden_markov.noisy_counts import NoisyEmissions, noisy_data  # noqa: PLC0415 - numba on use

    by_cell = _blank(model.by_cell(counts.noisy), unread)
    fresh = partial(NoisyEmissions.of, model, noisy_data(model, counts, unread))
    believed = ("noise_aware", *_law(counts))
    return Data(fresh, by_cell, unread, *_told(counts, model, unread), believed)


READINGS_OF: Mapping[str, Callable[[Any, HiddenMarkov, NDArray[np.bool_]], Data]] = {
    "noise_aware": _noise_aware,
    "naive": _naive,
    "exact": _exact,
}


def _blank(by_cell: NDArray[Any], unread: NDArray[np.bool_]) -> NDArray[Any]:
    return np.where(unread[:, None], 0, by_cell)


def _law(cells: NoisyCells) -> tuple[Any, ...]:
    return cells.noise, [str(scale) for scale in cells.scales], cells.n


def _told(
    cells: NoisyCells, model: HiddenMarkov, unread: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float]:
    features = np.split(_blank(model.by_cell(cells.noisy), unread), model.offsets[1:-1], axis=1)
    return records_of(features, [NoiseLaw(cells.noise, float(scale)) for scale in cells.scales])


def records_of(features: list[NDArray[Any]], laws: list[NoiseLaw]) -> tuple[NDArray[np.float64], float]:
    """Σ_d w_d·(total of feature d), w_d ∝ 1/variance of its noise, in every cell; and its deviation"""
    weight = np.array([1.0 / (f.shape[1] * law.variance) for f, law in zip(features, laws, strict=True)])
    totals = np.stack([f.sum(axis=1) for f in features], axis=1)
    return np.asarray(totals @ (weight / weight.sum())), float(weight.sum() ** -0.5)
