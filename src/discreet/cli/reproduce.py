"""`discreet reproduce`: the papers' figures, drawn by the library's own mechanisms."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: FBT002, D301

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.printed.show import dump, say, table
from discreet.cli.typed import arguments as o
from discreet.experiments.registry import EXPERIMENTS, GROUPS, chosen, find
from discreet.shown import steps

LIST = "list"


def _names(incomplete: str) -> list[str]:
    return [name for name in (LIST, *GROUPS, *EXPERIMENTS) if name.startswith(incomplete)]


def reproduce(
    names: Annotated[list[str], typer.Argument(metavar="NAME…|all|thesis|list", autocompletion=_names)],
    out: o.Out = Path("out/figures"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer points, the same curves.")] = False,
    seed: Annotated[int, typer.Option(help="For what is simulated; most figures are exact.")] = 0,
    json: o.Json = False,
) -> None:
    """Redraw published figures (PNG) and write their numbers (CSV).

    Where a publication printed a wrong curve, it is drawn beside the right one. `list` names the experiments,
    where each was published, and what was printed wrong.

    \b
    Examples:
      discreet reproduce list
      discreet reproduce hmm
      discreet reproduce figure-4.2 figure-5.3 --out figures
      discreet reproduce all --quick
    """
    if names == [LIST]:
        _list(json=json)
        return
    written: dict[str, list[str]] = {}
    for name in steps(chosen(names), "drawing"):
        written[name] = [str(path) for path in find(name)(out, seed, quick)]
        if not json:
            say(f"{name}: {', '.join(written[name])}")
    if json:
        dump(written)


def _list(*, json: bool) -> None:
    if json:
        dump(
            [
                {"name": k, "title": e.title, "published": e.published, "note": e.note}
                for k, e in EXPERIMENTS.items()
            ]
        )
        return
    table(
        ("name", "what", "published", "note"),
        [(k, e.title, e.published, e.note) for k, e in EXPERIMENTS.items()],
    )
