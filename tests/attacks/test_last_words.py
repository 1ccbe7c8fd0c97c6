"""Exit codes and last words: a saved release exits 0 whatever its readers do, and Ctrl-C tells the truth."""

import importlib
import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import FIT

OUT = (*FIT, "--out", "r")


def charges(run):
    entries = json.loads(run("ledger", "history", "budget.db", "--json").out)
    return [entry["id"] for entry in entries if entry["kind"] == "charge"]


READERS = {
    "ASCII": ("--json", "", {"PYTHONIOENCODING": "ascii"}),
    "a reader of one line of Latin-1": ("", " | head -1", {"PYTHONIOENCODING": "latin-1:strict"}),
    "a full disk in ASCII": ("", " > /dev/full", {"PYTHONIOENCODING": "ascii:strict"}),
    "no streams at all": ("", " >&- 2>&- <&-", {}),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_saved_release_exits_0_whoever_reads(bash, home, budget, reader):
    form, behind, extra = READERS[reader]
    if "/dev/full" in behind and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    line = shlex.join([*OUT, "--note", "ε für 20 €", *form.split()])
    done = bash(f"$discreet {line}{behind}", **extra)
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert (home / "r" / "release.json").exists()
    if form and not behind:
        assert json.loads(done.out)["certificate"]["receipt"]["note"] == "ε für 20 €"


def test_other_commands_keep_their_code_behind_a_closed_pipe(bash, budget):
    assert bash("$discreet ledger show budget.db | true", PYTHONUNBUFFERED="1").code == 0
    assert bash("$discreet --help | true", PYTHONUNBUFFERED="1").code == 0
    assert bash("$discreet ledger show nowhere.db --json | true", PYTHONUNBUFFERED="1").code == 2
    lost = bash("$discreet ledger show budget.db > /dev/full")
    assert lost.code == 3  # its answer was all it had to give
    assert "standard output could not be written" in lost.err


# ── Ctrl-C at chosen moments ────────────────────────────────────────────────────────────────────────

MOMENTS = {
    "before the charge": ("discreet.privatise.pay", "before"),
    "after the charge": ("discreet.privatise.pay", "after"),
    "after the draw": ("discreet.privatise.privatise", "after"),
    "during the record": ("discreet.release.folder._write_json", "after"),
    "during the report": ("discreet.release.folder._report", "before"),
    "while it is shown": ("discreet.cli.printed.release.summary", "after"),
}


@pytest.fixture
def interrupted(run, monkeypatch):
    """Fit, with a real signal that arrives at a chosen moment."""

    def call(moment, *args):
        name, when = MOMENTS[moment]
        place, _, last = name.rpartition(".")
        module = importlib.import_module(place)
        true = getattr(module, last)

        def stopped(*args, **options):
            monkeypatch.setattr(module, last, true)
            made = true(*args, **options) if when == "after" else None
            signal.raise_signal(signal.SIGINT)
            return made if when == "after" else true(*args, **options)

        monkeypatch.setattr(module, last, stopped)
        return run(*args)

    return call


def test_ctrl_c_before_the_charge_says_that_nothing_was_charged(interrupted, run, budget):
    done = interrupted("before the charge", *OUT)
    assert done.code == 4
    assert "nothing was charged" in done.err
    assert charges(run) == []


@pytest.mark.parametrize("moment", ["after the charge", "after the draw"])
def test_ctrl_c_after_the_charge_names_it_and_the_same_id_gives_the_release(interrupted, run, budget, moment):
    done = interrupted(moment, *OUT)
    assert done.code == 4
    assert "nothing was charged" not in done.err
    assert "charge 'monday' is kept" in done.err
    assert "run it again with --charge-id 'monday', which pays nothing more" in done.err
    assert not Path("r").exists()
    assert (run(*OUT).code, run(*FIT, "--out", "s").code) == (0, 0)  # nobody presses Ctrl-C any more
    assert charges(run) == ["monday"]
    one, other = (json.loads(Path(folder, "release.json").read_text())["release"] for folder in "rs")
    assert one == other


def test_a_second_ctrl_c_while_the_ledger_is_asked_claims_nothing(interrupted, run, budget, monkeypatch):
    def impatient(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.ledger.Ledger.receipt", impatient)
    done = interrupted("after the draw", *OUT)
    assert done.code == 4
    assert "discreet ledger history says whether charge 'monday' was made" in done.err


@pytest.mark.parametrize("moment", ["during the report", "while it is shown"])
def test_ctrl_c_once_the_record_is_written_says_that_it_is_saved(interrupted, run, budget, moment):
    done = interrupted(moment, *OUT)
    assert done.code == 4
    assert "its release is saved in r" in done.err
    assert run("ledger", "verify", "budget.db", "--release", "r").code == 0


def test_ctrl_c_cannot_stop_the_record(interrupted, run, budget):
    done = interrupted("during the record", *OUT)
    assert done.code == 0
    assert run("ledger", "verify", "budget.db", "--release", "r").code == 0


SLOW = """
import signal, sys, time
import discreet.release.folder
from discreet.cli import main

for end in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # nohup and background jobs hand on ignored ones
    signal.signal(end, signal.SIG_DFL)

def slow(*args):
    print("slow", file=sys.stderr, flush=True)
    while True: time.sleep(0.01)

discreet.release.folder._posterior = discreet.release.folder._report = slow
main()
"""


@pytest.mark.parametrize("end", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_ctrl_c_and_kill_end_a_long_save_at_once(home, run, budget, bare, end):
    words = [sys.executable, "-c", SLOW, *OUT]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=home, env=bare) as process:  # noqa: S603
        assert process.stderr.readline() == "slow\n"
        process.send_signal(getattr(signal, end))
        try:
            assert "its release is saved in r" in process.communicate(timeout=60)[1]
        finally:
            process.kill()  # or the test would wait for ever where the signal did not end it
    assert process.returncode == 4
    assert run("ledger", "verify", "budget.db", "--release", "r").code == 0


ENDED = """
import importlib, signal
from discreet.cli import main

line = importlib.import_module("discreet.privatise")
true = line.pay
def ended(*args, **options):
    made = true(*args, **options)
    signal.raise_signal(signal.SIGTERM)
    return made
line.pay = ended
main()
"""


def test_a_kill_after_the_charge_names_it(home, run, budget, bare):
    """A service manager's SIGTERM ended the command in silence, with code −15 and the charge unsaid."""
    words = [sys.executable, "-c", ENDED, *OUT]
    done = subprocess.run(words, capture_output=True, text=True, cwd=home, env=bare, check=False)  # noqa: S603
    assert done.returncode == 4
    assert "charge 'monday' is kept" in done.stderr
    assert charges(run) == ["monday"]


LATE = """
import signal
import discreet.cli.command as command

true = command._flushed
command._flushed = lambda code: signal.raise_signal(signal.SIGINT) or true(code)
command.main()
"""


def test_ctrl_c_after_the_last_word_changes_nothing(home, run, budget, bare):
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", LATE, *OUT], capture_output=True, text=True, cwd=home, env=bare, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    refused = subprocess.run(  # noqa: S603 - and where nothing was released it is one line
        [sys.executable, "-c", LATE, "ledger", "show", "budget.db"],
        capture_output=True, text=True, cwd=home, env=bare, check=False,
    )  # fmt: skip
    assert refused.returncode == 4
    assert refused.stderr == "discreet: interrupted: nothing was charged and nothing was released\n"


def test_a_reading_that_fails_when_shown_does_not_unsave_the_release(home, run, budget, monkeypatch):
    monkeypatch.setattr("discreet.cli.printed.release.summary", lambda _: 1 / 0)
    done = run(*OUT, "--json")
    assert done.code == 0
    assert json.loads(done.out)["shown"] is False
    assert "released r" in done.err


# ── verify ──────────────────────────────────────────────────────────────────────────────────────────


def test_verify_against_an_older_copy_of_the_ledger_exits_3(home, run, budget):
    (home / "older.db").write_bytes((home / "budget.db").read_bytes())
    assert run(*OUT).code == 0
    done = run("ledger", "verify", "older.db", "--release", "r")
    assert done.code == 3
    assert "no charge 'monday'" in done.err
