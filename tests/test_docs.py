"""What the documentation shows runs as shown; what it claims to be tested is."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[1]
# Every page with Python in it; a page's blocks share one scope and run in an empty folder.
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    if "```python" in page.read_text()
)


@pytest.mark.parametrize("page", PAGES)
def test_every_python_block_runs_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), scope)  # noqa: S102 - our own page


def _tests_named() -> str:
    return "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))


def test_every_erratum_told_has_a_test_that_shows_it():
    told = re.findall(r"^### (\d+)\.", (ROOT / "docs/errata.md").read_text(), flags=re.MULTILINE)
    assert sorted(int(item) for item in told) == [*range(1, 28)]
    shown = set(re.findall(r"def test_erratum_(\d\d)_", _tests_named()))
    assert {f"{int(item):02d}" for item in told} <= shown


def test_every_test_that_guarantees_md_names_exists():
    page = (ROOT / "docs/guarantees.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)
    assert named
    for path, function in named:
        assert (ROOT / path).exists(), path
        assert not function or f"def {function}(" in (ROOT / path).read_text(), function


def test_no_page_names_a_file_that_is_not_there():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert link.startswith("http") or (page.parent / link).exists(), f"{page.name}: {link}"


def test_pages_import_from_the_public_surface_only():
    """`discreet`, or a package of it that lists its public names."""
    for page in PAGES:
        for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL):
            for node in ast.walk(ast.parse(block)):
                names = [alias.name for alias in getattr(node, "names", ())]
                if isinstance(node, ast.ImportFrom) and str(node.module).startswith("discreet"):
                    public = {*importlib.import_module(node.module).__all__}
                    public |= set(discreet._PACKAGES) if node.module == "discreet" else set()
                    assert set(names) <= public, f"{page}: from {node.module} import {', '.join(names)}"
                elif isinstance(node, ast.Import):
                    assert not {name for name in names if name.startswith("discreet.")}, page
