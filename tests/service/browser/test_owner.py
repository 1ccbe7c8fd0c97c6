"""The owner's way: approvals by a second person, tokens, budgets, the trail."""

import csv
import json
import re
import time

import httpx
import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


def asked(service, who, epsilon, key):
    """Ask for a release, as a client would; returns what the service says."""
    body = {
        "table": "census",
        "columns": ["income"],
        "model": "beta_bernoulli",
        "epsilon": epsilon,
        "note": key,
    }
    said = service.post("/v1/releases", body, who, **{"Idempotency-Key": key})
    assert said.status_code in {201, 202}, said.text
    return said.json()


def paid(service, who, epsilon, key):
    """Ask, and wait until it is released."""
    while "job" in asked(service, who, epsilon, key):
        time.sleep(0.3)


def decide(owner, note, decision, reason):
    """Decide the request with that note."""
    card = owner.page.locator("section").filter(has_text=note)
    card.get_by_role("button", name=f"{decision} …").click()
    owner.page.get_by_label("Reason").fill(reason)
    owner.page.get_by_role("dialog").get_by_role("button", name=decision, exact=True).click()
    owner.page.get_by_role("dialog").wait_for(state="detached")
    expect(card).to_have_count(0)


def test_a_dear_release_waits_until_a_second_person_approves(visit, service):
    job, refused = (asked(service, "ada", 1.1, key)["job"]["id"] for key in ("approve-me", "reject-me"))
    ada, mary = visit().sign_in("ada"), visit().sign_in("mary")
    ada.see(f"job?id={job}")
    expect(ada.page.locator(".state")).to_contain_text("Waiting for a second person")
    expect(mary.page.locator("h1")).to_have_text("Approvals")
    decide(mary, "approve-me", "Approve", "agreed on Monday")
    ada.page.wait_for_url(re.compile(rf"#/release\?id={job}"))  # the page asks until it is there
    expect(ada.page.locator("main")).to_contain_text("ε = 1.1")

    ada.see(f"job?id={refused}")
    decide(mary, "reject-me", "Reject", "too much at once")
    problem = ada.page.locator("main .problem")
    expect(problem).to_contain_text("Nothing was charged")
    expect(problem).to_contain_text("too much at once", ignore_case=True)
    assert not ada.broken() + mary.broken()


def test_nobody_is_offered_to_approve_what_they_asked_for(visit, service):
    own = {"kind": "analyst", "owner": "mary", "epsilon": 2}
    assert service.post("/v1/owner/budgets", own, "grace").status_code == 201
    assert asked(service, "mary", 1.5, "my-own")["job"]["status"] == "awaiting_approval"
    mary = visit().sign_in("mary")
    card = mary.page.locator("section").filter(has_text="my-own")
    expect(card).to_contain_text("another owner decides")
    expect(card.get_by_role("button")).to_have_count(0)


def test_a_token_is_shown_once_works_and_is_revoked(visit, service):
    grace = visit().sign_in("grace")
    page = grace.page
    grace.see("owner/tokens?analyst=blaise")
    page.get_by_role("button", name="Issue a token …").click()
    page.get_by_label("Days until it expires").fill("3")
    page.get_by_role("button", name="Issue", exact=True).click()
    shown = page.locator("#token").inner_text()
    page.get_by_role("button", name="I have copied it").click()
    expect(page.locator("dialog")).to_have_count(0)
    assert shown not in page.content()  # and nowhere else
    mine = {"Authorization": f"Bearer {shown}"}
    assert httpx.get(f"{service.address}/v1/budgets", headers=mine, timeout=60).status_code == 200
    page.get_by_role("button", name="Revoke token").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
    expect(page.locator("main")).to_contain_text("revoked")
    assert not grace.broken()
    page.wait_for_timeout(1100)  # a worker believes for a second what another may have changed
    assert httpx.get(f"{service.address}/v1/budgets", headers=mine, timeout=60).status_code == 401


def test_a_budget_is_changed_with_a_reason(visit):
    grace = visit().sign_in("grace")
    page = grace.page
    grace.see("owner/budgets")
    block = page.locator(".budget").filter(has_text="table:shells")
    changes = [
        ("Close", None, "closed"),
        ("Reopen", None, "ε = 2"),
        ("Raise", "3", "ε = 3"),
        ("Lower", "1.5", "ε = 1.5"),
    ]
    for action, epsilon, shown in changes:
        block.get_by_role("button", name=f"{action} budget table:shells").click()
        dialog = page.get_by_role("dialog")
        if epsilon:
            field = dialog.get_by_label("Privacy loss ε", exact=True)
            field.fill(epsilon)
            field.press("Tab")
        dialog.get_by_role("button", name=action, exact=True).click()
        expect(dialog).to_be_visible()  # not without a reason
        dialog.get_by_label("Reason").fill("as agreed")
        dialog.get_by_role("button", name=action, exact=True).click()
        expect(dialog).to_have_count(0)
        expect(block.get_by_text(shown).first).to_be_visible()
    assert not grace.broken()


def test_a_table_is_registered_with_what_is_public_of_it(visit, service):
    grace = visit().sign_in("grace")
    page = grace.page
    grace.see("owner/tables")
    page.get_by_role("button", name="Register a table …").click()
    dialog = page.get_by_role("dialog", name="Register a table")
    address = service.get("/v1/owner/tables").json()["tables"][0]["address"]
    for label, text in (("Name", "again"), ("Title", "The same again"), ("Where the rows live", address)):
        dialog.get_by_label(label, exact=True).fill(text)
    dialog.get_by_label("Public schema").fill('{"columns": ')
    dialog.get_by_label("a group's").check()
    dialog.get_by_role("button", name="Register").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The schema is not valid JSON")
    schema = {"columns": {"income": {"kind": "binary", "true": ">50K"}}}
    dialog.get_by_label("Public schema").fill(json.dumps(schema))
    dialog.get_by_role("button", name="Register").click()
    expect(page.get_by_role("heading", name="The same again")).to_be_visible()
    made = next(one for one in service.get("/v1/owner/tables").json()["tables"] if one["name"] == "again")
    assert made["schema"] == schema
    assert set(made["requires"]) == {"table", "analyst", "group"}
    assert not grace.broken()


def test_the_trail_is_filtered_and_exported(visit, service, tmp_path):
    paid(service, "ada", 0.01, "for-the-trail")
    grace = visit().sign_in("grace")
    page = grace.page
    grace.see("owner/trail")
    everything = service.get("/v1/owner/trail").json()["trail"]
    of_ada = [entry for entry in everything if entry["analyst"] == "ada"]
    entries = page.locator(".entries tbody tr")
    expect(entries).to_have_count(len(everything))
    page.get_by_label("Who").select_option("ada")
    expect(entries).to_have_count(len(of_ada))
    page.get_by_label("Contains").fill("no entry has these words")
    expect(page.locator(".entries")).to_contain_text("Nothing on the trail passes these filters.")
    with page.expect_download() as found:
        page.get_by_role("link", name="Export all as CSV").click()
    found.value.save_as(tmp_path / "trail.csv")
    with (tmp_path / "trail.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(everything)
    assert not grace.broken()
