"""Every kernel leaves its tempered posterior as it is: against enumeration, against quadrature."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mcmc.annealed import AnnealedImportance
from discreet.mcmc.barker import Barker
from discreet.mcmc.metropolis import Metropolis
from discreet.mcmc.mixture import Mixture
from discreet.mcmc.mixture_gibbs import MixtureGibbs
from discreet.mcmc.proposals import CoordinateWalk, SimplexWalk
from discreet.mcmc.target import CellTarget, SimplexTarget
from discreet.sampling.source import SeededSource

HEAT = Fraction(3, 2)
COUNTS = np.array([3, 1, 2])
ROWS = np.log([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8], [0.25, 0.5, 0.25]])
PRIOR = np.log([0.1, 0.4, 0.3, 0.2])
WALK = CoordinateWalk(1, 1)  # to a neighbour on the line, or nowhere, a third each


def drawn_row(source):
    edges = np.cumsum(np.exp(PRIOR))[:-1]
    return [float(np.searchsorted(edges, int(source.words(1)[0]) / 2**64))]


TARGET = CellTarget(
    columns=("x",),
    shape=(3,),
    labels=("row",),
    log_likelihood=lambda t: ROWS[int(t[0])],
    log_prior_density=lambda t: PRIOR[int(t[0])] if t[0] in {0, 1, 2, 3} else -math.inf,
    draw_prior=drawn_row,
    lower=-3,
    upper=0,
)
BARKER = Barker(target=TARGET, walk=WALK, temperature=HEAT)
METROPOLIS = Metropolis(target=TARGET, walk=WALK, temperature=HEAT, delta=0.99)
ACCEPT = {"barker": lambda u: 1 / (1 + math.exp(-u)), "metropolis": lambda u: min(1.0, math.exp(u))}


def posterior(heat):
    weights = np.exp(PRIOR + ROWS @ COUNTS / float(heat))
    return weights / weights.sum()


def transition(kernel, heat):
    """Enumerate: propose ±1 or stay with ⅓ each, accept by the kernel's rule."""
    matrix = np.zeros((4, 4))
    for a, b in itertools.permutations(range(4), 2):
        if abs(a - b) == 1:
            u = TARGET.log_odds((np.array([float(a)]), np.array([float(b)])), COUNTS, heat, WALK.width)
            matrix[a, b] = ACCEPT[kernel.name](float(u)) / 3
    return matrix + np.diag(1 - matrix.sum(axis=1))


@pytest.mark.parametrize("kernel", [BARKER, METROPOLIS], ids=lambda k: k.name)
def test_the_tempered_posterior_is_stationary_by_enumeration(kernel):
    law, matrix = posterior(HEAT), transition(kernel, HEAT)
    assert law @ matrix == pytest.approx(law, abs=1e-9)  # likelihoods are rounded to 2⁻³²
    assert posterior(1) @ matrix != pytest.approx(posterior(1), abs=1e-3)  # negative control: not tempered


@pytest.mark.parametrize("kernel", [BARKER, METROPOLIS], ids=lambda k: k.name)
def test_steps_have_the_enumerated_law(kernel):
    # χ² over 3 cells from the middle state, 1500 steps: 20 is exceeded with probability 5e-5 (2 degrees)
    source, state, heat, runs = SeededSource(31), np.array([1.0]), Fraction(20), 1500
    hot = kernel.at(heat)
    seen = np.bincount([int(hot.step(state, COUNTS, source)[0]) for _ in range(runs)], minlength=4)

    def distance(row):
        held = row > 0
        return ((seen - runs * row)[held] ** 2 / (runs * row[held])).sum()

    assert distance(transition(kernel, heat)[1]) < 20
    other = METROPOLIS if kernel is BARKER else BARKER
    assert distance(transition(other, heat)[1]) > 20  # negative control: the other rule


def test_a_chain_on_the_simplex_against_quadrature():
    # 4 standard errors by batch means (50 batches, t₄₉: chance 2e-4); half the heat is rejected
    target = SimplexTarget(column="x", alpha=(2, 1), truncation=Fraction(1, 20))
    kernel = Barker(target=target, walk=SimplexWalk(Fraction(1, 2)), temperature=2)
    source, counts = SeededSource(32), np.array([12, 4])
    state, draws = kernel.init(source), []
    for _ in range(4000):
        state = kernel.step(state, counts, source)
        draws.append((state[0] - 0.7) ** 2)
    grid = 0.05 + (np.arange(20_000) + 0.5) / 20_000 * 0.9

    def spread(heat):
        weights = grid ** (1 + 12 / heat) * (1 - grid) ** (4 / heat)
        return ((grid - 0.7) ** 2 * weights).sum() / weights.sum()

    batches = np.array(draws).reshape(50, -1).mean(axis=1)
    error = batches.std(ddof=1) / math.sqrt(50)
    assert abs(batches.mean() - spread(2)) < 4 * error
    assert abs(batches.mean() - spread(1)) > 4 * error


def test_a_mixture_chain_against_quadrature():
    # classes exchange, so symmetric functions are compared: E p(x=1) and E π₁². As above, 4 standard errors.
    heat, counts, cut = 2, np.array([9, 3]), 1 / 8
    model = Mixture(classes=2, columns=("x",), shape=(2,), truncation=Fraction(1, 4), weight=2)
    kernel = MixtureGibbs(model=model, temperature=heat)
    source = SeededSource(33)
    state, draws = kernel.init(source), []
    for _ in range(1500):
        state = kernel.step(state, counts, source)
        draws.append((state[0] * state[2] + state[1] * state[4], state[0] ** 2))
    edge = cut + (np.arange(60) + 0.5) / 60 * (1 - 2 * cut)
    w, a, b = np.meshgrid(edge, edge, edge, indexing="ij")

    def expected(temperature):
        density = w * (1 - w)  # Dirichlet(2, 2)
        for first, second, n in ((a, b, 9), (1 - a, 1 - b, 3)):
            density = (
                density * ((w * first) ** (1 / temperature) + ((1 - w) * second) ** (1 / temperature)) ** n
            )
        return [(f * density).sum() / density.sum() for f in (w * a + (1 - w) * b, w**2)]

    batches = np.array(draws).reshape(50, -1, 2).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / math.sqrt(50)
    assert (np.abs(batches.mean(axis=0) - expected(heat)) < 4 * error).all()
    assert (np.abs(batches.mean(axis=0) - expected(1)) > 4 * error)[
        0
    ]  # negative control: the colder posterior


def test_annealed_weights_estimate_the_normaliser():
    # E w = Σ_θ p₀(θ) p(n|θ)^{β_J} for every ladder [Neal 2001]; 4 standard errors of 900 particles.
    ladder = (Fraction(1, 4), Fraction(2, 3))
    kernel = AnnealedImportance(
        target=TARGET, walk=WALK, inverse_temperatures=ladder, particles=900, temperature=1
    )
    source = SeededSource(34)
    state = kernel.init(source)
    for _ in ladder:
        state = kernel.step(state, COUNTS, source)
    weights = np.exp([float(x) for x in kernel.private_log_weights(state, COUNTS)])
    error = weights.std(ddof=1) / math.sqrt(weights.size)

    def normaliser(beta):
        return (np.exp(PRIOR) * np.exp(beta * ROWS @ COUNTS)).sum()

    assert abs(weights.mean() - normaliser(2 / 3)) < 4 * error
    assert abs(weights.mean() - normaliser(1 / 2)) > 4 * error
    # and the weighted particles have the posterior's mean; without weights they do not
    rows = kernel.released(state)[0][:, 0]
    mean = posterior(Fraction(3, 2)) @ np.arange(4)
    assert abs((weights * rows).sum() / weights.sum() - mean) < 0.12


@pytest.mark.parametrize(("alpha", "lower"), [((2, 1, 3), (1, 30)), (("1/2", "1/2", 3), (1, 12))])
def test_blocks_have_the_law_of_the_exact_sampler(alpha, lower):
    # Two samples of 600: |z| > 4.5 has probability 7e-6 for each of six means; another α is rejected.
    from discreet.mcmc.simplex import truncated_simplex
    from discreet.sampling import exact

    source, exactly, cut = SeededSource(35), [Fraction(a) for a in alpha], Fraction(*lower)
    ours = np.array([truncated_simplex(exactly, cut, source) for _ in range(600)])

    def gap(parameters):
        theirs = exact.truncated_dirichlet(source, np.array(parameters, dtype=object), cut, 600)
        a, b = (np.c_[x, x**2] for x in (ours, theirs))
        return np.abs(
            (a.mean(axis=0) - b.mean(axis=0)) / np.sqrt((a.var(axis=0) + b.var(axis=0)) / 600)
        ).max()

    assert ours.min() >= cut
    assert gap(exactly) < 4.5
    assert gap([exactly[0] + 1, *exactly[1:]]) > 4.5
