"""What a hidden Markov fit says: states, emission tables, transitions, and how far its chains agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from discreet.encoding.answers import by_column, by_label
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.noise_law import cautions
from discreet.posteriors.posterior import NAIVE, Diagnostics
from discreet.posteriors.tables import Answers, ProbabilityTable, TableAxis, hidden
from discreet.posteriors.variables import SAMPLES, by_variable, labelled, thinned
from discreet.sampling.agreement import effective_size as ess
from discreet.sampling.agreement import r_hat

if TYPE_CHECKING:
    import xarray as xr


# ── Which state is which: labels of one draw carried to those of another, and how far two paths agree.
def confusion(z: NDArray[Any], reference: NDArray[Any], states: int) -> NDArray[np.int64]:
    """C_{j,k} = number of cells in state j here and in state k in the reference"""
    return np.bincount(z.astype(np.int64) * states + reference, minlength=states**2).reshape(states, states)


def relabelling(table: NDArray[Any]) -> NDArray[np.int64]:
    """new[j] = the reference's name for state j: the matching that leaves the most cells in place"""
    rows, columns = linear_sum_assignment(-table)
    new = np.empty(len(table), dtype=np.int64)
    new[rows] = columns
    return new


def matched(
    z: NDArray[Any], theta: NDArray[Any], transitions: NDArray[Any], reference: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Carry the draws of one chain, each by its own permutation, to the reference's labels."""
    z, theta, transitions = z.copy(), theta.copy(), transitions.copy()
    states = theta.shape[1]
    for s in range(len(z)):
        new = relabelling(confusion(z[s], reference, states))
        old = np.argsort(new)
        z[s] = new[z[s]]
        theta[s] = theta[s][old]
        transitions[s] = transitions[s][np.append(old, states)][:, old]
    return z, theta, transitions


def modal(z: NDArray[Any], states: int) -> NDArray[np.int64]:
    """Return each cell's most frequent state over the draws."""
    shares = np.stack([(z == k).sum(axis=0) for k in range(states)])
    return np.asarray(shares.argmax(axis=0), dtype=np.int64)


def agreement(paths: list[NDArray[Any]], states: int) -> NDArray[np.float64]:
    """(chains, chains): share of cells in the same state after the best matching of labels"""
    shares = np.ones((len(paths), len(paths)))
    for i, one in enumerate(paths):
        for j, other in enumerate(paths[:i]):
            table = confusion(one, other, states)
            rows, columns = linear_sum_assignment(-table)
            shares[i, j] = shares[j, i] = table[rows, columns].sum() / one.size
    return shares


def chances(z: NDArray[Any], states: int) -> NDArray[np.float64]:
    """P(z_c = k) over the draws (draws, cells): (cells, K)"""
    return np.stack([(z == k).mean(axis=0) for k in range(states)], axis=-1)


def apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Mean over cells of ½ Σ_k (p_k − q_k)², labels matched

    = 1 − Σ p q − ½(1 − Σ p²) − ½(1 − Σ q²): how much likelier draws of two chains differ than two of one do.
    """
    rows, columns = linear_sum_assignment(-(one.T @ other))
    return float(0.5 * ((one[:, rows] - other[:, columns]) ** 2).sum(axis=1).mean())


def overlap(chains: NDArray[Any], states: int) -> NDArray[np.float64]:
    """(chains, chains): 1 − apart, less the error of finite chains, as their own halves are apart

    S independent draws put a chain (1 − Σ p²)/2S from its law: its halves are 4 times that apart.
    """
    laws, half = [chances(z, states) for z in chains], max(chains.shape[1] // 2, 1)
    own = [apart(chances(z[:half], states), chances(z[-half:], states)) for z in chains]
    shared = np.ones((len(laws), len(laws)))
    for i, j in zip(*np.tril_indices(len(laws), -1), strict=True):
        excess = apart(laws[i], laws[j]) - (own[i] + own[j]) / 4
        shared[i, j] = shared[j, i] = 1.0 - max(excess, 0.0)
    return shared


# ── posterior
Floats = NDArray[np.float64]


FREE = ("log_joint", "stays")  # what chains are judged by: quantities that know no labels


@final
@dataclass(frozen=True, eq=False, repr=False)
class HiddenMarkovPosterior(Answers):
    """Draws (chain, draw, …) of z, θ, A and π₀, every state carrying the same label in all of them."""

    HELD: ClassVar[tuple[str, ...]] = ("z", "theta", "transitions", "log_joint")

    model: HiddenMarkov
    reading: str  # exact, naive or noise_aware
    kernel: str
    z: NDArray[np.int16]  # (chains, draws, R·T)
    theta: Floats  # (chains, draws, K, ΣK_d)
    transitions: Floats  # (chains, draws, K+1, K): rows of A and, last, π₀
    log_joint: Floats  # (chains, all sweeps, warm-up first); comparable between chains of one fit only
    warm_up: int
    missing: NDArray[np.bool_] | None = None  # (R·T,): cells whose counts were not read
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        z: NDArray[np.int16],
        theta: Floats,
        transitions: Floats,
        **facts: Any,  # noqa: ANN401
    ) -> HiddenMarkovPosterior:
        """Resolve the labels: every draw of every chain against the likeliest chain's usual path."""
        states, kept = facts["model"].states, facts["log_joint"][:, facts["warm_up"] :]
        best = int(kept.mean(axis=1).argmax())
        reference = z[best, -1]
        for _ in range(2):  # the last draw first, then what most draws say
            reference = modal(matched(z[best], theta[best], transitions[best], reference)[0], states)
        parts = []
        for i in range(len(z)):
            own = modal(matched(z[i], theta[i], transitions[i], z[i, -1])[0], states)
            settled = matched(z[i], theta[i], transitions[i], own)
            new = matched(own[None], theta[i, :1], transitions[i, :1], reference)[0][0]
            parts.append(matched(*settled, new))
        z, theta, transitions = (np.stack(part) for part in zip(*parts, strict=True))
        return cls(z=z, theta=theta, transitions=transitions, **facts)

    # --- do the chains agree? ------------
    @cached_property
    def agreement(self) -> Floats:
        """(chains, chains): 1 − mean over cells of ½ Σ_k (P_i(z_c = k) − P_j(z_c = k))², best matching,

        less the error that the chains' own halves show: the share of cells in the same state where chains are
        sure of theirs, and 1, up to chance, for chains of one law however unsure.
        """
        return overlap(self.z, self.model.states)

    @cached_property
    def r_hat(self) -> dict[str, Any]:
        """R̂ of the log joint, of how many cells stay in the state before, and of every state's share of cells

        Above 1.01 the chains have not mixed. The first two know no labels.
        """
        return {name: _figure(r_hat(draws)) for name, draws in self._watched.items()}

    @cached_property
    def ess(self) -> dict[str, Any]:
        """Effective number of draws, of the same quantities."""
        return {name: _figure(ess(draws)) for name, draws in self._watched.items()}

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Worst R-hat and least ESS of what knows no labels."""
        worst, least = (
            float(f([said[k] for k in FREE])) for f, said in ((np.max, self.r_hat), (np.min, self.ess))
        )
        return Diagnostics(self.kernel, len(self.z), self.z.shape[1], worst, least)

    @property
    def cautions(self) -> tuple[str, ...]:
        """The notes, several answers, and what the chains of the likeliest group say of themselves."""
        more = (NAIVE if self.reading == "naive" else None,)
        return (*self.notes, *self._several, *cautions(self.best.diagnostics, more=more))

    @property
    def _watched(self) -> dict[str, Floats]:
        paths = self.z.reshape(*self.z.shape[:2], *self.cells)
        stays = (paths[..., 1:] == paths[..., :-1]).sum(axis=(2, 3)).astype(np.float64)
        return {"log_joint": self.kept_log_joint, "stays": stays, "shares": self._shares}

    @property
    def kept_log_joint(self) -> Floats:
        return self.log_joint[:, self.warm_up :]

    @property
    def _shares(self) -> Floats:
        return np.stack([(self.z == k).mean(axis=2) for k in range(self.model.states)], axis=-1)

    def settled(self) -> HiddenMarkovPosterior:
        return replace(self, log_joint=self.kept_log_joint, warm_up=0)

    # --- tables, of the likeliest group ------------
    def layout(self) -> tuple[ProbabilityTable, ...]:
        """Return every feature given the state, the next state given the last, and the first."""
        model, features = self.model, self.model.features
        states = hidden("state", model.states, features)
        levels = [TableAxis.of(self.labels, name, model.size_of[name]) for name in features]
        following, first = (hidden("state", model.states, (), word) for word in ("next ", "first "))
        moves = (("transition", (states, following)), ("initial", (first,)))
        return (
            *(ProbabilityTable(x.name, (states, x)) for x in levels),
            *(
                ProbabilityTable(name if name not in features else f"state {name}", axes)
                for name, axes in moves
            ),
        )

    def flat_chains(self) -> Floats:
        each = (*self._by_feature(self.theta).values(), self.transitions)
        return np.concatenate([part.reshape(*self.z.shape[:2], -1) for part in each], axis=-1)

    def concentration(self, table: ProbabilityTable) -> float:
        emitted = table.axes[-1].name in self.model.features
        return float(self.model.emission if emitted else self.model.transition)

    def arranged(self, held: Floats) -> dict[str, xr.DataArray]:
        return by_variable(self.arrangement(), held, ("state",))

    def beside(self, draws: int) -> dict[str, xr.DataArray]:
        """Return the states, numbered as in the tables: (chain, draw, the model's chains and steps)."""
        kept, names = thinned(self.z, draws), (self.model.chain, self.model.step)
        axes = [(name, self.labels.levels(name, self.model.size_of[name])) for name in names]
        states = kept.reshape(*kept.shape[:2], *self.cells) + 1
        taken = (*SAMPLES, "state", *(variable.name for variable in self.arrangement()))
        return {"state": labelled(states, axes, taken)}

    # --- what was found; one answer for each chain, never their average ------------
    @property
    def cells(self) -> tuple[int, int]:
        return self.model.chains, self.model.steps

    def assignments(self) -> Floats:
        """P(z_{r,t} = k) by each chain: (chains, R, T, K)"""
        shares = np.stack([(self.z == k).mean(axis=1) for k in range(self.model.states)], axis=-1)
        return shares.reshape(len(self.z), *self.cells, self.model.states)

    def paths(self) -> NDArray[np.int64]:
        """Likeliest state of each cell by each chain: (chains, R, T)"""
        return np.asarray(self.assignments().argmax(axis=-1), dtype=np.int64)

    def emissions(self) -> dict[str, Floats]:
        """Feature → mean emission table by each chain: (chains, K, K_d)"""
        return self._by_feature(self.theta.mean(axis=1))

    def emission_intervals(self, level: float = 0.9) -> dict[str, Floats]:
        """Feature → equal-tailed intervals by each chain: (chains, K, K_d, 2)"""
        tails = [(1 - level) / 2, (1 + level) / 2]
        return {
            name: np.stack([np.quantile(part, q, axis=1) for q in tails], axis=-1)
            for name, part in self._by_feature(self.theta).items()
        }

    def transition_matrix(self) -> Floats:
        """Mean of A by each chain: (chains, K, K)"""
        return np.asarray(self.transitions[:, :, :-1].mean(axis=1))

    def _by_feature(self, table: Floats) -> dict[str, Floats]:
        parts = np.split(table, self.model.offsets[1:-1], axis=-1)
        return dict(zip(self.model.features, parts, strict=True))

    # --- what it predicts ------------
    def log_predictive(self, counts: object) -> Floats:
        """Σ_c ln (1/S) Σ_s ∏_j θ^{(s)}_{z_c,j}^{n_{c,j}} by each chain: further records of the same cells.

        Labelled rows are counted first; an array holds the counts themselves. Each cell on its own; of a
        missing cell every state counts, with P(z_c = k | its neighbours, A).
        """
        flat = counts if isinstance(counts, np.ndarray) else self._counted(counts)
        held = self.model.by_cell(flat).astype(np.float64)
        return np.array([self._log_predictive(i, held) for i in range(len(self.z))])

    def _counted(self, rows: object) -> NDArray[np.int64]:
        codes = self.encoder.encode(rows, self.model.columns).columns
        tables = []
        for cells in self.model.cells:
            flat = np.ravel_multi_index(tuple(codes[c] for c in cells.columns), cells.shape)
            tables.append(np.bincount(flat, minlength=cells.size))
        return np.concatenate(tables)

    def states(self) -> xr.DataArray:
        """Likeliest state of each cell by the likeliest group of chains, with labels: (chain, step)."""
        shares = self.state_probabilities()
        return shares.idxmax(shares.dims[-1])

    def state_probabilities(self) -> xr.DataArray:
        """P(state) of each cell by the likeliest group of chains, with labels: (chain, step, state)."""
        from xarray import DataArray  # noqa: PLC0415 - heavy

        cell = (self.model.chain, self.model.step)
        if self.labels.schema:
            levels = {name: list(self.encoder.labels(name)) for name in cell}
        else:
            levels = {name: list(range(size)) for name, size in zip(cell, self.cells, strict=True)}
        state = hidden("state", self.model.states, (*self.model.features, *levels))
        coords = {**levels, state.name: list(state.levels)}
        return DataArray(self.best.assignments().mean(axis=0), dims=tuple(coords), coords=coords)

    def predict_proba(self, rows: object, *, codes: bool = False) -> xr.DataArray | Floats:
        """P(state) of the cell that each row belongs to, by its chain and step alone: (row, state)."""
        shares, cell = self.state_probabilities(), (self.model.chain, self.model.step)
        if codes:
            given = by_column(rows)
            return np.asarray(shares)[tuple(np.atleast_1d(np.asarray(given[name])) for name in cell)]
        held = self.encoder.encode(rows, cell)
        found = np.asarray(shares)[tuple(held.columns[name] for name in cell)]
        return by_label(found, held, str(shares.dims[-1]), shares[shares.dims[-1]].values.tolist())

    def predict(self, rows: object, *, codes: bool = False) -> NDArray[Any]:
        """Likeliest state of the cell of each row, as the tables call it; with `codes` its number from 0."""
        likeliest = np.asarray(self.predict_proba(rows, codes=codes)).argmax(axis=1)
        names = np.asarray(hidden("state", self.model.states, ()).levels)
        return likeliest if codes else np.asarray(names[likeliest])

    def _log_predictive(self, chain: int, held: Floats) -> float:
        some = np.flatnonzero(held.sum(axis=1))
        chance = self._chances(chain, some)
        terms = np.empty((self.z.shape[1], some.size))
        for s, theta in enumerate(self.theta[chain]):
            terms[s] = logsumexp(held[some] @ np.log(np.maximum(theta, 1e-300)).T, axis=1, b=chance(s))
        return float((logsumexp(terms, axis=0) - np.log(len(terms))).sum())

    def _chances(self, chain: int, cells: NDArray[np.int64]) -> Callable[[int], Floats]:
        """Draw → P(z_c = k) given the rest of it, (cells, K): certain where the cell's counts were read"""
        steps, rows = self.model.steps, np.arange(cells.size)
        gone = np.zeros(cells.size, dtype=bool) if self.missing is None else self.missing[cells]
        first, last = cells % steps == 0, cells % steps == steps - 1

        def of(s: int) -> Floats:
            z, table = self.z[chain, s], self.transitions[chain, s]
            into = table[np.where(first, self.model.states, z[cells - 1])]
            out = np.where(last[:, None], 1.0, table[:-1, z[np.where(last, cells, cells + 1)]].T)
            chance = np.where(gone[:, None], into * out, 0.0)
            chance[rows[~gone], z[cells[~gone]]] = 1.0
            return np.asarray(chance / chance.sum(axis=1, keepdims=True))

        return of

    def predictive(self) -> dict[str, Floats]:
        """Feature → law of the next record of each cell by each chain: (chains, R, T, K_d)"""
        table = np.zeros((len(self.z), self.z.shape[2], self.theta.shape[-1]))
        for i, s in np.ndindex(self.z.shape[:2]):
            table[i] += self.theta[i, s][self.z[i, s]] / self.z.shape[1]
        return {
            name: part.reshape(len(self.z), *self.cells, -1) for name, part in self._by_feature(table).items()
        }

    @property
    def _verdict(self) -> str:
        return (
            ("one answer" if self.agreed else f"{len(self.modes)} DIFFERENT ANSWERS {self.modes}")
            + f", R̂ {max(self.r_hat[name] for name in FREE):.2f}"
            + f", ESS {min(self.ess[name] for name in FREE):.0f}"
        )

    def __str__(self) -> str:
        return (
            f"{self.reading} reading, {len(self.z)} chains by {self.kernel}: {self._verdict}"
            f" (least agreement {self.agreement.min():.0%}, levels {np.round(self.level, 1).tolist()})"
            + "".join(f"; {note}" for note in self.notes)
        )


def _figure(value: Floats) -> Floats | float:
    return float(value) if np.ndim(value) == 0 else value
