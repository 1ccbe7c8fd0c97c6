"""`discreet ledger close|reopen|lower|raise|require`: what is decided about the scopes of a budget."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: D301

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.keys import ledger
from discreet.cli.ledger import opened_ledger, scope_row
from discreet.cli.printed.errors import reworded
from discreet.cli.printed.show import dump, say
from discreet.cli.typed import arguments as o
from discreet.cli.typed.arguments import promise

__all__ = ["ledger"]

if TYPE_CHECKING:
    from discreet.ledger import Ledger

Named = Annotated[str, typer.Argument(metavar="SCOPE", help="The name of the scope.")]
Why = Annotated[str, typer.Option(help="Why; kept on record.")]


@ledger.command()
def close(where: o.Where, scope: Named, *, reason: Why = "", json: o.Json = False) -> None:
    """Stop charges to a scope. What was paid for may still be released, or refunded.

    \b
    Example:
      discreet ledger close budget.db alice --reason 'the study is over'
    """
    opened = opened_ledger(where)
    opened.close_scope(scope, reason)
    _answer(opened, scope, json=json)


@ledger.command()
def reopen(where: o.Where, scope: Named, *, reason: Why = "", json: o.Json = False) -> None:
    """Let a closed scope be charged again.

    \b
    Example:
      discreet ledger reopen budget.db alice --reason 'a second wave'
    """
    opened = opened_ledger(where)
    opened.reopen_scope(scope, reason)
    _answer(opened, scope, json=json)


@ledger.command()
def lower(where: o.Where, scope: Named, *, budget: o.Budget, reason: Why = "", json: o.Json = False) -> None:
    """Give a scope a smaller budget of the same kind, never below what it has spent.

    \b
    Example:
      discreet ledger lower budget.db alice --budget approx:0.5,1e-6
    """
    opened = opened_ledger(where, scope)
    opened.lower_scope(scope, promise(budget, opened.remaining(scope).budget.relation), reason)
    _answer(opened, scope, json=json)


@ledger.command("raise")
def raised(
    where: o.Where,
    scope: Named,
    *,
    budget: o.Budget,
    reason: Annotated[str, typer.Option(help="Why; stays on record.")],
    json: o.Json = False,
) -> None:
    """Give a scope a larger budget of the same kind, which it then promises for earlier releases too.

    \b
    Example:
      discreet ledger raise budget.db alice --budget approx:2,1e-6 --reason 'the board agreed on 3 May'
    """
    opened = opened_ledger(where, scope)
    opened.raise_scope(scope, promise(budget, opened.remaining(scope).budget.relation), reason)
    _answer(opened, scope, json=json)


@ledger.command()
def require(
    where: o.Where,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="The label of a data set; its file or database address, which is recognised under any "
            "label; or * for every charge.",
        ),
    ],
    *,
    scope: Annotated[
        str,
        typer.Option(metavar="NAME[,NAME]", help='All that it requires; "" for none any more.'),
    ],
    table: Annotated[str | None, typer.Option(help="Which table of a database.")] = None,
    reason: Annotated[str, typer.Option(help="Why; needed to leave a scope out again.")] = "",
    json: o.Json = False,
) -> None:
    """Have every charge that names a data set charge these scopes too, so that nobody spends beside them.

    \b
    Examples:
      discreet ledger require budget.db visits.parquet --scope patients
      discreet ledger require budget.db 'visits, 2026' --scope patients,ministry
      discreet ledger require budget.db '*' --scope everything
    """
    opened = opened_ledger(where)
    scopes = [name for name in scope.split(",") if name]
    for name in _names(data, table):
        opened.require(name, scopes, reason)
    if json:
        dump({"required": opened.required()})
    else:
        said = ", ".join(scopes) or "no scope"
        say(f"{data}: every charge that names it also charges {said}")


def _names(data: str, table: str | None) -> list[str]:
    """Return a label; of a file or an address its label and its place, whatever its label will be."""
    if not Path(data).is_file() and "://" not in data:
        return [data]
    from discreet.tables.opening.named import name_of, place_of  # noqa: PLC0415 - loaded on use, not for --help

    return [name_of(data, table), place_of(data, table)]


def _answer(opened: Ledger, scope: str, *, json: bool) -> None:
    if json:
        dump(scope_row(opened.remaining(scope)))
    else:
        say(reworded(opened.remaining(scope).words))
