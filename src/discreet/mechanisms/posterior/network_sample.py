"""One draw of all tables of a Bayesian network from its truncated, tempered posterior."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from discreet.families.exact_fields import rational
from discreet.families.family import Floats, Integers, public_size, records, table_size
from discreet.mechanisms.posterior.tempered_laws import Promise, TemperedSample
from discreet.models.bayes_net import BayesianNetwork
from discreet.privacy.arithmetic.ball import Exact, PrecisionError, ball, ceiling, settle
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee, NotProved, Relation
from discreet.privacy.kinds import BoundedRange, PureDP
from discreet.privacy.worst_pairs.tempered_posterior import (
    log_normaliser,
    log_odds_range,
    record_range,
    substitution_epsilon,
    substitution_range,
)
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True, kw_only=True)
class OneNetworkSample(TemperedSample):
    """θ ~ prior × likelihood^(1/T), every entry of every table at least a₀ [F16 §3.1; D14 on networks].

    A record reads one entry of each table, so |log p(x'|θ) − log p(x|θ)| ≤ Δ = Σ_v ln((1−(k_v−1)a₀)/a₀), and
    the privacy loss lies in an interval of length 2Δ/T (BoundedRange). Its modulus (PureDP) is less at finite
    n: rows are independent, so E_P exp(Σ_v f_v) is a product, and the worst cases of the nodes add up.
    """

    name: ClassVar[str] = "one_network_sample"
    theorem: ClassVar[str] = (
        "F16 §3.1 and Wang–Fienberg–Smola 2015 Thm 1 with Δ summed over nodes; finite n: "
        "convexity of ln Z at each node [privacy.worst_pairs.tempered_posterior]"
    )

    model: BayesianNetwork = field(kw_only=False)
    n: int | None = None
    truncation: Exact
    temperature: Exact
    promise: Promise = PureDP
    relation: Relation = SUBSTITUTE

    def __post_init__(self) -> None:
        if not isinstance(self.model, BayesianNetwork):
            raise NotProved(
                f"OneNetworkSample draws tables of a BayesianNetwork, not of {type(self.model).__name__}; "
                "noisy_counts covers every model of counts"
            )
        if not rational(self.temperature, what="temperature") >= 1:
            raise ValueError(f"temperature must be at least 1, got {self.temperature!r}")
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        if not rational(self.truncation, what="truncation") * (k := max(self.model.sizes)) < 1:
            raise ValueError(
                f"truncation must be below 1/{k}: a column has {k} codes, and all their probabilities must "
                f"exceed it; got {self.truncation!r}"
            )

    @classmethod
    def calibrate(
        cls, model: BayesianNetwork, *, n: int | None = None, target: Guarantee, truncation: Exact
    ) -> Self:
        """Least temperature (40 significant bits, rounded up) whose certified guarantee meets the target."""
        cold = cls(model, n=n, truncation=truncation, temperature=1, relation=target.relation)
        return cold._warmed(target)

    @property
    def nodes(self) -> dict[tuple[int, bool], int]:
        """(codes, has parents) → how many nodes are so; a column of one code tells nothing."""
        kinds = [(c.shape[-1], len(c.shape) > 1) for c in self.model.cells if c.shape[-1] > 1]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}

    @cached_property
    def bounded_range(self) -> BoundedRange:
        """2Δ/T, or Δ/T under ADD_REMOVE: for every n."""
        width = record_range if self.relation is ADD_REMOVE else substitution_range

        def total() -> arb:
            return sum(m * width(self.weight, self.lower, k) for (k, _), m in self.nodes.items())

        return BoundedRange(ceiling(settle(total)), relation=self.relation)

    @cached_property
    def pure(self) -> PureDP:
        """Sum of the nodes' worst cases over data sets of n records."""
        if self.n is None:
            return PureDP(self.bounded_range.loss, relation=self.relation)
        each = [(m, Fraction(self._node_loss(k, child=child))) for (k, child), m in self.nodes.items()]
        total = sum((m * loss for m, loss in each), Fraction(0))
        loss = min(ceiling(settle(lambda: ball(total))), self.bounded_range.loss)
        return PureDP(loss, relation=self.relation)

    def _node_loss(self, codes: int, *, child: bool) -> float:
        """Worst case of one node: its record moves within a row or, where it has parents, to another row."""
        s, prior = self.weight, (self.model.prior,) * codes
        within = substitution_epsilon(prior, s, n=records(self.n), trials=1, lower=self.lower)
        if not child:
            return within
        simple = ceiling(settle(lambda: substitution_range(s, self.lower, codes)))
        if codes > 2:
            return simple
        try:
            across = settle(lambda: across_rows(prior[0], s, records(self.n), self.lower))
        except PrecisionError:
            return simple
        return min(max(within, ceiling(across)), simple)

    def release(self, value: ArrayLike, source: Source | None = None, *, count: int | None = None) -> Floats:
        """Draw every table once, on the public grid 2⁻³², flat; `count` is needed only under ADD_REMOVE."""
        if (count is None) == (self.relation is ADD_REMOVE):
            raise ValueError("give count, the private number of records, under ADD_REMOVE and only there")
        counts = self.model.check(value, table_size(self.n or count or 0))
        tables = self.model.split(counts).values()
        drawn = [self._rows(t.reshape(-1, t.shape[-1]), source or SYSTEM) for t in tables]
        return np.concatenate([rows.reshape(-1) for rows in drawn])

    def _rows(self, counts: Integers, source: Source) -> Floats:
        """One Dirichlet(prior + counts/T) on {θ ≥ a₀} for each row; rows of equal counts in one batch."""
        from discreet.sampling.exact import truncated_dirichlet  # noqa: PLC0415 - loads on first use

        drawn = np.ones(counts.shape)
        if counts.shape[1] == 1:
            return drawn
        kinds, which = np.unique(counts, axis=0, return_inverse=True)
        for i, kind in enumerate(kinds.tolist()):
            entries = np.array([self.model.prior + self.weight * c for c in kind], dtype=object)
            mine = which.reshape(-1) == i
            drawn[mine] = truncated_dirichlet(source, entries, self.lower, int(mine.sum()))
        return drawn


def across_rows(prior: Fraction, weight: Fraction, n: int, lower: Fraction) -> arb:
    """Bound ln dQ/dP if a record leaves (u, j) for (u', j'), two codes: sΔ − ln E θ_u'j'^s − ln E θ_uj^−s.

    The rows are independent under P. E θ^s falls as other records of row u' are not j', E θ^−s as those of
    row u are j (likelihood-ratio order), so both are least with all n − 1 others there.
    """
    upper, s = 1 - lower, weight
    others = s * (n - 1)
    joined = log_normaliser(prior + s, prior + others, lower, upper) - log_normaliser(
        prior, prior + others, lower, upper
    )
    left = log_normaliser(prior + others, prior, lower, upper) - log_normaliser(
        prior + others + s, prior, lower, upper
    )
    return ball(s) * log_odds_range(lower, 2) - joined - left
