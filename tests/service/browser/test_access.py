"""Everybody can use it: keyboard, screen reader, a phone, in the dark. And nobody's name can break it."""

import json

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

VIEWS = (
    *("tables", "table?name=census", "plan?table=census", "releases", "ask", "budgets", "meaning"),
    *("owner/approvals", "owner/tables", "owner/analysts", "owner/tokens", "owner/budgets", "owner/trail"),
)
LONG = "AVeryLongNameWithoutAnySpaceThatNobodyShouldEverUseButSomebodyDoes" * 6
HOSTILE = (
    "<img src=x onerror='window.hit = 1'>",
    "</script><script>window.hit = 1</script>",
    "invoice\u202egnp.exe",
    "javascript:window.hit=1",
    '"><svg onload=window.hit=1>',
    LONG,
)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (400, "dark")])
def test_every_view_has_no_barrier_and_fits(visit, service, width, scheme):
    grace = visit(width=width, scheme=scheme)
    grace.page.goto(service.address)
    grace.settle()
    assert not grace.barriers() + grace.sticks_out(), "sign-in"
    grace.sign_in("grace")
    for view in VIEWS:
        grace.see(view)
        assert not grace.barriers() + grace.sticks_out(), view
    grace.see("owner/budgets")
    grace.page.get_by_role("button", name="Open a budget …").click()
    assert not grace.barriers() + grace.sticks_out(), "a dialog"
    assert not grace.broken()


def test_the_probe_of_barriers_finds_one(visit):
    ada = visit().sign_in("ada")
    ada.page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert [name for name, _ in ada.barriers()] == ["button-name"]


def test_the_policy_stops_what_should_not_be_there_and_is_heard(visit):
    """The negative control of every `broken()` in these tests."""
    ada = visit().sign_in("ada")
    for attack in (
        "document.head.append(Object.assign(document.createElement('style'), { textContent: 'p {}' }))",
        "document.body.setAttribute('style', 'color: red')",
        "document.querySelector('main').innerHTML = '<b>x</b>'",
        "new Image().src = 'http://elsewhere.example/'",
    ):
        before = len(ada.broken())
        ada.page.evaluate(f"() => {{ try {{ {attack} }} catch (error) {{ console.error(String(error)) }} }}")
        ada.page.wait_for_timeout(50)
        assert len(ada.broken()) > before, attack


def test_the_keyboard_leads_everywhere(visit):
    ada = visit().sign_in("ada")
    page = ada.page
    expect(page.locator("h1")).to_be_focused()  # a screen reader begins with the name of the view
    page.reload()
    ada.settle()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.locator(".brand").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Tables", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Plan and release")
    expect(page.locator("h1")).to_be_focused()
    expect(page).to_have_title("Plan and release · discreet")
    expect(page.locator("#ways [aria-current]")).to_have_text("Plan and release")


def test_a_service_with_a_provider_offers_it(visit, service):
    nobody = visit()
    nobody.page.route("**/v1/session/methods", lambda route: route.fulfill(json=["token", "openid"]))
    nobody.page.goto(service.address)
    way = nobody.page.get_by_role("link", name="Sign in with OpenID")
    expect(way).to_have_attribute("href", "/v1/session/openid")
    assert not nobody.barriers()


def test_on_a_phone_the_ways_are_behind_a_button(visit):
    ada = visit(width=400).sign_in("ada")
    page = ada.page
    expect(page.get_by_role("navigation")).to_be_hidden()
    menu = page.get_by_role("button", name="Menu")
    menu.click()
    expect(menu).to_have_attribute("aria-expanded", "true")
    page.get_by_role("link", name="Budgets", exact=True).click()
    expect(page.locator("h1")).to_have_text("Budgets")
    expect(page.get_by_role("navigation")).to_be_hidden()
    menu.click()
    page.keyboard.press("Escape")
    expect(menu).to_be_focused()


# All that is read or heard: text, tooltips, names of controls
SEEN = """document.body.textContent + [...document.querySelectorAll('*')]
  .flatMap(e => ['title', 'aria-label', 'alt'].map(name => e.getAttribute(name) ?? '')).join()"""


def _hostile(said, name):
    """Put a hostile text wherever the service says a text that somebody chose."""
    chosen = {
        "label",
        "name",
        "unit",
        "note",
        "analyst",
        "person",
        "owner",
        "title",
        "detail",
        "next",
        "table",
        "columns",
    }
    if isinstance(said, dict):
        return {
            key: name
            if key in chosen and isinstance(value, str) and key != "name"
            else [name] * len(value)
            if key in chosen and isinstance(value, list) and all(isinstance(one, str) for one in value)
            else _hostile(value, name)
            for key, value in said.items()
        }
    if isinstance(said, list):
        return [_hostile(one, name) for one in said]
    return said


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_text(visit, name):
    grace = visit(width=400)

    def poison(route):
        answer = route.fetch()
        said = _hostile(answer.json(), name)
        if "columns" in json.dumps(said):
            for table in said.get("tables", []):
                for column in table.get("columns", []):
                    column.update(name=name, levels=[name, name])
        route.fulfill(response=answer, body=json.dumps(said))

    page = grace.sign_in("grace").page
    page.route("**/v1/**", poison)
    elements = (
        "document.querySelectorAll('main img, main script, main svg[onload], main iframe, main b').length"
    )
    for view in (
        "tables",
        "table?name=census",
        "releases",
        "budgets",
        "owner/trail",
        "owner/tokens",
        "nothing",
    ):
        grace.see(view)
        assert page.evaluate("window.hit") is None
        assert page.evaluate(elements) == 0
        assert "\u202e" not in page.evaluate(SEEN)
        assert not grace.sticks_out(), view
        if view == "tables":
            shown = name.replace("\u202e", "⟨U+202E⟩")
            assert shown[:50] in grace.text
    assert not grace.broken()
