"""What is allowed in a hidden Markov fit but may surprise, said aloud; all of it is read off the release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior
    from discreet.posteriors.hidden_markov.readings import Data

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
