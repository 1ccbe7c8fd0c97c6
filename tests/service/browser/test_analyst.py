"""An analyst's way through the page: look, plan, release, read, ask; and what happens where that fails."""

import json
import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

CENSUS = "plan?table=census"


def planned(visitor, epsilon):
    """Plan the share of high incomes at a price, and wait for the prediction."""
    visitor.see(CENSUS)
    field = visitor.page.get_by_label("Privacy loss ε", exact=True)
    with visitor.page.expect_response(lambda one: _plans_at(one, epsilon)):
        field.fill(str(epsilon))
        field.press("Tab")
    visitor.settle()
    visitor.page.get_by_role("button", name="Release …").wait_for()


def _plans_at(response, epsilon):
    asked = response.request
    return asked.url.endswith("/v1/plans") and json.loads(asked.post_data)["epsilon"] == epsilon


def released(visitor):
    """Confirm, and wait for what comes of it: a release, or a job."""
    visitor.page.get_by_role("button", name="Release …").click()
    visitor.page.get_by_role("button", name="Release and charge").click()
    visitor.page.wait_for_url(re.compile(r"#/(release|job)\?id="))
    visitor.settle()


def spent(service, scope):
    found = service.get("/v1/owner/budgets").json()["budgets"]
    return next(one["spent_fraction"] for one in found if one["scope"] == scope)


def test_an_analyst_looks_plans_releases_and_reads(visit, service, tmp_path):
    service.enter("carol", 4)
    carol = visit().sign_in("carol")
    page = carol.page
    expect(page.locator("h1")).to_have_text("Tables")
    page.get_by_role("link", name="Census of 1994").click()
    carol.settle()
    expect(page.get_by_role("table", name="Dummy rows").get_by_role("row")).to_have_count(11)
    page.get_by_role("link", name="Plan a release").click()
    carol.settle()

    # The slider answers the keyboard and says its number
    slider = page.get_by_label("Privacy loss ε, slider")
    slider.focus()
    slider.press("ArrowRight")
    assert float(page.get_by_label("Privacy loss ε", exact=True).input_value()) > 0.5
    assert float(slider.get_attribute("aria-valuetext")) > 0.5
    planned(carol, 0.25)
    expect(page.get_by_role("img", name="Before and after")).to_be_visible()
    assert "prior" in page.get_by_role("img", name="Before and after").locator("desc").text_content()
    row = page.get_by_role("table", name="What each mechanism would give").get_by_role("row").nth(1)
    expect(row).to_contain_text(
        re.compile(r"0\.0\d+.*8\d.* %.*ε = 0\.25", re.DOTALL)
    )  # width, coverage, price

    # Nothing is asked for before the price is confirmed; then what was said to remain does
    before = spent(service, "analyst:carol")
    page.get_by_role("button", name="Release …").click()
    dialog = page.get_by_role("dialog", name="Release this?")
    expect(dialog).to_contain_text("ε = 0.25")
    expect(dialog).to_contain_text("analyst:carol: ε = 3.75")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Release …")).to_be_focused()
    assert spent(service, "analyst:carol") == before == 0
    released(carol)
    assert spent(service, "analyst:carol") == pytest.approx(0.25 / 4)
    carol.see("budgets")
    assert "Left\nε = 3.75" in carol.text

    page.go_back()
    carol.settle()
    release = page.url.rpartition("=")[2]
    said = service.get(f"/v1/releases/{release}").json()
    mean = said["summary"][0]["mean"]
    expect(page.get_by_role("table", name="Posterior means and 90 % intervals")).to_contain_text(
        f"{mean:.4g}"
    )
    for name in ("Posterior of p", "Privacy curve δ(ε)", "What an attacker's test can reach"):
        picture = page.get_by_role("img", name=name)
        expect(picture).to_be_visible()
        assert len(picture.locator("desc").text_content()) > 20

    with page.expect_download() as found:
        page.get_by_role("link", name="Certificate (JSON)").click()
    found.value.save_as(tmp_path / "certificate.json")
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    assert certificate == service.get(f"/v1/releases/{release}/certificate").json()
    assert certificate["receipt"]["id"] == release
    page.wait_for_timeout(2000)  # the list of releases has its own schedule
    carol.see("releases")
    expect(page.get_by_role("img", name="Releases in time")).to_be_visible()
    expect(page.get_by_role("table", name="Releases, newest first").get_by_role("row")).to_have_count(2)
    assert not carol.broken()


def test_a_release_answers_queries_for_free_and_the_box_completes_names(visit, service):
    ada = visit().sign_in("ada")
    page = ada.page
    planned(ada, 0.1)
    released(ada)
    before = spent(service, "analyst:ada")
    box = page.get_by_role("combobox", name="Query")
    box.press_sequentially("lo")
    expect(page.get_by_role("option").first).to_have_text(re.compile(r"^log\("))
    box.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant")
    box.press("Enter")
    assert box.input_value() == "log("
    box.press_sequentially("p")
    box.press("Escape")
    box.press_sequentially(")")
    expect(page.locator("form.ask .price")).to_have_text("Price: 0")
    box.press("Enter")
    expect(page.locator(".answer")).to_have_text(re.compile(r"^−1\.[34]\d*$"))  # log of about a quarter
    box.fill("log(p")
    box.press("Enter")
    expect(page.locator("form.ask .problem")).to_be_visible()
    assert spent(service, "analyst:ada") == before
    assert not ada.broken()


def test_a_fresh_draw_answers_a_query_and_is_charged(visit, service):
    ada = visit().sign_in("ada")
    page = ada.page
    ada.see("ask?table=census")
    before = spent(service, "analyst:ada")
    form = page.get_by_role("form", name="Charged question")
    expect(form.locator(".price")).to_have_text("Price: ε = 0.1")
    form.get_by_role("combobox", name="Query").fill("p > 0.1")
    form.get_by_role("button", name="Ask …").click()
    page.get_by_role("button", name="Ask and charge").click()
    expect(page.locator(".answers .good")).to_contain_text("Charged: ε = 0.1")
    assert spent(service, "analyst:ada") == pytest.approx(before + 0.1 / 4)
    assert not ada.broken()


def test_what_does_not_fit_is_refused_in_plain_words(visit, service):
    service.enter("dora", 1)
    dora = visit().sign_in("dora")
    page = dora.page
    planned(dora, 0.9)
    released(dora)
    planned(dora, 0.8)
    assert "it does not fit" in dora.text
    page.get_by_role("button", name="Release …").click()
    page.get_by_role("button", name="Release and charge").click()
    problem = page.get_by_role("dialog").get_by_role("alert")
    expect(problem).to_contain_text("That does not fit what is left of a budget.")
    expect(problem).to_contain_text(re.compile(r"analyst:dora: ε = 0\.(1|0999)"))
    assert spent(service, "analyst:dora") == pytest.approx(0.9)
    # Its way out: plan with what fits
    problem.get_by_role("button", name="Plan with ε = 0.").click()
    assert float(page.get_by_label("Privacy loss ε", exact=True).input_value()) == 0.1
    page.get_by_role("dialog").wait_for(state="detached")
    page.wait_for_timeout(500)
    dora.settle()
    released(dora)
    assert spent(service, "analyst:dora") == pytest.approx(1)
    assert not dora.broken()


def test_a_lost_connection_is_tried_again_and_paid_once(visit, service):
    ada = visit().sign_in("ada")
    page, keys = ada.page, []
    planned(ada, 0.05)
    before = spent(service, "analyst:ada")

    def lose(route):
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            route.fetch()  # the service is asked, and its answer gets lost
            return route.abort()
        return route.continue_()

    page.route("**/v1/releases", lose)
    page.get_by_role("button", name="Release …").click()
    page.get_by_role("button", name="Release and charge").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("The service did not answer.")
    page.get_by_role("button", name="Release and charge").click()
    page.wait_for_url(re.compile(r"#/release\?id="))
    assert len(keys) == 2
    assert keys[0] == keys[1]
    assert spent(service, "analyst:ada") == pytest.approx(before + 0.05 / 4)


def test_a_session_that_ended_leads_to_the_way_in(visit):
    ada = visit().sign_in("ada")
    ada.page.context.clear_cookies()
    ada.see("budgets")
    expect(ada.page.locator("h1")).to_have_text("Sign in")
    expect(ada.page.get_by_role("alert").first).to_contain_text("You are not signed in.")
    ada.page.get_by_label("Token").fill("discreet_nothing")
    ada.page.get_by_role("button", name="Sign in", exact=True).click()
    expect(ada.page.locator("main .problem")).to_contain_text("No valid token")
    ada.page.get_by_label("Token").fill(ada.service.tokens["ada"])
    ada.page.get_by_label("Token").press("Enter")
    expect(ada.page.locator("h1")).to_have_text("Budgets")  # where they wanted to go
