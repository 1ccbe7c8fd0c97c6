"""Every command that docs/command.md shows is run, in the order of the page, and ends as it says."""

import re
import shlex
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

PAGE = (Path(__file__).parents[2] / "docs" / "command.md").read_text()
SCHEMA = """\
[columns.smoker]
kind = "binary"

[columns.ward]
kind = "categories"
levels = ["A", "B", "C"]

[columns.age]
kind = "bounded"
lower = 0
upper = 128
"""


@pytest.fixture
def visits(home):
    rows = {"smoker": [True, False] * 200, "ward": ["A", "B", "C", "A"] * 100, "age": [20.0, 60.0] * 200}
    parquet.write_table(pa.table(rows), home / "visits.parquet")
    (home / "visits.toml").write_text(SCHEMA)
    (job,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    (home / "job.toml").write_text(job)


def test_the_commands_of_the_page_run_as_shown(visits, run):
    blocks = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    assert len(lines) > 15
    for line in lines:
        code = int((re.findall(r"# exit code (\d)", line) or ["0"])[0])
        name, *arguments = shlex.split(line, comments=True)
        assert name == "discreet"
        done = run(*arguments)
        assert done.code == code, (line, done.err)
