"""One chain of a hidden Markov fit: its arrays, how it moves, and how it is stored bit for bit."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.noise_law import NoiseLaw

Arrays = dict[str, Any]


Scores: TypeAlias = NDArray[np.float32]  # of every cell and state, padded for the kernels


@dataclass(frozen=True)
class Emissions(ABC):
    """What ties a cell's state to what was released of it; the arrays are one chain's and change in place."""

    model: HiddenMarkov
    log_theta: NDArray[np.float64]  # (K, Σ K_d)

    def begin(self, z: NDArray[np.int64]) -> None:  # noqa: B027 - most need nothing
        """Set what the first sweep starts from, given the states it starts from."""

    @abstractmethod
    def step(self, rng: np.random.Generator, z: NDArray[np.int64], scores: Scores, power: float) -> None:
        """θ (and whatever else is unknown) | z, then the score of every cell and state; likelihood^power."""

    def settle(self) -> None:  # noqa: B027
        """Stop tuning the proposals: the warm-up is over."""

    @abstractmethod
    def log_density(self, z: NDArray[np.int64]) -> float:
        """Ln p(data, θ, … | z)"""

    def strain(self, z: NDArray[np.int64]) -> float:
        """How far the noise that is left is from its law, in deviations; 0 where no noise is read."""
        del z
        return 0.0

    @abstractmethod
    def arrays(self) -> Arrays:
        """All that must be stored for the chain to go on as if never stopped."""


@final
@dataclass(frozen=True)
class CountEmissions(Emissions):
    """∏ θ^n with counts taken as they are: the exact ones, or noisy ones clipped at 0 (the naive reading)."""

    counts: NDArray[np.float32]
    offsets: NDArray[np.int64]
    totals: NDArray[np.float64]
    columns: NDArray[np.float32]
    beta: float

    @classmethod
    def of(cls, model: HiddenMarkov, counts: NDArray[Any]) -> CountEmissions:
        values = counts.shape[1]
        return cls(
            model,
            np.zeros((model.states, values)),
            np.ascontiguousarray(counts, dtype=np.float32),
            np.array(model.offsets, dtype=np.int64),
            np.empty((model.states, values)),
            np.zeros((values, padded(model.states)), dtype=np.float32),
            float(model.emission),
        )

    def step(self, rng: np.random.Generator, z: NDArray[np.int64], scores: Scores, power: float) -> None:
        from discreet.posteriors.hidden_markov.exact_counts import emission_step  # noqa: PLC0415 - numba on first use

        emission_step(
            rng,
            self.counts,
            self.offsets,
            self.beta,
            power,
            z,
            self.totals,
            self.log_theta,
            self.columns,
            scores,
        )

    def log_density(self, z: NDArray[np.int64]) -> float:
        from discreet.posteriors.hidden_markov.exact_counts import log_tables, state_counts  # noqa: PLC0415

        state_counts(self.counts, z, self.beta, self.totals)
        return float(log_tables(self.log_theta, self.offsets, self.beta, self.totals))

    def arrays(self) -> Arrays:
        return {"log_theta": self.log_theta}


def padded(states: int) -> int:
    return -(-states // 4) * 4


@final
@dataclass(frozen=True)
class StateChain:
    """z, θ and the random stream of one chain; `sweep` changes them in place."""

    emissions: Emissions
    path: str
    rng: np.random.Generator
    z: NDArray[np.int64]
    work: Arrays = field(default_factory=dict, repr=False)

    PATHS: ClassVar[Mapping[str, str]] = {"ffbs": "path_by_blocks", "collapsed": "path_by_cells"}

    @classmethod
    def start(
        cls, emissions: Emissions, path: str, rng: np.random.Generator, z: NDArray[np.int64]
    ) -> StateChain:
        model = emissions.model
        states, width, steps = model.states, padded(model.states), model.steps
        four = (steps, states, 4)  # chains that are filtered side by side
        work = {
            "scores": np.zeros((z.size, width), dtype=np.float32),
            "likelihoods": np.zeros(four if path == "ffbs" else (z.size, width), dtype=np.float32),
            "moved": np.zeros((states + 1, width)),
            "transposed": np.zeros((states, width)),
            "matrix": np.zeros((states + 1, width)),
            "filtered": np.zeros(four),
            "totals": np.zeros((steps, 4)),
            "alpha": float(model.transition),
            "chains": model.chains,
        }
        chain = cls(emissions, path, rng, np.empty(z.size, dtype=np.int64), work)
        chain.restart(z)
        return chain

    def sweep(self, power: float = 1.0) -> None:
        """θ | z, then z | θ; under likelihood^power, of which 1 is the posterior."""
        from discreet.posteriors.hidden_markov import exact_counts as hmm_sweeps  # noqa: PLC0415 - numba on first use

        w = self.work
        self.emissions.step(self.rng, self.z, w["scores"], power)
        step = getattr(hmm_sweeps, self.PATHS[self.path])
        step(
            self.rng,
            w["scores"],
            w["likelihoods"],
            w["alpha"],
            w["chains"],
            self.z,
            w["moved"],
            w["transposed"],
            w["matrix"],
            w["filtered"],
            w["totals"],
        )

    def transitions(self) -> NDArray[np.float64]:
        """(K+1, K): rows of A and, last, π₀, drawn given z."""
        from discreet.posteriors.hidden_markov.kernels.paths import draw_transitions  # noqa: PLC0415
        from discreet.posteriors.hidden_markov.kernels.scores import transition_counts  # noqa: PLC0415

        model, w = self.emissions.model, self.work
        transition_counts(self.z, w["chains"], w["moved"], w["transposed"])
        draw_transitions(self.rng, w["moved"], w["alpha"], w["matrix"], w["transposed"])
        drawn: NDArray[np.float64] = w["matrix"][:, : model.states].copy()
        return drawn

    def log_path(self) -> float:
        """Ln p(z), π₀ and A integrated out"""
        from discreet.posteriors.hidden_markov.exact_counts import log_path  # noqa: PLC0415
        from discreet.posteriors.hidden_markov.kernels.scores import transition_counts  # noqa: PLC0415

        w = self.work
        transition_counts(self.z, w["chains"], w["moved"], w["transposed"])
        return float(log_path(w["moved"], w["alpha"]))

    def log_joint(self) -> float:
        """Ln p(z, θ, data)"""
        return self.log_path() + self.emissions.log_density(self.z)

    def restart(self, z: NDArray[np.int64]) -> None:
        """Begin again from these states."""
        self.z[...] = z
        self.emissions.begin(self.z)

    def copy(self) -> Arrays:
        """Where the chain stands."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def copy_to(self, place: Mapping[str, Any]) -> None:
        """Overwrite an earlier copy by where the chain stands."""
        for name, array in self._arrays().items():
            place[name][...] = array

    def put(self, place: Mapping[str, Any]) -> None:
        """Go to where it stood."""
        for name, array in self._arrays().items():
            array[...] = place[name]

    def _arrays(self) -> Arrays:
        return {"z": self.z, **self.emissions.arrays()}

    @property
    def stream(self) -> Mapping[str, Any]:
        """Where the random stream stands."""
        return self.rng.bit_generator.state

    def restore(self, page: Mapping[str, Any]) -> None:
        self.put(page)
        self.rng.bit_generator.state = _arrays(json.loads(str(page["stream"])))


def stored(place: Mapping[str, Any], stream: Mapping[str, Any]) -> Arrays:
    """All that the future of a chain depends on: where it stood, and its random stream."""
    return {**place, "stream": np.array(json.dumps(stream, default=_plain))}


def _plain(value: NDArray[Any]) -> dict[str, Any]:  # what json cannot write
    return {"array": value.tolist(), "dtype": str(value.dtype)}


def _arrays(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict) and "array" in value:
        return np.array(value["array"], dtype=value["dtype"])
    return {k: _arrays(v) for k, v in value.items()} if isinstance(value, dict) else value


# ── What each reading makes of the counts: emissions for a chain, what the starts look at, what is believed.
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
    return _plain_reading(counts, model, unread, ("exact",))


def _naive(counts: NoisyCells | NDArray[Any], model: HiddenMarkov, unread: NDArray[np.bool_]) -> Data:
    """Noisy counts as if exact, negative ones clipped at 0, as the papers do."""
    if not isinstance(counts, NoisyCells):
        return _plain_reading(np.maximum(counts, 0), model, unread, ("naive",))
    shown = _told(counts, model, unread)
    return _plain_reading(np.maximum(counts.noisy, 0), model, unread, ("naive", *_law(counts)), shown)


def _plain_reading(
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
