"""One Markov chain over (θ, records) given noisy counts, as Python holds it; its moves are compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Floats
from discreet.models.bayes_net import BayesianNetwork
from discreet.posteriors.noise_law import NoiseLaw

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
    from discreet.posteriors.network.kernel import Layout, Noise


REACH = 4  # noise scales that a move of many records may take at once
WARMING = 20  # pieces of the warm-up, after each of which a bar moves
TAILS = 12  # standard deviations of the noisy total, where n is private

C = TypeVar("C")


@final
@dataclass(frozen=True)
class NetworkProblem:
    """What a chain conditions on, in the kernel's layout."""

    layout: Any  # the kernel's Layout and Noise: importing them compiles
    noise: Any
    noisy: Floats
    prior: Floats
    most: int  # records that there is room for
    fixed: bool  # n is public


@final
@dataclass
class NetworkChain:
    """The state: records, ŷ − N, θ. Arrays are moved in place; numba's generator is seeded when it begins."""

    problem: NetworkProblem
    n: int
    codes: NDArray[np.int32]
    residual: Floats
    theta: Floats
    chances: Floats
    room: NDArray[np.int32] = field(repr=False)
    accepted: float = 0.0  # of the last sweep's single records

    @classmethod
    def begin(cls, problem: NetworkProblem, records: NDArray[np.int32], seed: int) -> NetworkChain:
        """Start from these records; θ given them."""
        from discreet.posteriors.network import kernel  # noqa: PLC0415 - compiles on first use

        kernel.seed(seed % 2**31)
        nodes, cells = problem.layout.size.size, problem.prior.size
        codes = np.zeros((problem.most, nodes), np.int32)
        codes[: len(records)] = records
        room = np.empty((int(problem.noise.reach.max()), nodes), np.int32)
        chain = cls(
            problem, len(records), codes, problem.noisy.copy(), np.empty(cells), np.empty(cells), room
        )
        kernel.place(codes, chain.n, chain.residual, problem.layout)
        for v in range(nodes):
            chain.redraw(v, problem.prior)
        return chain

    def advance(self, sweeps: int) -> None:
        """In each sweep move some records one by one, then rows of many, θ anew after each node."""
        from discreet.posteriors.network.exchange_kernel import step  # noqa: PLC0415

        p = self.problem
        for _ in range(sweeps):
            self.n, self.accepted = step(
                self.codes,
                self.n,
                p.fixed,
                p.noisy,
                p.prior,
                self.theta,
                self.residual,
                self.chances,
                p.layout,
                p.noise,
                self.room,
            )

    def strain(self) -> float:
        """Σ|e|/b or Σe²/σ² of the noise that the records leave"""
        p = self.problem
        return strain(
            self.residual, np.repeat(p.noise.sharpness, p.layout.stop - p.layout.start), p.noise.squared
        )

    def redraw(self, v: int, prior: Floats) -> None:
        """θ of node v ~ Dirichlet(prior + N)"""
        from discreet.posteriors.network.kernel import redraw  # noqa: PLC0415

        redraw(self.theta, self.chances, prior, self.problem.noisy, self.residual, self.problem.layout, v)


def allotted(layout: Layout, shapes: Floats, n: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Make n records whose counts follow `shapes` row by row to within one: systematic sampling, shuffled.

    Drawn independently they would stray by √n, far outside of the noise where that is small.
    """
    codes = np.zeros((n, layout.size.size), np.int32)
    for v, size in enumerate(layout.size.tolist()):
        edges = slice(layout.first[v], layout.first[v + 1])
        rows = (codes[:, layout.parent[edges]] * layout.stride[edges]).sum(axis=1) // size
        order = rng.permutation(n)
        order = order[np.argsort(rows[order], kind="stable")]
        mine, many = rows[order], np.bincount(rows, minlength=1)
        rank = np.arange(n) - (np.cumsum(many) - many)[mine]
        place = (rank + rng.random(many.size)[mine]) / many[mine]
        table = shapes[layout.start[v] : layout.stop[v]].reshape(-1, size)
        sums = np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1) + np.arange(len(table))[:, None]
        found = np.searchsorted(sums.reshape(-1), place + mine, side="right") - mine * size
        codes[order, v] = np.clip(found, 0, size - 1)
    return codes


def jittered(noisy: Floats, scale: Floats, rng: np.random.Generator) -> Floats:
    """Noisy counts with as much noise again, none negative: chains start as far apart as they may end."""
    return np.maximum(noisy + rng.laplace(0, scale), 0.0)


def strain(residual: Floats, sharpness: Floats | float, squared: bool) -> float:  # noqa: FBT001 - as the kernel's
    """Σ|e|/b or Σe²/σ², of sharpness 1/b or 1/(2σ²)"""
    return float(((2 * residual**2 if squared else np.abs(residual)) * sharpness).sum())


def check_length(chains: int, sweeps: int | None, keep: int) -> None:
    """Refuse a run whose chains could not say how far to trust them."""
    if not (chains >= 1 and keep >= 4 and (sweeps is None or sweeps >= 4)):
        raise ValueError(
            f"a fit needs at least one chain of four draws, got chains={chains}, sweeps={sweeps}, keep={keep}"
        )


def moves(chains: Iterable[C], burn: int, thin: int, keep: int) -> Iterator[tuple[int, int, C, int]]:
    """(chain, draw, its state, sweeps to make), chain after chain; draws are negative while it warms up."""
    pace = [burn // WARMING] * (WARMING - 1) + [burn - burn // WARMING * (WARMING - 1)] + [thin] * keep
    for i, chain in enumerate(chains):
        for s, many in enumerate(pace):
            yield i, s - WARMING, chain, many


def size_of(cells: NoisyCells) -> tuple[int, int]:
    """(n to start from, most that is thought possible): n itself where it is public.

    Most is TAILS deviations above the noisy totals. Cells far below 0, and tables that disagree by more than
    their noise, may need more records than that: then what the fullest table shows.
    """
    if cells.n is not None:
        return cells.n, cells.n
    tables = [table.reshape(-1).astype(np.float64) for table in cells.tables().values()]
    laws = [NoiseLaw(cells.noise, float(scale)) for scale in cells.scales]
    spread = np.array([law.variance * table.size for law, table in zip(laws, tables, strict=True)])
    precision = 1 / spread
    totals, shown = (np.array([part(table) for table in tables]) for part in (np.sum, _positive))
    start = max(round(float((totals * precision).sum() / precision.sum())), 0)
    most = start + 10 + int(TAILS * precision.sum() ** -0.5)
    wide = np.sqrt(spread * [table.size for table in tables])  # what noise alone adds to a sum of positives
    odd = (shown - wide > most) | (np.abs(totals - start) > 10 + TAILS * np.sqrt(spread))
    return start, max(most, int((shown + TAILS * np.sqrt(spread)).max()) + 10) if odd.any() else most


def _positive(table: Floats) -> float:
    return float(np.maximum(table, 0).sum())


def layout_of(model: BayesianNetwork) -> Layout:
    """Say where each node's cells lie, for the kernel."""
    from discreet.posteriors.network.kernel import Layout  # noqa: PLC0415 - loads numba

    node = {name: v for v, name in enumerate(model.nodes)}
    stops = np.cumsum([cells.size for cells in model.cells])
    sizes = np.array([cells.shape[-1] for cells in model.cells])
    edges = [[node[parent] for parent in model.parents[name]] for name in model.nodes]
    strides = [np.cumprod(cells.shape[:0:-1])[::-1] for cells in model.cells]
    return Layout(
        start=stops - [cells.size for cells in model.cells],
        stop=stops,
        size=sizes,
        first=np.cumsum([0, *map(len, edges)]),
        parent=np.array([p for some in edges for p in some], dtype=np.int64),
        stride=np.concatenate([np.empty(0, np.int64), *strides]).astype(np.int64),
        below=_below(edges),
    )


def _below(edges: list[list[int]]) -> NDArray[np.bool_]:
    """below[v, w]: w is v or a descendant of it; parents come before children."""
    below = np.eye(len(edges), dtype=np.bool_)
    for w, parents in enumerate(edges):
        for p in parents:
            below[:, w] |= below[:, p]
    return below


def noise_of(cells: NoisyCells, most: int) -> Noise:
    from discreet.posteriors.network.kernel import Noise  # noqa: PLC0415

    scales = np.array([float(scale) for scale in cells.scales])
    squared = cells.noise.endswith("gaussian")
    sharpness = 1 / (2 * scales**2) if squared else 1 / scales
    return Noise(sharpness, squared, np.clip(REACH * scales, 1, max(most, 1)).astype(np.int64))
