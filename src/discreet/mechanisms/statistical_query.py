"""Statistical queries: the share of records with a property, by one Beta draw or by a noisy count."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.family import records
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.posterior import DOMINANCE, PosteriorDraw
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation
from discreet.privacy.guarantees import PureDP, ZeroCDP
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from discreet.privacy.certified import Exact
    from discreet.sampling.source import Source

GRID = Fraction(1, 2**20)  # the public grid on which a query's values in [0, 1] are summed exactly


def query_model(alpha: Exact, beta: Exact) -> BetaBernoulli:
    """Return the Beta prior of a query's mean, φ(x) ∈ [0, 1] on the grid 2^-20."""
    return BetaBernoulli(alpha, beta, grid=GRID)


@final
@dataclass(frozen=True)
class StatisticalQuery(Mechanism):
    """p ~ Beta(α + rΣφ(x), β + rΣ(1−φ(x))), one draw, Direct, Diffused or Concentrated [GSC17 Alg. 4]."""

    name: ClassVar[str] = "statistical_query"
    theorem: ClassVar[str] = f"[GSC17 Alg. 4], {DOMINANCE}; φ ∈ [0, 1] by the monotone likelihood ratio"

    query: Callable[[Any], float]
    draw: PosteriorDraw  # over query_model(α, β)

    @property
    def guarantee(self) -> Guarantee:
        return self.draw.guarantee

    def release(self, value: Iterable[Any], source: Source | None = None) -> float:
        """Answer the query on the private records with one exact draw."""
        answers = _answers(self.query, value, self.draw.n)
        return float(np.asarray(self.draw.release(self.draw.model.statistic(answers), source)))


@dataclass(frozen=True)
class _NoisyQuery(Mechanism):
    """(Σφ(x) + integer noise)/n on the grid 2^-20: one record moves the sum by at most 2^20 steps."""

    query: Callable[[Any], float]
    n: int = field(kw_only=True)
    relation: Relation = field(default=SUBSTITUTE, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", records(self.n))
        if self.relation is not SUBSTITUTE:
            raise ValueError("a query's mean divides by n, which is public only under SUBSTITUTE")

    def _noisy_mean(self, value: Iterable[Any], noise: int) -> float:
        model = query_model(1, 1)
        total = int(model.statistic(_answers(self.query, value, self.n))[0]) + noise
        return float(Fraction(total) * GRID / self.n)


@final
@dataclass(frozen=True)
class LaplaceQuery(_NoisyQuery):
    """Discrete Laplace of scale 1/ε on the sum: ε-DP [DMNS06; Ghosh, Roughgarden, Sundararajan 2012]."""

    name: ClassVar[str] = "laplace_query"
    theorem: ClassVar[str] = "discrete Laplace [DMNS06; CKS20 §2]"

    epsilon: Exact = field(kw_only=True)

    @property
    def guarantee(self) -> Guarantee:
        return PureDP(self.epsilon, relation=self.relation)

    @classmethod
    def calibrate(cls, query: Callable[[Any], float], *, n: int, target: PureDP) -> Self:
        return cls(query, n=n, epsilon=target.loss, relation=target.relation)

    def release(self, value: Iterable[Any], source: Source | None = None) -> float:
        from discreet.sampling.exact import discrete_laplace  # noqa: PLC0415 - pulls in the samplers

        scale = 1 / (GRID * Fraction(self.epsilon))
        return self._noisy_mean(value, int(discrete_laplace(source or SYSTEM, scale, 1)[0]))


@final
@dataclass(frozen=True)
class GaussianQuery(_NoisyQuery):
    """Discrete Gaussian of variance 1/(2ρ) on the sum: ρ-zCDP [CKS20 Thm 4]."""

    name: ClassVar[str] = "gaussian_query"
    theorem: ClassVar[str] = "discrete Gaussian [CKS20 Thm 4]"

    rho: Exact = field(kw_only=True)

    @property
    def guarantee(self) -> Guarantee:
        return ZeroCDP(self.rho, relation=self.relation)

    @classmethod
    def calibrate(cls, query: Callable[[Any], float], *, n: int, target: ZeroCDP) -> Self:
        return cls(query, n=n, rho=target.rho, relation=target.relation)

    def release(self, value: Iterable[Any], source: Source | None = None) -> float:
        from discreet.sampling.exact import discrete_gaussian  # noqa: PLC0415 - pulls in the samplers

        variance = 1 / (2 * GRID**2 * Fraction(self.rho))
        return self._noisy_mean(value, int(discrete_gaussian(source or SYSTEM, variance, 1)[0]))


def _answers(query: Callable[[Any], float], value: Iterable[Any], n: int | None) -> np.ndarray[Any, Any]:
    """φ over the records; errors show neither a record nor an answer."""
    try:
        answers = np.array([query(x) for x in value], dtype=np.float64)
    except Exception:  # noqa: BLE001 - whatever the query raises may carry the record
        raise ValueError("the query failed on some record; it must map every record to [0, 1]") from None
    if len(answers) != n:
        raise ValueError("the number of records is not the public n that the query was declared for")
    return answers
