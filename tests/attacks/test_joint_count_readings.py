"""Networks read together and mixtures, against a sampler of another kind, settings drawn at random.

Prior weights from .01 to 1e4, n from 1 to 1e5, epsilon from .01 to 1e4, all noises, both relations, and
releases that no data explain. The oracle walks over the joint table of counts with θ integrated out, many
walkers at once from starts far apart; it shares no code with the readings, which walk over records or θ.
"""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import ks_2samp, kstest

from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.mixture import Mixture
from discreet.posteriors.mixture import read as mixture
from discreet.posteriors.network import read as bayes_net
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import PureDP

KINDS = ("laplace", "gaussian", "discrete_laplace", "discrete_gaussian")
GRAPHS = [[("a", "b")], [("a", "c"), ("b", "c")], [("a", "b"), ("b", "c")], [("a", "b"), ("a", "c")]]


def between(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


# ── settings and releases ───────────────────────────────────────────────────────────────────────────


def setting(rng, tables, most=1e5):
    """Noise at an epsilon for the relation, prior weights, and n: log-uniform, or flat below such a bound."""
    kind, epsilon, private = str(rng.choice(KINDS)), between(rng, 0.01, 1e4), rng.random() < 0.4
    moved = tables * (1 if private else 2)
    scale = moved / epsilon if kind.endswith("laplace") else moved**0.5 / epsilon
    bound = int(between(rng, 1, most + 1))
    n, alpha = int(rng.integers(bound + 1)) if private else bound, between(rng, 0.01, 1e4)
    return SimpleNamespace(kind=kind, scale=scale, n=n, bound=bound, private=private, alpha=alpha, rng=rng)


def noise_of(s, size):
    if s.kind == "gaussian":
        return s.rng.normal(0, s.scale, size)
    if s.kind == "laplace":
        return s.rng.laplace(0, s.scale, size)
    if s.kind == "discrete_laplace":
        p = -np.expm1(-1 / s.scale)
        return (s.rng.geometric(p, size) - s.rng.geometric(p, size)).astype(float)
    k = np.arange(-int(9 * s.scale) - 2, int(9 * s.scale) + 3)
    p = np.exp(-(k**2) / (2 * s.scale**2))
    return s.rng.choice(k, size=size, p=p / p.sum()).astype(float)


def shown(s, counts, odd):
    """Noisy counts; some, with chance `odd`, so far off that no noise explains them"""
    s.odd = s.rng.random() < odd
    wrong = np.rint(s.rng.normal(0, between(s.rng, 1, s.n + 2), counts.size)) if s.odd else 0.0
    return counts + noise_of(s, counts.size) + wrong


def shares(rng, alpha, shape):
    """Dirichlet draws along the last axis, by logarithms: θ may underflow"""
    logs = np.log(rng.gamma(alpha + 1, size=shape)) + np.log(rng.random(shape)) / alpha
    theta = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return theta / theta.sum(axis=-1, keepdims=True)


def network(graph, size, alpha):
    """The model, its joint values, and of each node the columns that its table counts"""
    names = sorted({name for edge in graph for name in edge})
    model = BayesianNetwork(graph, prior=alpha).bind({name: size[name] for name in names})
    columns = [[names.index(c) for c in (*model.parents[node], node)] for node in model.nodes]
    values = np.array(list(itertools.product(*(range(size[name]) for name in names))))
    return model, values, columns


def flat_cells(values, columns):
    """Which cell of a table each joint value falls into, and how many there are"""
    shape = values[:, columns].max(axis=0) + 1
    return np.ravel_multi_index(values[:, columns].T, shape), int(shape.prod())


def indicator(cell, size):
    """(size, joint values): 1 where a value falls into the cell"""
    return (cell == np.arange(size)[:, None]).astype(np.int64)


def cells_of(model, y, s):
    promise = PureDP(1, relation=ADD_REMOVE if s.private else SUBSTITUTE)
    kept = y.astype(np.int64) if s.kind.startswith("discrete") else y
    n = None if s.private else s.n
    return NoisyCells(model, kept, n, s.kind, (s.scale,) * len(model.cells), promise, seeded=False)


# ── the oracle ──────────────────────────────────────────────────────────────────────────────────────


class Walk:
    """Counts x of all joint values: ln p = Σ_f ±lnΓ(a_f + M_f x) − Σ ln x! + ln η(y − N x)."""

    def __init__(self, case):
        terms, values, most = case.terms, case.values, room(case)
        self.values, self.seen, self.y, self.s, self.most = values, case.seen, case.y, case.s, most
        weights = sorted({(sign, a) for sign, a, _ in terms})
        self.maps = np.concatenate([rows for _, _, rows in terms])
        of = [weights.index((sign, a)) for sign, a, rows in terms for _ in rows]
        table = np.stack([sign * gammaln(a + np.arange(most + 1.0)) for sign, a in weights])
        self.table, self.place = table.ravel(), np.array(of) * (most + 1)
        self.shape = values.max(axis=0) + 1

    def log(self, x):
        """Ln p without noise, and the noise's own"""
        gap = np.abs(self.y - x @ self.seen.T) / self.s.scale
        noise = (gap if self.s.kind.endswith("laplace") else gap**2 / 2).sum(axis=1)
        return self.table[self.place + x @ self.maps.T].sum(axis=1), -noise

    def begin(self, rng, walkers, true):
        """Half at counts that explain the release, half anywhere"""
        sharp = np.where(np.arange(walkers) % 4 == 1, 0.1, 3.0)
        x = [rng.multinomial(true.sum(), shares(rng, a, len(self.values))) for a in sharp]
        return np.where((np.arange(walkers) % 2 == 0)[:, None], true, np.array(x))

    def proposed(self, rng, x):
        """Counts after one of four moves, and the log ratio of proposals

        Some of a cell go to another; two cells share theirs anew; as many of two cells swap some columns;
        where n is private, some come or go.
        """
        many, size = x.shape
        new, row = x.copy(), np.arange(many)
        one, two = rng.integers(size, size=(2, many))
        pick = rng.random(many)
        column = rng.integers(self.shape.size, size=many)
        other = self.values[one].copy()
        other[row, column] = rng.integers(self.shape[column])
        two = np.where(rng.random(many) < 0.5, np.ravel_multi_index(other.T, self.shape), two)
        step = np.exp(rng.random(many) * np.log(self.most + 1.0)).astype(np.int64)
        both = x[row, one] + x[row, two]
        inward = np.minimum((both + 2.0) ** rng.random(many) - 1, both).astype(np.int64)
        split = np.where(rng.random(many) < 0.5, inward, both - inward)
        moved = np.where(pick < 0.3, step, x[row, one] - split)
        ratio = np.where(pick < 0.3, 0.0, edge(x[row, one], both) - edge(split, both))
        swap = rng.random((many, self.shape.size)) < 0.5
        a, b = self.values[one], self.values[two]
        three = np.ravel_multi_index(np.where(swap, b, a).T, self.shape)
        four = np.ravel_multi_index(np.where(swap, a, b).T, self.shape)
        plain = (pick < 0.6) & (one != two)
        cross = (pick >= 0.6) & (pick < (0.7 if self.s.private else 1))
        alone = (pick >= 0.7) & self.s.private
        sign = np.where(rng.random(many) < 0.5, 1, -1)
        np.add.at(new, (row, one), np.where(plain, -moved, np.where(cross, -step, alone * sign * step)))
        np.add.at(new, (row, two), np.where(plain, moved, np.where(cross, -step, 0)))
        np.add.at(new, (row, three), np.where(cross, step, 0))
        np.add.at(new, (row, four), np.where(cross, step, 0))
        return new, np.where(plain, ratio, 0.0)

    def run(self, rng, true, walkers=96, steps=1500, keep=50):
        """(keep, walkers, joint values): counts along the second half; noise narrows along the first"""
        x, kept = self.begin(rng, walkers, true), []
        warm = max(self.most / 4 / self.s.scale, 1.0) ** (-1 if self.s.kind.endswith("laplace") else -2)
        (level, noise), well = self.log(x), np.ones(walkers, dtype=bool)
        for t in range(2 * steps):
            cooling = np.where(np.arange(walkers) % 2 == 0, 1.0, warm ** max(1 - 2.0 * t / steps, 0.0))
            new, ratio = self.proposed(rng, x)
            bad = (new < 0).any(axis=1) | (new.sum(axis=1) > self.most)
            new[bad] = x[bad]
            fresh, shown = self.log(new)
            gain = fresh - level + cooling * (shown - noise) + ratio
            taken = (np.log(rng.random(walkers)) < gain) & ~bad
            x = np.where(taken[:, None], new, x)
            level, noise = np.where(taken, fresh, level), np.where(taken, shown, noise)
            if t >= steps and (t - steps) % (steps // keep) == 0:
                kept.append(x)
                well &= level + noise >= (level + noise).max() - 40 - 2 * len(self.values)
        return np.array(kept)[:, well]


def edge(k, both):
    """Ln of the chance that `split` above is k: log-uniform from either end"""
    low = np.log1p(1 / (k + 1.0))
    high = np.log1p(1 / (both - k + 1.0))
    return np.log(low + high) - np.log(2 * np.log(both + 2.0))


def network_case(seed, *, most=1e5, odd=0.35):
    rng = np.random.default_rng([*np.atleast_1d(seed), 1])
    graph = GRAPHS[rng.integers(len(GRAPHS))]
    size = {name: int(rng.integers(2, 4)) for name in "abc"}
    s = setting(rng, len({b for e in graph for b in e}), most)
    model, values, columns = network(graph, size, s.alpha)
    chance, theta = np.ones(len(values)), []
    for c in columns:
        cell, many = flat_cells(values, c)
        rows = shares(rng, s.alpha, (many // (values[:, c[-1]].max() + 1), values[:, c[-1]].max() + 1))
        theta.append(rows.ravel())
        chance = chance * rows.ravel()[cell]
    x = rng.multinomial(s.n, chance / chance.sum())
    seen = np.concatenate([indicator(*flat_cells(values, c)) for c in columns])
    y = shown(s, seen @ x, odd)
    terms = [(-1, 1.0, np.eye(len(values), dtype=np.int64))]
    terms.append((1, 1.0, np.ones((1, len(values)), dtype=np.int64)))
    for c in columns:
        wide = int(values[:, c[-1]].max() + 1)
        terms.append((1, s.alpha, indicator(*flat_cells(values, c))))
        above = flat_cells(values, c[:-1]) if len(c) > 1 else (np.zeros(len(values), int), 1)
        terms.append((-1, wide * s.alpha, indicator(*above)))
    cells = cells_of(model, y, s)
    return SimpleNamespace(
        s=s, model=model, cells=cells, y=y, x=x, values=values, terms=terms, seen=seen,
        truth=np.concatenate(theta), read=bayes_net.fit, laws=network_laws, drawn=network_draws,
    )  # fmt: skip


def room(case):
    """Most that a private n may be: as far above the noisy totals as noise can reach"""
    if not case.s.private:
        return case.s.n
    totals = [np.maximum(part, 0).sum() for part in case.cells.tables().values()]
    return int(max(totals) + 40 * case.s.scale * len(case.y) ** 0.5 + 12)


def mixture_case(seed, *, most=1e5, odd=0.35):
    rng = np.random.default_rng([*np.atleast_1d(seed), 2])
    s = setting(rng, 1, most)
    classes, sizes = int(rng.integers(1, 4)), [int(k) for k in rng.integers(2, 4, int(rng.integers(1, 4)))]
    names = tuple("abc"[: len(sizes)])
    s.weight = between(rng, 0.01, 1e4)
    model = Mixture(classes, names, weight=s.weight, prior=s.alpha).bind(dict(zip(names, sizes, strict=True)))
    values = np.array(list(itertools.product(range(classes), *map(range, sizes))))
    chance = shares(rng, s.weight, classes)[values[:, 0]]
    for d, size in enumerate(sizes):
        chance = chance * shares(rng, s.alpha, (classes, size))[values[:, 0], values[:, d + 1]]
    x = rng.multinomial(s.n, chance / chance.sum())
    columns = list(range(1, len(sizes) + 1))
    seen = indicator(*flat_cells(values, columns))
    y = shown(s, seen @ x, odd)
    terms = [(-1, 1.0, np.eye(len(values), dtype=np.int64))]
    whole = np.ones((1, len(values)), dtype=np.int64)
    terms += [(1, 1.0, whole), (-1, classes * s.weight, whole)]
    terms.append((1, s.weight, indicator(*flat_cells(values, [0]))))
    for d, size in zip(columns, sizes, strict=True):
        terms.append((1, s.alpha, indicator(*flat_cells(values, [0, d]))))
        terms.append((-1, size * s.alpha, indicator(*flat_cells(values, [0]))))
    cells = cells_of(model, y, s)
    return SimpleNamespace(
        s=s, model=model, cells=cells, y=y, x=x, values=values, terms=terms, seen=seen, sizes=sizes,
        classes=classes, truth=seen @ chance, read=mixture.fit, laws=mixture_laws, drawn=mixture_draws,
    )  # fmt: skip


def mixture_laws(case, x, rng):
    """(draws, cells of the release): p of a record's cell, one draw of (π, θ) for each x"""
    flat, s, values = x.reshape(-1, x.shape[-1]), case.s, case.values
    law = gamma_shares(rng, s.weight + flat @ indicator(*flat_cells(values, [0])).T)[:, values[:, 0]]
    for d, size in enumerate(case.sizes, 1):
        cell, many = flat_cells(values, [0, d])
        rows = (s.alpha + flat @ indicator(cell, many).T).reshape(len(flat), case.classes, size)
        law = law * gamma_shares(rng, rows).reshape(len(flat), -1)[:, cell]
    return law @ case.seen.T


def gamma_shares(rng, shapes):
    logs = np.log(rng.gamma(shapes + 1)) + np.log(rng.random(shapes.shape)) / shapes
    theta = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return theta / theta.sum(axis=-1, keepdims=True)


def mixture_draws(case, posterior):
    """The same by the reading, of the likeliest group of chains"""
    best, ends = posterior.best, np.cumsum([0, *case.sizes])
    law = best.weights[..., case.values[:, 0]]
    for d in range(len(case.sizes)):
        law = law * best.theta[..., ends[d] : ends[d + 1]][..., case.values[:, 0], case.values[:, d + 1]]
    return law.reshape(-1, len(case.values)) @ case.seen.T


def network_laws(case, x, rng):
    """(draws, entries of θ), one draw for each x"""
    flat = x.reshape(-1, x.shape[-1]) @ case.seen.T
    parts = np.split(case.s.alpha + flat, np.cumsum([c.size for c in case.model.cells])[:-1], axis=1)
    rows = (a.reshape(len(a), -1, c.shape[-1]) for a, c in zip(parts, case.model.cells, strict=True))
    return np.concatenate([gamma_shares(rng, row).reshape(len(flat), -1) for row in rows], axis=1)


def network_draws(case, posterior):
    del case
    return posterior.draws.reshape(-1, posterior.draws.shape[-1]).astype(float)


def quiet(posterior):
    """Whether the chains say nothing against themselves"""
    found = getattr(posterior, "best", posterior).diagnostics
    several = any("different answers" in said for said in posterior.cautions)
    return found.r_hat <= 1.05 and found.ess >= 100 and not several


# ── distance to the oracle ──────────────────────────────────────────────────────────────────────────


def apart(case, seed, *, believed=1.0, **length):
    """Largest distance of distribution functions and of means in deviations, or None where either is unsure

    The oracle is unsure where walkers that began at the truth and others differ by .1 in these.
    """
    posterior = case.read(case.cells, case.model, **length)
    walk = Walk(case)
    kept = walk.run(np.random.default_rng(seed), case.x if case.x.sum() <= walk.most else 0 * case.x)
    if not quiet(posterior) or kept.shape[1] < 16:
        return None
    case.s.alpha *= believed  # other weights make the broken twin
    laws = case.laws(case, kept, np.random.default_rng(seed))
    half = laws.reshape(*kept.shape[:2], -1)
    one, two = (half[:, i::2].reshape(-1, laws.shape[1]) for i in (0, 1))
    drawn = case.drawn(case, posterior)
    return None if max(distances(one, two)) > 0.1 else distances(drawn, laws)


def distances(one, two):
    one, two = (np.maximum(x, 1e-30).astype(np.float32) for x in (one, two))
    pairs = list(zip(one.T, two.T, strict=True))
    gaps = (abs(float(a.mean()) - float(b.mean())) / max(float(b.std()), 1e-6) for a, b in pairs)
    return max(ks_2samp(a, b, method="asymp").statistic for a, b in pairs), max(gaps)


def held(cases, **how):
    """Largest distances over the settings of which both sides are sure, and how many there are"""
    found = [apart(case, seed, **how) for seed, case in enumerate(cases)]
    sure = np.array([f for f in found if f])
    return sure.max(axis=0), len(sure)


def test_networks_together_have_the_law_of_another_sampler():
    """7 settings, n to 2000; draws worth 200 and walks worth more: .15 is passed with probability 1e-3."""
    (law, mean), sure = held([network_case(seed, most=2000) for seed in range(1, 8)], sweeps=800)
    assert sure >= 5
    assert law < 0.15
    assert mean < 0.3


def test_mixtures_have_the_law_of_another_sampler():
    """7 settings, of what does not know labels: the chance of every cell. The same error rate."""
    (law, mean), sure = held([mixture_case(seed, most=2000) for seed in range(1, 8)], sweeps=800)
    assert sure >= 5
    assert law < 0.15
    assert mean < 0.3


def test_the_law_of_another_prior_is_told_from_theirs():
    """The broken twin: θ drawn by five times the weights"""
    (law, _), _ = held([network_case(seed, most=2000) for seed in (1, 4)], sweeps=800, believed=5.0)
    assert law > 0.15


# ── ranks of the truth ──────────────────────────────────────────────────────────────────────────────


def rank(make, seed, *, told=1.0):
    """P(a quantity < its true value | release), of a setting drawn at random; None where chains speak up

    Where n is private it is flat up to a bound, and only releases that keep clear of that bound are read:
    which of them are read depends on the release alone, so ranks stay uniform.
    """
    for attempt in range(50):
        case = make([seed, attempt], most=3e4, odd=0.0)
        reach = 12 * 1.5 * case.s.scale * len(case.y) ** 0.5
        if not case.s.private or max(np.sum(t) for t in case.cells.tables().values()) + reach < case.s.bound:
            break
    model = replace(case.model, prior=told * case.s.alpha)
    posterior = case.read(case.cells, model, chains=2, sweeps=300, keep=300)
    drawn, rng = case.drawn(case, posterior), np.random.default_rng(seed)
    i = int(rng.integers(drawn.shape[1]))
    x, true = drawn[:, i].astype(np.float32), np.float32(case.truth[i])
    below, equal = (x < true).sum(), (x == true).sum()
    return (below + rng.random() * (equal + 1)) / (len(x) + 1) if quiet(posterior) else None


def uniform(ranks):
    """Least p-value of Kolmogorov and Smirnov's test, of ranks and of how far out they are"""
    kept = np.array([r for r in ranks if r is not None])
    assert len(kept) >= 25
    return min(kstest(r, "uniform").pvalue for r in (kept, np.abs(2 * kept - 1)))


@pytest.mark.parametrize("make", [network_case, mixture_case])
def test_ranks_of_the_truth_are_uniform(make):
    """50 settings, n to 3e4, at 1e-4; readings that are told twenty times the weights fail."""
    assert uniform([rank(make, seed) for seed in range(50)]) > 1e-4


def test_ranks_of_a_reading_that_is_told_more_weight_are_not():
    """60 settings: half speak up, most that chains have not converged; p is 1e-6 of 24, 1e-8 of 30."""
    assert uniform([rank(mixture_case, seed, told=20.0) for seed in range(60)]) < 1e-4
