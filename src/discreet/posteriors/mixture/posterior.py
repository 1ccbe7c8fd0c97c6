"""What a mixture's fit says: weights, tables of every class, and how far its chains agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy.optimize import linear_sum_assignment

from discreet.families.family import credible
from discreet.posteriors.base import Diagnostics
from discreet.posteriors.cautions import cautions
from discreet.posteriors.hidden_markov.posterior import Disagreement
from discreet.posteriors.network.posterior import generator
from discreet.sampling.agreement import effective_size as ess
from discreet.sampling.agreement import r_hat
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.families.family import Floats, Integers
    from discreet.models.mixture import Mixture
    from discreet.sampling.source import Source

AGREED = 0.9  # chains of one mode share this much of their mixture, class by class …
SPREADS = 6.0  # … and their mean log joints differ by no more than so many standard deviations of a draw's


@final
@dataclass(frozen=True, eq=False)
class MixturePosterior:
    """Draws (chain, draw, …) of π and θ, a class carrying the same label in all of them."""

    model: Mixture
    reading: str  # exact, naive or noise_aware
    weights: Floats  # (chains, draws, K)
    tables: Floats  # (chains, draws, K, Σ codes of the features)
    log_joint: Floats  # (chains, draws)
    records: Integers  # n along the chains
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, *, weights: Floats, tables: Floats, **facts: Any) -> MixturePosterior:  # noqa: ANN401
        """Resolve the labels: every draw by its chain's likeliest, every chain by the likeliest of all."""
        weights, tables = weights.copy(), tables.copy()
        features, level = len(facts["model"].features), facts["log_joint"]
        best = int(level.mean(axis=1).argmax())
        for c in (best, *(c for c in range(len(weights)) if c != best)):
            pivot = int(level[c].argmax())
            own = weights[c, pivot].copy(), tables[c, pivot].copy()
            if c != best:
                new = matching(own, (weights[best].mean(axis=0), tables[best].mean(axis=0)), features)
                own = own[0][new], own[1][new]
            for s in range(weights.shape[1]):
                new = matching((weights[c, s], tables[c, s]), own, features)
                weights[c, s], tables[c, s] = weights[c, s][new], tables[c, s][new]
        return cls(weights=weights, tables=tables, **facts)

    # --- do the chains agree? ------------
    @cached_property
    def agreement(self) -> Floats:
        """(chains, chains): Σ_k min(π_k, π'_k)·(1 − mean over features of TV(θ_k, θ'_k)), best matching."""
        chains = list(zip(self.weights.mean(axis=1), self.tables.mean(axis=1), strict=True))
        return np.array([[shared(a, b, len(self.model.features)) for b in chains] for a in chains])

    @property
    def level(self) -> Floats:
        """Mean log joint of each chain; compare it with its own spread, not with 0."""
        return np.asarray(self.log_joint.mean(axis=1))

    @cached_property
    def modes(self) -> tuple[tuple[int, ...], ...]:
        """Groups of chains that agree, the likeliest group first; more than one means several answers."""
        left, groups = [int(i) for i in np.argsort(-self.level)], []
        gap = SPREADS * float(np.median(self.log_joint.std(axis=1)))
        while left:
            near = self.level[left[0]] - self.level <= gap
            group = [i for i in left if (near[i] and self.agreement[left[0], i] >= AGREED) or i == left[0]]
            groups.append(tuple(group))
            left = [i for i in left if i not in group]
        return tuple(groups)

    @property
    def agreed(self) -> bool:
        return len(self.modes) == 1

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Worst R-hat and least ESS of the log joint, of n and of the weights, after matching."""
        plain = np.stack([self.log_joint, self.records], axis=-1)
        watched = np.concatenate([plain, self.weights], axis=-1)
        chains, draws = self.log_joint.shape
        found = float(r_hat(watched).max()), float(ess(watched).min())
        return Diagnostics("Gibbs over classes, records and tables", chains, draws, *found)

    @property
    def cautions(self) -> tuple[str, ...]:
        """The notes, and what the chains of the likeliest group say of themselves."""
        return (*self.notes, *cautions(self.best.diagnostics))

    def only(self, chains: Sequence[int]) -> MixturePosterior:
        """Return the same fit, told by these chains alone."""
        pick = list(chains)
        parts = {name: getattr(self, name)[pick] for name in ("weights", "tables", "log_joint", "records")}
        return replace(self, **parts)

    @property
    def best(self) -> MixturePosterior:
        """Return the fit as the likeliest group of agreeing chains tells it."""
        return self.only(self.modes[0])

    def pooled(self) -> MixturePosterior:
        """All chains as one, if they agree."""
        if not self.agreed:
            raise Disagreement(
                f"the chains found {len(self.modes)} different answers {self.modes}, so their average is "
                "none of them: read .modes, .agreement and .level, then take .best or .only(chains)"
            )
        names = ("weights", "tables", "log_joint", "records")
        joined = {n: getattr(self, n).reshape(1, -1, *getattr(self, n).shape[2:]) for n in names}
        return replace(self, **joined)

    # --- what was found; one answer for each chain, never their average ------------
    def mean(self) -> dict[str, Floats]:
        """Weights (chains, K), and for each feature (chains, K, codes)."""
        return {"weights": self.weights.mean(axis=1), **self.by_feature(self.tables.mean(axis=1))}

    def variance(self) -> dict[str, Floats]:
        return {"weights": self.weights.var(axis=1), **self.by_feature(self.tables.var(axis=1))}

    def interval(self, level: float) -> dict[str, Floats]:
        """Equal-tailed intervals by each chain; the last axis holds both ends."""
        both = {"weights": self.weights, **self.by_feature(self.tables)}
        return {name: np.moveaxis(np.quantile(x, credible(level), axis=1), 0, -1) for name, x in both.items()}

    def sample(self, size: int, source: Source | None = None) -> dict[str, Floats]:
        """Draws of (π, θ) among those kept, if the chains agree; the first axis counts them."""
        one = self.pooled()
        chosen = generator(source or SYSTEM).integers(one.weights.shape[1], size=size)
        return {"weights": one.weights[0, chosen], **self.by_feature(one.tables[0, chosen])}

    def by_feature(self, table: Floats) -> dict[str, Floats]:
        parts = np.split(table, np.cumsum(self.model.sizes)[:-1], axis=-1)
        return dict(zip(self.model.features, parts, strict=True))

    # --- what it predicts: no labels in it ------------
    def joint(self) -> Floats:
        """Posterior-predictive probability of every joint value of the features: (chains, codes…)"""
        total = np.zeros((len(self.weights), *self.model.sizes))
        for s in range(self.weights.shape[1]):
            parts = self.by_feature(self.tables[:, s]).values()
            each = reduce(lambda a, b: a[..., None] * b.reshape(*b.shape[:2], *[1] * (a.ndim - 2), -1), parts)
            total += np.einsum("ck,ck...->c...", self.weights[:, s], each)
        return np.asarray(total / self.weights.shape[1])

    def log_predictive(self, records: Mapping[str, ArrayLike]) -> Floats:
        """Log posterior-predictive probability of each record by each chain: (chains, records)"""
        codes = tuple(np.atleast_1d(np.asarray(records[feature])) for feature in self.model.features)
        return np.stack([np.log(cells)[codes] for cells in self.joint()])

    def log_likelihood(self, records: Mapping[str, ArrayLike]) -> Floats:
        """Mean log predictive probability of held-out records by each chain"""
        return np.asarray(self.log_predictive(records).mean(axis=1))

    def synthetic(self, size: int, source: Source | None = None) -> dict[str, Integers]:
        """Draw records from the posterior predictive of the likeliest group of chains."""
        cells = self.best.joint().mean(axis=0)
        flat = generator(source or SYSTEM).choice(cells.size, size=size, p=cells.reshape(-1) / cells.sum())
        return dict(zip(self.model.features, np.unravel_index(flat, cells.shape), strict=True))

    def __repr__(self) -> str:
        answers = "one answer" if self.agreed else f"{len(self.modes)} DIFFERENT ANSWERS {self.modes}"
        said = "".join(f"; {note}" for note in self.notes)
        return f"MixturePosterior({self.reading!r}, {self.model!r}, {answers}, {self.diagnostics!r}{said})"


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
