"""Brute force: no neighbour moves the statistic further than claimed, and exact claims are attained."""

import itertools

import numpy as np
import pytest

from discreet.families import (
    BayesianLinearRegression,
    BetaBernoulli,
    BetaBinomial,
    BetaGeometric,
    DirichletCategorical,
    DirichletMultinomial,
    GammaExponential,
    GammaPoisson,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalMean,
)
from discreet.families.family import root_above
from discreet.families.registry import EXAMPLES, FAMILIES
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE

pairs = [list(c) for c in itertools.product(np.arange(-3, 3.5, 0.5), repeat=2)]
triples = [list(c) for c in itertools.product(range(-3, 4), repeat=3)]
multinomial = [[i, j, 4 - i - j] for i in range(5) for j in range(5 - i)]
# family, every record it can meet, which norms are exact under (SUBSTITUTE, ADD_REMOVE)
EXACT = ("l1", "l2", "linf")
CASES = [
    (BetaBernoulli(1, 1), [0, 1], EXACT, EXACT),
    (BetaBernoulli(1, 1, grid=0.25), np.arange(0, 1.1, 0.25), EXACT, EXACT),
    (BetaBinomial(1, 1, 7), range(8), EXACT, EXACT),
    (BetaGeometric(1, 1, 5), range(9), EXACT, EXACT),
    (DirichletCategorical([1, 1, 1]), range(3), EXACT, EXACT),
    (DirichletMultinomial([1, 1, 1], 4), multinomial, EXACT, EXACT),
    (GammaPoisson(1, 1, 6), range(9), EXACT, EXACT),
    (GammaExponential(1, 1, 3, grid=0.125), np.arange(0, 4, 0.06), EXACT, EXACT),
    (NormalMean(0, 1, 1, -1.3, 2.2, grid=0.25), np.arange(-3, 3, 0.05), EXACT, EXACT),
    (NormalMean(0, 1, 1, 2, 3, grid=0.25), np.arange(1, 4, 0.05), EXACT, EXACT),
    (NormalInverseGamma(0, 1, 1, 1, -1.3, 2.2, grid=0.25), np.arange(-3, 3, 0.05), EXACT, EXACT),
    (NormalInverseWishart([0, 0], 1, 2, [[1, 0], [0, 1]], 3, grid=0.5), pairs, ("linf",), ("l2", "linf")),
    (
        BayesianLinearRegression([0, 0], [[1, 0], [0, 1]], 1, 1, 3, grid=1),
        triples,
        ("l2", "linf"),
        ("l2", "linf"),
    ),
]
# A family without a line here is held to its claim by the records of its row.
CASES += [
    (prior, data, (), ()) for prior, data in EXAMPLES if type(prior) not in {type(case[0]) for case in CASES}
]


def _norms(moves):
    return {
        "l1": np.abs(moves).sum(axis=1).max(),
        "l2": np.sqrt((moves.astype(float) ** 2).sum(axis=1)).max(),
        "linf": np.abs(moves).max(),
    }


def _hold(claim, moves, exact):
    for name, worst in _norms(moves).items():
        claimed = getattr(claim, name)
        assert worst <= claimed * (1 + 1e-15), name
        if name in exact:
            assert worst == pytest.approx(claimed, rel=1e-12), name


@pytest.mark.parametrize(
    ("family", "records", "exact", "exact_alone"), CASES, ids=lambda x: getattr(x, "name", "")
)
def test_no_neighbour_moves_further(family, records, exact, exact_alone):
    alone = np.array([family.statistic([x]) for x in records])
    moves = (alone[:, None] - alone[None]).reshape(-1, alone.shape[1])
    _hold(family.sensitivity(SUBSTITUTE), moves, exact)
    _hold(family.sensitivity(ADD_REMOVE), alone, exact_alone)
    joint = np.array([family.joint(s, 1) for s in alone]) - family.joint(0 * alone[0], 0)
    _hold(family.joint_sensitivity(), joint, ("linf",))
    for relation, steps in ((SUBSTITUTE, moves), (ADD_REMOVE, alone)):  # Gaussian noise, in units of each one
        worst = np.sqrt((steps.astype(float) ** 2 / family.noise_shares).sum(axis=1)).max()
        assert worst <= family.sensitivity(relation).l2 * (1 + 1e-15)


@pytest.mark.parametrize(
    ("family", "records", "exact", "exact_alone"), CASES, ids=lambda x: getattr(x, "name", "")
)
def test_random_tables_and_their_neighbours(family, records, exact, exact_alone):
    """One record's effect does not depend on the others: the statistic is a sum, whatever the table."""
    rng, pool = np.random.default_rng(8), list(records)
    table = [pool[i] for i in rng.integers(len(pool), size=6)]
    base = family.statistic(table)
    swapped = [
        family.statistic([*table[:i], pool[j], *table[i + 1 :]])
        for i in range(6)
        for j in range(0, len(pool), 3)
    ]
    _hold(family.sensitivity(SUBSTITUTE), np.array(swapped) - base, ())
    shorter = [family.statistic(table[:i] + table[i + 1 :]) for i in range(6)]
    _hold(family.sensitivity(ADD_REMOVE), np.array(shorter) - base, ())
    joint = np.array([family.joint(s, 5) for s in shorter]) - family.joint(base, 6)
    _hold(family.joint_sensitivity(), joint, ())


def test_every_family_is_here():
    assert {type(c[0]) for c in CASES} == set(FAMILIES.values())


def test_moments_are_exact_for_every_small_range():
    """The interior candidates of Normal–inverse-gamma, against every pair of every range up to 70 steps."""
    for width in [*range(1, 40), 57, 64, 65, 70]:
        family = NormalInverseGamma(0, 1, 1, 1, 0, width, grid=1)
        alone = np.array([family.statistic([x]) for x in range(width + 1)])
        moves = (alone[:, None] - alone[None]).reshape(-1, 2)
        _hold(family.sensitivity(SUBSTITUTE), moves, EXACT)
        _hold(family.sensitivity(ADD_REMOVE), alone, EXACT)


def test_a_smaller_claim_would_be_caught():
    family = NormalInverseGamma(0, 1, 1, 1, 0, 20, grid=1)
    alone = np.array([family.statistic([x]) for x in range(21)])
    moves = (alone[:, None] - alone[None]).reshape(-1, 2)
    assert _norms(moves)["l2"] > 0.999 * family.sensitivity(SUBSTITUTE).l2
    assert _norms(moves)["l1"] > 0.999 * family.sensitivity(SUBSTITUTE).l1


def test_roots_are_rounded_up():
    from fractions import Fraction

    for x in (2, 3, 5, 2 * (2**30 - 35) ** 2, 10**30 + 1):
        root = root_above(Fraction(x))
        assert Fraction(root) ** 2 >= x > Fraction(np.nextafter(np.nextafter(root, 0), 0)) ** 2
