"""`discreet show`: a saved release on one screen."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: D301

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.catalogue import row_of
from discreet.cli.printed.errors import ours
from discreet.cli.printed.show import dump, say
from discreet.cli.typed import arguments as o
from discreet.shown import address

if TYPE_CHECKING:
    from discreet.release.release import Release


def show(folder: o.Saved, *, json: o.Json = False) -> None:
    """Show a saved release: its parameters, cautions and promise, and what it predicts. Costs nothing.

    \b
    Examples:
      discreet show smokers
      discreet show smokers --json
    """
    from discreet.cli.printed.release import saved_as_json, show_saved  # noqa: PLC0415 - not for --help

    release = saved(folder)
    with readable(folder):
        if json:
            dump({**saved_as_json(release, folder), "predicts": predicts(release)})
            return
        show_saved(release)
    say(f"receipt  charge {release.receipt.id} in {', '.join(release.receipt.scopes)}, {release.created}")
    say(f"files    {folder}: {', '.join(sorted(p.name for p in folder.iterdir()))}")
    say(f"predicts {predicts(release)}")
    say("free     what follows from a release costs nothing: discreet read, discreet predict")


def saved(folder: Path) -> Release:
    """Load a release, and verify that its files belong together."""
    from discreet.release.release import Release  # noqa: PLC0415 - loaded on use, not for --help

    if not folder.is_dir():
        raise FileNotFoundError(
            f"there is no folder {address(folder)}; a release is the folder that fit wrote"
        )
    return Release.load(folder)


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Say of a record that is well formed, and that no reading understands, that it is malformed."""
    from discreet.release.folder import RECORD, BrokenRelease  # noqa: PLC0415 - not for --help

    try:
        yield
    except Exception as error:  # whatever NumPy says of numbers that are public
        if ours(error) or isinstance(error, OSError):
            raise
        problem = f"{type(error).__name__}: {error}"
    else:
        return
    raise BrokenRelease(f"{address(folder / RECORD)} is malformed, or of a newer discreet: {problem}")


def predicts(release: Release) -> str:
    """Say what is predicted from which columns, or why nothing is."""
    row = row_of(release.model)
    return row.predicted or f"nothing: {row.unpredicted}"
