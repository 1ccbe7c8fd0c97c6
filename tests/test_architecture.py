"""docs/architecture.md is true: every room of the house is on its map, in the words of the room itself."""

import ast
import re
from pathlib import Path

import discreet

SRC = Path(discreet.__file__).parent
PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()


def first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


def rows(ending: str) -> dict[str, str]:
    return dict(re.findall(rf"^\| `([\w/]+{ending})` \| (.*?) \|$", PAGE, flags=re.MULTILINE))


def test_the_map_has_every_folder_with_its_own_words():
    packages = {path.parent for path in SRC.rglob("__init__.py")} - {SRC}
    assert rows("/") == {f"{p.relative_to(SRC)}/": first_line(p / "__init__.py") for p in packages}


def test_the_map_has_every_file_outside_of_folders():
    files = {path for path in SRC.glob("*.py") if not path.name.startswith("__")}
    assert rows(r"\.py") == {path.name: first_line(path) for path in files}


def test_no_folder_holds_more_than_a_room_can():
    """About fifteen files; more only where a folder holds one file for each thing of a kind."""
    one_each = {"families", "audit/twins", "mcmc", "posteriors/normal"}
    for folder in {path.parent for path in SRC.rglob("__init__.py")}:
        name = folder.relative_to(SRC).as_posix()
        assert len(list(folder.glob("*.py"))) <= (20 if name in one_each else 17), name
        assert len(folder.relative_to(SRC).parts) <= 3, name
