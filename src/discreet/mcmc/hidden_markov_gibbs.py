"""Gibbs through the exponential mechanism for the hidden Markov model: posterior samples, each paid."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.mcmc.kernel import Counts, Kernel, State, bounded_range, check_temperature
from discreet.mcmc.mixture import moments, over_classes
from discreet.mcmc.simplex import truncated_simplex
from discreet.mcmc.target import SLACK, UNIT, in_units
from discreet.mechanisms.mechanism import positive
from discreet.models.hidden_markov import HiddenMarkov
from discreet.privacy.accounting.composition import compose, parallel, repeat
from discreet.privacy.arithmetic.ball import Exact, ceiling, settle
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.worst_pairs.tempered_posterior import log_odds_range
from discreet.sampling import exact
from discreet.sampling.source import Source

ROUNDING = 1e-9  # shares that are written as decimals add up to 1 only nearly


@final
@dataclass(frozen=True, kw_only=True)
class HiddenMarkovGibbs(Kernel):
    """z_{r,t} | z, θ, n for every cell in turn, then θ_{k,d} | z, n; the state (z, θ) is released [F16 §5].

    The joint is p(z) p₀(θ) Π_c Π_d Π_j θ_{z_c,d,j}^{n_cdj/T_d}, transitions integrated out, J entries cut at
    truncation/J. A record's value of feature d moves a log-density by at most Δ_d/T_d. A state reads its own
    cell alone: with r = Σ_d Δ_d/T_d, a substitution within a cell gives one update a range of 2r, one that
    changes the cell gives two updates a range of r each. With z public the record leaves one table of each
    feature and enters one, drawn independently: a range of 2Δ_d/T_d. Half of each where a record is added.

    T_d = T for all unless `shares` s_d are given: T_d = T Δ_d/(s_d Δ_x), Δ_x = Σ_d Δ_d, so that feature d
    pays s_d of what a sweep costs, and a sweep costs the same 4Δ_x/T for any shares.
    """

    name: ClassVar[str] = "hidden_markov_gibbs"
    theorem: ClassVar[str] = "F16 §4.1 and §5, DDR20 Lemma 3.2; McSherry 2009 parallel composition over cells"

    model: HiddenMarkov = field(kw_only=False)
    truncation: Exact = Fraction(1, 10)  # F16 §5: a₀ = 1/(10 J)
    shares: tuple[Exact, ...] | None = None  # of ε, one per feature; None: one temperature for all

    def __post_init__(self) -> None:
        check_temperature(self)
        if not 0 < Fraction(self.truncation) < 1:
            raise ValueError(f"truncation must lie strictly between 0 and 1, got {self.truncation!r}")
        _ = self.model.size_of, self.weights  # a model that was not bound says so

    @property
    def columns(self) -> tuple[str, ...]:
        return self.model.columns

    @property
    def shape(self) -> tuple[int, ...]:
        return self.model.sizes

    @property
    def places(self) -> int:
        """R·T: entries of the state before θ, which is (K, ΣJ_d) flat."""
        return self.model.chains * self.model.steps

    @property
    def parts(self) -> tuple[slice, ...]:
        """Where each feature's values are among all ΣJ_d."""
        return tuple(slice(a, b) for a, b in pairwise(self.model.offsets))

    @property
    def count_tables(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (self.model.chain, self.model.step), self.model.features

    @property
    def labels(self) -> tuple[str, ...]:
        cells = [f"z[{r},{t}]" for r in range(self.model.chains) for t in range(self.model.steps)]
        values = [
            f"{name}[{k},{j}]"
            for k in range(self.model.states)
            for name in self.model.features
            for j in range(self.model.size_of[name])
        ]
        return (*cells, *values)

    # --- what it promises ------------
    def floor(self, size: int) -> Fraction:
        return Fraction(self.truncation) / size

    @cached_property
    def spreads(self) -> tuple[Fraction, ...]:
        """Δ_d = ln((1 − (J−1)a)/a), rounded up; a feature of one value tells nothing."""
        return tuple(self._spread(part.stop - part.start) for part in self.parts)

    def _spread(self, size: int) -> Fraction:
        if size == 1:
            return Fraction(0)
        return Fraction(ceiling(settle(lambda: log_odds_range(self.floor(size), size))))

    @cached_property
    def weights(self) -> tuple[Fraction, ...]:
        """w_d = T/T_d = s_d Δ_x/Δ_d, exactly; only the shares' ratios matter."""
        features = self.model.features
        if self.shares is None:
            return (Fraction(1),) * len(features)
        given = [positive(x, "every share of a feature") for x in self.shares]
        if len(given) != len(features) or abs(float(sum(given)) - 1) > ROUNDING:
            raise ValueError(
                f"shares must be {len(features)} numbers that add up to 1, one for each of "
                f"{', '.join(features)}; got {[float(x) for x in given]}"
            )
        telling = sum(x for x, spread in zip(given, self.spreads, strict=True) if spread)
        whole = sum(self.spreads, Fraction(0))
        pairs = zip(given, self.spreads, strict=True)
        return tuple(x / telling * whole / spread if spread else Fraction(1) for x, spread in pairs)

    @property
    def guarantee(self) -> Guarantee:
        records = 2 if self.relation.replaces else 1
        weighed = [(w / self.heat, s) for w, s in zip(self.weights, self.spreads, strict=True) if s]
        tables = [bounded_range(records * w * s, self.relation) for w, s in weighed]
        if self.model.states == 1:
            return compose(*tables)  # every state is the one there is
        rounded = sum((w * (s + SLACK) for w, s in weighed), Fraction(0))  # ln θ is in whole units
        return compose(self._scan_promise(rounded), *tables)

    def _scan_promise(self, r: Fraction) -> Guarantee:
        """Range 2r where a record changes within its cell, or range r twice where it changes its cell."""
        one = bounded_range(r, self.relation)
        if not self.relation.replaces:
            return one
        return parallel(bounded_range(2 * r, self.relation), repeat(one, 2))

    # --- what it tells ------------
    def told(self, draws: State) -> tuple[tuple[str, ...], State]:
        """Name what no renaming of the states moves: means and deviations over cells, moves."""
        K, shape = self.model.states, draws.shape[:-1]
        z = draws[..., : self.places].reshape(*shape, self.model.chains, self.model.steps)
        shares = np.stack([(z == k).mean(axis=(-2, -1)) for k in range(K)], axis=-1)
        theta = draws[..., self.places :].reshape(*shape, K, -1)
        values = [f"{name}[{j}]" for name in self.model.features for j in range(self.model.size_of[name])]
        stays = (z[..., 1:] == z[..., :-1]).reshape(*shape, -1).mean(axis=-1) if self.model.steps > 1 else 1.0
        whole = np.stack([shares.max(axis=-1), np.broadcast_to(stays, shape)], axis=-1)
        names = ("cells in the largest state", "steps that stay", *over_classes(values))
        return names, np.concatenate([whole, *moments(shares, theta)], axis=-1)

    # --- what it draws ------------
    def init(self, source: Source) -> State:
        z = exact.uniform_integers(source, self.model.states, self.places)
        nothing = np.zeros((self.places, self.model.offsets[-1]), dtype=np.int64)
        return np.concatenate([z.astype(np.float64), self._tables(z, nothing, source)])

    def arranged(self, counts: Counts, source: Source) -> Counts:  # noqa: ARG002 - nothing to shuffle
        """Return the counts by (cell, values of all features). PRIVATE as they are."""
        return self.model.by_cell(self.check(counts))

    def step(self, state: State, counts: Counts, source: Source) -> State:
        """Take as `counts` what `arranged` made of them."""
        z = state[: self.places].astype(np.int64)
        if self.model.states > 1:
            z = self._scan(z, self._scores(state, counts), source)
        return np.concatenate([z.astype(np.float64), self._tables(z, counts, source)])

    @cached_property
    def per_unit(self) -> tuple[tuple[int, ...], Fraction]:
        """Whole a_d and one fraction with w_d UNIT/T = a_d·fraction: sums over records stay whole."""
        common = lcm(*(w.denominator for w in self.weights))
        return tuple(int(w * common) for w in self.weights), UNIT / (self.heat * common)

    def _scores(self, state: State, counts: Counts) -> NDArray[np.object_]:
        """Σ_d a_d Σ_j n_cdj ln θ_kdj in whole units, (cell, state): exact integers, `per_unit` apart."""
        theta = state[self.places :].reshape(self.model.states, -1)
        units = np.array(in_units(np.log(theta)), dtype=object).reshape(theta.shape)
        for whole, part in zip(self.per_unit[0], self.parts, strict=True):
            units[:, part] *= whole
        return np.asarray(counts.astype(object) @ units.T)

    def _scan(self, z: NDArray[np.int64], scores: NDArray[np.object_], source: Source) -> NDArray[np.int64]:
        paths = z.reshape(self.model.chains, self.model.steps).copy()
        moves = transition_counts(paths, self.model.states)
        for r, t in np.ndindex(paths.shape):
            moved(moves, paths[r], t, -1)
            prior = in_units(self.log_prior(moves, paths[r], t))
            weights = self.log_weights(prior, scores[r * self.model.steps + t])
            paths[r, t] = exact.categorical(source, weights, 1)[0]
            moved(moves, paths[r], t, 1)
        return paths.reshape(-1)

    def log_weights(self, prior: list[int], score: NDArray[np.object_]) -> list[Fraction]:
        """Log p(z_t = k | the rest) up to a constant, exactly: prior in units and score in `per_unit`."""
        each = self.per_unit[1]
        one = UNIT.numerator * each.denominator, each.numerator * UNIT.denominator
        whole = UNIT.denominator * each.denominator
        return [Fraction(p * one[0] + s * one[1], whole) for p, s in zip(prior, score, strict=True)]

    def log_prior(self, moves: NDArray[np.int64], path: NDArray[np.int64], t: int) -> NDArray[np.float64]:
        """Log p(z_t = k | all other states), transitions integrated out; no record is read.

        (n_{a→k}+α)·(n_{k→b} + I[a=k=b] + α)/(n_{k→·} + I[a=k] + Kα), a before, b after [F16 eq. 48, mended].
        """
        K, alpha = self.model.states, float(self.model.transition)
        before = path[t - 1] if t else K
        weight = np.log(moves[before] + alpha)
        if t + 1 < path.size:
            after, k = path[t + 1], np.arange(K)
            stays = k == before
            weight += np.log(moves[:K, after] + (stays & (k == after)) + alpha)
            weight -= np.log(moves[:K].sum(axis=1) + stays + K * alpha)
        return np.asarray(weight)

    def _tables(self, z: NDArray[np.int64], counts: Counts, source: Source) -> State:
        """θ_{k,d} ~ Dirichlet(β + Σ_{c: z_c = k} n_cd·/T_d), truncated; (K, ΣJ_d) flat."""
        beta, drawn = Fraction(self.model.emission), []
        for k in range(self.model.states):
            here = counts[z == k].sum(axis=0)
            for w, part in zip(self.weights, self.parts, strict=True):
                alpha = [beta + int(count) * w / self.heat for count in here[part]]
                drawn.append(truncated_simplex(alpha, self.floor(len(alpha)), source))
        return np.concatenate(drawn)


def transition_counts(paths: NDArray[np.int64], states: int) -> NDArray[np.int64]:
    """Count moves a → b of all chains; the last row is of first states."""
    moves = np.zeros((states + 1, states), dtype=np.int64)
    np.add.at(moves, (paths[:, :-1].reshape(-1), paths[:, 1:].reshape(-1)), 1)
    np.add.at(moves[states], paths[:, 0], 1)
    return moves


def moved(moves: NDArray[np.int64], path: NDArray[np.int64], t: int, by: int) -> None:
    """Put step t of a path into the counts, or take it out."""
    moves[path[t - 1] if t else -1, path[t]] += by
    if t + 1 < path.size:
        moves[path[t], path[t + 1]] += by
