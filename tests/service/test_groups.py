"""Orders charged with one commit and recorded with one: killed anywhere, none is lost or drawn twice."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.ledger import Ledger
from discreet.service.settings import load

SCRIPT = Path(__file__).parent / "dying.py"
EACH = (0.001, 0.002, 0.003)  # of those that fit


@pytest.fixture
def die(tmp_path, fill):
    """Run the script on a service of its own: the ledger's address, and the folder of what left."""

    def run(stride, how="right", database=""):
        settings, _ = fill(tmp_path, "wait = 0.0\n", database=database)
        out = tmp_path / "out"
        out.mkdir()
        done = subprocess.run(  # noqa: S603 - our own script
            [sys.executable, SCRIPT, settings.folder, out, str(stride), how],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return load(settings.folder).ledger, out

    return run


def pairs(out):
    """What left before the process died, beside what its retry was given."""
    left = [path for path in out.glob("kill-*.first") if path.stat().st_size]
    return [(path.read_bytes(), path.with_suffix(".again").read_bytes()) for path in left]


def test_a_group_that_is_killed_anywhere_pays_once_and_keeps_its_bytes(die, database):
    """Every third message on SQLite, every eighth on PostgreSQL; DISCREET_SERVICE_FULL=1 takes them all."""
    stride = 1 if os.environ.get("DISCREET_SERVICE_FULL") == "1" else 8 if database else 3
    where, out = die(stride, database=database)
    again = sorted(out.glob("kill-*.again"))
    with Ledger.open(where) as ledger:
        ledger.verify()
        entries = ledger.history()
        for path in again:
            name, body = path.stem, path.read_bytes()
            kinds = [entry.kind for entry in entries if entry.id == name]
            if name.endswith("-2"):
                assert (kinds, body) == ([], b"refused 402")
            else:
                assert kinds == ["charge", "computed"]
                assert ledger.released(name) == {"": body}
        groups = len(again) // 4 + 1  # and the first, which warmed up
        assert float(ledger.spent("analyst:ada").sums[0]) == pytest.approx(groups * sum(EACH), rel=1e-12)
        assert ledger.spent("analyst:blaise").sums[0] == 0
    assert len(again) * stride > 4 * 60  # places at which a process died
    left = pairs(out)
    assert left
    assert all(first == after for first, after in left)


def test_bytes_that_leave_before_they_are_recorded_are_caught(die):
    _, out = die(9, "early")
    assert any(first != after for first, after in pairs(out))
