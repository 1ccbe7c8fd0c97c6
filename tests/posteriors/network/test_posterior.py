"""Bayesian networks: what is counted, the exact posterior, and what may be asked of it."""

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.stats import beta

from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.bayes_net import MOST_CONFIGURATIONS, BayesianNetwork
from discreet.posteriors.network.posterior import ancestral, counts_of, log_probabilities, marginal
from discreet.posteriors.network.read import exact, naive
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.sampling.source import SeededSource

EDGES = [("a", "b"), ("a", "c"), ("b", "c")]
SIZES = {"a": 2, "b": 3, "c": 2, "alone": 2}


@pytest.fixture
def network():
    return BayesianNetwork(EDGES, nodes=("alone",), prior=0.5).bind(SIZES)


def records_of(n, seed):
    rng = np.random.default_rng(seed)
    return {name: rng.integers(size, size=n) for name, size in SIZES.items()}


# ── the graph ───────────────────────────────────────────────────────────────────────────────────────


def test_a_digraph_and_its_edges_are_the_same_network():
    graph = nx.DiGraph(EDGES)
    graph.add_node("alone")
    assert (
        BayesianNetwork(graph).bind(SIZES).parents
        == BayesianNetwork(EDGES, nodes=("a", "b", "c", "alone")).parents
    )
    back = BayesianNetwork(EDGES, nodes="alone").to_networkx()
    assert nx.utils.graphs_equal(back, graph)


def test_parents_come_before_children_whatever_the_order_of_the_edges(network):
    shuffled = BayesianNetwork([("b", "c"), ("z", "a"), ("a", "b")])
    rank = {node: i for i, node in enumerate(shuffled.nodes)}
    assert all(rank[parent] < rank[child] for parent, child in shuffled.graph)
    assert shuffled.bind(dict.fromkeys("zabc", 2)).nodes == shuffled.nodes  # binding moves no column
    assert network.columns == network.nodes


def test_without_networkx_the_message_names_the_extra(network, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(ImportError, match=r"discreet\[models\]"):
        network.to_networkx()


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], "cycle a → b → c → a"),
        ([("a", "a")], "cycle a → a"),
        (["ab"], "pair of column names"),
        ([("a", "b", "c")], "pair of column names"),
        ([("a", 1)], "pair of column names"),
        ([("a", "b"), ("a", "b")], "twice"),
        (nx.Graph([("a", "b")]), "from parent to child"),
        (nx.MultiDiGraph([("a", "b")]), "from parent to child"),
        ([], "at least one"),
    ],
)
def test_what_is_no_directed_acyclic_graph_is_refused(graph, words):
    with pytest.raises(ValueError, match=words):
        BayesianNetwork(graph)


def test_too_many_parent_configurations_are_refused_by_name():
    parents = [f"p{i}" for i in range(13)]
    crowded = BayesianNetwork([(p, "child") for p in parents])
    with pytest.raises(
        ValueError, match=f"parents of 'child'.*8192 joint values, more than {MOST_CONFIGURATIONS}"
    ):
        crowded.bind({**dict.fromkeys(parents, 2), "child": 2})
    assert (
        BayesianNetwork([(p, "child") for p in parents[:12]])
        .bind({**dict.fromkeys(parents, 2), "child": 2})
        .size
    )
    with pytest.raises(ValueError, match="prior"):
        BayesianNetwork(EDGES, prior=0)


# ── what is counted ─────────────────────────────────────────────────────────────────────────────────


def test_counts_are_those_of_a_loop(network):
    records = records_of(50, 1)
    tables = network.split(counts_of(network, records))
    for node, parents in network.parents.items():
        wanted = np.zeros([SIZES[c] for c in (*parents, node)], dtype=int)
        for row in zip(*(records[c] for c in (*parents, node)), strict=True):
            wanted[row] += 1
        assert (tables[node] == wanted).all()


def test_one_record_moves_one_cell_of_each_table(network):
    first = counts_of(network, {name: [0] for name in SIZES})
    most = 0
    for values in itertools.product(*map(range, network.sizes)):
        other = counts_of(network, {c: [v] for c, v in zip(network.columns, values, strict=True)})
        assert other.sum() == len(SIZES) == network.sensitivity(ADD_REMOVE).l1
        most = max(most, abs(other - first).sum())
    assert most == network.sensitivity(SUBSTITUTE).l1


def test_records_that_are_no_codes_are_refused(network):
    for wrong in ({"a": [2]}, {"a": [-1]}, {"a": [0.5]}):
        with pytest.raises(ValueError, match="codes"):
            counts_of(network, {**{name: [0] for name in SIZES}, **wrong})
    with pytest.raises(ValueError, match="lack alone"):
        counts_of(network, {"a": [0], "b": [0], "c": [0]})


# ── the posterior of a fully observed network is a product of Dirichlets ────────────────────────────


def test_exact_posterior_is_prior_plus_counts_row_by_row(network):
    records = records_of(40, 2)
    posterior = exact(counts_of(network, records), network)
    for a, b in itertools.product(range(2), range(3)):
        row = [0.5 + sum((records["a"] == a) & (records["b"] == b) & (records["c"] == c)) for c in range(2)]
        assert posterior.tables()["c"].values[a, b] == pytest.approx(np.array(row) / sum(row), rel=1e-14)
        assert posterior.tables(posterior.variance())["c"].values[a, b] == pytest.approx(
            beta(*row).var(), rel=1e-12
        )
        ends = [beta(*row).interval(0.8), beta(*row[::-1]).interval(0.8)]
        assert posterior.tables(posterior.interval(0.8))["c"].values[a, b] == pytest.approx(
            np.array(ends), rel=1e-9
        )


def test_predictive_and_marginals_against_enumeration(network):
    posterior = exact(counts_of(network, records_of(40, 3)), network)
    mean = {node: table.values for node, table in posterior.tables().items()}
    joint = np.einsum("x,a,ab,abc->xabc", mean["alone"], mean["a"], mean["b"], mean["c"])
    axes = {"alone": 0, "a": 1, "b": 2, "c": 3}
    assert joint.sum() == pytest.approx(1)
    for names in (["c"], ["c", "a"], ["b", "alone"], ["a", "b", "c", "alone"]):
        others = tuple(axes[n] for n in axes if n not in names)
        kept = [n for n in axes if n in names]
        wanted = np.moveaxis(joint.sum(axis=others), [kept.index(n) for n in names], range(len(names)))
        assert posterior.marginal(names) == pytest.approx(wanted, rel=1e-12)
    records = {
        name: np.array(v) for name, v in zip(axes, zip(*np.ndindex(joint.shape), strict=True), strict=True)
    }
    assert np.exp(posterior.log_predictive(records, codes=True)) == pytest.approx(
        joint.reshape(-1), rel=1e-12
    )


def test_predictive_is_the_mean_over_draws(network):
    # 4000 draws: the mean of p(x|θ) is within 5 standard errors but with probability 6e-7.
    posterior = exact(counts_of(network, records_of(40, 4)), network)
    draws = posterior.flat_sample(4000, SeededSource(5))
    record = {name: [1] for name in SIZES}
    p = np.exp(log_probabilities(network, draws, record))[:, 0]
    gap = p.mean() - np.exp(posterior.log_predictive(record, codes=True)[0])
    assert abs(gap) < 5 * p.std() / len(p) ** 0.5
    assert posterior.tables(posterior.sample(3, SeededSource(1)))["c"].values.shape == (3, 2, 3, 2)
    assert posterior.tables(posterior.sample(3, SeededSource(1)))["c"].values.sum(axis=-1) == pytest.approx(1)


def test_synthetic_records_have_the_law_of_their_network(network):
    # χ² over 24 cells at level 1e-6; the negative control is the same sample against a uniform law.
    posterior = exact(counts_of(network, records_of(60, 6)), network)
    tables = posterior.tables(posterior.sample(1, SeededSource(7)))
    one = {node: table.values[0] for node, table in tables.items()}
    theta = np.concatenate([table.reshape(-1) for table in one.values()])
    records = ancestral(network, one, 20_000, np.random.default_rng(8))
    names = list(SIZES)
    seen = np.zeros([SIZES[n] for n in names])
    np.add.at(seen, tuple(records[n] for n in names), 1)
    wanted = 20_000 * marginal(network, theta, names)
    assert ((seen - wanted) ** 2 / wanted).sum() < 77  # P(χ²₂₃ > 77) = 1e-7
    assert ((seen - 20_000 / 24) ** 2 / (20_000 / 24)).sum() > 77


def test_strange_questions_are_refused(network):
    posterior = exact(np.zeros(network.size), network)
    for columns in (["z"], [], ["a", "z"]):
        with pytest.raises(ValueError, match="has the columns"):
            posterior.marginal(columns)


def test_naive_reading_clips_and_says_so(network):
    cells = NoisyCounts(network, n=40, scales=(30,) * 4).release(
        counts_of(network, records_of(40, 9)), SeededSource(1)
    )
    posterior = naive(cells, network)
    assert posterior.reading == "naive"
    assert cells.noisy.min() < 0
    assert posterior.concentrations == pytest.approx(0.5 + np.maximum(cells.noisy, 0))
