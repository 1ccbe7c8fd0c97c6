"""What is promised under a metric: the closer two data sets, the harder they are to tell apart [D14]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.privacy.accounting.conversions import above, pure_zcdp
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.arithmetic.curves import upward
from discreet.privacy.bounded_loss import ApproxDP, PureDP
from discreet.privacy.guarantee import Guarantee, Relation, nonnegative, positive
from discreet.privacy.under_metric.distances import Metric, distance


@final
@dataclass(frozen=True, init=False, repr=False)
class MetricDP(Guarantee):
    """P(B|x) ≤ e^{ερ(x,y)} P(B|y) + δρ(x,y) for all B and all x, y [D14, Definition 2].

    Every answer takes a distance, 1 unless said: ε and δ are per unit of the metric, whose identity is
    `relation`. For a pair at distance r it is (εr, δr)-DP, so that of several releases ε and δ add up pair by
    pair, adaptively too, within one metric and no further.
    """

    loss: Exact  # ε, per unit of distance
    slack: Exact  # δ, per unit of distance

    def __init__(
        self,
        epsilon: Exact,
        delta: Exact = 0,
        metric: Metric | None = None,
        *,
        relation: Relation | None = None,
    ) -> None:
        found = metric.relation if isinstance(metric, Metric) else relation
        if not isinstance(found, Relation) or found.value != "metric":
            raise TypeError(
                "MetricDP(ε, δ, metric) needs a metric, e.g. Hamming() or AbsoluteDifference(); promises "
                "about neighbours are PureDP, ApproxDP, …"
            )
        object.__setattr__(self, "loss", positive("epsilon", epsilon))
        object.__setattr__(self, "slack", nonnegative("delta", delta))
        object.__setattr__(self, "relation", found)

    # --- at a distance ------------
    def _at(self, far: Exact) -> PureDP | ApproxDP | None:
        """Return what is promised of one pair, in the arithmetic of neighbours; None where nothing is."""
        r = distance(far)
        loss, slack = Fraction(self.loss) * r, Fraction(self.slack) * r
        if not slack < 1:
            return None
        return ApproxDP(loss, slack) if slack else PureDP(loss)

    def epsilon(self, delta: Exact, distance: Exact = 1) -> float:
        """Least certified ε with (ε, δ)-DP of all pairs at this distance or less."""
        if distance == 0:
            return 0.0
        found = self._at(distance)
        return math.inf if found is None else found.epsilon(delta)

    def delta(self, epsilon: Exact, distance: Exact = 1) -> float:
        """Least certified δ with (ε, δ)-DP of all pairs at this distance or less; δ(0) bounds TV."""
        if distance == 0:
            return 0.0
        found = self._at(distance)
        return 1.0 if found is None else found.delta(epsilon)

    def renyi(self, order: Exact, distance: Exact = 1) -> float:
        """Rényi divergence of all pairs at this distance or less."""
        if distance == 0:
            return 0.0
        found = self._at(distance)
        return math.inf if found is None else found.renyi(order)

    def kl(self, distance: Exact = 1) -> float:
        """KL ≤ εr tanh(εr/2), which is below D14's 2Lρ = εr; unbounded where δ > 0."""
        if distance == 0:
            return 0.0
        found = self._at(distance)
        if not isinstance(found, PureDP):
            return math.inf
        return min(upward(found.loss), above(lambda: pure_zcdp(found.loss)))

    def as_substitute(self, reach: Exact | None = None) -> PureDP | ApproxDP:
        """Promise about one record replaced, where that moves a data set by `reach` at most.

        Under Hamming() the reach is 1; under a sum of |x_i − y_i| it is the width of the records' range.
        """
        if reach is None:
            raise TypeError("as_substitute(reach): say how far one record replaced moves a data set at most")
        found = self._at(positive("reach", reach))
        if found is None:
            raise ValueError("at that reach δ is 1 or more and nothing is promised")
        return found

    # --- the questions every promise answers, at distance 1 ------------
    @property
    def order_limit(self) -> float:
        return 1.0 if self.slack else math.inf

    @property
    def zcdp_bound(self) -> float:
        found = self._at(1)
        return math.inf if found is None else found.zcdp_bound

    @property
    def gdp_bound(self) -> float:
        found = self._at(1)
        return math.inf if found is None else found.gdp_bound

    @property
    def range_bound(self) -> float:
        found = self._at(1)
        return math.inf if found is None else found.range_bound

    def group(self, k: Exact) -> MetricDP:
        """Say it in units of k, of pairs at distance k: (kε, kδ). A group is a distance."""
        r = Fraction(positive("a distance", k))
        return MetricDP(r * Fraction(self.loss), r * Fraction(self.slack), relation=self.relation)

    def disclosure(self) -> tuple[Exact, Guarantee]:
        """δ per unit of distance, and the pure promise; basic composition adds them up apart."""
        return self.slack, MetricDP(self.loss, relation=self.relation) if self.slack else self

    def folded(self, times: int, onto: Guarantee | None) -> MetricDP:
        """(Σε, Σδ): at each pair basic composition [DMNS06; KOV15 Thm 3.1], adaptively too."""
        before = (onto.loss, onto.slack) if isinstance(onto, MetricDP) else (0, 0)
        return MetricDP(
            Fraction(before[0]) + times * Fraction(self.loss),
            Fraction(before[1]) + times * Fraction(self.slack),
            relation=self.relation,
        )

    def implied_by(self, other: Guarantee) -> bool:
        return isinstance(other, MetricDP) and other.loss <= self.loss and other.slack <= self.slack

    def described(self) -> tuple[object, ...]:
        return (self.loss, self.slack) if self.slack else (self.loss,)
