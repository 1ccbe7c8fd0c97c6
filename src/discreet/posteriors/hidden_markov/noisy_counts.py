"""The noise-aware reading of noisy cells: true counts unknown, negative noisy counts no trouble."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.chain import Arrays, Emissions, Scores, records_of
from discreet.posteriors.hidden_markov.kernels.noisy_moves import (
    WANTED,
    clamp,
    current,
    emission_moves,
    rate_moves,
)
from discreet.posteriors.hidden_markov.kernels.scores import TINY
from discreet.posteriors.hidden_markov.noisy_count_law import (
    NoiseTable,
    noise_left,
    noise_table,
    noisy_scores,
)
from discreet.posteriors.noise_law import NoiseLaw, strayed

SIZE_SHAPE = 0.5  # λ_c ~ Gamma(½): a cell may well be empty, or hold many times the mean
FLAT = (-1.0, 0.0)  # of 1/mean, as a Gamma: a flat prior on the mean, that is, on n/(R·T)
FEWEST = 3  # cells that make a posterior under a flat prior proper
ROUNDS = 2  # of moves of θ and λ for one of z, which costs K times as much


@final
@dataclass(frozen=True)
class NoisyData:
    """Which row of the table of ln f each noisy count reads, and how many records a cell has on average."""

    rows: NDArray[np.int32]  # (R·T, ΣK_d)
    table: NoiseTable
    noisy: NDArray[np.float64]  # (R·T, ΣK_d)
    sizes: NDArray[
        np.float64
    ]  # (R·T,): records of a cell as its features' noisy totals tell, least noise first
    mean: float  # records of a cell; where n is private, what a chain starts from
    prior: tuple[float, float] | None = None  # (a, b): 1/mean ~ Gamma(a, rate b); None where n is public

    @classmethod
    def of(
        cls,
        model: HiddenMarkov,
        noisy: NDArray[Any],
        laws: list[NoiseLaw],
        mean: float,
        *,
        unread: NDArray[np.bool_] | None = None,
        prior: tuple[float, float] | None = None,
    ) -> NoisyData:
        """One table for each noise scale; noise on the line is rounded to integers first."""
        whole = np.rint(noisy).astype(np.int64)
        read = np.ones(len(whole), dtype=bool) if unread is None else ~unread
        features = np.split(whole, model.offsets[1:-1], axis=1)
        rows, tables, before = np.empty(whole.shape, dtype=np.int32), [], 0
        for law in dict.fromkeys(laws):
            mine = [d for d, other in enumerate(laws) if other == law]
            ys = np.unique(np.concatenate([features[d][read].ravel() for d in mine]))
            for d in mine:
                part = slice(model.offsets[d], model.offsets[d + 1])
                rows[:, part] = np.searchsorted(ys, features[d]) + before
            tables.append(noise_table(law, ys))
            before += len(ys)
        rows[~read] = before
        sizes = np.where(read, records_of(features, laws)[0], mean)
        return cls(rows, _joined([*tables, SILENT]), np.where(read[:, None], noisy, 0.0), sizes, mean, prior)


# one more row, of which ln f = 0 at every μ: what a missing cell says of its state and size
SILENT = NoiseTable(
    np.zeros((2, 4), dtype=np.float32),
    np.zeros(1, dtype=np.int64),
    np.ones(1),  # not 0, where a row would begin with a series
    np.ones(1),
    np.zeros((1, 6)),
)


def _joined(tables: list[NoiseTable]) -> NoiseTable:
    starts = np.cumsum([0, *(len(t.pieces) for t in tables)])
    return NoiseTable(
        np.concatenate([t.pieces for t in tables]),
        np.concatenate([t.base + start for t, start in zip(tables, starts, strict=False)]),
        *(np.concatenate([getattr(t, name) for t in tables]) for name in ("first", "length", "ends")),
    )


def noisy_data(model: HiddenMarkov, cells: NoisyCells, unread: NDArray[np.bool_] | None = None) -> NoisyData:
    """Look every count up; a cell has n/(R·T) records on average, n public or with a flat prior."""
    noisy = model.by_cell(cells.noisy).astype(np.float64)
    laws = [NoiseLaw(cells.noise, float(scale)) for scale in cells.scales]
    if cells.n is not None:
        return NoisyData.of(model, noisy, laws, max(cells.n / len(noisy), 1e-2), unread=unread)
    read = noisy if unread is None else noisy[~unread]
    if len(read) < FEWEST:
        raise ValueError(
            f"with n private the noise-aware reading needs at least {FEWEST} cells (chain, step), got "
            f"{len(read)}: read it as 'naive', or count by more steps"
        )
    seen = records_of(np.split(read, model.offsets[1:-1], axis=1), laws)[0].mean()
    return NoisyData.of(model, noisy, laws, max(float(seen), 0.1), unread=unread, prior=FLAT)


@final
@dataclass(frozen=True)
class NoisyEmissions(Emissions):
    """∏ f(y_{c,j}; λ_c θ_{z_c,j}), λ_c ~ Gamma(½) around the mean: all features share their cell's λ."""

    data: NoisyData
    root_theta: NDArray[np.float64]  # (K, ΣK_d): √θ
    log_rate: NDArray[np.float64]  # (R·T,)
    now: NDArray[np.float64]  # (R·T, ΣK_d): ln f as it stands
    rate_widths: NDArray[np.float64]
    theta_widths: NDArray[np.float64]
    age: NDArray[np.float64]  # sweeps so far; −1 once settled, when proposals no longer change
    mean: NDArray[np.float64]  # (2,): of the records of a cell, and the width of its moves

    @classmethod
    def of(cls, model: HiddenMarkov, data: NoisyData) -> NoisyEmissions:
        cells, values = data.rows.shape
        table = (model.states, values)
        return cls(
            model,
            np.zeros(table),
            data,
            np.zeros(table),
            np.zeros(cells),
            np.zeros((cells, values)),
            np.full(cells, 0.5),
            np.full(table, 0.5),
            np.zeros(1),
            np.array([data.mean, 0.2]),
        )

    def begin(self, z: NDArray[np.int64]) -> None:
        """θ from the sums of noisy counts over each state's cells, where noise averages out; λ likewise."""
        sums = np.zeros(self.log_theta.shape)
        np.add.at(sums, z, self.data.noisy)
        parts = np.split(np.maximum(sums, 0) + 1.0, self.model.offsets[1:-1], axis=1)
        theta = np.concatenate([part / part.sum(axis=1, keepdims=True) for part in parts], axis=1)
        self.log_theta[...], self.root_theta[...] = np.log(theta), np.sqrt(theta)
        self.log_rate[...] = np.log(np.maximum(self.data.sizes, 0.1 * self.data.mean + 0.1))
        self.mean[0] = self.data.mean

    def _table(self) -> tuple[Any, ...]:
        t = self.data.table
        return t.pieces, t.base, t.first, t.length, t.ends

    def step(self, rng: np.random.Generator, z: NDArray[np.int64], scores: Scores, power: float) -> None:
        self.move(rng, z, power)
        noisy_scores(self.data.rows, self.log_rate, self.root_theta, power, *self._table(), scores)

    def move(self, rng: np.random.Generator, z: NDArray[np.int64], power: float) -> None:
        """λ and θ | z, in rounds of Metropolis steps whose widths adapt while warming up."""
        table, beta, gain = self._table(), float(self.model.emission), 0.0
        if self.age[0] >= 0:
            gain = 2.0 / np.sqrt(4.0 + self.age[0])
            self.age[0] += 1
        offsets = np.array(self.model.offsets)
        rows, root = self.data.rows, self.root_theta
        current(rows, self.log_rate, root, z, *table, self.now)
        rates = partial(
            rate_moves, rng, rows, self.log_rate, root, z, SIZE_SHAPE, float(self.mean[0]), power, gain
        )
        thetas = partial(
            emission_moves, rng, rows, self.log_rate, self.log_theta, root, z, offsets, beta, power, gain
        )
        for _ in range(ROUNDS):
            rates(self.rate_widths, *table, self.now)
            thetas(self.theta_widths, *table, self.now)
        if self.data.prior:
            self.move_mean(rng, z, power, gain)

    def move_mean(self, rng: np.random.Generator, z: NDArray[np.int64], power: float, gain: float) -> None:
        """m, λ → m·e^δ, λ·e^δ by Metropolis; then 1/m | λ ~ Gamma(a + C/2, b + ½ Σ λ)

        The second alone would move m by √(2/C) of itself at most, however little the counts say of it.
        """
        a, b = self.data.prior or FLAT
        (mean, width), fresh = self.mean, np.empty_like(self.now)
        delta = width * rng.standard_normal()
        current(self.data.rows, self.log_rate + delta, self.root_theta, z, *self._table(), fresh)
        change = power * (fresh.sum() - self.now.sum()) - a * delta - b / mean * np.expm1(-delta)
        accepted = np.log(max(rng.random(), TINY)) < change
        if accepted:
            self.log_rate[...] += delta
            self.now[...] = fresh
        self.mean[1] = clamp(width * np.exp(gain * (float(accepted) - WANTED)))
        rate = b + SIZE_SHAPE * np.exp(self.log_rate).sum()
        self.mean[0] = rate / max(rng.standard_gamma(a + SIZE_SHAPE * len(self.log_rate)), TINY)

    def settle(self) -> None:
        self.age[0] = -1.0

    def log_density(self, z: NDArray[np.int64]) -> float:
        current(self.data.rows, self.log_rate, self.root_theta, z, *self._table(), self.now)
        a, rate = SIZE_SHAPE, SIZE_SHAPE / self.mean[0]
        sizes = a * self.log_rate - rate * np.exp(self.log_rate) + a * np.log(rate) - gammaln(a)
        beta = float(self.model.emission)
        of_feature = np.diff(self.model.offsets)
        constant = self.model.states * (gammaln(of_feature * beta) - of_feature * gammaln(beta)).sum()
        shape, scale = self.data.prior or FLAT
        mean = -(shape + 1) * np.log(self.mean[0]) - scale / self.mean[0]
        return float(self.now.sum() + sizes.sum() + constant + (beta - 1) * self.log_theta.sum() + mean)

    def strain(self, z: NDArray[np.int64]) -> float:
        left = noise_left(self.data.rows, self.log_rate, self.root_theta, z, self.data.table.ends)
        return strayed(np.array(left[0]), *left[1:])

    def arrays(self) -> Arrays:
        names = ("log_theta", "root_theta", "log_rate", "rate_widths", "theta_widths", "age", "mean")
        return {name: getattr(self, name) for name in names}
