"""Queries on θ over HTTP: free from a release, charged as a fresh draw, never run, and nobody else's."""

from fractions import Fraction

import pytest

from discreet.ledger import Ledger

ASKED = {"table": "visits", "columns": ["smoker"], "model": "beta_bernoulli", "epsilon": 0.5}


def ask(call, who, key=None, **said):
    headers = {"Idempotency-Key": key} if key else {}
    return call(who, "POST", "/v1/queries", json=said, headers=headers)


def spent(settings):
    with Ledger.open(settings.ledger) as ledger:
        return ledger.spent("table:visits").sums[0]


def test_a_query_of_a_release_is_free_and_the_same_every_time(served, call, pay):
    name = pay("ada", epsilon=0.5).json()["release"]["id"]
    before = spent(served[1])
    first, again = (ask(call, "ada", query="p / (1 - p)", release=name) for _ in range(2))
    assert first.content == again.content
    assert first.json()["price"] == 0
    assert first.json()["answer"]["lower"] < first.json()["answer"]["mean"] < first.json()["answer"]["upper"]
    assert ask(call, "ada", query="p > 0.01", release=name).json()["answer"]["mean"] == pytest.approx(1)
    assert spent(served[1]) == before
    assert ask(call, "blaise", query="p", release=name).status_code == 404


def test_a_fresh_draw_is_charged_once_and_answers_the_same_under_its_key(served, call):
    before = spent(served[1])
    first = ask(call, "ada", "draw-1", query="p / (1 - p)", **ASKED)
    assert first.status_code == 201, first.text
    said = first.json()
    assert said["price"]["epsilon"] == 0.5
    assert len(said["answer"]["each"]) == 1
    assert said["answer"]["lower"] is None  # no interval was released
    assert ask(call, "ada", "draw-1", query="p / (1 - p)", **ASKED).content == first.content
    assert spent(served[1]) - before == Fraction(said["receipt"]["guarantee"]["epsilon"])
    other = ask(call, "ada", "draw-2", query="p / (1 - p)", **ASKED).json()
    assert other["answer"]["each"] != said["answer"]["each"]


@pytest.mark.parametrize(
    "query", ["__import__('os')", "p(", "q + 1", "p ** 1000", "p\x00", "1" * 1900, "((" * 900]
)
def test_what_is_no_query_is_refused_before_any_charge(served, call, query):
    before = spent(served[1])
    refused = ask(call, "ada", "no-query", query=query, **ASKED)
    assert refused.status_code == 422, refused.text
    assert "docs/query.md" in refused.json()["next"]
    assert spent(served[1]) == before


def test_a_query_names_a_release_or_a_table_and_not_both(call):
    assert ask(call, "ada", query="p").status_code == 422
    assert ask(call, "ada", query="p", **ASKED).status_code == 422  # without a key it could be paid twice
    assert ask(call, "ada", "both", query="p", release="0" * 32, **ASKED).status_code == 422


def test_names_to_complete(call, pay):
    name = pay("ada").json()["release"]["id"]
    assert call("ada", "GET", f"/v1/queries/names?release={name}").json()["names"] == ["p"]
    said = call(
        "ada", "GET", "/v1/queries/names?table=visits&model=dirichlet_categorical&columns=ward"
    ).json()
    assert len(said["names"]) == 2
    assert "log" in said["functions"]
    network = '{"graph": {"smoker": ["ward"], "ward": []}}'
    path = f"/v1/queries/names?table=visits&model=bayesian_network&prior={network}"
    assert call("ada", "GET", path).json()["levels"]["ward"] == ["A", "B"]


def test_synthetic_rows_are_in_the_tables_own_words(call, pay):
    said = {"columns": ["ward"], "model": "dirichlet_categorical", "prior": {}, "epsilon": 0.5}
    name = pay("ada", **said).json()["release"]["id"]
    rows = call("ada", "GET", f"/v1/releases/{name}/synthetic?rows=50").text.splitlines()
    assert rows[0] == "ward"
    assert set(rows[1:]) <= {"A", "B"}
    assert len(rows) == 51
    assert call("blaise", "GET", f"/v1/releases/{name}/synthetic?rows=50").status_code == 404


def test_a_budget_is_closed_reopened_lowered_and_raised_with_reasons(call, pay):
    assert call("grace", "POST", "/v1/owner/analysts", json={"name": "brief"}).status_code == 201
    brief = call("grace", "POST", "/v1/owner/tokens", json={"analyst": "brief"}).json()["token"]
    made = {"kind": "analyst", "owner": "brief", "epsilon": 0.5}
    assert call("grace", "POST", "/v1/owner/budgets", json=made).status_code == 201

    def change(**said):
        return call("grace", "PATCH", "/v1/owner/budgets/analyst:brief", json={"reason": "because", **said})

    assert pay(brief).status_code == 201
    assert change(action="close").json()["budgets"][0]["closed"]
    assert pay(brief).status_code == 402
    assert not change(action="reopen").json()["budgets"][0]["closed"]
    assert change(action="lower", epsilon=0.05).json()["budgets"][0]["left"]["epsilon"] == pytest.approx(0.04)
    assert change(action="lower", epsilon=0.001).status_code == 409  # more is spent
    assert change(action="raise", epsilon=0.2).status_code == 200
    assert change(action="raise").status_code == 422
    assert pay(brief, epsilon=0.1).status_code == 201
    assert (
        call(
            "ada", "PATCH", "/v1/owner/budgets/analyst:brief", json={"action": "close", "reason": "x"}
        ).status_code
        == 403
    )


def test_what_answers_tell_grows_finer_with_their_number(call):
    said = call("ada", "GET", "/v1/distinguishability?lipschitz=2&probability=0.05").json()
    assert said["distance"] == sorted(said["distance"], reverse=True)
    assert said["distance"][0] == pytest.approx(3 * 2.995732 / (4 * 2), rel=1e-6)  # (3/4Ln) ln(1/t), n = 1
