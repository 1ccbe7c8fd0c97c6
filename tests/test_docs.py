"""What the documentation shows runs as shown; what it claims to be tested is."""

import ast
import importlib
import importlib.util
import re
import shlex
from pathlib import Path

import markdown
import pytest
from typer.testing import CliRunner

import discreet
from discreet.catalogue import ROWS
from discreet.cli import app

ROOT = Path(__file__).parents[1]
WORDS = re.compile(r"[\w\s.,:'’&-]+")
_SPEC = importlib.util.spec_from_file_location("made_pages", ROOT / "docs/making/pages.py")
made = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(made)
MADE = {f"models/{name}.md" for name in [*ROWS, "index"]} | {f"reference/{file}.md" for file in made.groups()}
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


def test_the_tutorials_commands_run_on_the_files_that_it_wrote(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/tutorial.md").read_text()
    scope: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)[:2]:
        exec(compile(block, "tutorial.md", "exec"), scope)  # noqa: S102 - our own page
    commands = re.findall(r"^\$ (discreet .*)$", page, flags=re.MULTILINE)
    assert len(commands) >= 8
    for line in commands:
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0, (line, done.output)


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
            there = link.startswith("http") or link in MADE or (page.parent / link).exists()
            assert there, f"{page.name}: {link}"


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


@pytest.mark.parametrize("page", [path.name for path in (ROOT / "docs").glob("*.md")])
def test_no_formula_is_eaten_as_markup(page):
    """A star in a formula needs a backslash: without, two of them make what is between italic."""
    source = (ROOT / "docs" / page).read_text()
    assert eaten(source) == []


def eaten(source: str) -> list[str]:
    """Return what stands between tags of emphasis and is no words, and lines with stars left over."""
    read = markdown.markdown(source, extensions=["tables", "pymdownx.superfences"])
    text = re.sub(r"<(code|pre)\b.*?</\1>", "", read, flags=re.DOTALL)
    italic = [
        found for found in re.findall(r"<em>(.*?)</em>", text, flags=re.DOTALL) if not WORDS.fullmatch(found)
    ]
    plain = re.sub(r"```.*?```|`[^`]*`", "", source, flags=re.DOTALL)
    left = re.sub(r"<[^>]*>", "", text).count("*") - plain.count(r"\*")
    return italic + ["*"] * left


def test_the_search_for_eaten_formulas_finds_them():
    assert eaten("δ(ε) ≤ E[δ*(ε − X₂)], δ* the profile") == ["(ε − X₂)], δ"]
    assert eaten("the limit is α* here") == ["*"]
    assert eaten(r"a *released* value, `a*b*c`, δ\*(ε)") == []


# ── pages that are made ─────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", ROWS)
def test_a_models_page_describes_every_parameter_and_its_example_runs(name):
    told = made.told(name)
    assert set(told["parameters"]) == set(made.parameters(name))
    assert bool(told.get("weak")) == bool(ROWS[name].weak_prior)
    page = made.model_page(name)
    assert not [line for line in told["formula"].strip().splitlines() if "<math" not in made.convert(line)]
    scope: dict[str, object] = {"dc": discreet}
    (block,) = re.findall(r"```py\n(.*?)```", page, flags=re.DOTALL)
    exec(compile(block, name, "exec"), scope)  # noqa: S102 - our own page
    assert scope["model"].name == name
    assert len(scope["schema"].columns) == len(scope["rows"][0])
    for link in re.findall(r"\]\(\.\./([^)#]+)\)", page):
        assert (ROOT / "docs" / link).exists(), link


def test_every_public_name_has_one_place_in_the_reference():
    named = [name for group in made.groups().values() for name in group["names"]]
    assert sorted(named) == sorted(discreet.__all__)


def test_every_page_that_is_made_can_be_found_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text()
    assert {f"models/{name}.md" for name in ROWS} <= set(re.findall(r"models/\w+\.md", nav))
    assert {f"reference/{file}.md" for file in made.groups()} == set(re.findall(r"reference/\w+\.md", nav))


def test_every_displayed_formula_is_typeset():
    """A line of a `math` block is a formula; what the typesetter does not know it would print as it is."""
    blocks = [
        block
        for page in (ROOT / "docs").glob("*.md")
        for block in re.findall(r"```math\n(.*?)```", page.read_text(), flags=re.DOTALL)
    ]
    assert len(blocks) >= 8
    for block in blocks:
        drawn = made.math(block, "math", "math", {}, None)
        assert drawn.count("<math") == len(block.strip().splitlines())
        assert "\\" not in drawn, block


def test_scripts_within_sentences_are_raised_and_lowered():
    said = {
        "e^ε and D_α(P)": "e<sup>ε</sup> and D<sub>α</sub>(P)",
        "θ_{z_{r,t},d} ~ N": "θ<sub>z<sub>r,t</sub>,d</sub> ~ N",
        "2^{−2(K−1)}": "2<sup>−2(K−1)</sup>",
        "`a_b` snake_case [x_i](y_i.md) `e^{x}`": "`a_b` snake_case [x<sub>i</sub>](y_i.md) `e^{x}`",
    }
    assert {text: made.raised(text) for text in said} == said
    for page in (ROOT / "docs").glob("*.md"):
        text = "".join(made.KEPT.split(made.raised(page.read_text()))[::2])
        assert not re.search(r"[_^]\{", text), page.name
