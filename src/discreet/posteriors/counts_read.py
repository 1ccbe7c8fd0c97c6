"""Noisy counts → posterior of the model: each model has its reader. Post-processing: costs nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

from discreet.catalogue import ROWS, row_of
from discreet.mechanisms.statistics.noisy_tables import NoisyCells
from discreet.models.count_model import CountModel
from discreet.posteriors.drawn import DrawnPosterior
from discreet.posteriors.draws import Draws
from discreet.posteriors.tables import TablePosterior

READINGS = ("noise_aware", "naive")

M = TypeVar("M", bound="CountModel")


def cell_posterior(
    cells: NoisyCells, *, model: CountModel | None = None, reading: str = "noise_aware"
) -> TablePosterior:
    """Read noisy counts, also under another prior over the same tables; the same each time."""
    prior = cells.model if model is None else refitted(model, cells)
    return _read(cells, prior, known_reading(reading))


def drawn_posterior(draws: Draws) -> DrawnPosterior:
    """Read posterior draws as what the model makes of them."""
    row = ROWS.get(draws.model.name)
    read = None if row is None else row.load("reader", draws.kind)
    found: DrawnPosterior = DrawnPosterior(draws) if read is None else read(draws, draws.model)
    return found


def known_reading(reading: str) -> str:
    """Return the name of a reading, or refuse it: every reader of counts has these and no other."""
    if reading not in READINGS:
        raise ValueError(f"unknown reading {reading!r}; known: {', '.join(READINGS)}")
    return reading


def refitted(model: M, cells: NoisyCells) -> M:
    """Return the model, bound, if the release holds its very tables: of other columns counts say nothing."""
    released = cells.model
    bound = model if model.sizes or model.columns != released.columns else model.bind(released.size_of)
    if type(bound) is not type(released) or bound.sizes == () or bound.cells != released.cells:
        raise ValueError(
            f"the release holds the tables of {released!r}: read it under a prior of that kind, over the "
            "same columns"
        )
    return bound


@lru_cache(maxsize=8)
def _read(cells: NoisyCells, model: CountModel, reading: str) -> TablePosterior:
    found: TablePosterior = row_of(model).load("reader", cells.kind)(cells, model, reading)
    return found
