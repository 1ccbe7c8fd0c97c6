"""One posterior draw under a metric: θ from a bounded set on which the likelihood is Lipschitz [D14]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.exact_fields import rational
from discreet.families.family import public_size, records
from discreet.families.gamma_exponential import GammaExponential
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.mechanisms.posterior.network_sample import OneNetworkSample
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.models.bayes_net import BayesianNetwork
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.bounded_loss import PureDP
from discreet.privacy.guarantee import Guarantee, NotProved, Relation, Unreachable
from discreet.privacy.under_metric import lipschitz
from discreet.privacy.under_metric.distances import (
    AbsoluteDifference,
    Hamming,
    Metric,
    Steps,
    TotalDifference,
)
from discreet.privacy.under_metric.lipschitz import Lipschitz
from discreet.privacy.under_metric.promise import MetricDP
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True, kw_only=True)
class MetricSample(ModelMechanism):
    """θ ~ prior × likelihood^(1/T) on a bounded set: (W/T, 0)-private under a metric, W ≤ 2L [D14, Thm 2(i)].

    `truncation` bounds the set: the least probability of a Bernoulli, categories or a network, and the
    largest rate of exponential waits. One draw a charge; of q draws the costs add up.
    """

    name: ClassVar[str] = "metric_sample"
    theorem: ClassVar[str] = "D14 Thm 2(i), Lemma 1 without its factor n; spread of the log ratio over θ"

    model: Any
    n: int | None = None
    truncation: Exact
    temperature: Exact = 1
    relation: Relation

    def __post_init__(self) -> None:
        if not rational(self.temperature, what="temperature") >= 1:
            raise ValueError(f"temperature must be at least 1, got {self.temperature!r}")
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        _ = self.lipschitz  # a metric for which nothing is proved is refused here, not at the release

    @classmethod
    def calibrate(cls, model: Any, *, target: Guarantee, truncation: Exact, n: int | None = None) -> Self:  # noqa: ANN401 - models of several kinds
        """Least temperature, as an exact rational, whose promise meets a MetricDP target."""
        if not isinstance(target, MetricDP):
            raise NotProved(
                f"{cls.name} promises MetricDP(ε, 0, metric), and the target is {target}: for neighbours ask "
                "for one_posterior_sample"
            )
        cold = cls(model=model, n=n, truncation=truncation, relation=target.relation)
        heat = max(Fraction(1), Fraction(cold.lipschitz.spread) / Fraction(target.loss))
        if by_records(cold):  # what one record can do at this n is less
            near = OnePosteriorSample.calibrate(model, n=n, target=PureDP(target.loss), truncation=truncation)
            heat = min(heat, rational(near.temperature, what="temperature"))
        ready = cls(model=model, n=n, truncation=truncation, temperature=heat, relation=target.relation)
        if not ready.guarantee <= target:
            raise Unreachable(f"no temperature is proved to meet {target}")
        return ready

    @cached_property
    def lipschitz(self) -> Lipschitz:
        """What is proved of one record under the metric, before tempering."""
        known = constants(self.model, rational(self.truncation, what="truncation"), self.relation)
        found = {one.metric.relation: one for one in known}
        if self.relation not in found:
            listed = "; ".join(relation.name for relation in found)
            raise NotProved(
                f"for {type(self.model).__name__} constants are proved under: {listed}; got "
                f"{self.relation.name}"
            )
        return found[self.relation]

    @cached_property
    def guarantee(self) -> MetricDP:
        """W/T per unit of distance, W rounded up; less where one record of n is known to do less.

        Where any pair at distance r is joined by r replacements of one record, so are the log ratios: the
        exact worst case of one replacement among n bounds each of them [theory §12].
        """
        loss = Fraction(self.lipschitz.spread) / rational(self.temperature, what="temperature")
        if by_records(self):
            loss = min(loss, Fraction(between_neighbours(self).pure.loss))
        return MetricDP(loss, relation=self.relation)

    @property
    def knob(self) -> tuple[str, float]:
        return "T", float(self.temperature)

    def release(self, value: ArrayLike, source: Source | None = None, *, count: int | None = None) -> Any:  # noqa: ANN401
        """Draw θ once, exactly; the number of records is public."""
        if count is not None:
            raise ValueError("the number of records is public under a metric: leave count out")
        return drawn(self.model, self, value, source or SYSTEM)


# ── Lipschitz constants of the models that can be drawn, each with the metrics that they are proved for.
@singledispatch
def constants(model: object, bound: Fraction, asked: Relation) -> tuple[Lipschitz, ...]:
    del bound, asked
    raise NotProved(
        f"no Lipschitz constant is proved for {type(model).__name__}: Bernoulli, binomial, categorical and "
        "exponential families and Bayesian networks have one"
    )


def on_numbers(grid: Fraction) -> tuple[Metric, ...]:
    return AbsoluteDifference(grid), TotalDifference(grid)


@constants.register
def _of_bernoulli(model: BetaBernoulli, bound: Fraction, asked: Relation) -> tuple[Lipschitz, ...]:
    del asked
    metrics = (*on_numbers(model.grid), Hamming())  # a record moves by 1 at most
    return tuple(lipschitz.bernoulli(bound, metric) for metric in metrics)


@constants.register
def _of_binomial(model: BetaBinomial, bound: Fraction, asked: Relation) -> tuple[Lipschitz, ...]:
    del model, asked
    return tuple(lipschitz.bernoulli(bound, metric) for metric in on_numbers(Fraction(1)))


@constants.register
def _of_categories(model: DirichletCategorical, bound: Fraction, asked: Relation) -> tuple[Lipschitz, ...]:
    del asked
    return (lipschitz.categorical(bound, int(np.size(model.alpha))),)


@constants.register
def _of_waits(model: GammaExponential, bound: Fraction, asked: Relation) -> tuple[Lipschitz, ...]:
    """Count Δ as whole steps of the grid: rounding to it commutes with moving by them."""
    found = [lipschitz.exponential(bound, metric) for metric in on_numbers(model.grid)]
    within = Steps.of(asked)
    if within is not None and (within / model.grid).denominator == 1:
        found.append(lipschitz.exponential(bound * within, Steps(within)))
    return tuple(found)


@constants.register
def _of_network(model: BayesianNetwork, bound: Fraction, asked: Relation) -> tuple[Lipschitz, ...]:
    del asked
    return (lipschitz.network(bound, model.size_of, model.parents),)


def by_records(sample: MetricSample) -> bool:
    """Whether every pair at distance r is joined by r replacements of one record each.

    Under Hamming by definition. Of records that are 0 or 1 also under differences: the draw reads their sum
    alone, and two sums that differ by r are r replacements apart.
    """
    model = sample.model
    if sample.relation == Hamming().relation:
        return isinstance(model, BetaBernoulli | DirichletCategorical)
    whole = [metric.relation for metric in on_numbers(Fraction(1))]
    return isinstance(model, BetaBernoulli) and model.grid == 1 and sample.relation in whole


# ── Draws: the posterior samplers that are exact already, on the same bounded set.
@singledispatch
def drawn(model: object, sample: MetricSample, value: ArrayLike, source: Source) -> Any:  # noqa: ANN401
    """Draw from a family on the simplex."""
    del model
    return between_neighbours(sample).release(value, source)


def between_neighbours(sample: MetricSample) -> OnePosteriorSample:
    """Return the mechanism that makes the same draw on the simplex and promises it to neighbours."""
    return OnePosteriorSample(
        sample.model, n=sample.n, truncation=sample.truncation, temperature=sample.temperature
    )


@drawn.register
def _drawn_network(model: BayesianNetwork, sample: MetricSample, value: ArrayLike, source: Source) -> Any:  # noqa: ANN401
    known = {"n": sample.n, "truncation": sample.truncation, "temperature": sample.temperature}
    return OneNetworkSample(model, **known).release(value, source)  # type: ignore[arg-type]


@drawn.register
def _drawn_waits(model: GammaExponential, sample: MetricSample, value: ArrayLike, source: Source) -> float:
    return float(waits_drawn(model, sample, value, 1, source)[0])


def waits_drawn(
    model: GammaExponential, sample: MetricSample, value: ArrayLike, size: int, source: Source
) -> Any:  # noqa: ANN401
    """Gamma(α + n/T, β + Σx/T) on (0, M]; several at once only for audits. PRIVATE unless paid for."""
    from discreet.sampling import exact  # noqa: PLC0415 - loads the exact samplers on first use

    n, weight = records(sample.n), 1 / rational(sample.temperature, what="temperature")
    law = model.update(model.check(value, n), n, weight=weight)
    return exact.truncated_gamma(source, law.shape, law.rate, sample.truncation, size)
