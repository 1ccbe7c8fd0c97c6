"""Worst pairs against brute force over small neighbouring tables, and clear refusals where none is proved."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

from discreet.catalogue import FAMILY, ROWS, names
from discreet.families import (
    BetaBernoulli,
    BetaBinomial,
    BetaGeometric,
    DirichletCategorical,
    DirichletMultinomial,
    GammaExponential,
    GammaPoisson,
    NormalMean,
)
from discreet.families.registry import EXAMPLES
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, NotProved
from discreet.privacy.worst_pairs.pairs import (
    BetaPairs,
    BetaSidePairs,
    DirichletPairs,
    GammaRatePairs,
    GammaShapePairs,
    NormalPair,
)


def _renyi(order, p, q):
    """D_α = [C(αη_P + (1−α)η_Q) − αC(η_P)]/(α−1) + C(η_Q) [theory §1], ∞ where not normalizable."""
    try:
        mixed = p.from_natural(order * p.natural + (1 - order) * q.natural)
    except ValueError:
        return np.inf
    return (mixed.log_partition() - order * p.log_partition()) / (order - 1) + q.log_partition()


def _hockey_stick(epsilon, p, q):
    low, high = np.array([p.interval(1 - 2e-12), q.interval(1 - 2e-12)]).T
    gap = lambda t: max(np.exp(p.log_density(t)) - np.exp(epsilon + q.log_density(t)), 0.0)  # noqa: E731
    cuts = np.linspace(low.min(), high.max(), 9)
    return sum(quad(gap, a, b, limit=300, epsabs=1e-9)[0] for a, b in itertools.pairwise(cuts))


def _neighbours(prior, records, n, step):
    """All pairs of posteriors of tables that differ in one record; tables matter only through their sums."""
    pool = [prior.statistic([x]) for x in records]
    for others in itertools.combinations_with_replacement(range(len(pool)), n - 1):
        rest = sum((pool[i] for i in others), 0 * pool[0])
        members = [prior.update(rest + s, n, weight=step) for s in pool]
        yield from itertools.permutations(members, 2)


CASES = [  # prior, records that include the worst, n, step
    (BetaBernoulli(2, 3), [0, 1], 4, 1),
    (BetaBernoulli(0.75, 0.5), [0, 1], 3, 0.25),
    (BetaBernoulli(2, 3, grid=0.25), [0, 0.25, 0.75, 1], 3, 1),
    (BetaBinomial(2, 3, 3), range(4), 3, 0.5),
    (BetaGeometric(2, 3, 4), range(5), 3, 0.5),
    (DirichletCategorical([2, 3]), range(2), 4, 1),
    (DirichletCategorical([4, 2, 3]), range(3), 3, 1),
    (DirichletCategorical([1, 1.5, 0.75, 2]), range(4), 3, 0.25),
    (GammaPoisson(5, 2, 4), range(5), 3, 1),
    (GammaExponential(5, 2, 4), [0, 1, 4], 3, 1),
    (NormalMean(0.5, 2, 2.25, -4, 6), [-4, 0, 1, 6], 3, 1),
]
PROVED = {name for name in names(FAMILY) if "direct" not in ROWS[name].cannot}
# A family without a line here is tried on the example of its row, whose records include both bounds.
CASES += [
    (prior, sorted(data), 3, 0.5)
    for prior, data in EXAMPLES
    if prior.name in PROVED - {case[0].name for case in CASES}
]
cases = pytest.mark.parametrize(
    ("prior", "records", "n", "step"), CASES, ids=lambda x: getattr(x, "name", "")
)


@cases
def test_renyi_is_the_brute_force_maximum(prior, records, n, step):
    worst = prior.worst_case(n, step=step, relation=SUBSTITUTE)
    pairs = list(_neighbours(prior, records, n, step))
    for order in (1.25, 1.5, 2.0):
        if order >= worst.order_limit:
            continue
        found = max(_renyi(order, p, q) for p, q in pairs)
        assert found == pytest.approx(float(worst.renyi(order)), rel=1e-9)
    if worst.order_limit < 1000:
        beyond = max(_renyi(worst.order_limit * 1.001, p, q) for p, q in pairs)
        assert beyond == np.inf


@pytest.mark.slow
@cases
def test_profile_is_an_upper_bound_of_every_pair(prior, records, n, step):
    """Attained, except where the class says it is a bound (geometric)."""
    if np.ndim(prior.mean()):
        return  # the coordinate marginals of a Dirichlet are tested by its Rényi curve
    worst = prior.worst_case(n, step=step, relation=SUBSTITUTE)
    pairs = list(_neighbours(prior, records, n, step))[::11]
    pairs += list(_neighbours(prior, [records[0], records[-1]], n, step))  # the ends hold the worst
    for epsilon in (0.25, 1.0):
        found = max(_hockey_stick(epsilon, p, q) for p, q in pairs)
        claimed = float(worst.delta(epsilon))
        assert found <= claimed + 1e-7
        if not isinstance(worst, BetaSidePairs):
            assert found == pytest.approx(claimed, abs=1e-6)


def test_add_remove_bounds_every_size_and_is_approached():
    """Gamma(a+r) against Gamma(a): the supremum over tables of any size, where it is proved."""
    for prior, records in (
        (BetaBernoulli(2, 3), [0, 1]),
        (BetaBinomial(2, 3, 1), [0, 1]),
        (DirichletCategorical([4, 2, 3]), [0, 1, 2]),
        (DirichletMultinomial([4, 2, 3], 1), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    ):
        worst = prior.worst_case(None, relation=ADD_REMOVE)
        assert worst == GammaShapePairs(Fraction(2), Fraction(1))
        claimed, seen = float(worst.renyi(2.0)), 0.0
        for size, bulk_of, x in itertools.product((0, 1, 2, 50, 5000), records, records):
            bulk = size * prior.statistic([bulk_of])
            p, q = prior.update(bulk, size), prior.update(bulk + prior.statistic([x]), size + 1)
            seen = max(seen, _renyi(2.0, p, q), _renyi(2.0, q, p))
        assert seen <= claimed * (1 + 1e-9)
        assert seen > 0.999 * claimed


def test_the_pairs_as_specified():
    r = Fraction(1, 2)
    assert BetaBernoulli(6, 12).worst_case(10, relation=SUBSTITUTE) == BetaPairs(6, 12, 1, 9, 1)
    assert BetaBernoulli(6, 12, grid=0.25).worst_case(10, relation=SUBSTITUTE) == BetaPairs(
        6, 12, 1, 9, Fraction(1, 4)
    )
    assert BetaBinomial(6, 12, 5).worst_case(10, step=r, relation=SUBSTITUTE) == BetaPairs(
        6, 12, Fraction(5, 2), Fraction(45, 2), r
    )
    assert BetaGeometric(6, 12, 5).worst_case(10, step=r, relation=SUBSTITUTE) == BetaSidePairs(
        11, 12, Fraction(5, 2)
    )
    assert DirichletCategorical([5, 1, 9, 2]).worst_case(3, relation=SUBSTITUTE) == DirichletPairs(1, 2, 1)
    assert DirichletCategorical([5, 1, 1]).worst_case(3, relation=SUBSTITUTE) == DirichletPairs(1, 1, 1)
    third = [Fraction(1, 3), 5, Fraction(1, 7)]
    found = DirichletCategorical(third).worst_case(1, relation=SUBSTITUTE)
    assert found == DirichletPairs(Fraction(1, 7), Fraction(1, 3), 1)
    assert DirichletCategorical([5, 1]).worst_case(3, relation=SUBSTITUTE) == BetaPairs(1, 5, 1, 2, 1)
    assert GammaPoisson(3, 2, 7).worst_case(9, step=r, relation=SUBSTITUTE) == GammaShapePairs(
        3, Fraction(7, 2)
    )
    assert GammaExponential(3, 2, 7).worst_case(9, relation=SUBSTITUTE) == GammaRatePairs(2, 7, 12)
    # the bounds count as quantised: 0.3 on a grid of 1/4 is 1/4
    coarse = GammaExponential(3, 2, Fraction(3, 10), grid=0.25)
    assert coarse.worst_case(9, relation=SUBSTITUTE) == GammaRatePairs(2, Fraction(1, 4), 12)
    mean = NormalMean(0, 2, Fraction(9, 4), -4, 6)
    assert mean.worst_case(7, step=r, relation=SUBSTITUTE) == NormalPair(
        25 / (Fraction(9, 4) * Fraction(11, 2))
    )


@pytest.mark.parametrize(("prior", "data"), EXAMPLES, ids=lambda x: getattr(x, "name", ""))
@pytest.mark.parametrize("relation", [SUBSTITUTE, ADD_REMOVE])
def test_what_is_not_proved_is_refused_and_says_what_is(prior, data, relation):
    proved = {
        SUBSTITUTE: PROVED,
        ADD_REMOVE: {"beta_bernoulli", "dirichlet_categorical"},
    }[relation]
    fractions = prior.name == "beta_bernoulli" and prior.grid != 1 and relation is ADD_REMOVE
    if prior.name in proved and not fractions:
        assert prior.worst_case(5, relation=relation).order_limit > 1
    else:
        with pytest.raises(NotProved, match="NoisyStatistics covers it"):
            prior.worst_case(5, relation=relation)
