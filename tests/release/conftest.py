"""The tables in memory of the line's own tests: what walks the line ends as a release."""

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location(
    "line_tables", Path(__file__).parents[1] / "line" / "conftest.py"
)
_line = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_line)
page, memory, ledger, smokers = _line.page, _line.memory, _line.ledger, _line.smokers
