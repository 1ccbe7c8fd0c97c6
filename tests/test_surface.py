"""Nothing public is lost: every name, command and option of November 2026 is still there.

`reference/public_surface.txt` was written by the version before the files moved. A line leaves it only
together with a line in CHANGELOG under Changed.
"""

from pathlib import Path

from typer.main import get_command

import discreet as dc
from discreet.cli.command import app

PROMISED = set((Path(__file__).parent / "reference" / "public_surface.txt").read_text().splitlines())
PACKAGES = ("privacy", "mcmc", "learn", "planning", "query", "report")


def options(command, path):
    for parameter in command.params:
        yield f"{path} {'/'.join(parameter.opts + parameter.secondary_opts)}"
    for name, inner in getattr(command, "commands", {}).items():
        yield from options(inner, f"{path} {name}")


def surface():
    names = {f"name {name}" for name in dc.__all__}
    inside = {f"{package}.{name}" for package in PACKAGES for name in getattr(dc, package).__all__}
    return names | inside | set(options(get_command(app), "discreet"))


def test_every_public_name_command_and_option_is_still_there():
    assert len(PROMISED) > 270
    assert not PROMISED - surface()
