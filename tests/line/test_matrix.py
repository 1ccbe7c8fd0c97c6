"""Every family, mechanism and relation: what a theorem covers is released, all else is refused unpaid."""

import itertools
import json

import pytest

from discreet.audit.registry import CASES
from discreet.catalogue import FAMILY, ROWS, names
from discreet.families.registry import EXAMPLES
from discreet.ledger import Ledger
from discreet.mechanisms.posterior.draw import PosteriorDraws
from discreet.mechanisms.registry import MECHANISMS, offered_to, single_draws
from discreet.privacy import kinds
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, NotProved, Unreachable
from discreet.privacy.json import from_json
from discreet.privacy.kinds import ApproxDP
from discreet.privatise import privatise
from discreet.release.certificate import certificate_text
from discreet.release.json import model_from_json, model_to_json
from discreet.release.release import Release
from discreet.sampling.source import SeededSource

OF_FAMILIES = offered_to("family")

OPTIONS = {"one_posterior_sample": {"truncation": 0.05}}
# (family, relation) → mechanisms with a theorem, beside noisy_statistics, which always has one
DRAWN = set(single_draws())
COVERED = {
    ("beta_bernoulli", SUBSTITUTE): {*DRAWN, "one_posterior_sample"},
    ("beta_bernoulli", ADD_REMOVE): {*DRAWN, "one_posterior_sample"},
    ("beta_binomial", SUBSTITUTE): {*DRAWN, "one_posterior_sample"},
    ("beta_binomial", ADD_REMOVE): {"one_posterior_sample"},
    ("beta_geometric", SUBSTITUTE): DRAWN,
    ("beta_geometric", ADD_REMOVE): set(),
    ("dirichlet_categorical", SUBSTITUTE): {*DRAWN, "one_posterior_sample"},
    ("dirichlet_categorical", ADD_REMOVE): {*DRAWN, "one_posterior_sample"},
    ("dirichlet_multinomial", SUBSTITUTE): {"one_posterior_sample"},
    ("dirichlet_multinomial", ADD_REMOVE): {"one_posterior_sample"},
    ("gamma_poisson", SUBSTITUTE): DRAWN,
    ("gamma_poisson", ADD_REMOVE): set(),
    ("gamma_exponential", SUBSTITUTE): DRAWN,
    ("gamma_exponential", ADD_REMOVE): set(),
    ("normal_mean", SUBSTITUTE): DRAWN,
    ("normal_mean", ADD_REMOVE): set(),
}
CASES_HERE = [
    pytest.param((model, data, mechanism, relation), id=f"{model.name}{i}-{mechanism}-{relation.value}")
    for i, (model, data) in enumerate(EXAMPLES)
    for mechanism, relation in itertools.product(OF_FAMILIES, (SUBSTITUTE, ADD_REMOVE))
]


def covered(model, mechanism, relation):
    if getattr(model, "grid", 1) != 1 and model.name == "beta_bernoulli" and relation is ADD_REMOVE:
        return mechanism in {"noisy_statistics", "one_posterior_sample"}
    known = {name for name, _ in COVERED} | {name for name in names(FAMILY) if "direct" in ROWS[name].cannot}
    if model.name not in known:  # its row says it, of records that are replaced
        return mechanism not in ROWS[model.name].cannot and (
            mechanism == "noisy_statistics" or relation is SUBSTITUTE
        )
    return mechanism == "noisy_statistics" or mechanism in COVERED.get((model.name, relation), set())


@pytest.mark.parametrize("case", CASES_HERE)
def test_released_where_a_theorem_covers_it_and_refused_unpaid_elsewhere(memory, tmp_path, case):
    model, data, mechanism, relation = case
    table = memory(data)
    ledger = Ledger.open(tmp_path / "wide.db", budget=ApproxDP(10_000, 0.5, relation=relation))
    target = ApproxDP(*{"direct": (300, 0.1)}.get(mechanism, (2, 1e-6)), relation=relation)  # direct: no knob
    ask = {"mechanism": mechanism, "target": target, "ledger": ledger, **OPTIONS.get(mechanism, {})}
    if not covered(model, mechanism, relation):
        with pytest.raises((NotProved, Unreachable)):
            privatise(table, model, **ask)
        assert [entry.kind for entry in ledger.history()] == ["scope"]
        assert table.events == []
        return
    release = privatise(table, model, source=SeededSource(1), **ask)
    assert [entry.kind for entry in ledger.history()] == ["scope", "charge", "computed"]
    assert release.relation is relation
    assert release.guarantee <= target
    check_certificate(release)
    assert Release.load(release.save(tmp_path / "saved", draws=0)) == release


def check_certificate(release):
    """Each number is recomputed from the parameters that the certificate itself states."""
    said = json.loads(json.dumps(release.certificate(), allow_nan=False))
    made = said["mechanism"]
    again = rebuilt(made, said["protected"])
    assert from_json(said["promised"]["guarantee"]) == again.guarantee.group(
        said["protected"]["rows_per_unit"]
    )
    for row in said["promised"]["epsilon_at_delta"]:
        assert row["epsilon"] is None or row["epsilon"] <= again.guarantee.epsilon(row["delta"])
    assert said["promised"]["odds"]
    assert all(0.01 <= row["after_at_most"] <= 1 for row in said["promised"]["odds"])
    assert set(said["verification"]["audit"]) <= set(CASES)
    assert made["theorem"]
    assert "NOT PRIVATE" in certificate_text(said)


def rebuilt(made, protected):
    knobs = dict(made["parameters"])
    q = knobs.pop("draws", 1)
    if "promise" in knobs:
        knobs["promise"] = getattr(kinds, knobs["promise"])
    relation = ADD_REMOVE if protected["relation"] == "add_remove" else SUBSTITUTE
    kind = MECHANISMS[made["name"]]
    one = kind(model_from_json(made["model"]), n=protected["number_of_records"], relation=relation, **knobs)
    return one if q == 1 else PosteriorDraws(one, q)


def test_the_table_of_coverage_is_not_vacuous():
    verdicts = [covered(case.values[0][0], *case.values[0][2:]) for case in CASES_HERE]
    assert 50 < sum(verdicts) < len(verdicts) - 30


@pytest.mark.parametrize("model", [m for m, _ in EXAMPLES], ids=lambda m: m.name)
def test_models_survive_json_exactly(model):
    strange = model.scale_prior(1 / 3)
    for member in (model, strange):
        assert model_from_json(json.loads(json.dumps(model_to_json(member)))) == member


def test_an_unknown_family_is_refused():
    with pytest.raises(ValueError, match=r"unknown family 'os\.system'"):
        model_from_json({"family": "os.system"})
