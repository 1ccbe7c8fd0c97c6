"""Private logistic regression on Abalone, Adult and MNIST 3-vs-8, against ε [GSC17 §5].

One draw at Rényi orders 1, 10 and 100, as in the paper, then every mechanism at (ε, δ). The paper prints no
tables, so its curves are redrawn and not compared. The full run takes some ten minutes of two cores, the
quick one seconds. MNIST is read from the folder that DISCREET_DATA names, and left out without it. What is
worked out is appended to glm.csv at once, and a run that was cut goes on from there.
"""

from __future__ import annotations

import csv
import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, final

import numpy as np

from discreet.experiments.regression import pictures as glm_pictures
from discreet.experiments.regression.data import Task, census, digits, shells
from discreet.experiments.regression.methods import (
    DELTA,
    NOT_PRIVATE,
    STYLES,
    Make,
    Score,
    calibrated,
    drawn_from,
    scores,
    tempered,
)
from discreet.experiments.thesis.figure import write_numbers
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import ApproxDP, GaussianDP
from discreet.shown import steps

# ── The run of the regression experiment: every law once, written as it comes, resumed after a cut.
TITLES = ("task", "n", "d", "method", "order", "epsilon", "seed", "error", "negative_log_likelihood")
KINDS = (str, int, int, str, float, float, int, float, float)
Row = tuple[str, int, int, str, float, float, int, float, float]
Key = tuple[str, int, int, str, float, float, int]  # all of a row but its scores


def worked(points: list[Point], seeds: range, path: Path, workers: int) -> list[Row]:
    """Return every point's rows, in order; rows of this run that the file has already are kept."""
    wanted = {(*point.about, seed): None for point in points for seed in seeds}
    known = {key: score for key, score in _read(path).items() if key in wanted}
    if known:
        _say(f"{path.name}: {len(known)} rows are kept; delete it to begin anew")
    write_numbers(path, TITLES, _in_order(wanted, known))
    for group, found in _shown(list(_groups(points, seeds, known)), seeds, workers):
        rows = [
            (*point.about, seed, *score) for point in group for seed, score in zip(seeds, found, strict=False)
        ]
        with path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        known |= {row[:7]: row[7:] for row in rows}
    ordered = list(_in_order(wanted, known))
    write_numbers(path, TITLES, ordered)
    return ordered


def _read(path: Path) -> dict[Key, Score]:
    """Rows by what they are about; a line that a cut left half written is no row."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.reader(file) if len(line) == len(TITLES) and line[0] != TITLES[0]]
    rows: Any = [tuple(kind(x) for kind, x in zip(KINDS, line, strict=True)) for line in lines]
    return {row[:7]: row[7:] for row in rows}


def _in_order(wanted: dict[Key, None], known: dict[Key, Score]) -> Iterator[Row]:
    return ((*key, *known[key]) for key in wanted if key in known)


def _groups(points: list[Point], seeds: range, known: dict[Key, Score]) -> Iterator[list[Point]]:
    """Points of one law, where some row of theirs is missing."""
    laws: dict[tuple[object, ...], list[Point]] = {}
    for point in points:
        laws.setdefault(point.law, []).append(point)
    for group in laws.values():
        if any((*point.about, seed) not in known for point in group for seed in seeds):
            yield group


def _shown(
    groups: list[list[Point]], seeds: range, workers: int
) -> Iterator[tuple[list[Point], list[Score]]]:
    """Show a bar on a terminal, elsewhere a line a law."""
    started = time.monotonic()
    found = _found(groups, seeds, workers)
    for done, (group, measured) in enumerate(steps(found, "regressions", len(groups)), 1):
        if measured and not sys.stderr.isatty():
            point, error = group[0], np.mean([score[0] for score in measured])
            where = f"order {point.order:g}" if point.order else "(ε, δ)"
            said = f"{point.task}, {point.method}, {where}, ε = {point.epsilon:g}: error {error:.3f}"
            _say(f"{done}/{len(groups)} {time.monotonic() - started:.0f} s  {said}")
        yield group, measured


def _found(
    groups: list[list[Point]], seeds: range, workers: int
) -> Iterator[tuple[list[Point], list[Score]]]:
    """Work the groups out here, or in so many processes as they are ready."""
    if workers == 1:
        yield from ((group, group[0].scores(seeds)) for group in groups)
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        futures = {pool.submit(group[0].scores, seeds): group for group in groups}
        yield from ((futures[future], future.result()) for future in as_completed(futures))
    finally:
        pool.shutdown(cancel_futures=True)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


# ── figures
ONE_DRAW = ("one_posterior_sample", "diffused", "concentrated")  # the paper's
TASKS = {"Abalone": shells, "Adult": census, "MNIST 3 vs 8": digits}


@final
@dataclass(frozen=True)
class RunSize:
    """How much is run: ε for each order (δ where the order is 0), seeds, and one record in `every`."""

    orders: dict[float, tuple[float, ...]]
    approximate: tuple[float, ...]
    seeds: int
    every: dict[str, int]
    workers: int  # processes


TENTHS = (0.1, 1.0, 10.0)
FULL = RunSize(
    {1.0: (0.01, *TENTHS), 10.0: (*TENTHS, 100.0), 100.0: (*TENTHS, 100.0)},
    (0.1, 0.3, 1.0, 3.0, 10.0),
    20,
    {"Abalone": 1, "Adult": 8, "MNIST 3 vs 8": 4},  # Langevin's time grows with n²
    2,
)
QUICK = RunSize({1.0: (0.1,), 10.0: (1.0,)}, (1.0,), 2, {"Abalone": 11, "Adult": 123, "MNIST 3 vs 8": 140}, 1)


@cache
def task_of(name: str, every: int) -> Task | None:
    task = TASKS[name]()
    return None if task is None else task.thinned(every)


@final
@dataclass(frozen=True)
class Point:
    """One mechanism at one target; order 0 stands for (ε, δ)."""

    task: str
    every: int
    method: str
    order: float
    epsilon: float

    @property
    def data(self) -> Task:
        task = task_of(self.task, self.every)
        if task is None:
            raise FileNotFoundError(f"{self.task} needs the folder that DISCREET_DATA names")
        return task

    @property
    def about(self) -> tuple[str, int, int, str, float, float]:
        """Return what a row of the CSV says before its seed."""
        n, d = self.data.trained, self.data.model.dimension
        return self.task, n, d, self.method, self.order, self.epsilon

    @cached_property
    def law(self) -> tuple[object, ...]:
        """Points of one law have one, and are drawn once: a draw is what its ρ, m and K are."""
        ready: Any = self.make(self.data.trained) if self.make else None
        return self.task, self.every, *(drawn_from(ready) or (self.method, self.target))

    @property
    def target(self) -> Guarantee:
        """μ-GDP has D_α = αμ²/2, also in the limit α = 1, the KL divergence [DRS22]: μ² = 2ε/α."""
        if self.order:
            return GaussianDP.from_square(2 * Fraction(self.epsilon) / Fraction(self.order))
        return ApproxDP(self.epsilon, DELTA)

    @property
    def make(self) -> Make | None:
        model = self.data.model
        if self.method == NOT_PRIVATE:
            return None
        if self.method == "one_posterior_sample":
            return partial(tempered, model, self.order, self.epsilon)
        return partial(calibrated, self.method, model, self.target)

    def scores(self, seeds: range) -> list[Score]:
        """One score a seed, and none where no knob meets the target."""
        return list(scores(self.data, self.make, seeds))


def figures(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001 - the contract of every experiment
    """`quick` takes few records and seeds: it shows that all parts work, and no result."""
    size, numbers = QUICK if quick else FULL, out / "glm.csv"
    points = list(_points(size))
    rows = worked(points, range(seed, seed + size.seeds), numbers, size.workers)
    wholes = {point.task: replace(point, every=1).data.trained for point in points}
    ordered = [row for row in rows if row[4] or row[3] == NOT_PRIVATE]
    return (
        numbers,
        glm_pictures.approximate(
            [row for row in rows if not row[4]], DELTA, wholes, out / "glm-approximate.png"
        ),
        glm_pictures.renyi(ordered, 0, wholes, out / "glm-renyi-error.png"),
        glm_pictures.renyi(ordered, 1, wholes, out / "glm-renyi-likelihood.png"),
    )


def _points(size: RunSize) -> Iterator[Point]:
    for name, every in size.every.items():
        if task_of(name, every) is None:
            continue
        at = partial(Point, name, every)
        yield at(NOT_PRIVATE, 0.0, 1.0)
        for order, epsilons in size.orders.items():
            yield from (at(method, order, e) for method in ONE_DRAW for e in epsilons)
        for epsilon in size.approximate:
            yield from (at(method, 0.0, epsilon) for method in STYLES if method != NOT_PRIVATE)
