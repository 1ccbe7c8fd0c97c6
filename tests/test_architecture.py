"""docs/architecture.md is true: every room of the house is on its map, in the words of the room itself."""

import ast
import re
import sys
from pathlib import Path

import discreet as dc

SRC = Path(dc.__file__).parent
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


def test_a_fit_takes_the_steps_of_the_page_in_their_order(tmp_path):
    steps = re.findall(r"^\d\. `([\w/.]+): (\w+)`", PAGE, flags=re.MULTILINE)
    assert len(steps) == 9
    seen = []

    def note(frame, event, _):
        step = (frame.f_code.co_filename.removeprefix(f"{SRC}/"), frame.f_code.co_name)
        if event == "call" and step in steps and step not in seen:
            seen.append(step)

    table = dc.Table.open({"smoker": [1, 0] * 50}, schema={"smoker": dc.Binary()})
    with dc.Ledger.open(tmp_path / "budget.db", budget=dc.PureDP(1)) as ledger:
        sys.setprofile(note)
        try:
            dc.privatise(table["smoker"], dc.BetaBernoulli(1, 1), target=dc.PureDP(1), ledger=ledger)
        finally:
            sys.setprofile(None)
    assert seen == steps
