"""Noisy counts of a Bayesian network → its posterior: naive, or with the noise accounted for."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.inference.bayes_net_posterior import (
    NetworkDirichlet,
    NetworkDraws,
    NetworkPosterior,
    OneNetwork,
)
from discreet.inference.noise_aware import Diagnostics
from discreet.inference.noise_aware_chains import ess, r_hat
from discreet.inference.noise_aware_noise import NoiseLaw
from discreet.sampling.source import SeededSource

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.families.family import Floats
    from discreet.inference.draws import Draws
    from discreet.mechanisms.noisy_cells import NoisyCells
    from discreet.models.bayes_net import BayesianNetwork
    from discreet.models.count_model import CountModel
    from discreet.sampling.source import Source

WATCHED = 256  # entries of θ whose R-hat and ESS are computed, spread evenly over all of them
MOVES = 10_000_000  # records times sweeps in a chain, which bounds its time; and within it
FEWEST, MOST = 400, 3000  # sweeps to keep
REACH = 4  # noise scales that a move of many records may take at once
TAILS = 12  # standard deviations of the noisy total, where n is private


def read(cells: NoisyCells, model: BayesianNetwork, reading: str) -> NetworkPosterior:
    """Read noisy counts by the name of the reading."""
    return naive(cells, model) if reading == "naive" else fit(cells, model)


def exact(counts: ArrayLike, model: BayesianNetwork) -> NetworkDirichlet:
    """Dirichlet(prior + counts) in every row: the posterior when the counts are known [Heckerman 1995]."""
    return NetworkDirichlet(model, float(model.prior) + np.asarray(counts, dtype=np.float64), "exact")


def naive(cells: NoisyCells, model: BayesianNetwork) -> NetworkDirichlet:
    """Take max(Ĉ, 0) as if it were C; intervals of this reading under-cover."""
    counts = np.maximum(cells.noisy, 0.0)
    return NetworkDirichlet(model, float(model.prior) + counts, "naive")


def drawn(draws: Draws, model: BayesianNetwork) -> OneNetwork:
    """Read the network that was released as one draw."""
    return OneNetwork(model, draws.sample(1)[0])


def fit(
    cells: NoisyCells,
    model: BayesianNetwork,
    *,
    chains: int = 4,
    sweeps: int | None = None,
    burn: int | None = None,
    keep: int = 500,
    source: Source | None = None,
) -> NetworkDraws:
    """p(θ | Ĉ): Gibbs over θ and the records behind the counts; the same numbers every time without a source.

    n private: flat prior on it, up to TAILS standard deviations above the noisy totals.
    """
    from discreet.inference.bayes_net_exchange import chain  # noqa: PLC0415 - compiles on first use

    noisy, prior = cells.noisy.astype(np.float64), np.full(model.size, float(model.prior))
    n, most = size_of(cells)
    total = sweeps or int(np.clip(MOVES // max(n, 1), FEWEST, MOST))
    keep = min(keep, total)
    begin = prior + np.maximum(noisy, 0.0)
    seeds = (source or public_source(cells, model)).words(chains) % np.uint64(2**31)
    runs: list[Any] = [
        chain(
            int(seed), noisy, begin, prior, n, most, cells.n is not None, layout_of(model),
            noise_of(cells, most), total // 2 if burn is None else burn, keep, max(total // keep, 1),
        )
        for seed in seeds
    ]  # fmt: skip
    draws, sizes = (np.stack([run[i] for run in runs]) for i in (0, 1))
    return NetworkDraws(model, draws, "noise_aware", diagnosed(draws, "Gibbs over θ and the records"), sizes)


def diagnosed(draws: Floats, method: str) -> Diagnostics:
    chains, keep, size = draws.shape
    watched = draws[..., np.unique(np.linspace(0, size - 1, WATCHED).astype(int))].astype(np.float64)
    return Diagnostics(method, chains, keep, float(r_hat(watched).max()), float(ess(watched).min()))


def size_of(cells: NoisyCells) -> tuple[int, int]:
    """(n to start from, most that is thought possible): n itself where it is public."""
    if cells.n is not None:
        return cells.n, cells.n
    totals = np.array([table.sum() for table in cells.tables().values()])
    laws = [NoiseLaw(cells.noise, float(scale)) for scale in cells.scales]
    spread = np.array([law.variance * table.size for law, table in zip(laws, cells.model.cells, strict=True)])
    mean = float((totals / spread).sum() / (1 / spread).sum())
    start = max(round(mean), 0)
    return start, start + 10 + int(TAILS * (1 / (1 / spread).sum()) ** 0.5)


def layout_of(model: BayesianNetwork) -> Any:  # noqa: ANN401 - loads numba
    """Say where each node's cells lie, for the kernel."""
    from discreet.inference.bayes_net_kernel import Layout  # noqa: PLC0415

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


def _below(edges: list[list[int]]) -> Any:  # noqa: ANN401
    """below[v, w]: w is v or a descendant of it; parents come before children."""
    below = np.eye(len(edges), dtype=np.bool_)
    for w, parents in enumerate(edges):
        for p in parents:
            below[:, w] |= below[:, p]
    return below


def noise_of(cells: NoisyCells, most: int) -> Any:  # noqa: ANN401 - loads numba
    from discreet.inference.bayes_net_kernel import Noise  # noqa: PLC0415

    scales = np.array([float(scale) for scale in cells.scales])
    squared = cells.noise.endswith("gaussian")
    sharpness = 1 / (2 * scales**2) if squared else 1 / scales
    return Noise(sharpness, squared, np.clip(REACH * scales, 1, max(most, 1)).astype(np.int64))


def public_source(cells: NoisyCells, model: CountModel) -> SeededSource:
    """Bits fixed by what is public anyway: reading one release twice gives the same numbers."""
    text = repr((cells.noisy.tolist(), cells.n, cells.noise, cells.scales, model)).encode()
    return SeededSource(int.from_bytes(hashlib.sha256(text).digest()[:8], "big"))
