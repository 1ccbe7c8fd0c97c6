"""A release over HTTP: paid once, from every budget at once, with the same bytes under the same key."""

import json
import math
import time
import types
from fractions import Fraction

import numpy as np
import pytest

from discreet.ledger import Ledger
from discreet.release.release import Release
from discreet.service.api.guards import Rates
from discreet.service.api.problems import Refused
from discreet.service.api.releases import started
from discreet.service.compute.dummy import dummy_rows

MINE = ("analyst:ada", "group:ward", "table:visits")


def spent(settings, *scopes):
    with Ledger.open(settings.ledger) as ledger:
        return [ledger.spent(scope).sums[0] if ledger.spent(scope).sums else 0 for scope in scopes]


def test_a_release_is_paid_from_every_budget_and_a_retry_is_free_and_equal(served, pay):
    before = spent(served[1], *MINE)
    first = pay("ada", "retried", epsilon=0.125)
    assert first.status_code == 201, first.text
    again = pay("ada", "retried", epsilon=0.125)
    assert again.content == first.content
    after = spent(served[1], *MINE)
    assert [b - a for a, b in zip(before, after, strict=True)] == [Fraction(1, 8)] * 3


def test_a_release_is_what_the_ledger_keeps(served, pay, call):
    said = pay("ada").json()
    name = said["release"]["id"]
    record = call("ada", "GET", f"/v1/releases/{name}/record")
    assert json.loads(record.content) == said["record"]
    with Ledger.open(served[1].ledger) as ledger:
        assert ledger.released(name)[""] == record.content
        ledger.verify(Release.from_body(record.content))


def test_the_same_key_of_somebody_else_is_another_release(pay):
    ada, grace = pay("ada", "monday"), pay("grace", "monday")
    assert ada.json()["release"]["id"] != grace.json()["release"]["id"]


def test_a_key_that_was_used_for_another_question_is_refused(pay):
    assert pay("ada", "once").status_code == 201
    for said in ({"columns": ["ward"], "model": "dirichlet_categorical", "prior": {}}, {"epsilon": 0.02}):
        other = pay("ada", "once", **said)
        assert other.status_code == 409, other.text
        assert other.headers["content-type"] == "application/problem+json"


def test_what_does_not_fit_says_what_is_left_and_what_would_fit_and_charges_nothing(served, pay):
    before = spent(served[1], "table:visits", "analyst:blaise")
    refused = pay("blaise", epsilon=0.75)
    assert refused.status_code == 402
    problem = refused.json()
    assert problem["fits"] == {"epsilon": 0.05, "delta": 1e-5}
    assert {each["scope"] for each in problem["left"]} == {"table:visits", "analyst:blaise"}
    assert spent(served[1], "table:visits", "analyst:blaise") == before
    assert pay("blaise", epsilon=problem["fits"]["epsilon"]).status_code == 201


def test_who_has_no_budget_is_told_so(pay):
    assert pay("poor").json()["title"] == "No budget"


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"table": "nothing"}, 404),
        ({"columns": ["nothing"]}, 422),
        ({"model": "nothing"}, 403),
        ({"prior": {"alpha": "x"}}, 422),
        ({"prior": {"alpha": -1, "beta": 1}}, 422),
        ({"mechanism": "nothing"}, 422),
        ({"epsilon": 0}, 422),
        ({"epsilon": 1e9}, 422),
        ({"options": {"noise": "nothing"}}, 422),
        ({"where": ["age > 50"]}, 422),  # how many rows remain is private, and this table's number is public
    ],
)
def test_what_cannot_be_asked_is_refused_before_any_charge(served, pay, said, status):
    before = spent(served[1], *MINE)
    refused = pay("ada", **said)
    assert refused.status_code == status, refused.text
    assert spent(served[1], *MINE) == before


def test_the_detail_and_its_files(pay, call):
    name = pay("ada", epsilon=0.5).json()["release"]["id"]
    said = call("ada", "GET", f"/v1/releases/{name}").json()
    assert [row["name"] for row in said["summary"]]
    assert said["summary"][0]["lower"] < said["summary"][0]["mean"] < said["summary"][0]["upper"]
    assert sum(said["densities"][0]["y"]) > 0
    assert said["profile"]["delta"] == sorted(said["profile"]["delta"], reverse=True)
    assert all(
        h >= a for a, h in zip(said["trade_off"]["false_alarms"], said["trade_off"]["hits"], strict=True)
    )
    certificate = call("ada", "GET", f"/v1/releases/{name}/certificate").json()
    assert certificate["receipt"]["id"] == name
    page = call("ada", "GET", f"/v1/releases/{name}/report")
    assert page.text.startswith("<!doctype html>") or "<html" in page.text[:200]
    assert "sandbox" in page.headers["content-security-policy"]
    data = call("ada", "GET", f"/v1/releases/{name}/inference-data")
    assert data.content[:4] == b"\x89HDF"


def test_a_model_that_names_its_columns_itself_is_planned(call):
    prior = {"label": "smoker", "features": ["ward"]}
    asked = {"table": "visits", "model": "naive_bayes", "prior": prior, "epsilon": 0.5}
    plan = call("ada", "POST", "/v1/plans", json=asked).json()
    assert plan["rows"][0]["mechanism"] == "noisy_counts"
    assert plan["exact"] is None  # not compared with a posterior without privacy


def test_a_plan_is_free_and_shows_the_prior_and_a_simulated_posterior(served, call, pay):
    before = spent(served[1], *MINE)
    asked = {"table": "visits", "columns": ["smoker"], "model": "beta_bernoulli", "epsilon": 0.5}
    plan = call("ada", "POST", "/v1/plans", json=asked).json()
    assert plan["rows"][0]["price"]["epsilon"] <= 0.5
    assert len(plan["prior"]["x"]) == len(plan["posterior"]["y"])
    assert spent(served[1], *MINE) == before
    chosen = plan["rows"][0]["ask"]
    assert (
        pay("ada", epsilon=0.5, prior={}, mechanism=chosen.pop("mechanism"), options=chosen).status_code
        == 201
    )


def test_budgets_tables_models_dummies_and_meaning(call):
    budgets = call("ada", "GET", "/v1/budgets").json()["budgets"]
    assert {each["scope"] for each in budgets} == set(MINE)  # not those of others
    assert {each["scope"] for each in call("grace", "GET", "/v1/budgets").json()["budgets"]} > set(MINE)
    table = call("ada", "GET", "/v1/tables").json()["tables"][0]
    assert table["scopes"] == ["table:visits", "analyst:ada", "group:ward"]
    assert "address" not in table
    dummy = call("ada", "GET", "/v1/tables/visits/dummy?rows=3&seed=1").json()
    assert dummy == call("ada", "GET", "/v1/tables/visits/dummy?rows=3&seed=1").json()
    assert len(dummy["rows"]) == 3
    names = [each["name"] for each in call("ada", "GET", "/v1/models").json()["models"]]
    assert "beta_bernoulli" in names
    prior = call("ada", "GET", "/v1/models/dirichlet_categorical/prior?table=visits&columns=ward").json()
    assert prior["alpha"] == [1, 1]
    said = call("ada", "GET", "/v1/meaning?epsilon=1").json()
    assert {round(each["after"], 3) for each in said["odds"] if each["prior"] == 0.5} == {0.731}  # e/(1 + e)
    assert "at most 73.2 % sure" in said["words"][0]  # 73.11, rounded up
    drawn = said["profile"]
    for x in (0.3, 0.9, 0.99):  # δ is 0 from ε = 1 on, and the picture's line keeps to it before
        true = (math.e - math.exp(x)) / (1 + math.e)
        assert np.interp(x, drawn["epsilon"], drawn["delta"]) == pytest.approx(true, rel=0.02)


def test_a_table_whose_units_have_several_rows_hides_their_number(call):
    said = {"name": "stays", "address": "rows.parquet", "schema": {}, "unit": "patient", "rows_per_unit": 2}
    refused = call("grace", "POST", "/v1/owner/tables", json=said)
    assert refused.status_code == 422
    assert "add_remove" in refused.text


def test_above_a_price_a_second_person_approves(served, call, pay):
    before = spent(served[1], "table:visits")
    asked = pay("grace", "dear", epsilon=1.25)
    assert asked.status_code == 202
    job = asked.json()["job"]
    assert job["status"] == "awaiting_approval"
    progress = call("grace", "GET", f"/v1/jobs/{job['id']}").json()["progress"]
    assert (progress["step"], progress["of"], progress["next"]) == (1, 3, None)
    waits = call("mary", "GET", "/v1/owner/approvals").json()["approvals"]
    assert job["id"] in {each["id"] for each in waits}
    said = {"decision": "approve", "reason": "as agreed"}
    own = call("grace", "POST", f"/v1/owner/approvals/{job['id']}", json=said)
    assert own.status_code == 403  # nobody approves what they asked for
    assert spent(served[1], "table:visits") == before  # nothing is charged before
    assert call("mary", "POST", f"/v1/owner/approvals/{job['id']}", json=said).status_code == 200
    for _ in range(200):
        found = call("grace", "GET", f"/v1/jobs/{job['id']}").json()
        if found["status"] not in {"queued", "running"}:
            break
        assert found["progress"]["step"] in {2, 3}  # by the decision and the charge, which are public
        assert found["progress"]["of"] == 3
        time.sleep(0.1)
    assert found["status"] == "done", found
    assert found["decided_by"] == "mary"
    again = pay("grace", "dear", epsilon=1.25)
    assert again.status_code == 201
    assert again.json()["release"]["id"] == job["id"]
    assert spent(served[1], "table:visits")[0] - before[0] == Fraction(5, 4)


def test_a_key_under_way_answers_no_other_question(served):
    class Asking:
        id, inquiry = "a" * 32, "one"

    at = types.SimpleNamespace(tasks={"a" * 32: (types.SimpleNamespace(inquiry="another"), None)})
    with pytest.raises(Refused, match="Another request"):
        started(at, Asking)


def test_a_budget_of_nobody_is_refused_with_who_there_is(call):
    for kind, known in (("analyst", "ada"), ("group", "ward"), ("table", "visits")):
        said = {"kind": kind, "owner": "adda", "epsilon": 1}
        refused = call("grace", "POST", "/v1/owner/budgets", json=said)
        assert refused.status_code == 422
        assert known in refused.json()["detail"]


def test_dummy_rows_have_both_values_of_a_binary_column():
    for true, false in (("1", "0"), ("Yes", "No"), ("T", "F"), ("married", "not married"), (1, 0), (0, 1)):
        declared = {"columns": {"x": {"kind": "binary", "true": true}}}
        assert {row[0] for row in dummy_rows(declared, 40, 0)["rows"]} == {true, false}


def test_workers_share_a_rate_limit():
    parts = [Rates.shared(1e-9, 10, 2) for _ in range(2)]
    assert sum(part.allows("ada") for part in parts for _ in range(20)) == 10


def test_a_rejected_request_is_never_paid(served, call, pay):
    before = spent(served[1], "table:visits")
    job = pay("ada", "too-dear", epsilon=2).json()["job"]
    said = {"decision": "reject", "reason": "too dear"}
    assert call("mary", "POST", f"/v1/owner/approvals/{job['id']}", json=said).json()["status"] == "refused"
    again = pay("ada", "too-dear", epsilon=2)
    assert (again.status_code, again.json()["detail"]) == (403, "too dear")
    assert spent(served[1], "table:visits") == before
    assert call("mary", "POST", f"/v1/owner/approvals/{job['id']}", json=said).status_code == 422


def test_the_trail_says_who_asked_what_at_which_price(call, pay):
    name = pay("ada", note="=1+1").json()["release"]["id"]
    trail = call("grace", "GET", "/v1/owner/trail").json()["trail"]
    line = next(each for each in trail if each["id"] == name)
    assert (line["analyst"], line["table"], line["epsilon"], line["outcome"]) == (
        "ada",
        "visits",
        0.01,
        "released",
    )
    text = call("grace", "GET", "/v1/owner/trail?format=csv").text
    assert "'=1+1" in text  # no spreadsheet runs it
    assert name in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "prior"),
    [
        ("naive_bayes", {"label": "smoker", "features": ["ward"]}),
        ("bayesian_network", {"graph": {"smoker": ["ward"], "ward": []}}),
        ("bayesian_logistic_regression", {"target": "smoker", "features": ["age"]}),
    ],
)
def test_models_that_name_their_own_columns_are_planned_and_released(call, pay, model, prior):
    asked = {"columns": [], "model": model, "prior": prior, "epsilon": 0.5, "delta": 1e-6}
    plan = call("ada", "POST", "/v1/plans", json={"table": "visits", **asked})
    assert plan.status_code == 200, plan.text
    assert plan.json()["rows"]
    paid = pay("ada", **asked)
    assert paid.status_code == 201, paid.text
    said = call("ada", "GET", f"/v1/releases/{paid.json()['release']['id']}").json()
    assert said["summary"]
    assert said["densities"]
