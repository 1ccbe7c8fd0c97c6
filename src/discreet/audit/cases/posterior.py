"""Cases of one posterior draw: Direct, Diffused and Concentrated over every family with a proved pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit import posterior_pairs as pairs
from discreet.audit.case import Case, Cases
from discreet.audit.posterior_pairs import Neighbours
from discreet.catalogue import ROWS, ModelRow
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.family import Family
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.laws.beta import BetaLaw
from discreet.families.laws.gamma import GammaLaw
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.mechanisms.posterior.draw import PosteriorDraw, simulate
from discreet.mechanisms.posterior.statistical_query import GRID, StatisticalQuery, query_model
from discreet.mechanisms.registry import MECHANISMS, single_draws
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.sampling.source import Source

case = Cases()

N = 4  # records: few, so that one of them is visible
UPPER = 2  # of counts
HALF = Fraction(1, 2)

# Each family: a model, and the neighbours of one draw when the prior is multiplied by f and records weigh r.
FAMILIES: dict[str, tuple[Family, Callable[[float, float], Iterator[Neighbours]]]] = {
    "beta": (BetaBernoulli(2, 3), lambda f, r: pairs.bernoulli(2 * f, 3 * f, n=N, r=r)),
    "binomial": (
        BetaBinomial(2, 3, UPPER),
        lambda f, r: binomial_ends(2 * f, 3 * f, r),
    ),
    "geometric": (
        BetaGeometric(2, 3, UPPER),
        lambda f, r: pairs.geometric(2 * f, 3 * f, n=N, r=r, upper=UPPER),
    ),
    "dirichlet": (
        DirichletCategorical([4, 1.5, 2]),
        lambda f, r: pairs.categorical([4 * f, 1.5 * f, 2 * f], n=N, r=r),
    ),
    "gamma_poisson": (
        GammaPoisson(3, 2, UPPER),
        lambda f, r: pairs.poisson(3 * f, 2 * f, n=N, r=r, upper=UPPER),
    ),
    "gamma_exponential": (
        GammaExponential(2, 4, 1, grid=Fraction(1, 8)),
        lambda f, r: pairs.waiting((2 * f, 4 * f), n=N, r=r, upper=1.0, steps=8),
    ),
    "normal_mean": (
        NormalMean(0, 4, Fraction(1, 8), 0, 1, grid=Fraction(1, 8)),
        lambda f, r: pairs.normal_mean(4 * f, 0.125, n=N, r=r, width=1.0, steps=8),
    ),
}


def ends(model: BetaLaw | GammaLaw, factor: float, weight: float) -> Iterator[Neighbours]:
    """One record at either bound, the others at the lower one, where that moves one parameter of the law."""
    low, high = N * model.lattice.low, (N - 1) * model.lattice.low + model.lattice.high
    prior = model.scale_prior(Fraction(factor))
    members = {s: prior.update([s], N, weight=Fraction(weight)) for s in (low, high)}
    for s, t in ((low, high), (high, low)):
        (a, b), (c, d) = (_parameters(members[s]), _parameters(members[t]))
        if isinstance(model, GammaLaw):
            yield pairs.gamma_neighbours((a, b), (c, d), ([s], [t]))
        elif a == c:
            yield pairs.mirrored(pairs.side((b, a), (d, c), ([s], [t])))
        else:
            yield pairs.side((a, b), (c, d), ([s], [t]))


def _parameters(law: BetaLaw | GammaLaw) -> tuple[float, float]:
    exact = (law.alpha, law.beta) if isinstance(law, BetaLaw) else (law.shape, law.rate)
    return float(exact[0]), float(exact[1])


def _from_the_catalogue(row: ModelRow) -> tuple[Family, Callable[[float, float], Iterator[Neighbours]]]:
    model = row.load("model")(**row.examples[0].prior)
    return model, partial(ends, model)


# A family without pairs of its own is audited at its bounds.
FAMILIES |= {
    row.audit: _from_the_catalogue(row) for row in ROWS.values() if row.audit and row.audit not in FAMILIES
}


def binomial_ends(alpha: float, beta: float, r: float) -> Iterator[Neighbours]:
    """One record of `UPPER` trials all failed or all succeeded, the others all alike, both directions."""
    step = r * UPPER
    for k in (0, N - 1):
        a, b = alpha + step * k, beta + step * (N - 1 - k)
        low, high = [UPPER * k], [UPPER * (k + 1)]
        yield pairs.beta_neighbours(a, b, step, (high, low))
        yield pairs.mirrored(pairs.beta_neighbours(b, a, step, (low, high)))


def drawn(
    mechanism: PosteriorDraw, counted: tuple[list[int], int | None], runs: int, source: Source
) -> NDArray[Any]:
    """Draw on a statistic and, where it is private, a number of records."""
    return simulate(mechanism, counted[0], runs, source, count=counted[1])


def posterior_case(
    mechanism: PosteriorDraw, neighbours: Iterator[Neighbours], *, epsilon: float = 0.5
) -> Case:
    """Audit the pair whose own profile is largest at ε."""
    worst = max(neighbours, key=lambda pair: pair.delta(epsilon))
    return Case(
        mechanism.guarantee,
        partial(drawn, mechanism),
        ((worst.left, worst.counts[0]), (worst.right, worst.counts[1])),
        worst.event(epsilon),
        worst.delta,
        epsilon,
        exact_renyi=worst.renyi,
    )


# Each mechanism over a family: what the prior is multiplied by, and what a record weighs.
DRAWS: dict[str, tuple[Callable[..., PosteriorDraw], float, float]] = {
    name: (partial(cast("Any", MECHANISMS[name]), n=N, **draw.knobs), draw.prior, draw.record)
    for name, draw in single_draws().items()
}


def one_draw(kind: str, family: str) -> Case:
    (mechanism, factor, weight), (model, neighbours) = DRAWS[kind], FAMILIES[family]
    return posterior_case(mechanism(model), neighbours(factor, weight))


for kind, family in product(DRAWS, FAMILIES):
    case(f"{kind}/{family}")(partial(one_draw, kind, family))


@case("direct/add_remove")
def direct_added() -> Case:
    """Add a record to 400 failures: the limit of many is Gamma(a+1) against Gamma(a)."""
    mechanism = DirectPosterior(BetaBernoulli(2, 3), relation=ADD_REMOVE)
    neighbours = pairs.bernoulli_added(2, 3, others=400, r=1)
    return posterior_case(mechanism, neighbours)


@case("posterior_draws")
def posterior_draws() -> Case:
    """Two draws of a normal mean: μ√2, seen in their sum."""
    one = DirectPosterior(FAMILIES["normal_mean"][0], n=N)
    # μ² = 1/(σ²(κ₀+n)) = 1 for one draw; both means move by 1/8 and have variance 1/64
    mu, shift, spread = 2**0.5, 1 / 8, 1 / 64

    def twice(statistic: list[int], runs: int, source: Source) -> NDArray[Any]:
        return np.asarray(simulate(one, statistic, 2 * runs, source)).reshape(runs, 2)

    return Case(
        one.draws(2).guarantee,
        twice,
        ([8], [0]),
        lambda y: y.sum(axis=1) > shift + 1.0 * spread / shift,
        profiles.normal(mu),
    )


@case("statistical_query")
def statistical_query() -> Case:
    """φ(x) = x in [0, 1] on a grid of 2^-20: (1, 0, 0, 0) against (0, 0, 0, 0), or at the other end."""
    mechanism = StatisticalQuery(float, DiffusedPosterior(query_model(2, 3), n=N, r=HALF))
    unit = int(1 / GRID)
    ends = [
        pair for pair in pairs.bernoulli(2, 3, n=N, r=0.5) if min(pair.left[0], pair.right[0]) in (0, N - 1)
    ]
    worst = max(ends, key=lambda pair: pair.delta(0.5))
    data = [[1.0] * k + [0.0] * (N - k) for k in (worst.left[0], worst.right[0])]
    assert all(mechanism.draw.model.statistic(x)[0] == unit * sum(x) for x in data)
    left, right = (mechanism.draw.model.statistic(x).tolist() for x in data)
    return Case(
        mechanism.guarantee,
        partial(drawn, mechanism.draw),
        ((left, None), (right, None)),
        worst.event(0.5),
        worst.delta,
        epsilon=0.5,
        exact_renyi=worst.renyi,
    )
