"""`discreet ledger`: open a budget, see it, prove it."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: FBT002, D301

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.printed.errors import reworded
from discreet.cli.printed.show import dump, say, table
from discreet.cli.typed import arguments as o
from discreet.cli.typed.arguments import graph_relation, promise
from discreet.shown import address

if TYPE_CHECKING:
    from discreet.ledger import Entry, Ledger, Remaining

ledger = typer.Typer(
    name="ledger",
    no_args_is_help=True,
    help="""The durable budget: start it, see what is left, prove that nobody changed it.

\b
Examples:
  discreet ledger init budget.db --budget approx:1,1e-6
  discreet ledger show budget.db
  discreet ledger verify budget.db --release smokers
""",
)

BAR = 20  # characters of a bar that is a whole budget
Only = Annotated[str | None, typer.Option(help="Only this scope.")]


def opened_ledger(where: str, scope: str = "default") -> Ledger:
    """Open a ledger that exists."""
    if "://" not in where and not Path(where).exists():
        shown = address(where)
        raise FileNotFoundError(
            f"there is no ledger at {shown}; start one: discreet ledger init {shown} --budget approx:1,1e-6"
        )

    from discreet.ledger import Ledger  # noqa: PLC0415 - loaded on use, not for --help

    return Ledger.open(where, scope=scope)


@ledger.command()
def init(
    where: o.Where,
    budget: o.Budget,
    scope: o.Scope = "default",
    *,
    relation: o.Neighbours = None,
    graph: Annotated[
        Path | None,
        typer.Option(help="The public graph of profiles that the budget is for (.toml or .json)."),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="sums|orders",
            help="How an approx: budget is kept: plain sums of ε and δ, or Rényi orders, which hold more "
            "small Gaussian releases and keep half of δ back. [default: settled by the first charge]",
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    """Start a ledger, or a new scope in one that exists. A budget, once set, never changes.

    \b
    Examples:
      discreet ledger init budget.db --budget approx:1,1e-6
      discreet ledger init budget.db --budget pure:0.5 --scope alice
      discreet ledger init budget.db --budget approx:1,1e-6 --scope many --rule orders
      discreet ledger init postgresql://user@host/base --budget zcdp:0.1 --relation add_remove
      discreet ledger init local.db --budget pure:2 --graph roles.toml
      discreet ledger init waits.db --budget metric:2,absolute=1/64
    """
    from discreet.ledger import Ledger  # noqa: PLC0415

    neighbours = (relation or "substitute") if graph is None else graph_relation(graph, relation)
    opened = Ledger.open(where, promise(budget, neighbours), scope, rule=rule)
    if json:
        dump(scope_row(opened.remaining(scope)))
    else:
        say(f"{reworded(opened.remaining(scope).words)}")


@ledger.command()
def show(
    where: o.Where,
    scope: Only = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw who spent what too: an .svg or .html file.")
    ] = None,
    json: o.Json = False,
) -> None:
    """Show every scope: what would still fit, how it is kept, and who spent what of it on which data.

    \b
    Examples:
      discreet ledger show budget.db
      discreet ledger show budget.db --scope alice --json
      discreet ledger show budget.db --picture spending.svg
    """
    opened = opened_ledger(where)
    shown = [opened.remaining(scope)] if scope else opened.scopes()
    rows = [scope_row(left) for left in shown]
    from discreet.ledger.spending import to_json, totals  # noqa: PLC0415 - loaded on use, not for --help

    spent, required = opened.spent_by(scope), opened.required()
    drawn = str(opened.picture(picture)) if picture else None
    if json:
        told = {"scopes": rows, "required": required, "spending": to_json(spent), "picture": drawn}
        dump({"ledger": address(where), **told})
        return
    columns = ("scope", "still fits", "left", "of the budget", "relation", "kept")
    table(
        columns,
        [[r["scope"], r["fits"], f"{r['share']:.1%}", r["budget"], r["neighbours"], r["kept"]] for r in rows],
        numbers=(2,),
    )
    if spent:
        say("")
        table(
            ("scope", "data", "who", "charges", "of the budget", ""),
            [
                [t.scope, t.data, t.actor, t.charges, f"{t.share:.1%}", "█" * round(BAR * t.share)]
                for t in totals(spent)
            ],
            numbers=(3, 4),
        )
    for data, scopes in required.items():
        whose = "every charge" if data == "*" else f"every charge that names {data}"
        say(f"{whose} also charges {', '.join(scopes)}")
    if drawn:
        say(f"picture: {drawn}")


@ledger.command()
def history(where: o.Where, scope: Only = None, json: o.Json = False) -> None:
    """List everything that ever happened, oldest first.

    \b
    Examples:
      discreet ledger history budget.db
      discreet ledger history budget.db --scope alice --json
    """
    entries = opened_ledger(where).history(scope)
    if json:
        dump([entry.flat() for entry in entries])
        return
    table(
        ("#", "when", "what", "id", "scopes", "promise", "note"),
        [_row(entry) for entry in entries],
        numbers=(0,),
    )


@ledger.command()
def verify(
    where: o.Where,
    release: Annotated[
        list[Path] | None, typer.Option(help="A saved release that the ledger must hold.")
    ] = None,
    *,
    must_be_signed: Annotated[
        bool, typer.Option("--must-be-signed", help="Refuse a release that nobody signed.")
    ] = False,
    json: o.Json = False,
) -> None:
    """Prove that no entry was changed, removed or reordered, and that the sums agree; exit code 3 if not.

    A release must be, in every field, the one that its charge paid for, its certificate must be its own, and
    signatures beside it must be of keys on record, made while they were valid;
    its report and posterior.nc are readings that anybody can make again.

    \b
    Examples:
      discreet ledger verify budget.db
      discreet ledger verify budget.db --release smokers --release wards
    """
    claims = {}
    if release:
        from discreet.release.release import Release  # noqa: PLC0415

        claims = {folder: Release.load(folder) for folder in release}
    opened = opened_ledger(where)
    head = opened.verify(*claims.values())
    for folder, claim in claims.items():
        from discreet.release.folder import refuse_other_certificate, refuse_other_record  # noqa: PLC0415

        refuse_other_record(folder, claim)
        refuse_other_certificate(folder, claim)
    signed = {folder: opened.signers(folder, claim) for folder, claim in claims.items()}
    unsigned = [folder for folder, who in signed.items() if not who]
    if must_be_signed and unsigned:
        from discreet.ledger import TamperedError  # noqa: PLC0415

        raise TamperedError(f"{address(unsigned[0])} is not signed: discreet ledger sign signs it")
    receipts = [claim.receipt for claim in claims.values()]
    if json:
        names = {str(folder): [key.name for key in who] for folder, who in signed.items()}
        told = {"entries": head.entries, "hash": head.hash, "receipts": [r.id for r in receipts]}
        dump({"whole": True, **told, "signed_by": names})
    else:
        from discreet.ledger.keys import in_words  # noqa: PLC0415

        say(f"whole: {head.entries} entries, {len(receipts)} receipts match; head {head.hash}")
        for folder, who in signed.items():
            say(f"{address(folder)}: {in_words(who)}")


@ledger.command()
def refund(
    where: o.Where,
    receipt: Annotated[str, typer.Argument(metavar="CHARGE", help="The id of the charge.")],
    reason: Annotated[str, typer.Option(help="Why; kept on record.")],
    json: o.Json = False,
) -> None:
    """Give back a charge whose release was never computed. Refused once a release exists.

    \b
    Example:
      discreet ledger refund budget.db 3f2a… --reason 'the file was not there'
    """
    entry = opened_ledger(where).refund(receipt, reason)
    if json:
        dump(entry.flat())
    else:
        say(f"refunded {receipt}, entry {entry.position}")


@ledger.command()
def export(
    where: o.Where,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A name that ends in .json or .csv.")],
    json: o.Json = False,
) -> None:
    """Write the history to a file, for an auditor. Nothing in it is private.

    \b
    Examples:
      discreet ledger export budget.db history.json
      discreet ledger export budget.db history.csv
    """
    written = opened_ledger(where).export(path)
    if json:
        dump({"written": str(written)})
    else:
        say(f"wrote {written}")


def scope_row(left: Remaining) -> dict[str, Any]:
    """Say what a scope holds, as a row and for programs."""
    from discreet.privacy.json import to_json  # noqa: PLC0415
    from discreet.privacy.words import in_words  # noqa: PLC0415

    return {
        "scope": left.scope,
        "budget": in_words(left.budget),
        "guarantee": to_json(left.budget),
        "relation": left.budget.relation.to_json(),
        "neighbours": left.budget.relation.name,
        "share": left.share,
        "fits": left.fits,
        "closed": left.closed,
        "rule": left.rule,
        "kept": left.kept,
    }


def _row(entry: Entry) -> list[object]:
    from discreet.ledger.amounts import promise_words  # noqa: PLC0415

    said = entry.content
    promised = said.get("guarantee", said.get("budget"))
    words = promise_words(promised) if promised else ""
    told = ": ".join(filter(None, (_decided(said), said.get("note", ""))))
    return [entry.position, said["at"][:19], entry.kind, entry.id, " ".join(said["scopes"]), words, told]


def _decided(said: dict[str, Any]) -> str:
    """Say what an entry decides that is neither a charge nor a budget."""
    if said["kind"] == "require":
        return f"{said['data']} requires {', '.join(said['requires']) or 'no scope'}"
    return str(said["owner"]) if said["kind"] == "key" else ""
