"""Who may ask what: tokens, sessions, CSRF, other people's things. A refusal tells nothing more."""

import json
import logging
import time

import pytest
from sqlalchemy import update

from discreet.service.api import guards
from discreet.service.state import jobs, people
from discreet.service.state.layout import TOKENS
from discreet.service.state.store import StateStore

NOBODY = {"type": "about:blank", "title": "Not signed in", "status": 401}
OWN = (
    ("GET", "/v1/owner/tables", None),
    ("GET", "/v1/owner/analysts", None),
    ("GET", "/v1/owner/tokens", None),
    ("GET", "/v1/owner/budgets", None),
    ("GET", "/v1/owner/approvals", None),
    ("GET", "/v1/owner/trail", None),
    ("POST", "/v1/owner/analysts", {"name": "eve"}),
    ("POST", "/v1/owner/tokens", {"analyst": "grace"}),
    ("POST", "/v1/owner/budgets", {"kind": "analyst", "owner": "ada", "epsilon": 100}),
    ("POST", "/v1/owner/approvals/" + "0" * 32, {"decision": "approve", "reason": "x"}),
    ("DELETE", "/v1/owner/tokens/" + "0" * 16, None),
)


@pytest.fixture
def state(served):
    found = StateStore(served[1].state)
    yield found
    found.close()


def test_wrong_expired_revoked_and_no_tokens_are_the_same_nobody(call, state, served):
    token, expired = people.issue(state, "ada")
    with state.writing() as connection:
        connection.execute(update(TOKENS).where(TOKENS.c.id == token.id).values(expires=1))
    token, revoked = people.issue(state, "ada")
    assert call(revoked, "GET", "/v1/tables").status_code == 200
    assert call("grace", "DELETE", f"/v1/owner/tokens/{token.id}").status_code == 204
    answers = [call(who, "GET", "/v1/tables") for who in (expired, revoked, "discreet_wrong", "", "x y")]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].headers["www-authenticate"] == "Bearer"


def test_a_token_is_kept_as_a_digest_and_shown_once(call, state, served):
    made = call("grace", "POST", "/v1/owner/tokens", json={"analyst": "ada", "days": 1}).json()
    assert call(made["token"], "GET", "/v1/session").json()["name"] == "ada"
    with state.reading() as connection:
        assert made["token"] not in str(connection.exec_driver_sql("SELECT * FROM service_tokens").all())
    assert made["token"] not in call("grace", "GET", "/v1/owner/tokens").text


@pytest.mark.parametrize(("method", "path", "body"), OWN)
def test_what_is_an_owners_is_forbidden_to_analysts(call, method, path, body):
    refused = call("ada", method, path, json=body) if body else call("ada", method, path)
    assert refused.status_code == 403
    assert call("", method, path).status_code == 401


def test_other_peoples_releases_and_jobs_are_not_there(call, pay):
    name = pay("grace").json()["release"]["id"]
    job = pay("grace", epsilon=1.5).json()["job"]["id"]
    missing = call("ada", "GET", "/v1/releases/" + "0" * 32)
    assert missing.status_code == 404
    for path in (
        f"/v1/releases/{name}",
        f"/v1/releases/{name}/record",
        f"/v1/releases/{name}/certificate",
        f"/v1/releases/{name}/report",
        f"/v1/releases/{name}/inference-data",
        f"/v1/jobs/{job}",
    ):
        assert call("grace", "GET", path).status_code == 200, path
        hidden = call("ada", "GET", path)
        assert (hidden.status_code, hidden.content) == (404, missing.content), path
    assert name not in {each["id"] for each in call("ada", "GET", "/v1/releases").json()["releases"]}


def test_a_job_whose_required_budget_is_gone_is_not_charged_to_the_others(call, state):
    """Approved, and then its person left the group, or lost the budget, that the table requires."""
    asked = {"table": "visits", "columns": ["smoker"], "model": "beta_bernoulli", "epsilon": 2}
    before = call("grace", "GET", "/v1/releases").json()["total"]
    job = jobs.add(state, "5" * 32, "poor", jobs.QUEUED, asked)
    ends = time.monotonic() + 60
    while jobs.find(state, job.id).status not in {jobs.FAILED, jobs.DONE} and time.monotonic() < ends:
        time.sleep(0.1)
    said = call("poor", "GET", f"/v1/jobs/{job.id}").json()
    assert (said["status"], said["problem"]["status"]) == ("failed", 402)
    assert call("grace", "GET", "/v1/releases").json()["total"] == before


def test_a_session_needs_its_csrf_header_for_what_changes_anything(served):
    client, _, tokens = served
    client.cookies.clear()
    signed = client.post("/v1/session", json={"token": tokens["ada"]})
    assert signed.status_code == 201
    cookie = signed.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
    lasts = int(cookie.split("max-age=")[1].split(";")[0])
    assert lasts == pytest.approx(signed.json()["expires"] - time.time(), abs=60)
    csrf = {"X-CSRF": signed.json()["csrf"]}
    asked = {"table": "visits", "columns": ["smoker"], "model": "beta_bernoulli", "epsilon": 0.5}
    assert client.get("/v1/tables").status_code == 200
    assert client.post("/v1/plans", json=asked).status_code == 403
    assert client.post("/v1/plans", json=asked, headers={"X-CSRF": "other"}).status_code == 403
    assert client.post("/v1/plans", json=asked, headers=csrf).status_code == 200
    held = dict(client.cookies)
    assert client.delete("/v1/session", headers=csrf).status_code == 204
    client.cookies.clear()
    client.cookies.update(held)
    assert client.get("/v1/tables").status_code == 401
    client.cookies.clear()


def test_the_session_of_a_revoked_token_ends_with_it(served, state, call):
    client, _, _ = served
    token, secret = people.issue(state, "ada")
    client.cookies.clear()
    assert client.post("/v1/session", json={"token": secret}).status_code == 201
    assert client.get("/v1/session").json()["name"] == "ada"
    people.revoke(state, token.id)
    assert client.get("/v1/session").status_code == 401
    client.cookies.clear()


def test_a_cookie_of_another_host_travels_by_https_only(served):
    client, _, tokens = served
    far = client.post("/v1/session", json={"token": tokens["ada"]}, headers={"host": "example.org"})
    client.cookies.clear()
    assert "secure" in far.headers["set-cookie"].lower()


def test_every_answer_has_the_headers(call):
    for answer in (
        call("ada", "GET", "/v1/tables"),
        call("", "GET", "/v1/tables"),
        call("ada", "GET", "/nothing"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_what_is_too_large_or_no_json_is_refused(call):
    large = call("ada", "POST", "/v1/plans", content=b"x" * 70_000)
    assert large.status_code == 413

    def chunks():
        for _ in range(100):
            yield b"x" * 1000

    assert call("ada", "POST", "/v1/plans", content=chunks()).status_code == 413
    for body in (b"{", b"[" * 5000, b"\xff", b'{"epsilon": NaN}'):
        refused = call("ada", "POST", "/v1/plans", content=body, headers={"content-type": "application/json"})
        assert refused.status_code in {400, 422}, refused.text
        assert refused.headers["content-type"] == "application/problem+json"


def test_too_many_requests_are_slowed_down():
    from discreet.service.api.guards import Rates

    rates = Rates(rate=0.001, burst=3)
    assert [rates.allows("ada") for _ in range(4)] == [True, True, True, False]
    assert rates.allows("blaise")


def test_no_line_of_the_log_can_be_begun_from_outside(call, caplog):
    from discreet.service.api.guards import JsonLines

    with caplog.at_level(logging.INFO, logger="discreet.service"):
        call("ada", "GET", '/v1/tables/%0a{"level":"forged"}%1b[2J/dummy')
        ends = time.monotonic() + 10  # the line is written after the answer left
        while not caplog.records and time.monotonic() < ends:
            time.sleep(0.01)
    lines = [JsonLines().format(record) for record in caplog.records]
    assert lines
    for line in lines:
        assert "\n" not in line
        assert "\x1b" not in line
        assert json.loads(line)["level"] == "info"


def test_health_metrics_and_the_interface_describe_the_service(call):
    assert call("", "GET", "/health").json()["status"] == "ok"
    assert 'discreet_requests_total{method="GET"' in call("", "GET", "/metrics").text
    spec = call("", "GET", "/openapi.json").json()
    assert spec["paths"]["/v1/releases"]["post"]["parameters"][0]["name"] == "Idempotency-Key"
    named = [name for name in spec["components"]["schemas"] if name.startswith(("Ask", "New", "Dec", "Sign"))]
    assert all(spec["components"]["schemas"][name].get("examples") for name in named)


@pytest.mark.parametrize("tiny", ["1e-9999999", "1e-999999999999"])
def test_a_number_of_few_characters_and_many_digits_is_refused(call, tiny):
    for said in ({"epsilon": tiny}, {"epsilon": 1, "delta": tiny}):
        assert call("ada", "GET", "/v1/meaning", params=said).status_code == 422
        body = {"table": "visits", "columns": ["smoker"], "model": "beta_bernoulli", "epsilon": 1, **said}
        assert call("ada", "POST", "/v1/plans", json=body).status_code == 422


def test_a_prior_of_a_thousand_brackets_is_refused(call):
    said = {"table": "visits", "model": "beta_bernoulli", "columns": "smoker", "prior": "[" * 3900}
    assert call("ada", "GET", "/v1/queries/names", params=said).status_code == 422


def test_half_a_character_is_refused(call):
    said = b'{"table": "visits", "columns": ["smoker"], "model": "beta_bernoulli", "epsilon": 1, "prior": %s}'
    for prior in (b'{"\\ud800": 1}', b'{"alpha": ["\\ud800"]}'):
        json_ = {"content-type": "application/json"}
        refused = call("ada", "POST", "/v1/plans", content=said % prior, headers=json_)
        assert (refused.status_code, refused.json()["title"]) == (422, "Not understood")
    said = {"table": "visits", "model": "beta_bernoulli", "columns": "smoker", "prior": '{"\\ud800": 1}'}
    assert call("ada", "GET", "/v1/queries/names", params=said).status_code == 422


def test_a_body_that_does_not_arrive_is_not_waited_for(call, monkeypatch):
    monkeypatch.setattr(guards, "ARRIVES", 0.1)

    def chunks():
        yield b"{"
        time.sleep(0.5)
        yield b"}"

    assert call("ada", "POST", "/v1/plans", content=chunks()).status_code == 408
