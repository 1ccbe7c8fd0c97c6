"""As noise vanishes, every reading is the non-private posterior of the same clipped, gridded records.

The whole catalogue, at settings drawn at random from a fixed seed. Oracles use the records alone: conjugate
updates [Gelman et al., Bayesian Data Analysis, 3rd ed., ch. 2, 3, 14]; draws from the prior, weighed by the
likelihood, for mixtures and hidden states; Laplace's approximation for regressions. Polynomial statistics
are not here: they tend to the posterior of their quadratic, which is another where margins are wide.
"""

from functools import cache

import numpy as np
import pytest
from scipy import optimize, stats

import discreet as dc
from discreet.catalogue import ROWS
from discreet.cli.typed.job import Job, any_model_of
from discreet.posteriors import ChainLengths

FAMILIES = [name for name, row in ROWS.items() if row.kind == "family"]
CLIPPED = [name for name in FAMILIES if ROWS[name].clips]
TRIALS = range(2)
SCALED = {
    "alpha",
    "beta",
    "shape",
    "rate",
    "strength",
    "scale",
    "precision",
}  # of priors: public, and above 0
CHAINS = {"normal_inverse_gamma", "normal_inverse_wishart", "bayesian_linear_regression"}
PLAN = ChainLengths(chains=4, draws=1000, thin=10, burn=4000)


RELATIONS = (dc.SUBSTITUTE, dc.ADD_REMOVE)
SETTINGS = [  # every relation with every trial; where chains take seconds, every one of both once
    pytest.param(
        name, relation, trial, id=f"{name}-{relation}-{trial}", marks=[pytest.mark.slow] * (name in CHAINS)
    )
    for name in FAMILIES
    for at, relation in enumerate(RELATIONS)
    for trial in TRIALS
    if name not in CHAINS or trial == at
]


def stretched(prior, rng):
    """The example's prior, all that may be scaled made up to three times as large."""
    factor = {key: float(rng.uniform(1, 3)) for key in prior}
    return {
        key: (np.asarray(value) * factor[key]).tolist() if key in SCALED else value
        for key, value in prior.items()
    }


def column(kind, n, rng):
    """Values of a declared column, crowded at one end, bounds themselves and values between grid points."""
    if kind["kind"] == "binary":
        return (rng.random(n) < rng.uniform(0.1, 0.9)).tolist()
    if kind["kind"] == "categories":
        return [kind["levels"][i] for i in rng.integers(0, len(kind["levels"]), n)]
    share = rng.beta(*rng.uniform(0.5, 3, 2), n)
    if kind["kind"] == "count":
        return np.rint(share * kind["max"]).astype(int).tolist()
    share[: n // 10] = rng.integers(0, 2, n // 10)
    return (kind["lower"] + share * (kind["upper"] - kind["lower"])).tolist()


@cache
def case(name, trial, *, crowded=False, clips=False):
    """A model, its table, and the records as the door lets them pass."""
    rng = np.random.default_rng([ord(letter) for letter in name] + [trial])
    row = ROWS[name]
    example = row.examples[trial % len(row.examples)]
    n = int(rng.integers(40, 400))
    rows = {key: column(kind, n, rng) for key, kind in example.columns.items()}
    if name == "dirichlet_multinomial":  # the items of one record sum to `trials`
        items = rng.multinomial(example.prior["trials"], rng.dirichlet(np.ones(len(rows))), n)
        rows = dict(zip(rows, items.T.tolist(), strict=True))
    if name == "bayesian_linear_regression":
        rows = {"one": [1.0] * n, "x": rows["x"], "y": rows["y"]}
    if crowded:
        rows = {key: [*values[n // 2 :], *[max(values)] * (n // 2)] for key, values in rows.items()}
    model = row.load("model")(**stretched(example.prior, rng))
    declared = {key: {**kind, "clips": True} if clips else kind for key, kind in example.columns.items()}
    schema = dc.Schema.from_dict({"columns": declared})
    table = dc.Table.open(rows, schema=schema)[tuple(rows)]
    return model, table, records_of(name, model, np.array(list(rows.values()), dtype=float).T)


def records_of(name, model, x):
    """What a mechanism is promised: clipped to the bounds or the ball, and rounded to the grid."""
    if name.startswith("dirichlet"):
        return x
    grid = float(getattr(model, "grid", 1))
    if hasattr(model, "radius"):
        x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True) / float(model.radius), 1)
        return np.rint(x / grid) * grid
    x = x[:, 0]
    if hasattr(model, "upper"):
        x = np.clip(x, float(getattr(model, "lower", 0)), float(model.upper))
    return np.floor(x / grid + 0.5) * grid


# ── oracles: (means, deviations) from the records ────────────────────────────────────────────────────
def of(*laws):
    return np.array([law.mean() for law in laws]), np.array([law.std() for law in laws])


def beta(a, b):
    return of(stats.beta(a, b))


def dirichlet(a):
    return of(*(stats.beta(part, a.sum() - part) for part in a))


def inverse_gamma(shape, scale):
    return scale / (shape - 1), scale / (shape - 1) / np.sqrt(shape - 2)


def normal_inverse_gamma(m, x):
    n, mean = len(x), float(x.mean())
    k, shape = float(m.strength), float(m.shape) + n / 2
    k_n = k + n
    gap = mean - float(m.location)
    scale = float(m.scale) + ((x - mean) ** 2).sum() / 2 + k * n * gap**2 / (2 * k_n)
    variance, spread = inverse_gamma(shape, scale)
    return np.array([(k * float(m.location) + n * mean) / k_n, variance]), np.array(
        [np.sqrt(variance / k_n), spread]
    )


def normal_inverse_wishart(m, x):
    """E and deviations of μ and of Σ packed, Σ inverse Wishart [Gelman et al., table A.1]."""
    n, mean, k = len(x), x.mean(axis=0), float(m.strength)
    prior, inner = np.array(m.location, dtype=float), np.array(m.scale, dtype=float)
    centred, gap = x - mean, mean - prior
    scale = inner + centred.T @ centred + k * n / (k + n) * np.outer(gap, gap)
    d, nu = len(mean), float(m.degrees) + n
    expected = scale / (nu - d - 1)
    above = nu - d
    square = (above + 1) * scale**2 + (above - 1) * np.outer(np.diag(scale), np.diag(scale))
    spread = np.sqrt(square / (above * (above - 1) ** 2 * (above - 3)))
    upper = np.triu_indices(d)
    means = np.concatenate([(k * prior + n * mean) / (k + n), expected[upper]])
    return means, np.concatenate([np.sqrt(np.diag(expected) / (k + n)), spread[upper]])


def linear_regression(m, z):
    x, y, n = z[:, :-1], z[:, -1], len(z)
    location, prior = np.array(m.location, dtype=float), np.array(m.precision, dtype=float)
    precision = prior + x.T @ x
    weights = np.linalg.solve(precision, prior @ location + x.T @ y)
    left = y @ y + location @ prior @ location - weights @ precision @ weights
    variance, spread = inverse_gamma(float(m.shape) + n / 2, float(m.scale) + left / 2)
    return np.append(weights, variance), np.append(
        np.sqrt(variance * np.diag(np.linalg.inv(precision))), spread
    )


def counts(x, size):
    return np.bincount(x[:, 0].astype(int), minlength=size)


ORACLES = {
    "beta_bernoulli": lambda m, x: beta(float(m.alpha) + x.sum(), float(m.beta) + len(x) - x.sum()),
    "beta_binomial": lambda m, x: beta(float(m.alpha) + x.sum(), float(m.beta) + m.trials * len(x) - x.sum()),
    "beta_geometric": lambda m, x: beta(float(m.alpha) + len(x), float(m.beta) + x.sum()),
    "beta_negative_binomial": lambda m, x: beta(  # the worked example, which a test adds to the catalogue
        float(m.alpha) + m.successes * len(x), float(m.beta) + x.sum()
    ),
    "dirichlet_categorical": lambda m, x: dirichlet(m.alpha + counts(x, m.alpha.size)),
    "dirichlet_multinomial": lambda m, x: dirichlet(m.alpha + x.sum(axis=0)),
    "gamma_poisson": lambda m, x: of(
        stats.gamma(float(m.shape) + x.sum(), scale=1 / (float(m.rate) + len(x)))
    ),
    "gamma_exponential": lambda m, x: of(
        stats.gamma(float(m.shape) + len(x), scale=1 / (float(m.rate) + x.sum()))
    ),
    "normal_mean": lambda m, x: of(
        stats.norm(
            (float(m.strength) * float(m.location) + x.sum()) / (float(m.strength) + len(x)),
            np.sqrt(float(m.noise) / (float(m.strength) + len(x))),
        )
    ),
    "normal_inverse_gamma": normal_inverse_gamma,
    "normal_inverse_wishart": normal_inverse_wishart,
    "bayesian_linear_regression": linear_regression,
}


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory):
    """One ledger per relation: budgets about different neighbours do not mix."""
    home = tmp_path_factory.mktemp("limit")
    made = {
        relation: dc.Ledger.open(home / f"{relation}.db", budget=dc.PureDP(1e12, relation=relation))
        for relation in RELATIONS
    }
    made["approximate"] = dc.Ledger.open(home / "regression.db", budget=dc.ApproxDP(1e12, 0.5))
    yield made
    for opened in made.values():
        opened.close()


def distance(read, wanted):
    """The largest gap between means in deviations, and between deviations, as a share."""
    means, spreads = wanted
    return (
        np.abs((np.ravel(read.mean()) - means) / spreads).max(),
        np.abs(np.ravel(read.sd()) / spreads - 1).max(),
    )


def released(model, table, ledgers, *, relation=dc.SUBSTITUTE):
    ask = {"target": dc.PureDP(1e7, relation=relation), "ledger": ledgers[relation]}
    return dc.privatise(table, model, mechanism="noisy_statistics", **ask, source=dc.SeededSource(1))


def options(name):
    return {"plan": PLAN} if name in CHAINS else {}


def brief(name):
    return {"plan": ChainLengths(chains=2, draws=200, thin=2, burn=1000)} if name in CHAINS else {}


# Chains leave up to 0.15 deviations and 10 % (draws worth some hundreds); all else hardly more than the grid.
def close(name):
    return (0.2, 0.15) if name in CHAINS else (0.05, 0.05)


@pytest.mark.parametrize(("name", "relation", "trial"), SETTINGS)
def test_a_family_is_read_as_its_conjugate_posterior(name, relation, trial, ledgers):
    model, table, records = case(name, trial)
    release = released(model, table, ledgers, relation=relation)
    wanted = ORACLES[name](model, records)
    for read in (release.read(reading="naive"), release.read(**options(name))):
        apart, wider = distance(read, wanted)
        assert apart < close(name)[0], read.reading
        assert wider < close(name)[1], read.reading


@pytest.mark.parametrize("name", CLIPPED)
def test_modelled_clipping_is_told_from_bounds_that_are_facts(name, ledgers):
    """The control: of records that crowd a bound the other choice is another posterior, which fails."""
    model, table, records = case(name, 0, crowded=True)
    release = released(model, table, ledgers)
    (said,) = (words for words in release.read(**brief(name)).cautions if "bounds" in words)
    assert "clips=True" in said
    chosen = release.read(clips=True, **brief(name))
    assert max(distance(chosen, ORACLES[name](model, records))) > close(name)[0]
    assert not any("clips=True" in words for words in chosen.cautions)
    declared = released(*case(name, 0, crowded=True, clips=True)[:2], ledgers).read(**brief(name))
    np.testing.assert_array_equal(declared.mean(), chosen.mean())


DRAWN = [
    (name, typed)
    for name in FAMILIES
    for typed in ("direct", "diffused", "concentrated")
    if typed in ROWS[name].mechanisms and typed not in ROWS[name].cannot
]


@pytest.mark.parametrize(("name", "typed"), DRAWN)
def test_posterior_draws_come_from_the_conjugate_posterior(name, typed, ledgers):
    """400 draws: their mean strays four standard errors once in 16 000, their deviation 20 % as rarely."""
    model, table, records = case(name, 1)
    ask = {"target": dc.ApproxDP(1e7, 1e-6), "ledger": ledgers["approximate"], "source": dc.SeededSource(2)}
    held = dc.privatise(table, model, mechanism=typed, draws=400, **ask).posterior.held
    means, spreads = ORACLES[name](model, records)
    assert np.abs((held.mean(axis=0) - means) / spreads).max() < 4 / np.sqrt(400)
    assert np.abs(held.std(axis=0) / spreads - 1).max() < 0.2
    assert np.abs((held.mean(axis=0) - means) / spreads - 1).max() > 4 / np.sqrt(400)  # a deviation off


def test_every_family_has_an_oracle():
    assert set(ORACLES) >= set(FAMILIES)


# ── models of counts ─────────────────────────────────────────────────────────────────────────────────
def counted(name, ledgers):
    """Random records of the example's schema, and their release."""
    rng = np.random.default_rng([len(name), 7])
    example, n = ROWS[name].examples[0], 40
    rows = {key: column(kind, n, rng) for key, kind in example.columns.items()}
    if name == "mixture":  # two classes that can be told apart
        rows["b"] = [x if rng.random() < 0.6 else y for x, y in zip(rows["a"], rows["b"], strict=True)]
    prior = {key: tuple(value) if isinstance(value, list) else value for key, value in example.prior.items()}
    if "graph" in prior:
        prior["graph"] = tuple(map(tuple, prior["graph"]))
    schema = dc.Schema.from_dict({"columns": example.columns})
    model = any_model_of(Job(model=name, prior=prior), schema)
    ask = {"target": dc.PureDP(1e7), "ledger": ledgers[dc.SUBSTITUTE], "source": dc.SeededSource(3)}
    release = dc.privatise(dc.Table.open(rows, schema=schema), model, mechanism="noisy_counts", **ask)
    return rows, release


def share(name, rows):
    """(1 + #{event and condition}, all cells of the row), of "b = u | a = v", under a uniform prior."""
    event, _, condition = name.partition(" | ")
    n = len(next(iter(rows.values())))

    def holds(words):
        column, _, level = words.partition(" = ")
        said = {"no": False, "yes": True}.get(level, level)
        return np.array([value == said for value in rows[column]])

    parts = condition.split(", ") if condition else []
    there = np.logical_and.reduce([np.ones(n, dtype=bool), *map(holds, parts)])
    return 1 + (holds(event) & there).sum(), 2 + there.sum()


@pytest.mark.parametrize("name", ["naive_bayes", "bayesian_network"])
def test_tables_are_read_as_their_dirichlet_posteriors(name, ledgers):
    rows, release = counted(name, ledgers)
    for reading in ("noise_aware", "naive"):
        read = release.read(reading=reading)
        for label, mean, spread in zip(read.names, np.ravel(read.mean()), np.ravel(read.sd()), strict=True):
            a, total = share(label, rows)
            (wanted,), (deviation,) = beta(a, total - a)
            assert abs(mean - wanted) < 0.15 * deviation, label  # 1000 draws or more
            assert abs(spread / deviation - 1) < 0.15, label


def weighted(values, log):
    weight = np.exp(log - log.max())
    assert weight.sum() ** 2 / (weight**2).sum() > 400  # worth so many draws
    mean = weight @ values / weight.sum()
    return mean, np.sqrt(weight @ (values - mean) ** 2 / weight.sum())


def test_a_mixture_is_read_as_its_posterior(ledgers):
    """Classes have no labels, so that |P(b = u | one) − P(b = u | other)| is compared."""
    rows, release = counted("mixture", ledgers)
    rng = np.random.default_rng(5)
    weights = rng.random(2**20)
    theta = rng.random((2, 2, 2**20))  # class, feature: P(u)
    log = np.zeros(2**20)
    cells = np.array([[a == "u", b == "u"] for a, b in zip(rows["a"], rows["b"], strict=True)])
    for cell, times in zip(*np.unique(cells, axis=0, return_counts=True), strict=True):
        each = [
            np.prod([t if is_u else 1 - t for t, is_u in zip(theta[k], cell, strict=True)], axis=0)
            for k in (0, 1)
        ]
        log += times * np.log(weights * each[0] + (1 - weights) * each[1])
    wanted = weighted(np.abs(theta[0, 1] - theta[1, 1]), log)
    for reading in ("noise_aware", "naive"):
        read = release.read(reading=reading)
        at = [read.names.index(f"b = u | class {k}") for k in (1, 2)]
        draws = np.asarray(read.sample(4000, dc.SeededSource(1)))
        found = np.abs(draws[:, at[0]] - draws[:, at[1]])
        assert abs(found.mean() - wanted[0]) < 0.2 * wanted[1]
        assert abs(found.std() / wanted[1] - 1) < 0.15


def test_a_hidden_markov_model_is_read_as_its_posterior(ledgers):
    rows, release = counted("hidden_markov", ledgers)
    rng, size = np.random.default_rng(6), 2**19
    emission, first, stay = rng.random((2, size)), rng.random(size), rng.random((2, size))
    log = np.zeros(size)
    for place in ("N", "S"):
        ahead = np.log([first, 1 - first])
        for month in (1, 2, 3):
            here = [
                rows["a"][i]
                for i in range(len(rows["a"]))
                if (rows["place"][i], rows["month"][i]) == (place, month)
            ]
            seen = here.count("u") * np.log(emission) + here.count("v") * np.log1p(-emission)
            if month > 1:
                to = np.log([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])
                ahead = np.logaddexp(ahead[0] + to[0], ahead[1] + to[1])
            ahead = ahead + seen
        log += np.logaddexp(*ahead)
    wanted = weighted(np.abs(emission[0] - emission[1]), log)
    for reading in ("noise_aware", "naive"):
        read = release.read(reading=reading)
        at = [read.names.index(f"a = u | state {k}") for k in (1, 2)]
        draws = np.asarray(read.sample(4000, dc.SeededSource(1)))
        found = np.abs(draws[:, at[0]] - draws[:, at[1]])
        assert abs(found.mean() - wanted[0]) < 0.2 * wanted[1]
        assert abs(found.std() / wanted[1] - 1) < 0.15


# ── regressions ──────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", ["bayesian_logistic_regression", "generalized_linear"])
def test_a_regression_is_read_as_its_normal_approximation(name, ledgers):
    """Laplace's: the mode under the prior N(0, (R²/d)I), and the inverse of the Hessian there."""
    rng = np.random.default_rng(11)
    example, n = ROWS[name].examples[0], 400
    rows = {key: column(kind, n, rng) for key, kind in example.columns.items()}
    schema = dc.Schema.from_dict({"columns": example.columns})
    prior = {key: tuple(value) if isinstance(value, list) else value for key, value in example.prior.items()}
    model = any_model_of(Job(model=name, prior=prior), schema)
    ask = {"target": dc.ApproxDP(1e6, 1e-6), "ledger": ledgers["approximate"], "source": dc.SeededSource(4)}
    release = dc.privatise(
        dc.Table.open(rows, schema=schema), model, mechanism="objective_perturbation", **ask
    )
    fitted = release.model
    x = np.column_stack([rows[feature] for feature in fitted.features])
    long = np.linalg.norm(x, axis=1, keepdims=True)
    x = x / np.maximum(long / float(fitted.norm), 1)
    x = np.column_stack([x, np.full(n, float(fitted.constant))])
    y = np.array(rows[fitted.target], dtype=float)
    loss = logistic if name == "bayesian_logistic_regression" else poisson
    weights, covariance = laplace(loss, x, y, float(fitted.strength))
    for reading in ("noise_aware", "naive"):
        read = release.read(reading=reading)
        spread = np.sqrt(np.diag(covariance))
        assert np.abs((read.location - weights) / spread).max() < 0.05
        assert np.abs(np.sqrt(np.diag(read.covariance)) / spread - 1).max() < 0.1


def logistic(s, y):
    return 1 / (1 + np.exp(-s)) - y, 1 / (2 + np.exp(s) + np.exp(-s))


def poisson(s, y):
    """Of the clipped Poisson loss with rates up to 4."""
    rate = np.exp(np.minimum(s, np.log(4)))
    return rate - y, np.where(s < np.log(4), rate, 0)


def laplace(loss, x, y, strength):
    found = optimize.root(lambda w: x.T @ loss(x @ w, y)[0] + strength * w, np.zeros(x.shape[1]))
    assert found.success
    bend = loss(x @ found.x, y)[1]
    return found.x, np.linalg.inv((x.T * bend) @ x + strength * np.eye(x.shape[1]))
