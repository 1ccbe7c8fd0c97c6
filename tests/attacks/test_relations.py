"""Promises about different neighbours: none passes for one about others, by any door."""

import copy
import json
import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.families.registry import EXAMPLES
from discreet.ledger import Ledger
from discreet.ledger.amounts import promise_words
from discreet.line.local import release_observations
from discreet.mcmc.target import SimplexTarget
from discreet.mechanisms.local.profile_categorical import SmoothCategorical
from discreet.models.naive_bayes import NaiveBayes
from discreet.privacy.accounting.composition import Composition, Worst, compose, parallel, repeat
from discreet.privacy.accounting.filters import filter_for
from discreet.privacy.amplification.subsampling import subsampled
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, MixedRelations, NotProved, Relation
from discreet.privacy.json import from_json, to_json
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.privacy.profile_graph import ProfileGraph
from discreet.privacy.words import in_words

LAWS = {
    "clerk": [Fraction(5, 10), Fraction(4, 10), Fraction(1, 10)],
    "nurse": [Fraction(4, 10), Fraction(5, 10), Fraction(1, 10)],
}
HOUSE = ProfileGraph.of(LAWS, [("clerk", "nurse")])
TOWN = ProfileGraph.of(
    {**LAWS, "guard": [Fraction(1, 10), Fraction(1, 10), Fraction(8, 10)]}, [("nurse", "guard")]
)
OLD = {"kind": "PureDP", "epsilon": 0.5, "relation": "profile"}  # as written before graphs were kept
KINDS = [
    lambda r: PureDP(0.2, relation=r),
    lambda r: ApproxDP(0.2, 1e-6, relation=r),
    lambda r: BoundedRange(0.2, relation=r),
    lambda r: ZeroCDP(0.2, relation=r),
    lambda r: GaussianDP(0.2, relation=r),
    lambda r: RenyiDP.at(8, 0.2, relation=r),
    lambda r: PureDP(0.2, relation=r) + GaussianDP(0.1, relation=r),
    lambda r: parallel(PureDP(0.2, relation=r), GaussianDP(0.1, relation=r)),
]


@pytest.mark.parametrize("build", KINDS)
def test_a_promise_over_a_graph_is_no_promise_about_records(build):
    """Releasing observations as they are loses ln 1.25 on the edge of this graph, and all of a record."""
    promise = build(HOUSE.relation)
    with pytest.raises(NotProved, match=HOUSE.relation.graph[:12]):
        promise.as_substitute()
    with pytest.raises(NotProved):
        promise.substituted()
    assert build(ADD_REMOVE).as_substitute().relation is SUBSTITUTE


@pytest.mark.parametrize("build", KINDS)
@pytest.mark.parametrize("other", [TOWN.relation, SUBSTITUTE, ADD_REMOVE], ids=lambda r: r.value)
def test_promises_over_different_neighbours_never_mix_and_the_message_names_them(build, other):
    ours, theirs = build(HOUSE.relation), build(other)
    for mix in (
        lambda: ours + theirs,
        lambda: compose(ours, theirs),
        lambda: parallel(ours, theirs),
        lambda: ours <= theirs,
        lambda: theirs < ours,
    ):
        with pytest.raises(MixedRelations) as refused:
            mix()
        assert HOUSE.relation.name in str(refused.value)
        assert other.name in str(refused.value)


def test_filters_and_parts_do_not_mix_either():
    with pytest.raises(MixedRelations, match=TOWN.relation.graph[:12]):
        filter_for(PureDP(1, relation=HOUSE.relation)).admits(PureDP(0.1, relation=TOWN.relation))
    for build in (
        lambda: Composition(((PureDP(1, relation=HOUSE.relation), 2),)),
        lambda: Worst((PureDP(1, relation=ADD_REMOVE), PureDP(2, relation=ADD_REMOVE))),
        lambda: Composition(
            ((PureDP(1, relation=HOUSE.relation), 1), (PureDP(1, relation=TOWN.relation), 1))
        ),
    ):
        with pytest.raises(MixedRelations):
            build()
    told = to_json(repeat(PureDP(1, relation=ADD_REMOVE), 3))
    with pytest.raises(MixedRelations):
        from_json({**told, "relation": "substitute"})  # a file that lies about its parts
    for count in (0, -3, 1.5, True):
        with pytest.raises(ValueError, match="whole number of uses"):
            from_json({**told, "parts": [[told["parts"][0][0], count]]})


def test_the_identity_is_of_laws_labels_names_and_edges_in_any_order():
    again = ProfileGraph.of(dict(reversed(LAWS.items())), [("nurse", "clerk")], weights=[1, 9])
    assert again.relation == HOUSE.relation
    assert hash(again.relation) == hash(HOUSE.relation)
    others = [
        TOWN,
        ProfileGraph.of(LAWS, []),
        ProfileGraph.of(LAWS, [("clerk", "nurse")], labels=["a", "b", "c"]),
        ProfileGraph.of({**LAWS, "nurse": [Fraction(4, 10), Fraction(4, 10), Fraction(2, 10)]}, [(0, 1)]),
    ]
    found = {g.relation for g in others}
    assert len(found) == len(others)
    assert HOUSE.relation not in found


@pytest.mark.parametrize("build", KINDS)
@pytest.mark.parametrize("relation", [HOUSE.relation, SUBSTITUTE, ADD_REMOVE], ids=lambda r: r.value)
def test_json_and_pickle_keep_the_neighbours(build, relation):
    promise = build(relation)
    again = from_json(json.loads(json.dumps(to_json(promise), allow_nan=False)))
    assert again == promise
    assert again + promise == promise + promise
    for twin in (pickle.loads(pickle.dumps(promise)), copy.deepcopy(promise), copy.copy(promise)):  # noqa: S301
        assert twin == promise
        assert twin.relation == relation
        if relation in {SUBSTITUTE, ADD_REMOVE}:
            assert twin.relation is relation  # `is` is asked all over the library
    if relation == HOUSE.relation:
        assert again.relation.about == "2 profiles, 3 values, 1 edge"
        assert relation.graph[:12] in in_words(PureDP(0.2, relation=relation))


def test_old_promises_without_a_graph_load_and_mix_with_nothing_not_even_themselves():
    old = from_json(OLD)
    assert old.epsilon(0) == 0.5
    assert to_json(old) == OLD
    assert "unknown graph" in in_words(old)
    for mix in (
        lambda: old + old,
        lambda: repeat(old, 2),
        lambda: parallel(old, old),
        lambda: old <= from_json(OLD),
        lambda: old + from_json(OLD),
        lambda: old + PureDP(1, relation=HOUSE.relation),
        lambda: old + PureDP(1),
        lambda: filter_for(old).admits(old),
        lambda: from_json({"kind": "Composition", "parts": [[OLD, 2]], "relation": "profile"}),
        lambda: from_json({"kind": "Worst", "parts": [OLD, OLD], "relation": "profile"}),
    ):
        with pytest.raises(MixedRelations, match="unknown graph"):
            mix()
    with pytest.raises(NotProved):
        old.as_substitute()
    for word in ("substitute", "add_remove"):
        assert from_json({**OLD, "relation": word}).relation.value == word
    assert "Composition that cannot be relied on" in promise_words(
        {"kind": "Composition", "parts": [[OLD, 2]], "relation": "profile"}
    )


@pytest.mark.parametrize(
    "relation",
    [
        "neighbours",
        None,
        3,
        [],
        {},
        {"graph": None, "about": ""},
        {"graph": "zz", "about": ""},
        {"graph": "0" * 64},
        {"graph": "0" * 64, "about": "\x1b[2J"},
        {"graph": "0" * 64, "about": "x" * 201},
        {"graph": 7, "about": "x"},
    ],
    ids=repr,
)
def test_what_is_no_relation_is_refused(relation):
    with pytest.raises(ValueError, match=r"neighbours|graph"):
        from_json({**OLD, "relation": relation})
    with pytest.raises(TypeError, match="relation must be"):
        PureDP(1, relation="substitute")  # a word would pass for neither


def test_the_constants_cannot_be_made_to_hold_a_graph():
    with pytest.raises(ValueError, match="no graph"):
        Relation("substitute", "0" * 64)
    assert SUBSTITUTE.graph is None
    assert Relation("substitute") is SUBSTITUTE
    assert pickle.loads(pickle.dumps(ADD_REMOVE)) is ADD_REMOVE  # noqa: S301
    assert copy.deepcopy(ADD_REMOVE) is ADD_REMOVE


@pytest.mark.parametrize("model", [m for m, _ in EXAMPLES], ids=lambda m: m.name)
def test_families_do_not_take_a_graph_for_one_record_more_or_less(model):
    with pytest.raises(ValueError, match="SUBSTITUTE or ADD_REMOVE"):
        model.sensitivity(HOUSE.relation)
    with pytest.raises(ValueError, match="SUBSTITUTE or ADD_REMOVE"):
        dc.NoisyStatistics.calibrate(model, target=GaussianDP(1, relation=HOUSE.relation))


def test_nor_do_models_kernels_or_subsampling():
    target = SimplexTarget(column="a", alpha=(1, 1), truncation=Fraction(1, 8))
    for wrong in (
        lambda: NaiveBayes("label", ("a", "b")).sensitivity(HOUSE.relation),
        lambda: dc.BayesianLogisticRegression("y", ("a",), norm=1, radius=1).sensitivity(HOUSE.relation),
        lambda: target.sensitivity(1, HOUSE.relation),
        lambda: subsampled(PureDP(1, relation=HOUSE.relation), 0.5),
    ):
        with pytest.raises(ValueError, match="SUBSTITUTE or ADD_REMOVE"):
            wrong()


def test_a_certificate_about_a_graph_claims_nothing_about_records(tmp_path):
    table = dc.Table.open({"bit": [0, 1] * 10}, schema={"bit": dc.Binary()})
    ledger = Ledger.open(tmp_path / "budget.db", budget=PureDP(1))
    made = dc.privatise(table["bit"], dc.BetaBernoulli(1, 1), target=PureDP(1), ledger=ledger)
    near = PureDP(1, relation=HOUSE.relation)
    said = replace(made, guarantee=near, target=near).certificate()
    assert said["protected"]["relation"] == HOUSE.relation.to_json()
    assert HOUSE.relation.graph[:12] in said["protected"]["meaning"]
    assert {row["question"] for row in said["promised"]["odds"]} == {"profile"}
    with pytest.raises(ValueError, match="SUBSTITUTE or ADD_REMOVE"):
        dc.privatise(table["bit"], dc.BetaBernoulli(1, 1), target=near, ledger=ledger)


def test_a_ledger_of_one_graph_pays_for_no_other(tmp_path):
    Path(tmp_path / "rows.csv").write_text("level\n0\n1\n")
    ledger = Ledger.open(tmp_path / "local.db", budget=PureDP(1, relation=HOUSE.relation))
    given = {"column": "level", "profile": "nurse", "observations": "may", "ledger": ledger}
    with pytest.raises(MixedRelations, match=TOWN.relation.graph[:12]):
        release_observations(tmp_path / "rows.csv", SmoothCategorical.solve(TOWN, 0.5), **given)
    made = release_observations(tmp_path / "rows.csv", SmoothCategorical.solve(HOUSE, 0.5), **given)
    assert made.guarantee.relation == HOUSE.relation
    assert HOUSE.relation.graph[:12] in ledger.remaining().words
    ledger.add_scope("older", from_json({**OLD, "kind": "ApproxDP", "delta": 1e-6}))
    assert "nothing" in ledger.remaining("older").words  # an old book can be read, and pays for nothing
    assert ledger.remaining("older").guarantee is None
    ledger.add_scope("old", from_json({**OLD, "epsilon": 3}))
    with pytest.raises(MixedRelations, match="unknown graph"):
        ledger.charge(from_json(OLD), scopes="old")
