"""What a mixture's fit says: weights, tables of every class, and how far its chains agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from discreet.encoding.answers import (
    Scalar,
    by_column,
    by_label,
    by_row,
    labelled_records,
    table_by_label,
)
from discreet.families.family import Floats, Integers
from discreet.models.mixture import Mixture
from discreet.posteriors.noise_law import cautions
from discreet.posteriors.posterior import NAIVE, Diagnostics, generator
from discreet.posteriors.tables import Answers, ProbabilityTable, TableAxis, hidden
from discreet.sampling.agreement import effective_size as ess
from discreet.sampling.agreement import r_hat
from discreet.sampling.source import Source

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

WATCHED = 256  # joint cells up to which the chance of each is watched


@final
@dataclass(frozen=True, eq=False, repr=False)
class MixturePosterior(Answers):
    """Draws (chain, draw, …) of π and θ, a class carrying the same label in all of them."""

    HELD: ClassVar[tuple[str, ...]] = ("weights", "theta", "log_joint", "records")

    model: Mixture
    reading: str  # exact, naive or noise_aware
    weights: Floats  # (chains, draws, K)
    theta: Floats  # (chains, draws, K, Σ codes of the features)
    log_joint: Floats  # (chains, draws)
    records: Integers  # n along the chains
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, *, weights: Floats, theta: Floats, **facts: Any) -> MixturePosterior:  # noqa: ANN401
        """Resolve the labels: every draw by its chain's likeliest, every chain by the likeliest of all."""
        weights, theta = weights.copy(), theta.copy()
        features, level = len(facts["model"].features), facts["log_joint"]
        best = int(level.mean(axis=1).argmax())
        for c in (best, *(c for c in range(len(weights)) if c != best)):
            pivot = int(level[c].argmax())
            own = weights[c, pivot].copy(), theta[c, pivot].copy()
            if c != best:
                new = matching(own, (weights[best].mean(axis=0), theta[best].mean(axis=0)), features)
                own = own[0][new], own[1][new]
            for s in range(weights.shape[1]):
                new = matching((weights[c, s], theta[c, s]), own, features)
                weights[c, s], theta[c, s] = weights[c, s][new], theta[c, s][new]
        return cls(weights=weights, theta=theta, **facts)

    # --- do the chains agree? ------------
    @cached_property
    def agreement(self) -> Floats:
        """(chains, chains): Σ_k min(π_k, π'_k)·(1 − mean over features of TV(θ_k, θ'_k)), best matching."""
        chains = list(zip(self.weights.mean(axis=1), self.theta.mean(axis=1), strict=True))
        return np.array([[shared(a, b, len(self.model.features)) for b in chains] for a in chains])

    @property
    def kept_log_joint(self) -> Floats:
        return self.log_joint

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Worst R-hat and least ESS of the log joint, n, the weights after matching, and chances of cells."""
        plain = np.stack([self.log_joint, self.records], axis=-1)
        watched = np.concatenate([plain, self.weights, self._chances()], axis=-1)
        chains, draws = self.log_joint.shape
        found = float(r_hat(watched).max()), float(ess(watched).min())
        return Diagnostics("Gibbs over classes, records and tables", chains, draws, *found)

    def _chances(self) -> Floats:
        """Draws of what no label changes: the chance of every cell or, where they are many, every code."""
        parts, weights = self.by_feature(self.theta), self.weights[..., None]
        if self.model.size > WATCHED:
            return np.concatenate([(weights * each).sum(axis=2) for each in parts.values()], axis=-1)
        for each in parts.values():
            weights = (weights[..., None] * each[..., None, :]).reshape(*each.shape[:3], -1)
        return np.asarray(weights.sum(axis=2))

    @property
    def cautions(self) -> tuple[str, ...]:
        """The notes, several answers, and what the chains of the likeliest group say of themselves."""
        more = (NAIVE if self.reading == "naive" else None,)
        return (*self.notes, *self._several, *cautions(self.best.diagnostics, more=more))

    # --- what was found ------------
    def layout(self) -> tuple[ProbabilityTable, ...]:
        features = [TableAxis.of(self.labels, name, size) for name, size in self.model.size_of.items()]
        classes = hidden("class", self.model.components, self.model.features)
        name = "weights" if "weights" not in self.model.features else "class weights"
        return (
            ProbabilityTable(name, (classes,)),
            *(ProbabilityTable(x.name, (classes, x)) for x in features),
        )

    def concentration(self, table: ProbabilityTable) -> float:
        return float(self.model.prior if len(table.axes) > 1 else self.model.weight)

    def flat_chains(self) -> Floats:
        shape = self.weights.shape[:2]
        each = (part.reshape(*shape, -1) for part in self.by_feature(self.theta).values())
        return np.concatenate([self.weights, *each], axis=-1)

    def by_feature(self, table: Floats) -> dict[str, Floats]:
        parts = np.split(table, np.cumsum(self.model.sizes)[:-1], axis=-1)
        return dict(zip(self.model.features, parts, strict=True))

    # --- what it predicts: no labels in it ------------
    def joint(self) -> Floats:
        """Posterior-predictive probability of every joint value of the features: (chains, codes…)"""
        total = np.zeros((len(self.weights), *self.model.sizes))
        for s in range(self.weights.shape[1]):
            parts = self.by_feature(self.theta[:, s]).values()
            each = reduce(lambda a, b: a[..., None] * b.reshape(*b.shape[:2], *[1] * (a.ndim - 2), -1), parts)
            total += np.einsum("ck,ck...->c...", self.weights[:, s], each)
        return np.asarray(total / self.weights.shape[1])

    def log_predictive(self, records: object, *, codes: bool = False) -> xr.DataArray | Floats:
        """Log posterior-predictive probability of each labelled record, by the likeliest group of chains.

        With `codes`, of codes by column, by each chain: (chains, records).
        """
        if codes:
            return self._log_records(by_column(records))
        rows = self.encoder.encode(records, self.model.features)
        cells = self.best.joint().mean(axis=0)
        return by_row(np.log(cells[tuple(rows.columns[name] for name in self.model.features)]), rows)

    def _log_records(self, records: Mapping[str, ArrayLike]) -> Floats:
        codes = tuple(np.atleast_1d(np.asarray(records[feature])) for feature in self.model.features)
        return np.stack([np.log(cells)[codes] for cells in self.joint()])

    def log_likelihood(self, records: object, *, codes: bool = False) -> Floats:
        """Mean log predictive probability of held-out records; with `codes` by each chain."""
        return np.asarray(np.asarray(self.log_predictive(records, codes=codes)).mean(axis=-1))

    def predict_proba(self, rows: object, *, codes: bool = False) -> xr.DataArray | Floats:
        """P(class | features) for each row, averaged over the likeliest group of chains: (row, class)."""
        if codes:
            given = by_column(rows)
            return self._memberships({x: np.atleast_1d(np.asarray(given[x])) for x in self.model.features})
        held = self.encoder.encode(rows, self.model.features)
        classes = self.layout()[0].axes[0]
        return by_label(self._memberships(held.columns), held, classes.name, classes.levels)

    def predict(self, rows: object, *, codes: bool = False) -> NDArray[Any]:
        """Likeliest class of each row, as the tables call it; with `codes` its number from 0."""
        likeliest = np.asarray(self.predict_proba(rows, codes=codes)).argmax(axis=1)
        names = np.asarray(self.layout()[0].axes[0].levels)
        return likeliest if codes else np.asarray(names[likeliest])

    def _memberships(self, codes: Mapping[str, NDArray[Any]]) -> Floats:
        """E π_k ∏_d θ_{k,d,x_d} for each class, and then their shares: (rows, K)"""
        best = self.best
        joint = np.zeros((*self.model.sizes, self.model.components))
        weights = best.weights.reshape(-1, self.model.components)
        tables = best.by_feature(best.theta.reshape(len(weights), self.model.components, -1)).values()
        for s, pi in enumerate(weights):
            each = [table[s] for table in tables]
            joint += np.moveaxis(reduce(_outer, each, pi), 0, -1)
        shares = joint[tuple(codes[name] for name in self.model.features)]
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def probability(
        self, columns: str | Sequence[str], given: Mapping[str, Scalar] | None = None
    ) -> xr.DataArray:
        """P(columns | given), by names and labels, by the likeliest group of chains."""
        names, held = (columns,) if isinstance(columns, str) else tuple(columns), given or {}
        features = self.model.features
        if not names or not {*names, *held} <= set(features) or len({*names, *held}) < len(names) + len(held):
            raise ValueError(
                f"the mixture has the columns {', '.join(features)}; asked for {list(names)} "
                f"given {list(held)}"
            )
        place: list[int | slice] = [
            self.encoder.code(x, held[x]) if x in held else slice(None) for x in features
        ]
        cells = self.best.joint().mean(axis=0)[tuple(place)]
        free = [name for name in features if name not in held]
        summed = cells.sum(axis=tuple(i for i, name in enumerate(free) if name not in names))
        left = [name for name in free if name in names]
        shares = np.transpose(summed, [left.index(name) for name in names])
        return table_by_label(shares / shares.sum(), names, self.encoder)

    def synthetic(
        self, size: int, source: Source | None = None, *, codes: bool = False
    ) -> pd.DataFrame | dict[str, Integers]:
        """Draw records from the posterior predictive of the likeliest group of chains, free."""
        cells = self.best.joint().mean(axis=0)
        flat = generator(source).choice(cells.size, size=size, p=cells.reshape(-1) / cells.sum())
        drawn = dict(zip(self.model.features, np.unravel_index(flat, cells.shape), strict=True))
        return drawn if codes else labelled_records(drawn, self.encoder)


def _outer(some: Floats, table: Floats) -> Floats:
    """Multiply the chances of one more feature to those of the others: (K, …) and (K, codes)."""
    return np.asarray(some[..., None] * table.reshape(len(table), *[1] * (some.ndim - 1), -1))


Components = tuple["NDArray[Any]", "NDArray[Any]"]  # π (K), θ (K, Σ codes)


def distances(one: Components, other: Components, features: int) -> Floats:
    """Mean over features of TV(θ_k, θ'_l): (K, K)"""
    return np.asarray(np.abs(one[1][:, None] - other[1][None]).sum(axis=-1) / (2 * features))


def matching(one: Components, reference: Components, features: int) -> Integers:
    """order[l] = the class here that is the reference's l: least total distance [Stephens 2000]."""
    cost = distances(one, reference, features) + np.abs(one[0][:, None] - reference[0][None])
    rows, columns = linear_sum_assignment(cost)
    return np.asarray(rows[np.argsort(columns)])


def shared(one: Components, other: Components, features: int) -> float:
    """How much of two mixtures is the same, class by class: 1 if they are equal"""
    overlap = np.minimum(one[0][:, None], other[0][None]) * (1 - distances(one, other, features))
    rows, columns = linear_sum_assignment(-overlap)
    return float(overlap[rows, columns].sum())
