"""Statistical queries: the share of records with a property, by one Beta draw or by a noisy count."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.family import records
from discreet.mechanisms.mechanism import Mechanism, largest_budget
from discreet.mechanisms.noise.gaussian import DiscreteGaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace
from discreet.mechanisms.posterior.draw import DOMINANCE, PosteriorDraw
from discreet.mechanisms.user_functions import NUMERIC, made_up, private_answer, rehearse
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation
from discreet.privacy.kinds import PureDP, ZeroCDP
from discreet.sampling.source import Source

STEPS = 2**20  # of the public grid on which a query's values in [0, 1] are summed exactly
GRID = Fraction(1, STEPS)


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
    example: Any = field(default=None, kw_only=True, compare=False)  # a made-up record to try the query on

    def __post_init__(self) -> None:
        if not (isinstance(self.draw.model, BetaBernoulli) and self.draw.model.grid <= GRID):
            raise ValueError("the draw must be over query_model(α, β), whose grid holds values in [0, 1]")

    @property
    def guarantee(self) -> Guarantee:
        return self.draw.guarantee

    def release(self, value: Iterable[Any], source: Source | None = None) -> float:
        """Answer the query on the private records with one exact draw."""
        answers = _answers(self.query, value, self.draw.n, self.example)
        return float(np.asarray(self.draw.release(self.draw.model.statistic(answers), source)))


@dataclass(frozen=True)
class _NoisyQuery(Mechanism):
    """(Σφ(x) + integer noise)/n on the grid 2^-20: one record moves the sum by at most 2^20 steps."""

    query: Callable[[Any], float]
    n: int = field(kw_only=True)
    example: Any = field(default=None, kw_only=True, compare=False)  # a made-up record to try the query on
    relation: Relation = field(default=SUBSTITUTE, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", records(self.n))
        if self.relation is not SUBSTITUTE:
            raise ValueError("a query's mean divides by n, which is public only under SUBSTITUTE")
        _ = self.noise  # a budget whose noise would not fit is refused here, not at the release

    @property
    @abstractmethod
    def noise(self) -> DiscreteLaplace | DiscreteGaussian:
        """The integer noise on the sum, in steps of the grid."""

    def release(self, value: Iterable[Any], source: Source | None = None) -> float:
        """Answer with the noisy sum over n."""
        total = query_model(1, 1).statistic(_answers(self.query, value, self.n, self.example))
        return float(Fraction(int(self.noise.releases(int(total[0]), 1, source)[0])) * GRID / self.n)


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

    @property
    def noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(STEPS, STEPS / Fraction(self.epsilon), relation=self.relation)

    @classmethod
    def calibrate(cls, query: Callable[[Any], float], *, n: int, target: Guarantee) -> Self:
        """Spend the largest ε that is proved to meet the target."""
        best = largest_budget(lambda e: PureDP(e, relation=target.relation), target)
        return cls(query, n=n, epsilon=best, relation=target.relation)


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

    @property
    def noise(self) -> DiscreteGaussian:
        return DiscreteGaussian(STEPS, STEPS**2 / (2 * Fraction(self.rho)), relation=self.relation)

    @classmethod
    def calibrate(cls, query: Callable[[Any], float], *, n: int, target: Guarantee) -> Self:
        """Spend the largest ρ that is proved to meet the target."""
        best = largest_budget(lambda rho: ZeroCDP(rho, relation=target.relation), target)
        return cls(query, n=n, rho=best, relation=target.relation)


def _answers(
    query: Callable[[Any], float], value: Iterable[Any], n: int | None, example: object
) -> np.ndarray[Any, Any]:
    """φ over the records; where it fails the answer is 0: an error would tell of a record, unpaid.

    The query is tried first, on the example or, where the records are an array of numbers, on a made-up one.
    """
    if example is None and isinstance(value, np.ndarray) and value.dtype.kind in NUMERIC:
        example = made_up(value.shape[1:], value.dtype)[()]
    if example is not None:
        rehearse(query, example)
    rows = value.copy() if isinstance(value, np.ndarray) else value  # a query may write into what it is given
    answers = np.array([private_answer(query, x, 0.0) for x in rows], dtype=np.float64)
    if len(answers) != n:
        raise ValueError("the number of records is not the public n that the query was declared for")
    return answers
