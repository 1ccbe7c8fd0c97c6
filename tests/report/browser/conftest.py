"""Pages in a real browser, offline. Debian's is chromium; without one tests are skipped, except in CI."""

import importlib.util
import os
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
