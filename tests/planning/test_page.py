"""What docs/planning.md shows runs as shown."""

import re
from pathlib import Path


def test_every_block_of_the_page_runs(monkeypatch, tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "planning.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 4
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "planning.md", "exec"), scope)  # noqa: S102 - our own page
