"""Pages in a real browser, offline. Debian's is chromium; without one tests are skipped, except in CI.

The report runs no script, and its policy forbids any; so a page around it, which holds each report in a frame
of the width wanted, does the measuring and leaves what it found in its own DOM.
"""

import html
import importlib.util
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--virtual-time-budget=4000",
    "--timeout=20000",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")
LIGHT, DARK = "1", "0"  # what Blink calls them
WIDTHS = (1280, 390)
MEASURE = """
const found = {};
for (const frame of document.querySelectorAll('iframe')) {
  const page = frame.contentDocument, root = page.documentElement, width = frame.clientWidth;
  const out = [...page.querySelectorAll('body *')].filter(e => !e.closest('.scroll table')
    && e.getClientRects().length && e.getBoundingClientRect().right > width + 1);
  const cut = [...page.querySelectorAll('svg text')].filter(e => {
    const a = e.getBoundingClientRect(), b = e.ownerSVGElement.getBoundingClientRect();
    return a.width && (a.left < b.left - 6 || a.right > b.right + 6);
  });
  const apart = s => {
    const held = [...s.querySelectorAll('text.key, text.tick')].map(e => [e, e.getBoundingClientRect()]);
    return held.flatMap(([e, a], i) => held.slice(i + 1).filter(([, b]) => a.width && b.width
      && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4)
      .map(([f]) => e.textContent + '|' + f.textContent));
  };
  const shown = what => [...page.querySelectorAll(what)].filter(e => e.getClientRects().length);
  found[frame.id] = {
    width, scroll: root.scrollWidth, out: out.slice(0, 5).map(e => e.tagName + '.' + e.className),
    cut: cut.slice(0, 5).map(e => e.textContent),
    tall: shown('th[scope=row]').filter(e => e.clientHeight > 4.5 * parseFloat(getComputedStyle(e).fontSize)
      && e.clientWidth < 80).map(e => e.textContent),
    touching: [...page.querySelectorAll('svg')].flatMap(apart).slice(0, 5),
    text: page.body.textContent,
    wide: shown('svg.wide').length, narrow: shown('svg.narrow').length,
    ground: getComputedStyle(page.body).backgroundColor, ink: getComputedStyle(page.body).color,
    smallest: Math.min(...shown('p, li, td, th, dd').map(e => parseFloat(getComputedStyle(e).fontSize))),
    hidden: [...page.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length,
    requests: frame.contentWindow.performance.getEntriesByType('resource').length,
  };
}
document.body.innerHTML = '';
document.body.appendChild(document.createElement('pre')).textContent = JSON.stringify(found);
"""


def _releases():
    """Load the releases that the report's own tests are made of; tests are no package."""
    path = Path(__file__).parents[2] / "report" / "conftest.py"
    spec = importlib.util.spec_from_file_location("report_releases", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.made


@pytest.fixture(scope="session")
def release_of():
    return _releases()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Run the browser on a page with some flags; returns its standard output."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and not os.environ.get("CI"):
        pytest.skip("no Chromium here; `apt-get install chromium` brings one")
    assert found, "CI must have a browser: apt-get install chromium"

    def run(page: Path, *flags: str, scheme: str = LIGHT) -> str:
        profile = tmp_path_factory.mktemp("profile")
        settings = [f"--user-data-dir={profile}", f"--blink-settings=preferredColorScheme={scheme}"]
        done = subprocess.run(  # noqa: S603
            [found, *FLAGS, *settings, *flags, page.as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    return run


@pytest.fixture(scope="session")
def measured(browser, tmp_path_factory):
    """Lay pages out at every width in one browser; returns what the ruler found, by name and width."""

    def measure(pages, scheme=LIGHT):
        return _measured(browser, tmp_path_factory.mktemp("pages"), pages, scheme)

    return measure


def _measured(browser, folder, pages, scheme):
    frames = "".join(
        f'<iframe id="{name}-{width}" style="border:0;width:{width}px;height:900px" '
        f'srcdoc="{html.escape(page, quote=True)}"></iframe>'
        for name, page in pages.items()
        for width in WIDTHS
    )
    harness = folder / "harness.html"
    harness.write_text(
        f'<!doctype html><meta charset="utf-8"><body>{frames}'
        f"<script>addEventListener('load', () => {{{MEASURE}}});</script></body>",
        encoding="utf-8",
    )
    dom = browser(harness, "--window-size=1400,1000", "--dump-dom", scheme=scheme)
    found = re.search(r"<pre>(.*?)</pre>", dom, flags=re.DOTALL)
    assert found, dom[-500:]
    return json.loads(html.unescape(found.group(1)))
