"""Case of the hidden Markov kernel: a sweep over one chain of which the last step holds one record."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, Cases
from discreet.audit.cases.mcmc import LOWER, PRIOR, blocks, density
from discreet.mcmc.hidden_markov_gibbs import HiddenMarkovGibbs, moved, transition_counts
from discreet.mcmc.target import UNIT, in_units
from discreet.models.hidden_markov import HiddenMarkov
from discreet.privacy.guarantee import Guarantee
from discreet.sampling import exact
from discreet.sampling.source import Source

Floats = NDArray[np.float64]
Path = tuple[int, ...]


case = Cases()

STEPS = 3
MODEL = HiddenMarkov(
    states=2, chain="r", step="t", features=("x",), transition=Fraction(1, 4), emission=PRIOR
).bind({"r": 1, "t": STEPS, "x": 2})
START = (0, 0, 0)  # then state 1 is unlikely at the last step, and a record that likes it says most
THETA = np.array([0.875, 0.125, 0.125, 0.875])  # the states explain the two values well
EDGE = LOWER + (np.arange(4000) + 0.5) / 4000 * (1 - 2 * LOWER)
PATHS = tuple(itertools.product(range(2), repeat=STEPS))


def at(heat: int) -> HiddenMarkovGibbs:
    return HiddenMarkovGibbs(MODEL, truncation=Fraction(1, 4), temperature=heat)


def margins(x: int) -> NDArray[np.int64]:
    counts = np.zeros((STEPS, 2), dtype=np.int64)
    counts[-1, x] = 1
    return counts


def log_weights(kernel: HiddenMarkovGibbs, x: int, so_far: Path) -> list[Fraction]:
    """Log-odds of the next step's states, those before it drawn, as the kernel draws them."""
    t = len(so_far)
    path = np.array([*so_far, *START[t:]])
    moves = transition_counts(path[None], 2)
    moved(moves, path, t, -1)
    prior = in_units(kernel.log_prior(moves, path, t))
    state = np.concatenate([path.astype(np.float64), THETA])
    score = kernel._scores(state, margins(x))[t]  # noqa: SLF001 - the audit looks inside
    return [p * UNIT + s * UNIT / kernel.heat for p, s in zip(prior, score, strict=True)]


def scans(kernel: HiddenMarkovGibbs, x: int, runs: int, source: Source) -> NDArray[np.int64]:
    """Paths of many scans from START: HiddenMarkovGibbs._scan in batches."""
    z = np.zeros((runs, STEPS), dtype=np.int64)
    for t in range(STEPS):
        for so_far in itertools.product(range(2), repeat=t):
            here = np.flatnonzero((z[:, :t] == np.array(so_far, dtype=np.int64)).all(axis=1))
            z[here, t] = exact.categorical(source, log_weights(kernel, x, so_far), here.size)
    return z


def sweeps(kernel: HiddenMarkovGibbs, x: int, runs: int, source: Source) -> Floats:
    """Rows (z, θ₀, θ₁), first entries, of many sweeps: HiddenMarkovGibbs.step in batches."""
    mine = (int(x == 0), int(x == 1))

    z = scans(kernel, x, runs, source)
    rows = np.empty((runs, STEPS + 2))
    rows[:, :STEPS] = z
    for k in range(2):
        for here, found in ((z[:, -1] == k, mine), (z[:, -1] != k, (0, 0))):
            rows[here, STEPS + k] = blocks(found, kernel.heat, int(here.sum()), source)
    return rows


def path_law(kernel: HiddenMarkovGibbs, x: int) -> Floats:
    """P(z) of every path after one scan."""
    chances = []
    for path in PATHS:
        each = [np.exp([float(w) for w in log_weights(kernel, x, path[:t])]) for t in range(STEPS)]
        chances.append(math.prod(w[k] / w.sum() for w, k in zip(each, path, strict=True)))
    return np.array(chances)


def table_law(kernel: HiddenMarkovGibbs, x: int, theta: Floats) -> Floats:
    """Return the density of the table of the record's state; given z the other has one law on both sides."""
    s = 1 / float(kernel.heat)
    return density(s * (x == 0), s * (x == 1), theta)


def audited(kernel: HiddenMarkovGibbs, claim: Guarantee, epsilon: float) -> Case:
    """Compare the record's two values."""
    paths = [path_law(kernel, x) for x in range(2)]
    odds = paths[1] / paths[0]

    def told(y: Floats) -> NDArray[np.bool_]:
        z = y[:, :STEPS].astype(np.int64)
        theta = y[np.arange(len(y)), STEPS + z[:, -1]]
        ratio = table_law(kernel, 1, theta) / table_law(kernel, 0, theta)
        return np.asarray(odds[z @ [4, 2, 1]] * ratio > math.exp(epsilon))

    p, q = (np.outer(paths[x], table_law(kernel, x, EDGE)).reshape(-1) for x in (1, 0))
    profile = profiles.finite(p / p.sum(), q / q.sum())
    return Case(claim, partial(sweeps, kernel), (1, 0), told, profile, epsilon)


@case("hidden_markov_gibbs")
def hidden_markov_gibbs() -> Case:
    """States and tables leave; what the record likes is unlikely by the steps before it."""
    kernel = at(4)
    return audited(kernel, kernel.guarantee, 0.25)
