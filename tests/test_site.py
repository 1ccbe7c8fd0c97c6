"""The documentation as a site: built strictly, asking no other host for anything, searched from a folder."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import TimeoutError as NotInTime
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
FLAGS += ["--disable-component-update", "--disable-sync"]
WIDE = ("index.html", "tutorial.html", "glossary.html", "known-limits.html", "guarantees.html")
WIDE += ("models/normal_inverse_gamma.html", "reference/guarantees.html", "objective-perturbation.html")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and not os.environ.get("CI"):
        pytest.skip("no Chromium here; `apt-get install chromium` brings one")
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()


def test_no_page_loads_anything_from_another_host(site):
    pages = [*site.rglob("*.html")]
    assert len(pages) > 50
    loaded = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=\"?(https?://[^\s\">]+)")
    assert [url for page in pages for url in loaded.findall(page.read_text(encoding="utf-8"))] == []


def test_search_works_from_a_folder(site, browser):
    page, asked = browser.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    found = page.locator(".md-search-result__item a[href*='models/gamma_poisson']")
    for _ in range(6):  # what is typed before the page listens may go unheard
        page.fill("input[name=query]", "GammaPoisson")
        with suppress(NotInTime):
            found.first.wait_for(state="attached", timeout=15_000)
            break
        page.reload()
    assert found.count()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
    page.close()


def test_pages_fit_a_phone_and_their_formulas_are_drawn(site, browser):
    page = browser.new_page(viewport={"width": 400, "height": 800})
    for name in WIDE:
        page.goto((site / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, name
    page.goto((site / "models/normal_inverse_gamma.html").as_uri())
    tall = page.evaluate("[...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().height)")
    assert len(tall) == 3
    assert min(tall) > 15
    page.close()
