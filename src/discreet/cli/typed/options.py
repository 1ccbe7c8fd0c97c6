"""Options that several commands share, declared once."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: FBT001

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.catalogue import COUNTS, FAMILY, REGRESSION, names
from discreet.cli.typed.arguments import (
    KINDS,
    KINDS_OF_MODEL,
    RELATIONS,
    mechanisms,
    starting_with,
)


def _remember(ctx: typer.Context, value: bool) -> bool:
    """Note --json where the root can see it, so that failures are JSON too."""
    if value:
        ctx.meta["discreet.json"] = True
    return value


def _kinds(incomplete: str) -> list[str]:
    return [f"{kind}:" for kind in KINDS if kind.startswith(incomplete)]


PROMISE = ", ".join(KINDS.values())

Json = Annotated[bool, typer.Option("--json", callback=_remember, help="Print JSON, failures too.")]
Target = Annotated[
    str | None,
    typer.Option(metavar="PROMISE", help=f"What to promise: {PROMISE}.", autocompletion=_kinds),
]
Epsilon = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="What to promise, instead of --target: ε …")
]
Delta = Annotated[str | None, typer.Option(metavar="NUMBER", help="… and δ; without it ε is pure.")]
Budget = Annotated[
    str,
    typer.Option(metavar="PROMISE", help=f"The whole budget: {PROMISE}.", autocompletion=_kinds),
]
Relation = Annotated[
    str | None,
    typer.Option(
        metavar="NEIGHBOURS",
        help="substitute: one record replaced, n public (default). add_remove: n private.",
        autocompletion=starting_with(RELATIONS),
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="FAMILY",
        help=f"One of {', '.join(names(FAMILY))}.",
        autocompletion=starting_with(names(FAMILY)),
    ),
]
AnyModel = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help=f"One of {', '.join(names())}.",
        autocompletion=starting_with(names()),
    ),
]
Prior = Annotated[
    str | None,
    typer.Option(metavar="NAME=VALUE,…", help="Hyper-parameters, e.g. 'alpha=1,beta=3' or 'alpha=[1,1,2]'."),
]
AnyMechanism = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=(
            f"One of {', '.join(mechanisms(FAMILY))}; of {', '.join(names(COUNTS))}: "
            f"{', '.join(mechanisms(COUNTS))}; of "
            f"{', '.join(names(REGRESSION))}: {', '.join(mechanisms(REGRESSION))}. "
            f"[default: {', '.join(mechanisms(kind)[0] for kind in KINDS_OF_MODEL)}]"
        ),
        autocompletion=starting_with(mechanisms()),
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An option of the mechanism, e.g. noise=discrete_gaussian, truncation=0.05. Repeatable.",
    ),
]
Derive = Annotated[
    list[str] | None,
    typer.Option(metavar="'NAME = EXPR'", help="A column computed row by row; see above. Repeatable."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="EXPR", help="Keep only rows for which this holds; see above. Repeatable."),
]
Scope = Annotated[str, typer.Option(help="The scope of the ledger: a table, an analyst, a project.")]
Where = Annotated[str, typer.Argument(metavar="LEDGER", help="An SQLite file or a postgresql:// URL.")]
Seed = Annotated[
    int | None,
    typer.Option(help="Draw from a public seed: reproducible and NOT PRIVATE, for tests and examples."),
]
Out = Annotated[Path, typer.Option(help="The folder to write into.")]
