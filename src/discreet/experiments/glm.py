"""Private logistic regression on Abalone, Adult and MNIST 3-vs-8, against ε [GSC17 §5].

One draw at Rényi orders 1, 10 and 100, as in the paper, then every mechanism at (ε, δ). The paper prints no
tables, so its curves are redrawn and not compared. The full run takes about half an hour of one core, the
quick one seconds. MNIST is read from the folder that DISCREET_DATA names, and left out without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, final

from discreet.experiments import glm_pictures
from discreet.experiments.glm_data import census, digits, shells
from discreet.experiments.glm_methods import DELTA, NOT_PRIVATE, STYLES, calibrated, scores, tempered
from discreet.experiments.hmm import shown
from discreet.experiments.thesis_figure import write_numbers
from discreet.privacy.guarantees import ApproxDP, GaussianDP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.experiments.glm_data import Task
    from discreet.experiments.glm_methods import Make, Score
    from discreet.privacy.guarantee import Guarantee

TITLES = ("task", "n", "d", "method", "order", "epsilon", "seed", "error", "negative_log_likelihood")
ONE_DRAW = ("one_posterior_sample", "diffused", "concentrated")  # the paper's
Row = tuple[str, int, int, str, float, float, int, float, float]


@final
@dataclass(frozen=True)
class Size:
    """How much is run: ε for each order (δ where the order is 0), seeds, and records at most."""

    orders: dict[float, tuple[float, ...]]
    approximate: tuple[float, ...]
    seeds: int
    records: dict[str, int]


TENTHS = (0.1, 1.0, 10.0)
FULL = Size(
    {1.0: (0.01, *TENTHS), 10.0: (*TENTHS, 100.0), 100.0: (*TENTHS, 100.0)},
    (0.1, 0.3, 1.0, 3.0, 10.0),
    20,
    {"Adult": 6_200, "MNIST 3 vs 8": 3_500},
)
QUICK = Size({1.0: (0.1,), 10.0: (1.0,)}, (1.0,), 2, {"Abalone": 400, "Adult": 400, "MNIST 3 vs 8": 100})


@final
@dataclass(frozen=True)
class Point:
    """One mechanism at one target; order 0 stands for (ε, δ)."""

    task: Task
    method: str
    order: float
    epsilon: float

    @property
    def train(self) -> int:
        task = self.task
        return 3 * task.n // 4 if task.train is None else int(task.train.sum())

    @property
    def law(self) -> tuple[object, ...]:
        """Points of one law have one: the draws know an order and an ε by μ² = 2ε/α alone."""
        by_order = (self.order, self.epsilon) if self.method == "one_posterior_sample" else self.target
        return self.task.name, self.method, by_order

    @property
    def target(self) -> Guarantee:
        """μ-GDP has D_α = αμ²/2, also in the limit α = 1, the KL divergence [DRS22]: μ² = 2ε/α."""
        if self.order:
            return GaussianDP.from_square(2 * Fraction(self.epsilon) / Fraction(self.order))
        return ApproxDP(self.epsilon, DELTA)

    @property
    def make(self) -> Make | None:
        model = self.task.model
        if self.method == NOT_PRIVATE:
            return None
        if self.method == "one_posterior_sample":
            return partial(tempered, model, self.order, self.epsilon)
        return partial(calibrated, self.method, model, self.target)


def figures(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001 - the contract of every experiment
    """`quick` takes few records and seeds: it shows that all parts work, and no result."""
    size = QUICK if quick else FULL
    tasks = [
        task.thinned(size.records.get(task.name, task.n))
        for task in (shells(), census(), digits())
        if task is not None
    ]
    points = [point for task in tasks for point in _points(task, size)]
    rows = list(_rows(points, range(seed, seed + size.seeds)))
    ordered = [row for row in rows if row[4] or row[3] == NOT_PRIVATE]
    return (
        glm_pictures.approximate([row for row in rows if not row[4]], DELTA, out / "glm-approximate.png"),
        write_numbers(out / "glm.csv", TITLES, rows),
        glm_pictures.renyi(ordered, 0, out / "glm-renyi-error.png"),
        glm_pictures.renyi(ordered, 1, out / "glm-renyi-likelihood.png"),
    )


def _points(task: Task, size: Size) -> Iterator[Point]:
    yield Point(task, NOT_PRIVATE, 0.0, 1.0)
    for order, epsilons in size.orders.items():
        yield from (Point(task, method, order, e) for method in ONE_DRAW for e in epsilons)
    for epsilon in size.approximate:
        yield from (Point(task, method, 0.0, epsilon) for method in STYLES if method != NOT_PRIVATE)


def _rows(points: list[Point], seeds: range) -> Iterator[Row]:
    """Work each law out once."""
    known: dict[tuple[object, ...], list[Score]] = {}
    for point in shown(points, len(points), "regressions"):
        if point.law not in known:
            known[point.law] = list(scores(point.task, point.make, seeds))
        about = (point.task.name, point.train, point.task.model.dimension)
        for seed, score in zip(seeds, known[point.law], strict=False):
            yield (*about, point.method, point.order, point.epsilon, seed, *score)
