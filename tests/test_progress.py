"""The bar: on a terminal only, after two seconds only, and never in the way of Ctrl-C."""

import io
import sys
import time
from pathlib import Path

import pytest

from discreet import shown


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch, patience=2.0):
    """Have a terminal as standard error: within a test, for pytest sets it anew after every fixture."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(shown, "PATIENCE", patience)
    return sys.stderr.getvalue


def test_nothing_is_written_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(shown, "PATIENCE", -1.0)
    assert list(shown.steps([1, 2], "weighing")) == [1, 2]
    assert capsys.readouterr().err == ""


def test_nothing_is_written_before_its_patience_ends(monkeypatch):
    said = terminal(monkeypatch)
    assert list(shown.steps([1, 2], "weighing")) == [1, 2]
    assert said() == ""


def test_the_bar_is_written_after_that(monkeypatch):
    said = terminal(monkeypatch, -1.0)
    assert list(shown.steps(iter([1, 2]), "weighing", 2)) == [1, 2]
    assert "weighing" in said()


def test_the_bar_is_written_while_the_first_piece_is_under_way(monkeypatch):
    said = terminal(monkeypatch, 0.05)
    with shown.bar("waiting"):
        end = time.monotonic() + 10
        while "waiting" not in said() and time.monotonic() < end:
            time.sleep(0.02)
        assert "waiting" in said()


@pytest.mark.parametrize("quiet", [{"show": False}, {"NO_COLOR": "1"}], ids=str)
def test_the_bar_can_be_left_out(monkeypatch, quiet):
    said = terminal(monkeypatch, -1.0)
    monkeypatch.setenv("NO_COLOR", quiet.get("NO_COLOR", ""))
    with shown.bar("weighing", 2, show=quiet.get("show", True)) as advance:
        advance()
        advance(1, lambda: "never asked for")
    assert said() == ""


def test_labels_are_worked_out_when_they_are_seen(monkeypatch):
    asked = []
    for patience in (2.0, -1.0):
        said = terminal(monkeypatch, patience)
        monkeypatch.setattr(shown, "BETWEEN_LABELS", -1.0)
        with shown.bar("weighing", 1) as advance:
            advance(label=lambda: asked.append(1) or "half way")
        assert ("half way" in said()) == bool(asked) == (patience < 0)


@pytest.mark.parametrize("patience", [2.0, -1.0])
def test_an_interrupt_passes_and_the_bar_is_gone(monkeypatch, patience):
    terminal(monkeypatch, patience)

    def pieces():
        yield 1
        raise KeyboardInterrupt

    seen = shown.steps(pieces(), "work", 2)
    assert next(seen) == 1
    with pytest.raises(KeyboardInterrupt):
        next(seen)


def test_no_other_file_draws_a_bar():
    drawing = [p for p in Path(shown.__file__).parent.rglob("*.py") if "rich.progress" in p.read_text()]
    assert drawing == [Path(shown.__file__)]
