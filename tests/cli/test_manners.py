"""How the command behaves on every terminal: help, completion, colours, light start."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest
import typer

from discreet.cli import app

from .conftest import FIT, environment


def _leaves(group, path=()):
    for name, command in group.commands.items():
        yield (*path, name)
        if hasattr(command, "commands"):
            yield from _leaves(command, (*path, name))


COMMANDS = [(), *_leaves(typer.main.get_command(app))]
GROUPS = [(), *{path[:-1] for path in COMMANDS if path[:-1]}, ("reproduce",)]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_help_teaches_with_an_example(run, path):
    done = run(*path, "--help")
    assert done.code == 0
    assert "Example" in done.out
    assert "discreet " + " ".join(path) in done.out
    if path not in GROUPS[:-1] and path != ("serve",):
        assert "--json" in done.out


def test_exit_codes_are_in_the_help(run):
    out = run("--help").out
    for line in ("0  done", "1  refused", "2  bad input", "3  the data", "4  interrupted"):
        assert line in out


@pytest.mark.parametrize("path", sorted(GROUPS), ids=" ".join)
def test_a_bare_command_shows_its_help(run, path):
    done = run(*path)
    assert done.code == 0
    assert "Usage" in done.out


def test_version_and_unknown_command(run):
    from discreet import __version__

    assert run("--version").out.strip() == __version__
    done = run("frobnicate")
    assert done.code == 2
    assert len(done.err.strip().splitlines()) == 1


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_the_completion_script_prints(shell, shell_name):
    done = shell("--show-completion", shell_name, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.code == 0
    assert "_DISCREET_COMPLETE" in done.out or "DISCREET" in done.out


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("discreet le", "ledger"),
        ("discreet fit --model beta_be", "beta_bernoulli"),
        ("discreet reproduce figure-4", "figure-4.2"),
    ],
)
def test_completion_completes(shell, typed, expected):
    extra = {
        "_DISCREET_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
        "_TYPER_COMPLETE_ARGS": typed,
    }
    done = shell(**extra)
    assert expected in done.out


PIPED = """
import json, sys
from discreet.cli import main
for args in json.loads(sys.argv[1]):
    sys.argv = ["discreet", *args]
    try:
        main()
    except SystemExit as end:
        print("CODE", end.code or 0, flush=True)
"""


def test_piped_output_has_no_escape_code(budget, home):
    commands = [
        ("--help",),
        ("ledger", "show", "budget.db"),
        ("reproduce", "list"),
        ("schema", "check", "schema.toml"),
        ("fit", "nowhere.parquet"),
        (*FIT, "--target", "pure:0.5", "--out", "r"),
    ]
    done = subprocess.run(  # noqa: S603 - our own command, several times over
        [sys.executable, "-c", PIPED, json.dumps(commands)],
        capture_output=True, text=True, cwd=home, env=environment(), timeout=300, check=True,
    )  # fmt: skip
    assert re.findall(r"^CODE (\d)$", done.stdout, flags=re.MULTILINE) == ["0", "0", "0", "0", "2", "0"]
    assert "\x1b" not in done.stdout + done.stderr


def _on_a_terminal(home, *args, **extra):
    """Run with a terminal as standard output."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "discreet", *args], stdout=follower, stderr=follower, cwd=home,
        env=environment(TERM="xterm-256color", **extra),
    )  # fmt: skip
    os.close(follower)
    seen = b""
    try:
        while chunk := os.read(leader, 65536):
            seen += chunk
    except OSError:  # the other end is closed
        pass
    process.wait(timeout=60)
    os.close(leader)
    return process.returncode, seen.decode()


def test_a_terminal_gets_colours_unless_NO_COLOR_is_set(home):
    code, coloured = _on_a_terminal(home, "schema", "check", "schema.toml")
    assert code == 0
    assert "\x1b[" in coloured
    code, plain = _on_a_terminal(home, "schema", "check", "schema.toml", NO_COLOR="1")
    assert code == 0
    assert "\x1b" not in plain


@pytest.mark.parametrize(
    "args", [("--help",), ("fit", "--help"), ("ledger", "--help"), ("reproduce", "--help")]
)
def test_help_loads_nothing_heavy(home, args):
    script = (
        "import sys\nsys.argv = ['discreet', *sys.argv[1:]]\nfrom discreet.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print('LOADED', *{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, *args],
        capture_output=True,
        text=True,
        cwd=home,
        env=environment(),
        check=True,
    )
    loaded = set(done.stdout.partition("LOADED")[2].split())
    assert "typer" in loaded  # the probe works
    assert not loaded & {
        "numpy",
        "scipy",
        "flint",
        "sqlalchemy",
        "ibis",
        "duckdb",
        "pyarrow",
        "matplotlib",
        "pandas",
    }


def test_an_error_nobody_foresaw_is_one_line_and_quotes_nothing(run, monkeypatch):
    import discreet.cli.schema

    def burst(path):
        return int(f"secret {path}")  # raised by the standard library, quoting what it was given

    monkeypatch.setattr(discreet.cli.schema, "load_schema", lambda path: sorted([path, 3]))
    done = run("schema", "check", "schema.toml")
    assert done.code in {2, 3}
    assert len(done.err.strip().splitlines()) == 1
    monkeypatch.setattr(discreet.cli.schema, "load_schema", lambda path: json.loads(f"{{secret {path}"))
    done = run("--debug", "schema", "check", "schema.toml")
    assert done.code == 3
    assert "secret" not in done.err
    assert "withheld" in done.err
    assert "JSONDecodeError" in done.err
