"""Truncated Dirichlet in bulk: held coordinates first, the free ones for those that passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.sampling import truncated
from discreet.sampling.in_bulk.batches import CHUNK, Gammas, Shapes, double, errors, kernels, uniforms
from discreet.sampling.lazy import Real, nearest
from discreet.sampling.source import Source, Words


@final
@dataclass(frozen=True)
class Held:
    """Accepted overshoots x ± error and the room they leave; `known` where ball arithmetic had to decide."""

    words: Words
    over: NDArray[np.float64]
    error: NDArray[np.float64]
    room: NDArray[np.float64]
    known: dict[int, list[Real]]

    def reals(self, v: int, source: Source, s: truncated.Simplex) -> list[Real]:
        if v in self.known:
            return self.known[v]
        return truncated.overshoots(uniforms(source, self.words[v]), s)


def truncated_dirichlet(source: Source, s: truncated.Simplex, size: int, bits: int) -> NDArray[np.int64]:
    """Cells of size·d coordinates, all ideal ones at least `lower`"""
    parts: list[NDArray[np.int64]] = []
    have, seen, d = 0, 0, len(s.alpha)
    most = max(1, CHUNK // d)
    while have < size:
        guess = (size - have) * (1.1 if not have else 1.02 * seen / have) + 16
        rows = min(most, int(guess))
        held = _held(source, s, rows)
        parts.append(_free(source, s, held, bits))
        have, seen = have + parts[-1].shape[0], seen + rows
    cells = np.concatenate([np.empty((0, d), dtype=np.int64), *parts])[:size]
    order = np.argsort(np.array(s.held + s.free))
    return cells[:, order].ravel()


def _held(source: Source, s: truncated.Simplex, rows: int) -> Held:
    count = len(s.held)
    words = source.words(rows * (count + 1)).reshape(rows, count + 1)
    over, error, room = np.zeros((rows, count)), np.zeros((rows, count + 1)), np.ones(rows)
    decisions = np.ones(rows, dtype=np.int8)
    if count:
        rates, powers = (
            np.array([double(x) for x in xs]) for xs in (s.rates, [s.alpha[i] - 1 for i in s.held])
        )
        simplex = np.array([double(x) for x in (s.lower, s.room, s.power, len(s.free) * s.lower)])
        held = kernels("simplex_kernels").held
        held(words, rates, powers, simplex, over, error, room, decisions, *errors())
    known: dict[int, list[Real]] = {}
    for v in np.flatnonzero(decisions == 2):
        reals = truncated.held_attempt(uniforms(source, words[v]), s)
        decisions[v] = reals is not None
        if reals is not None:
            known[int(v)] = reals
    kept = np.flatnonzero(decisions == 1)
    at = {int(v): k for k, v in enumerate(kept)} if known else {}
    return Held(words[kept], over[kept], error[kept], room[kept], {at[v]: x for v, x in known.items()})


def _free(source: Source, s: truncated.Simplex, held: Held, bits: int) -> NDArray[np.int64]:
    count, rows = len(s.free), held.room.size
    gammas = Gammas(source, Shapes.of([s.alpha[i] for i in s.free], "alpha"), rows * count)
    cells, decisions = np.zeros((rows, len(s.alpha)), dtype=np.int64), np.empty(rows, dtype=np.int8)
    kernels("simplex_kernels").free(
        gammas.g, gammas.n, gammas.e, count, held.over, held.error, held.room, double(s.lower), bits, cells,
        decisions, errors()[0]
    )  # fmt: skip
    for v in np.flatnonzero(decisions == 2):
        shares = [gammas.real(int(v) * count + f) for f in range(count)]
        theta = truncated.free_attempt(held.reals(int(v), source, s), shares, s)
        decisions[v] = theta is not None
        if theta is not None:
            cells[v] = [_cell(theta[i], bits) for i in s.held + s.free]
    kept: NDArray[np.int64] = cells[decisions == 1]
    return kept


def _cell(x: Real, bits: int) -> int:
    return nearest(lambda: x() * 2**bits)
