"""`discreet reproduce`: the papers' figures, drawn by the library's own mechanisms."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: TC001, FBT002, D301

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as o
from discreet.cli.show import dump, say, stepping, table
from discreet.experiments.registry import EXPERIMENTS, find

reproduce = typer.Typer(
    name="reproduce",
    no_args_is_help=True,
    help="""Redraw published figures, the printed curve beside the right one where they differ.

\b
Examples:
  discreet reproduce list
  discreet reproduce run figure-5.1
  discreet reproduce run all --out figures --quick
""",
)


def _names(incomplete: str) -> list[str]:
    return [name for name in ("all", *EXPERIMENTS) if name.startswith(incomplete)]


@reproduce.command("list")
def list_(json: o.Json = False) -> None:
    """List the experiments, where each was published, and what was printed wrong.

    \b
    Example:
      discreet reproduce list
    """
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


@reproduce.command()
def run(
    names: Annotated[list[str], typer.Argument(metavar="NAME…|all", autocompletion=_names)],
    out: o.Out = Path("out/figures"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer points, the same curves.")] = False,
    seed: Annotated[int, typer.Option(help="For what is simulated; most figures are exact.")] = 0,
    json: o.Json = False,
) -> None:
    """Draw figures (PNG) and write their numbers (CSV).

    \b
    Examples:
      discreet reproduce run figure-4.2 figure-5.3 --out figures
      discreet reproduce run all --quick
    """
    chosen = list(EXPERIMENTS) if "all" in names else names
    for name in chosen:
        find(name)
    written: dict[str, list[str]] = {}
    for name in stepping(chosen, "drawing"):
        written[name] = [str(path) for path in find(name)(out, seed, quick)]
        if not json:
            say(f"{name}: {', '.join(written[name])}")
    if json:
        dump(written)
