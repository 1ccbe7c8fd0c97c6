"""Profile mechanisms: references E1 and E2, exact verification, draws, and what the paper printed."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare

from discreet.mechanisms.local.profile_base import chosen, settled
from discreet.mechanisms.local.profile_bits import Flips, OneBitCluster, SmoothOneBit, TwoProfileBit
from discreet.mechanisms.local.profile_categorical import (
    EXPECTED_CORRUPTION,
    KEEP,
    LARGEST_ERROR,
    ExpectedCost,
    KeepOrRedraw,
    SmoothCategorical,
)
from discreet.privacy.profile_graph import ProfileGraph
from discreet.sampling.source import SeededSource

REFERENCE = Path(__file__).parents[2] / "reference"
E1 = json.loads((REFERENCE / "E1_bernoulli_profiles.json").read_text())
E2 = json.loads((REFERENCE / "E2_categorical_profiles.json").read_text())
CHAIN6 = ProfileGraph.chain([Fraction(i, 5) for i in range(6)])
CHAIN_A = ProfileGraph.chain([[Fraction(str(x)) for x in p] for p in E2["chainA"]["profiles"]])
EPSILONS = [0.1, 0.2, 0.5, 1, 2]
SOLVER = 1e-7  # how far a solver's value may be from the reference; the promise is verified exactly


def exact_loss(graph, outputs):
    """Restate the definition: the largest log-ratio over edges, by comparing everything with everything."""
    ratios = [
        (p / q if q else math.inf)
        for i, j in graph.edges
        for a, b in ((i, j), (j, i))
        for p, q in zip(outputs[a], outputs[b], strict=True)
        if p
    ]
    return math.log(max(ratios)) if max(ratios) < math.inf else math.inf


def test_two_profiles_have_the_closed_form_of_the_reference():
    for low, high, epsilon, closed, bisection, _ in E1["two_profile"]["rows"]:
        graph = ProfileGraph.chain([Fraction(str(low)), Fraction(str(high))])
        flip = TwoProfileBit.solve(graph, epsilon).flip[0]
        assert flip == pytest.approx(closed, abs=1e-14)
        assert flip == pytest.approx(bisection, abs=1e-11)


def test_erratum_18_the_printed_formula_exceeds_one_half():
    printed = [row[5] for row in E1["two_profile"]["rows"]]
    assert sum(p > 0.5 for p in printed) == 56
    assert len(printed) == 275
    ours = [
        TwoProfileBit.solve(ProfileGraph.chain([Fraction(str(r[0])), Fraction(str(r[1]))]), r[2]).flip[0]
        for r in E1["two_profile"]["rows"][::7]
    ]
    assert max(ours) <= 0.5


def test_a_smaller_flip_breaks_the_promise():
    """The closed form is an equality: 1 % less noise is found out by the exact check."""
    graph = ProfileGraph.chain([0.1, 0.7])
    flip = TwoProfileBit.solve(graph, 0.5).flip[0]
    less = Flips.of([flip * 0.99] * 2)
    assert graph.loss(less.outputs(graph.profiles)) > 0.5
    assert graph.loss(settled(graph, less, 0.5).outputs(graph.profiles)) <= 0.5  # repaired


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_bernoulli_chain_of_six(epsilon):
    row = E1["chains"]["Bernoulli-Chain-6"][f"eps={epsilon}"]
    smooth, cluster = SmoothOneBit.solve(CHAIN6, epsilon), OneBitCluster.solve(CHAIN6, epsilon)
    assert max(smooth.flip) == pytest.approx(row["smooth_max_alpha"], abs=SOLVER)
    assert smooth.flip == pytest.approx(row["smooth_alpha_then_min_sum"], abs=SOLVER)
    assert cluster.flip == pytest.approx([row["one_bit_cluster_alpha"]] * 6, abs=1e-14)
    asymmetric = E2["bernoulli_chain_asymmetric_2x2"][f"chain6_eps={epsilon}"]
    general = SmoothCategorical.solve(CHAIN6, epsilon, objective=LARGEST_ERROR)
    assert general.largest_error == pytest.approx(asymmetric["asymmetric_minimax_offdiag"], abs=SOLVER)
    nearest = SmoothCategorical.solve(CHAIN6, epsilon, objective=EXPECTED_CORRUPTION)
    assert nearest.corruption().mean() == pytest.approx(asymmetric["expected_only_mean_corrupt"], abs=SOLVER)
    for mechanism in (smooth, cluster, general, nearest):
        assert exact_loss(CHAIN6, mechanism.outputs) <= epsilon + 1e-15
        assert mechanism.guarantee.loss <= epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_categorical_chain(epsilon):
    row = E2["chainA"][f"eps={epsilon}"]
    largest = SmoothCategorical.solve(CHAIN_A, epsilon, objective=LARGEST_ERROR)
    nearest = SmoothCategorical.solve(CHAIN_A, epsilon, objective=EXPECTED_CORRUPTION)
    keeps = SmoothCategorical.solve(CHAIN_A, epsilon)
    assert largest.largest_error == pytest.approx(row["minimax"]["t"], abs=SOLVER)
    tie_broken = row["minimax_then_expected"]["mean_corrupt"]
    assert largest.corruption().mean() == pytest.approx(tie_broken, abs=SOLVER)
    assert nearest.corruption().mean() == pytest.approx(row["expected"]["mean_corrupt"], abs=SOLVER)
    assert nearest.corruption().mean() <= min(largest.corruption().mean(), keeps.corruption().mean()) + SOLVER
    for mechanism in (largest, nearest, keeps):
        assert exact_loss(CHAIN_A, mechanism.outputs) <= epsilon + 1e-15
        assert mechanism.guarantee.loss <= epsilon


def test_erratum_19_the_largest_error_alone_is_not_unique():
    """The least and greatest expected corruption on the optimal face differ by a factor of 2.4."""
    row = E2["chainA"]["eps=0.1"]
    greatest = row["minimax_then_MAXexpected"]["mean_corrupt"]
    ours = SmoothCategorical.solve(CHAIN_A, 0.1, objective=LARGEST_ERROR)
    assert ours.corruption().mean() < 0.5 * greatest
    assert ours.largest_error == pytest.approx(row["minimax_then_MAXexpected"]["t"], abs=SOLVER)


@st.composite
def graphs(draw):
    k, d = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    rows = draw(
        st.lists(st.lists(st.integers(0, 9), min_size=d, max_size=d).filter(any), min_size=k, max_size=k)
    )
    pairs = [(i, j) for i in range(k) for j in range(i)]
    edges = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=len(pairs)))
    return ProfileGraph.of([[Fraction(x, sum(r)) for x in r] for r in rows], edges)


@settings(max_examples=40, deadline=None)
@given(graphs(), st.floats(0.05, 3), st.sampled_from([KEEP, LARGEST_ERROR, EXPECTED_CORRUPTION]))
def test_whatever_the_solver_says_the_promise_is_verified(graph, epsilon, objective):
    mechanism = SmoothCategorical.solve(graph, epsilon, objective=objective)
    assert exact_loss(graph, mechanism.outputs) <= epsilon + 1e-15
    assert mechanism.guarantee.loss <= epsilon
    assert mechanism.guarantee.relation == graph.relation
    for i, law in enumerate(graph.profiles):
        matrix = mechanism.kernels.matrix(i)
        assert (matrix >= 0).all()
        assert matrix.sum(axis=1) == pytest.approx(np.ones(graph.values), abs=1e-12)
        assert np.array(law, dtype=float) @ matrix == pytest.approx(
            np.array(mechanism.outputs[i], dtype=float), abs=1e-12
        )


@settings(max_examples=25, deadline=None)
@given(graphs(), st.floats(0.1, 2))
def test_the_complete_graph_program_is_the_edge_program(graph, epsilon):
    whole = ProfileGraph.complete(graph.profiles)
    listed = ProfileGraph.of(graph.profiles, whole.edges)
    object.__setattr__(listed, "edges", (*listed.edges, listed.edges[0]))  # no longer counted as complete
    a, b = SmoothCategorical.solve(whole, epsilon), SmoothCategorical.solve(listed, epsilon)
    assert a.keep == pytest.approx(b.keep, abs=1e-6)


def test_local_privacy_implies_profile_privacy_and_costs_more():
    for epsilon in EPSILONS:
        warner = 1 / (1 + math.exp(epsilon))
        assert (
            max(SmoothOneBit.solve(CHAIN6, epsilon).flip)
            <= max(OneBitCluster.solve(CHAIN6, epsilon).flip) + 1e-8
        )
        assert max(OneBitCluster.solve(CHAIN6, epsilon).flip) < warner
        everywhere = Flips.of([warner] * 6)
        assert CHAIN6.loss(everywhere.outputs(CHAIN6.profiles)) <= epsilon


def test_a_user_s_cost_steers_the_errors():
    """Calling 0 a 3 is dear, calling it a 1 is cheap: compared with equal costs, the dear error is rarer."""
    equal = np.ones((4, 4)) - np.eye(4)
    dear = equal.copy()
    dear[0, 3] = dear[3, 0] = 50
    plain = SmoothCategorical.solve(CHAIN_A, 0.2, objective=ExpectedCost(tuple(map(tuple, equal.tolist()))))
    steered = SmoothCategorical.solve(CHAIN_A, 0.2, objective=ExpectedCost(tuple(map(tuple, dear.tolist()))))
    nearest = SmoothCategorical.solve(CHAIN_A, 0.2, objective=EXPECTED_CORRUPTION)
    assert plain.corruption().mean() == pytest.approx(nearest.corruption().mean(), abs=1e-6)
    bad = lambda m: max(m.kernels.matrix(i)[0, 3] + m.kernels.matrix(i)[3, 0] for i in range(3))  # noqa: E731
    assert bad(steered) <= bad(plain) + 1e-9
    assert bad(steered) < 1e-6


def test_components_are_apart():
    graph = ProfileGraph.of([0.1, 0.9, 0.5, 0.52], [(0, 1), (2, 3)])
    flips = OneBitCluster.solve(graph, 1.0).flip
    assert graph.components == ((0, 1), (2, 3))
    assert flips[0] == flips[1] > 0
    assert flips[2] == flips[3] == 0  # near already


def test_no_edge_needs_no_noise():
    graph = ProfileGraph.of([[0.2, 0.8], [0.9, 0.1]], [])
    assert SmoothCategorical.solve(graph, 1.0).keep == 1.0
    assert SmoothOneBit.solve(graph, 1.0).flip == (0.0, 0.0)


def test_a_profile_with_a_zero_where_its_neighbour_has_none():
    graph = ProfileGraph.chain([[0.0, 0.5, 0.5], [0.4, 0.3, 0.3]])
    for objective in (KEEP, LARGEST_ERROR, EXPECTED_CORRUPTION):
        mechanism = SmoothCategorical.solve(graph, 0.5, objective=objective)
        assert all(q > 0 for q in mechanism.outputs[0])
        assert mechanism.guarantee.loss <= 0.5


def test_draws_follow_the_very_kernel_that_was_verified():
    """χ² at level 1e-6 over 4·10⁵ draws for each observed value; a kernel off by 2 % is rejected."""
    mechanism = SmoothCategorical.solve(CHAIN_A, 0.3, objective=LARGEST_ERROR)
    size, source = 400_000, SeededSource(7)
    matrix = mechanism.kernels.matrix(1)
    x = int(np.argmin(np.diag(matrix)))
    seen = np.bincount(mechanism.release(np.full(size, x), source, profile=1), minlength=4)
    row = matrix[x]
    wrong = np.where(np.arange(4) == x, row - 0.02 * row[x], row + 0.02 * row[x] / 3)
    assert chisquare(seen[row > 0], size * row[row > 0]).pvalue > 1e-6
    assert chisquare(seen, size * wrong).pvalue < 1e-6


def test_flips_and_keeps_are_drawn_with_their_probability():
    """Binomial tests at level 1e-6; a claim 3 % off is rejected."""
    size, source = 400_000, SeededSource(11)
    flips = OneBitCluster.solve(CHAIN6, 0.5)
    changed = int((flips.release(np.zeros(size, dtype=np.int64), source, profile="2") == 1).sum())
    assert binomtest(changed, size, flips.flip[2]).pvalue > 1e-6
    assert binomtest(changed, size, flips.flip[2] * 1.03).pvalue < 1e-6
    keeps = SmoothCategorical.solve(CHAIN_A, 0.1)
    told = int((keeps.release(np.full(size, 3), source, profile=2) == 3).sum())
    truth = keeps.kernels.matrix(2)[3, 3]
    assert binomtest(told, size, truth).pvalue > 1e-6
    assert binomtest(told, size, truth * 1.03).pvalue < 1e-6


def test_words_choose_exactly():
    law = (Fraction(0), Fraction(1, 4), Fraction(3, 4), Fraction(0))
    words = np.array([0, 2**62 - 1, 2**62, 2**64 - 1], dtype=np.uint64)
    assert chosen(law, words).tolist() == [1, 1, 2, 2]
    certain = KeepOrRedraw(Fraction(1), ((Fraction(1, 2), Fraction(1, 2)),))
    assert certain.drawn(0, np.array([0, 1, 1]), SeededSource(1)).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ProfileGraph.chain([]), "at least one profile"),
        (lambda: ProfileGraph.chain([[0.5, 0.6], [0.5, 0.5]]), "sums to 1.1"),
        (lambda: ProfileGraph.chain([[1.5, -0.5], [0.5, 0.5]]), "negative"),
        (lambda: ProfileGraph.of([0.2, 1.4], [(0, 1)]), "probability"),
        (lambda: ProfileGraph.of([0.2, 0.4], [(0, 2)]), "joins two profiles"),
        (lambda: ProfileGraph.of([0.2, 0.4], [(1, 1)]), "different"),
        (lambda: ProfileGraph.of({"a": 0.2, "b": 0.4}, [("a", "c")]), "joins two profiles"),
        (lambda: ProfileGraph.of([0.2, 0.4], [(0, 1)], weights=[1, -1]), "weights"),
        (lambda: ProfileGraph.from_counts({"a": [0, 0]}, []), "at least one count"),
        (lambda: SmoothOneBit.solve(CHAIN_A, 1.0), "use SmoothCategorical"),
        (lambda: TwoProfileBit.solve(CHAIN6, 1.0), "use SmoothOneBit"),
        (lambda: SmoothCategorical.solve(CHAIN_A, math.nan), "epsilon"),
        (lambda: SmoothCategorical.solve(CHAIN_A, -1), "epsilon"),
        (
            lambda: SmoothCategorical.solve(CHAIN_A, 0.1, objective=ExpectedCost(((0.0, 1.0), (1.0, 0.0)))),
            "4 × 4",
        ),
        (lambda: SmoothCategorical.solve(CHAIN_A, 1.0).release([4]), "from 0 to 3"),
        (lambda: SmoothCategorical.solve(CHAIN_A, 1.0).release([0.5]), "integers"),
        (lambda: SmoothCategorical.solve(CHAIN_A, 1.0).release([0], profile="nobody"), "no profile"),
    ],
)
def test_bad_input_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_graphs_from_files_and_counts(tmp_path):
    (tmp_path / "g.toml").write_text('edges = [["a", "b"]]\n[profiles]\na = [0.25, 0.75]\nb = [0.5, 0.5]\n')
    (tmp_path / "g.json").write_text(
        '{"profiles": {"a": [0.25, 0.75], "b": [0.5, 0.5]}, "edges": [["b", "a"]]}'
    )
    counted = ProfileGraph.from_counts({"a": [1, 3], "b": [4, 4]}, [("a", "b")])
    read = ProfileGraph.load(tmp_path / "g.toml")
    assert read == ProfileGraph.load(tmp_path / "g.json")
    assert read.profiles == counted.profiles
    assert counted.weights == (Fraction(1, 3), Fraction(2, 3))
    (tmp_path / "bad.toml").write_text("edges = []\n")
    with pytest.raises(ValueError, match="lacks profiles"):
        ProfileGraph.load(tmp_path / "bad.toml")


@pytest.mark.parametrize("build", [ProfileGraph.chain, ProfileGraph.complete])
def test_probabilities_below_all_doubles_are_compared_exactly(build):
    """2^-1080 beside 2^-1090, both 0 as doubles: the loss is 10 ln 2, and nothing may be told as it is."""
    small, smaller = Fraction(1, 2**1080), Fraction(1, 2**1090)
    graph = build([[small, 1 - small], [smaller, 1 - smaller], [smaller, 1 - smaller]])
    assert graph.loss(graph.profiles) == pytest.approx(10 * math.log(2), rel=1e-15)
    assert SmoothCategorical.solve(graph, 0.5).guarantee.loss <= 0.5


@pytest.mark.parametrize("profile", [-1, 2, "nobody", 1.0])
def test_a_profile_that_is_not_there_is_refused(profile):
    mechanism = SmoothOneBit.solve(ProfileGraph.chain([0.2, 0.7]), 0.5)
    with pytest.raises(ValueError, match="no profile is called"):
        mechanism.release([0, 1], SeededSource(1), profile=profile)


def test_graphs_come_from_networkx_and_go_back():
    import networkx as nx

    given = nx.Graph()
    given.add_node("a", law=[0.25, 0.75], weight=2)
    given.add_node("b", law=[0.5, 0.5])
    given.add_edge("b", "a")
    graph = ProfileGraph.from_networkx(given)
    assert graph.weights == (Fraction(2, 3), Fraction(1, 3))
    assert graph.edges == ((0, 1),)
    assert ProfileGraph.from_networkx(graph.to_networkx()) == graph
    given.add_node("c")
    with pytest.raises(ValueError, match="missing at 'c'"):
        ProfileGraph.from_networkx(given)
