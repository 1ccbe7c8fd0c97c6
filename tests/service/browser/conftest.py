"""The service with its filled example, and one browser that looks at its page."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from axe_core_python.sync_playwright import Axe
from playwright.sync_api import Page, expect, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")
# What the browser says where the page breaks the policy, or where a script fails.
BROKEN = ("Content Security Policy", "Trusted", "Uncaught")
LONGEST = 30_000  # milliseconds to wait for anything: a wrong page fails, a slow machine does not

expect.set_options(timeout=LONGEST)


@dataclass(frozen=True)
class Service:
    """A running service, and the tokens of who may ask."""

    address: str
    tokens: dict[str, str]

    def get(self, path, who="grace"):
        return httpx.get(self.address + path, headers=self._as(who), timeout=60)

    def post(self, path, body, who="grace", **headers):
        return httpx.post(self.address + path, json=body, headers={**self._as(who), **headers}, timeout=60)

    def enter(self, name, epsilon):
        """Let somebody in who has spent nothing, so that a test counts from the beginning in any order."""
        for path, body in (
            ("analysts", {"name": name}),
            ("budgets", {"kind": "analyst", "owner": name, "epsilon": epsilon, "delta": 1e-6}),
            ("tokens", {"analyst": name}),
        ):
            said = self.post(f"/v1/owner/{path}", body)
            assert said.status_code == 201, said.text
        self.tokens[name] = said.json()["token"]

    def _as(self, who):
        return {"Authorization": f"Bearer {self.tokens[who]}"}


@dataclass
class Visitor:
    """A page of somebody, with what the browser had to say about it."""

    page: Page
    service: Service
    said: list[str] = field(default_factory=list)

    def sign_in(self, name):
        self.page.goto(self.service.address)
        self.page.get_by_label("Token").fill(self.service.tokens[name])
        self.page.get_by_label("Token").press("Enter")
        self.page.get_by_role("heading", level=1, name="Sign in").wait_for(state="detached")
        return self

    def see(self, view):
        """Go to a view, and wait until it is there and asks for nothing more."""
        self.page.evaluate("hash => { location.hash = hash }", f"#/{view}")
        self.page.locator(f'main[data-view="{view.partition("?")[0]}"]').wait_for()
        self.settle()

    def settle(self):
        self.page.locator("main:not([aria-busy]) > h1").wait_for()
        expect(self.page.locator("main [aria-busy]")).to_have_count(0)

    @property
    def text(self):
        return self.page.locator("main").inner_text()

    @property
    def heading(self):
        return self.page.locator("h1").inner_text()

    def broken(self):
        return [words for words in self.said if any(sign in words for sign in BROKEN)]

    def sticks_out(self):
        """Name what is wider than the window, scrolling boxes apart."""
        return self.page.evaluate(
            """() => document.documentElement.scrollWidth <= innerWidth ? [] :
            [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll')
              && e.getBoundingClientRect().right > innerWidth + 1)
            .map(e => e.outerHTML.slice(0, 120)).concat('the page scrolls')"""
        )

    def barriers(self):
        found = Axe().run(self.page)["violations"]
        return [(one["id"], [node["html"][:160] for node in one["nodes"]][:3]) for one in found]


def _free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    """Serve the example as its owner would: by the command, in a process of its own."""
    folder, port = tmp_path_factory.mktemp("service") / "kept", _free_port()
    command = [sys.executable, "-m", "discreet"]
    made = subprocess.run(  # noqa: S603
        [*command, "service", "example", str(folder), "--json"], capture_output=True, text=True, check=True
    )
    serving = [*command, "serve", str(folder), "--port", str(port)]
    with (
        (folder.parent / "log").open("w") as log,
        subprocess.Popen(serving, stdout=log, stderr=log) as running,  # noqa: S603
    ):
        try:
            found = Service(f"http://127.0.0.1:{port}", json.loads(made.stdout)["tokens"])
            _wait_for(found.address, running, Path(log.name))
            yield found
        finally:
            running.terminate()
            running.wait(60)


def _wait_for(address, running, log):
    for _ in range(600):
        assert running.poll() is None, log.read_text()[-3000:]
        try:
            if httpx.get(f"{address}/health", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-3000:])


@pytest.fixture(scope="module")  # not longer: while Playwright runs, no other test can run a loop of its own
def browser():
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and not os.environ.get("CI"):
        pytest.skip("no Chromium here; `apt-get install chromium` brings one")
    assert found, "CI must have a browser: apt-get install chromium"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def visit(browser, service):
    """Open the page anew, signed in as nobody: visit(width=…, scheme=…) → Visitor."""
    opened = []

    def go(*, width=1200, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        context.set_default_timeout(LONGEST)
        opened.append(context)
        found = Visitor(context.new_page(), service)
        found.page.on("console", lambda message: found.said.append(message.text))
        found.page.on("pageerror", lambda error: found.said.append(f"Uncaught {error}"))
        return found

    yield go
    for context in opened:
        context.close()
