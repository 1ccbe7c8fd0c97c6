"""Readers of noisy counts: what they refuse, what they bind, and how they say what was done."""

import numpy as np
import pytest

from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.mixture import Mixture
from discreet.models.naive_bayes import NaiveBayes
from discreet.posteriors.counts import naive_bayes
from discreet.posteriors.mixture import read as mixture
from discreet.posteriors.network import read as bayes_net
from discreet.posteriors.read import cell_posterior
from discreet.sampling.source import SeededSource

SIZES = {"a": 2, "b": 2, "c": 2}  # equal on purpose: only names tell the tables apart
MODELS = {
    "mixture": Mixture(components=2, features=("a", "b")),
    "network": BayesianNetwork([("a", "b")]),
    "naive Bayes": NaiveBayes("a", ("b", "c")),
}
OTHERS = {
    "mixture": [
        Mixture(components=2, features=("b", "a")),
        Mixture(components=2, features=("a", "c")),
        BayesianNetwork((), nodes=("a", "b")),
    ],
    "network": [
        BayesianNetwork([("b", "a")]),
        BayesianNetwork([("a", "c")]),
        BayesianNetwork((), nodes=("a", "b")),
        NaiveBayes("a", ("b",)),
    ],
    "naive Bayes": [
        NaiveBayes("a", ("c", "b")),
        NaiveBayes("b", ("a", "c")),
        BayesianNetwork([("a", "b"), ("a", "c")]),
    ],
}
SHORT = {"chains": 1, "sweeps": 4, "keep": 4}
READERS = {
    "mixture": [
        lambda cells, model: mixture.fit(cells, model, **SHORT),
        lambda cells, model: mixture.fit(cells, model, reading="naive", **SHORT),
    ],
    "network": [
        lambda cells, model: bayes_net.fit(cells, model, **SHORT),
        lambda cells, model: bayes_net.noise_aware(cells, model, draws=10),
        bayes_net.naive,
    ],
    "naive Bayes": [
        lambda cells, model: naive_bayes.read(cells, model, "noise_aware", draws=10),
        lambda cells, model: naive_bayes.read(cells, model, "naive"),
        lambda cells, model: naive_bayes.noise_aware(cells, model, 10),
        naive_bayes.naive,
    ],
}
CASES = [(kind, read) for kind, readers in READERS.items() for read in readers]


def released(kind):
    model = MODELS[kind].bind(SIZES)
    each = [np.array([6, 2, 1, 3]) if cells.size == 4 else np.array([8, 4]) for cells in model.cells]
    mechanism = NoisyCounts(model, n=12, scales=(1,) * len(each))
    return mechanism.release(np.concatenate(each), SeededSource(1))


@pytest.mark.parametrize(("kind", "read"), CASES)
def test_a_model_of_other_tables_is_refused(kind, read):
    cells = released(kind)
    for other in OTHERS[kind]:
        with pytest.raises(ValueError, match="the release holds the tables of"):
            read(cells, other.bind(SIZES))
    with pytest.raises(ValueError, match="the release holds the tables of"):
        read(cells, MODELS[kind].bind(SIZES | {"b": 3}))


@pytest.mark.parametrize(("kind", "read"), CASES)
def test_another_prior_is_another_reading_and_sizes_come_from_the_release(kind, read):
    cells, asked = released(kind), type(MODELS[kind])
    named = {"mixture": {"components": 3, "features": ("a", "b")}, "network": {"graph": [("a", "b")]}}
    unbound = asked(**named.get(kind, {"label": "a", "features": ("b", "c")}), prior=3)
    found = read(cells, unbound)
    assert found.model == unbound.bind(SIZES)
    assert found.prior().model == found.model if kind != "mixture" else found.weights.shape[-1] == 3


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("mixture", mixture.read),
        ("mixture", lambda cells, model, reading: mixture.fit(cells, model, reading=reading, **SHORT)),
        ("network", bayes_net.read),
        ("naive Bayes", naive_bayes.read),
        ("network", lambda cells, _, reading: cell_posterior(cells, reading=reading)),
    ],
)
def test_an_unknown_reading_is_refused_by_name(kind, read):
    cells = released(kind)
    with pytest.raises(ValueError, match="unknown reading 'nonsense'; known: noise_aware, naive"):
        read(cells, cells.model, "nonsense")


# ── what was done is what is said ───────────────────────────────────────────────────────────────────


def dirichlet(cells):
    prior = DirichletCategorical(np.ones(cells))
    release = NoisyStatistics(prior, n=2 * cells, scale=2).release(np.full(cells, 2), SeededSource(1))
    return release.read(draws=10)


def test_independent_draws_are_not_called_chains():
    for found in (dirichlet(4).diagnostics, dirichlet(256).diagnostics):
        assert (found.chains, found.draws, found.r_hat, found.ess) == (0, 10, 1.0, 10.0)
        assert "independent" in found.method


def test_tables_drawn_independently_say_so():
    cells = released("network")
    found = bayes_net.noise_aware(cells, cells.model, draws=10).diagnostics
    assert (found.chains, found.draws, found.ess) == (0, 10, 10.0)
    cells = released("naive Bayes")
    drawn = naive_bayes.read(cells, cells.model, "noise_aware", draws=10).diagnostics
    assert (drawn.chains, drawn.draws, drawn.ess) == (0, 10, 10.0)
    closed = naive_bayes.read(cells, cells.model, "naive").diagnostics
    assert (closed.method, closed.draws) == ("closed form", 0)


def test_a_mixture_shows_how_far_it_is(monkeypatch):
    """Whether on a terminal or not, the work is the same; the bar counts to its end."""
    seen = []

    def counted(pieces, label, total):
        for piece in pieces:
            seen.append(piece)
            yield piece
        assert len(seen) == total
        assert label

    monkeypatch.setattr(mixture, "steps", counted)
    cells = released("mixture")
    mixture.fit(cells, cells.model, chains=2, sweeps=99, keep=50)
    assert sum(many for *_, many in seen) == 2 * (99 // 2 + 50)
    assert [s for _, s, *_ in seen][:20] == list(range(-20, 0))
