"""The grammar of queries: what it reads, what it refuses, and that no text makes it do anything else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.posteriors.network.posterior import NetworkDirichlet, joint_given
from discreet.query.conditional import MOST_WORK
from discreet.query.grammar import DEEPEST, MOST_PARTS
from discreet.query.text import LONGEST
from discreet.sampling.source import SeededSource

parse = dc.query.parse
THETA = np.array([[0.25, 4.0], [0.5, -1.0], [0.75, 0.0]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p", [0.25, 0.5, 0.75]),
        ("1 - p", [0.75, 0.5, 0.25]),
        ("2 + 3 * p ** 2", [2.1875, 2.75, 3.6875]),
        ("-p ** 2", [-0.0625, -0.25, -0.5625]),
        ("(1 - p) / p", [3, 1, 1 / 3]),
        ("p ^ -1", [4, 2, 4 / 3]),
        ('"a ""b"" c" + .5e0', [4.5, -0.5, 0.5]),
        ("log(exp(p)) + abs(p) + sqrt(p ** 2)", [0.75, 1.5, 2.25]),
        ("p > 0.5", [False, False, True]),
        ("0.25 < p <= .75", [False, True, True]),
        ("p == .5 or not p < .7", [False, True, True]),
        ("not (p == .5 and p < .7)", [True, False, True]),
        ("p - p - p", [-0.25, -0.5, -0.75]),
        ("p / p / p", [4, 2, 4 / 3]),
    ],
)
def test_it_computes_what_it_says(text, expected):
    query = parse(text, ("p", 'a "b" c'))
    assert query.at(THETA) == pytest.approx(expected)
    assert query.kind == ("probability" if isinstance(expected[0], bool) else "number")


def test_what_is_no_number_is_said_and_makes_no_claim_true():
    names = ("p", "b")
    assert np.isnan(parse("log(b)", names).at(THETA)[1])
    assert np.isinf(parse("1 / b", names).at(THETA)[2])
    for sign in ("<", ">", "==", "!="):
        assert not parse(f"log(b) {sign} 0", names).at(THETA)[1]


def test_a_query_is_kept_in_one_line():
    assert parse("p \n+\t p\r\n", ("p",)).text == "p + p"
    assert parse('"a  b"\n > 1', ("a  b",)).text == '"a  b" > 1'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "1 to"),
        ("p" * (LONGEST + 1), "1 to"),
        ("q > 0", "no parameter is called 'q'"),
        ("p >", "got the end"),
        ("p = 1", "== compares"),
        ("1 and p", "joins comparisons"),
        ("(p > 1) + 1", "needs numbers"),
        ("(" * (DEEPEST + 1) + "p" + ")" * (DEEPEST + 1), "nested"),
        ("-" * (DEEPEST + 1) + "p", "nested"),
        ("not " * (DEEPEST + 1) + "p > 1", "nested"),
        ("p" + "+p" * MOST_PARTS, "at most"),
        ("p ** 65", "exponent"),
        ("p ** p", "exponent"),
        ("2 ** 9 ** 9", "brackets"),
        ("1e999", "beyond"),
        ("9" * 41, "cannot read"),
        ("p.real", "cannot read"),
        ("__import__('os')", "cannot read"),
        ("exec(p)", "no function"),
        ('"p', "not closed"),
        ("E[p]", "networks and naive Bayes"),
        ("p; p", "cannot read"),
        ("lambda: p", "cannot read"),
        ("p if p > 1 else 0", "operator or the end"),
    ],
)
def test_it_refuses_by_name(text, words):
    with pytest.raises(dc.QueryError, match=words):
        parse(text, ("p",))


SIGNS = tuple("()[]|,=<>+-*/^\"'.;:{}\\%$\0")
WORDS_OF_QUERIES = (
    "p",
    "b c",
    '"b c"',
    "E[",
    "P[",
    "x",
    "y=1",
    "1e9",
    "and ",
    "or ",
    "not ",
    "log(",
    "0.5",
    "é",
)
PIECE = st.sampled_from([*SIGNS, *WORDS_OF_QUERIES, " ", "𝒳", "E[y|x=1]", "P[x=0]"])
NETWORK = dc.BayesianNetwork({"y": ["x"]}).bind({"x": 2, "y": 3})
WORDS = dc.query.Vocabulary.of_model(NETWORK)
DRAWS = NetworkDirichlet(NETWORK, np.ones(8), "prior").flat_sample(5, SeededSource(1))


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(PIECE, max_size=25).map("".join)))
def test_any_text_is_a_query_or_a_query_error(text):
    try:
        query = parse(text, WORDS)
    except dc.QueryError:
        return
    assert query.at(DRAWS).shape == (5,)
    assert parse(query.text, WORDS).at(DRAWS) == pytest.approx(query.at(DRAWS), nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_quoted_writes_any_name_so_that_it_is_read_back(name):
    assert parse(dc.query.quoted(name), ("other", name)).names == (name,)
    assert isinstance(dc.query.complete(name, WORDS), list)


# ── conditional expectations ────────────────────────────────────────────────────────────────────────
DIAMOND = dc.BayesianNetwork({"b": ["a"], "c": ["a"], "d": ["b", "c"]}).bind({"a": 2, "b": 3, "c": 2, "d": 4})
ASKED = dc.query.Vocabulary.of_model(DIAMOND)
TABLES = NetworkDirichlet(DIAMOND, np.full(DIAMOND.size, 0.7), "prior").flat_sample(6, SeededSource(2))


def brute_force(theta, wanted, seen):
    """Return p(wanted | seen) by summing over all records."""
    found = []
    for row in theta:
        t = DIAMOND.split(row)
        joint = np.einsum("a,ab,ac,bcd->abcd", t["a"], t["b"], t["c"], t["d"])
        for name, code in seen.items():
            joint = np.take(joint, [code], axis="abcd".index(name))
        kept = joint.sum(axis=tuple(i for i, name in enumerate("abcd") if name != wanted))
        found.append(kept / kept.sum())
    return np.array(found)


@pytest.mark.parametrize("seen", [{}, {"a": 1}, {"b": 2, "c": 0}, {"c": 1}])
def test_conditional_expectations_are_those_of_the_joint_law(seen):
    given_words = ", ".join(f"{name} = {code}" for name, code in seen.items())
    text = f"E[d | {given_words}]" if seen else "E[d]"
    shares = brute_force(TABLES, "d", seen)
    assert parse(text, ASKED).at(TABLES) == pytest.approx(shares @ np.arange(4.0), rel=1e-12)
    text = f"P[d = 3 | {given_words}]" if seen else "P[d = 3]"
    assert parse(text, ASKED).at(TABLES) == pytest.approx(shares[:, 3], rel=1e-12)


def test_two_events_at_once_agree_with_the_networks_own_answer():
    joint = joint_given(DIAMOND, TABLES, ("a", "d"), {"c": np.array([1])})[:, 0]
    expected = joint[:, 1, 2] / joint.sum(axis=(1, 2))
    assert parse("P[a = 1, d = 2 | c = 1]", ASKED).at(TABLES) == pytest.approx(expected, rel=1e-12)


def test_very_small_probabilities_do_not_underflow():
    wide = dc.NaiveBayes("y", tuple(f"x{i}" for i in range(60))).bind(
        {"y": 2} | {f"x{i}": 2 for i in range(60)}
    )
    words = dc.query.Vocabulary.of_model(wide)
    theta = np.full((1, len(words.parameters)), 1e-9)
    theta[:, :2] = 0.5
    given_words = ", ".join(f"x{i} = 1" for i in range(60))
    assert parse(f"E[y | {given_words}]", words).at(theta) == pytest.approx(0.5)


def test_what_would_take_too_long_is_refused_before_any_theta():
    """Forty tangled columns, seen only through their children, need sums over nearly all of them at once."""
    names = [f"v{i}" for i in range(11)]
    star = dc.BayesianNetwork({"hub": names} | {n: [] for n in names})
    star = star.bind(dict.fromkeys([*names, "hub"], 2))
    hard = dc.BayesianNetwork(
        {f"w{i}": [f"u{i}", f"u{j}"] for i in range(40) for j in [(7 * i + 3) % 40] if i != j}
        | {f"z{i}": [f"w{i}", f"w{(11 * i + 5) % 40}"] for i in range(40) if (11 * i + 5) % 40 != i}
    )
    hard = hard.bind(dict.fromkeys(hard.nodes, 4))
    words = dc.query.Vocabulary.of_model(hard)
    given_words = ", ".join(f"z{i} = 0" for i in range(40))[:900].rpartition(",")[0]
    with pytest.raises(dc.QueryError, match=r"more than|columns at once"):
        parse(f"E[u0 | {given_words}]", words)
    assert MOST_WORK > 2**12
    parse("E[hub]", dc.query.Vocabulary.of_model(star))  # a cost that is allowed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("E[q]", "no column"),
        ("E[d | d = 1]", "twice"),
        ("E[d | a = 7]", "no level"),
        ("E[d = 1]", r"P\[column = level"),
        ("P[d]", "'='"),
        ("E[d | a]", "'='"),
        ("E[d", "']'"),
        (" + ".join(["E[d]"] * 9), "at most 8"),
    ],
)
def test_brackets_are_refused_by_name(text, words):
    with pytest.raises(dc.QueryError, match=words):
        parse(text, ASKED)
