# ruff: noqa: PLR0917 (one place where all of a run meets)
"""Run the chains of a hidden Markov fit one after the other: progress, and stops that lose nothing."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.chain import Arrays, StateChain, stored
from discreet.sampling.source import Source
from discreet.shown import Advance, bar

if TYPE_CHECKING:
    from discreet.posteriors.hidden_markov.chain import Data


# ── Where the chains of a hidden Markov fit begin: k-means++ on the cells' noisy frequencies, many times.
ROUNDS = 30  # of Lloyd's; it has nearly always settled by then


def hellinger(model: HiddenMarkov, counts: NDArray[Any]) -> NDArray[np.float64]:
    """√ of each cell's frequencies, feature by feature: Euclidean distance is then Hellinger's"""
    parts = np.split(np.maximum(counts, 0).astype(np.float64), model.offsets[1:-1], axis=1)
    return np.concatenate([np.sqrt(_frequencies(part)) for part in parts], axis=1)


def _frequencies(part: NDArray[np.float64]) -> NDArray[np.float64]:
    smooth = part + 1.0 / part.shape[1]
    return np.asarray(smooth / smooth.sum(axis=1, keepdims=True))


def plus_plus(
    rng: np.random.Generator, points: NDArray[np.float64], mass: NDArray[np.float64], states: int
) -> NDArray[np.int64]:
    """k-means++ [Arthur, Vassilvitskii 2007] with cells weighted by their records, then Lloyd's rounds."""
    chosen = [int(rng.choice(len(points), p=mass / mass.sum()))]
    distance = _squares(points, points[chosen[0]])
    for _ in range(states - 1):
        odds = distance * mass
        total = odds.sum()
        chosen.append(
            int(rng.choice(len(points), p=odds / total)) if total > 0 else int(rng.integers(len(points)))
        )
        distance = np.minimum(distance, _squares(points, points[chosen[-1]]))
    return _lloyd(points, mass, points[chosen])


def _squares(points: NDArray[np.float64], center: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(((points - center) ** 2).sum(axis=1))


def _lloyd(
    points: NDArray[np.float64], mass: NDArray[np.float64], centers: NDArray[np.float64]
) -> NDArray[np.int64]:
    nearest = np.full(len(points), -1, dtype=np.int64)
    for _ in range(ROUNDS):
        before, nearest = nearest, _nearest(points, centers)
        if np.array_equal(before, nearest):
            break
        weight = np.bincount(nearest, mass, len(centers))
        sums = np.zeros_like(centers)
        np.add.at(sums, nearest, points * mass[:, None])
        centers = np.where(weight[:, None] > 0, sums / np.maximum(weight, 1e-300)[:, None], centers)
    return nearest


def _nearest(points: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(((centers**2).sum(axis=1) - 2 * points @ centers.T).argmin(axis=1), dtype=np.int64)


def smoothed(model: HiddenMarkov, counts: NDArray[Any], width: int) -> NDArray[np.float64]:
    """Average every cell with its neighbours in time, weights falling in a triangle."""
    cells = counts.reshape(model.chains, model.steps, -1).astype(np.float64)
    total, weight = np.zeros_like(cells), np.zeros((1, model.steps, 1))
    for shift in range(-min(width, model.steps - 1), min(width, model.steps - 1) + 1):
        here = slice(max(0, -shift), model.steps - max(0, shift))
        there = slice(max(0, shift), model.steps + min(0, shift))
        total[:, here] += (width + 1 - abs(shift)) * cells[:, there]
        weight[:, here] += width + 1 - abs(shift)
    return np.asarray((total / weight).reshape(counts.shape))


def start(
    rng: np.random.Generator, model: HiddenMarkov, counts: NDArray[Any], width: int = 0
) -> NDArray[np.int64]:
    """Put every cell in a state by its frequencies, smoothed over `width` steps to either side."""
    seen = np.maximum(smoothed(model, counts, width), 0)
    return plus_plus(rng, hellinger(model, seen), seen.sum(axis=1) + 1e-3, model.states)


WIDTHS = (0, 1, 2, 4)  # of smoothing, in turn
ROUNDS_OF_STARTS = ((16, 8), (4, 24))  # so many candidates, so many sweeps each; the best go on
SWEEPS_OF_STARTS = sum(many * sweeps for many, sweeps in ROUNDS_OF_STARTS)


def tournament(chain: StateChain, counts: NDArray[Any], watch: Callable[[int], None] | None = None) -> None:
    """Leave the chain at the likeliest of many short runs, each from its own k-means++ start.

    `watch` is told of every run how many sweeps it took.

    One start in five merges two states and doubles a third, 1e3 to 1e4 nats below the best, and neither
    kernel nor tempering leads out of that; among sixteen one is right nearly always (benchmarks/hmm.py).
    """
    model, rng = chain.emissions.model, chain.rng
    entrants: list[Arrays] = []
    for i in range(ROUNDS_OF_STARTS[0][0]):
        chain.restart(start(rng, model, counts, WIDTHS[i % len(WIDTHS)]))
        entrants.append(chain.copy())
    for many, sweeps in ROUNDS_OF_STARTS:
        ran = []
        for entrant in entrants[:many]:
            ran.append(_level(chain, entrant, sweeps))
            if watch:
                watch(sweeps)
        entrants = [entrant for _, entrant in sorted(ran, key=lambda pair: -pair[0])]
    chain.put(entrants[0])


def _level(chain: StateChain, entrant: Arrays, sweeps: int) -> tuple[float, Arrays]:
    """Mean log joint over the last half of so many sweeps, and where they led."""
    chain.put(entrant)
    levels = []
    for _ in range(sweeps):
        chain.sweep()
        levels.append(chain.log_joint())
    return float(np.mean(levels[sweeps // 2 :])), chain.copy()


# ── run
BETWEEN_MARKS = 10  # sweeps that an interrupted run does again
BETWEEN_SAVES = 20.0  # seconds of work that a killed process may lose


@final
@dataclass(frozen=True)
class SweepPlan:
    """How long, by which kernel."""

    kernel: str
    chains: int
    sweeps: int
    burn: int
    keep: int

    @property
    def total(self) -> int:
        return self.burn + self.sweeps

    @property
    def thin(self) -> int:
        return max(1, self.sweeps // max(self.keep, 4))

    @property
    def kept(self) -> int:
        return self.sweeps // self.thin


def run(
    data: Data,
    model: HiddenMarkov,
    plan: SweepPlan,
    source: Source,
    checkpoint: Path | str | None,
    *,
    show: bool,
) -> Arrays:
    """All chains' draws: z, theta, transitions and log_joint, as the posterior wants them, and strain."""
    seeds = source.words(4 * plan.chains).reshape(plan.chains, 4)
    book = SweepCheckpoint.open(checkpoint, _fingerprint(data, model, plan), seeds)
    cells = data.start_counts
    nowhere = np.zeros(len(cells), dtype=np.int64)
    draws = [_empty(model, plan, len(cells)) for _ in range(plan.chains)]
    with bar("sweeps", plan.chains * (SWEEPS_OF_STARTS + plan.total), show=show) as advance:
        for i in range(plan.chains):
            _run_chain(
                StateChain.start(data.fresh(), plan.kernel, book.stream(i), nowhere),
                i,
                cells,
                plan,
                book,
                draws[i],
                advance,
            )
    return {name: np.stack([part[name] for part in draws]) for name in draws[0]}


def _empty(model: HiddenMarkov, plan: SweepPlan, cells: int) -> Arrays:
    k = model.states
    return {
        "z": np.zeros((plan.kept, cells), dtype=np.int16),
        "theta": np.zeros((plan.kept, k, model.offsets[-1])),
        "transitions": np.zeros((plan.kept, k + 1, k)),
        "log_joint": np.zeros(plan.total),
        "strain": np.zeros(plan.kept),
    }


def _run_chain(
    chain: StateChain,
    i: int,
    cells: NDArray[Any],
    plan: SweepPlan,
    book: SweepCheckpoint,
    draws: Arrays,
    advance: Advance,
) -> None:
    done = book.restore(i, chain, draws)
    if done == 0:
        tournament(chain, cells, advance)
    else:
        advance(SWEEPS_OF_STARTS + done)
    mark = Mark(chain, done)
    try:
        while done < plan.total:
            if done == plan.burn:
                chain.emissions.settle()
            chain.sweep()
            draws["log_joint"][done] = chain.log_joint()
            done += 1
            _record(done - plan.burn, plan, chain, draws)
            if book.path and (done % BETWEEN_MARKS == 0 or done == plan.total):
                mark.move(done)
            book.save_if_due(i, mark, draws)
            advance(1)
        book.save(i, mark, draws)
    except KeyboardInterrupt:
        book.save(i, mark, draws)
        raise


@final
class Mark:
    """Where a chain stood after a whole sweep not long ago: an interrupt may land in the middle of one.

    Kept in two places by turns, the one being written never the one that `whole` names.
    """

    def __init__(self, chain: StateChain, done: int) -> None:
        self.chain, self.spare = chain, chain.copy()
        self.whole = done, chain.copy(), chain.stream

    def move(self, done: int) -> None:
        self.chain.copy_to(self.spare)
        before, self.whole = self.whole, (done, self.spare, self.chain.stream)
        self.spare = before[1]


def _record(after: int, plan: SweepPlan, chain: StateChain, draws: Arrays) -> None:
    """Keep every thin-th draw after the warm-up."""
    index, rest = divmod(after, plan.thin)
    if after > 0 and rest == 0 and index <= plan.kept:
        draws["z"][index - 1] = chain.z
        draws["theta"][index - 1] = np.exp(chain.emissions.log_theta)
        draws["transitions"][index - 1] = chain.transitions()
        draws["strain"][index - 1] = chain.emissions.strain(chain.z)


def _fingerprint(data: Data, model: HiddenMarkov, plan: SweepPlan) -> str:
    """Of all that decides the draws but the seeds: the counts that are read, how, and for how long"""
    digest = hashlib.sha256(np.ascontiguousarray(data.start_counts).tobytes())
    digest.update(data.unread.tobytes())
    digest.update(
        json.dumps([repr(model), list(model.sizes), asdict(plan), data.believed, "strain"]).encode()
    )
    return digest.hexdigest()


@final
class SweepCheckpoint:
    """The file that a stopped run goes on from; without a path it keeps nothing."""

    def __init__(self, path: Path | None, fingerprint: str, seeds: NDArray[np.uint64]) -> None:
        self.path, self.fingerprint, self.seeds = path, fingerprint, seeds
        self.pages: dict[str, Any] = {}
        self.saved = time.monotonic()

    @classmethod
    def open(cls, path: Path | str | None, fingerprint: str, seeds: NDArray[np.uint64]) -> SweepCheckpoint:
        book = cls(Path(path) if path else None, fingerprint, seeds)
        if book.path and book.path.exists():
            with np.load(book.path) as stored:
                book.pages = dict(stored)
            if str(book.pages["fingerprint"]) != fingerprint:
                raise ValueError(
                    f"the checkpoint {book.path} is of another run (its data, model, reading, noise or plan "
                    "differ): name another file, or delete it to start anew"
                )
            book.seeds = book.pages["seeds"]
        return book

    def stream(self, i: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(np.random.SeedSequence(self.seeds[i].tolist())))

    def restore(self, i: int, chain: StateChain, draws: Arrays) -> int:
        """Put chain i where it stood and return how many sweeps it has done."""
        mark = f"chain{i}/"
        mine = {key.removeprefix(mark): value for key, value in self.pages.items() if key.startswith(mark)}
        if not mine:
            return 0
        for name, array in draws.items():
            array[...] = mine[f"draws/{name}"]
        chain.restore(mine)
        return int(mine["done"])

    def save_if_due(self, i: int, mark: Mark, draws: Arrays) -> None:
        if self.path and time.monotonic() - self.saved > BETWEEN_SAVES:
            self.save(i, mark, draws)

    def save(self, i: int, mark: Mark, draws: Arrays) -> None:
        """Write beside the old file, then put it in its place: a crash leaves one of the two whole.

        Draws of a sweep that was not finished may be there too; they are drawn again.
        """
        done, place, stream = mark.whole
        if self.path is None or done == 0:  # the starts are run again
            return
        page = {**stored(place, stream), **{f"draws/{k}": v for k, v in draws.items()}, "done": done}
        self.pages |= {f"chain{i}/{key}": np.array(value) for key, value in page.items()}
        self.pages |= {"fingerprint": np.array(self.fingerprint), "seeds": self.seeds}
        fresh = self.path.with_name(self.path.name + ".new")
        with fresh.open("wb") as file:
            np.savez(file, **self.pages)
        fresh.replace(self.path)
        self.saved = time.monotonic()
