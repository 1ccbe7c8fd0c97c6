"""`discreet tiers`: one reading of the table for several audiences, noisier from tier to tier, paid once."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: D301

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.fit import opened_table
from discreet.cli.ledger import opened_ledger
from discreet.cli.printed.saving import answer, chosen_charge_id, completed, draws_to_save, honest, recorded
from discreet.cli.printed.show import dump, say, table
from discreet.cli.typed import arguments as o
from discreet.cli.typed.arguments import promise
from discreet.cli.typed.job import Job, model_of, read_job, schema_of
from discreet.shown import bar

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.privacy.guarantee import Guarantee
    from discreet.release.release import Release


def tiers(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Parquet, CSV, a DuckDB file, or a URL.")],
    *,
    tier: Annotated[
        list[str], typer.Option(metavar="AUDIENCE=PROMISE", help=f"Who, and {o.PROMISE}. Repeatable.")
    ],
    schema: Annotated[str, typer.Option(help="The public schema, .toml or .json.")],
    column: Annotated[str, typer.Option(metavar="NAME[,NAME]", help="The column(s) to learn from.")],
    model: o.Model = None,
    prior: o.Prior = None,
    relation: o.Neighbours = None,
    ledger: Annotated[str, typer.Option(help="Where the budget is kept: a file or URL.")],
    scope: Annotated[str | None, typer.Option(metavar="NAME[,NAME]", help="The scope(s) to charge.")] = None,
    out: Annotated[str, typer.Option(help="The folder; each audience's release lies in it by its name.")],
    unit: Annotated[
        str | None, typer.Option(help="The column that identifies the person each row belongs to.")
    ] = None,
    rows_per_unit: Annotated[int | None, typer.Option(help="How many rows of one unit count.")] = None,
    from_table: Annotated[
        str | None, typer.Option("--table", help="The table, where DATA is a database.")
    ] = None,
    n: Annotated[int | None, typer.Option(help="The public number of records; counted if left out.")] = None,
    derive: o.Derive = None,
    where: o.Keep = None,
    charge_id: Annotated[
        str | None, typer.Option(help="Pay once under this name, however often it is tried.")
    ] = None,
    note: Annotated[str | None, typer.Option(help="A public note for the ledger.")] = None,
    actor: o.Actor = None,
    label: o.Label = None,
    seed: o.Seed = None,
    json: o.Json = False,
) -> None:
    """Release one posterior for several audiences, each with its own promise, and pay once.

    Gaussian noise is added in steps: the innermost audience sees the least of it. Who holds all the releases
    knows no more than the innermost says, so that one is charged, and each certificate is its audience's own.
    Hand out each folder by itself. --derive and --where are explained in discreet fit --help.

    \b
    Examples:
      discreet tiers visits.parquet --schema visits.toml --column smoker --model beta_bernoulli \\
          --prior 'alpha=6,beta=12' --tier team=approx:2,1e-6 --tier public=approx:0.5,1e-6 \\
          --ledger budget.db --out smokers
      ls smokers/team smokers/public
    """
    given = {
        "schema": schema, "column": column, "model": model, "prior": prior, "relation": relation,
        "ledger": ledger, "scope": scope, "out": out, "unit": unit, "rows_per_unit": rows_per_unit,
        "table": from_table, "n": n, "charge_id": charge_id, "note": note,
        "actor": actor, "label": label, "seed": seed, "derive": derive,
        "where": where,
    }  # fmt: skip
    job = read_job(data, given)
    job.need("data", "schema", "column", "model", "ledger", "out")
    made, opened, folders = run_tiers_job(job, audiences(tier, job.relation))
    receipt = next(iter(made.values())).receipt
    answer(receipt, Path(str(job.out)), lambda: _show(made, opened, folders, json=json), json=json)


def _show(made: Mapping[str, Release], ledger: Ledger, folders: Mapping[str, Path], *, json: bool) -> None:
    if json:
        dump({name: _plain(one, ledger, folders[name]) for name, one in made.items()})
    else:
        show(made, ledger, folders)


def audiences(words: Sequence[str], relation: str) -> dict[str, Guarantee]:
    """Read team=approx:2,1e-6; an audience's name is its folder's."""
    found: dict[str, Guarantee] = {}
    for word in words:
        name, _, target = word.partition("=")
        if not name.replace("-", "_").isidentifier() or name in found or not target:
            raise ValueError(
                "--tier is AUDIENCE=PROMISE, e.g. team=approx:2,1e-6, with a different plain word for each "
                f"audience; got {word!r}"
            )
        found[name] = promise(target, relation)
    return found


def run_tiers_job(
    job: Job, targets: Mapping[str, Guarantee]
) -> tuple[dict[str, Release], Ledger, dict[str, Path]]:
    """Walk the line once for all: table, model, targets, ledger, charge, releases, folders."""
    from discreet.place import new_folders  # noqa: PLC0415 - loaded on use, not for --help

    declared = schema_of(job)

    from discreet.line.tiers import privatise_tiers  # noqa: PLC0415
    from discreet.sampling.source import SeededSource  # noqa: PLC0415

    opened = opened_ledger(str(job.ledger), (job.scope or ("default",))[0])
    private = opened_table(job, declared)
    place = Path(str(job.out))
    folders = new_folders(place, tuple(targets))
    draws, charge = draws_to_save(), chosen_charge_id(job.charge_id)
    with honest(opened, charge):
        with bar("calibrating, charging, reading, releasing"):
            made = privatise_tiers(
                private[tuple(job.column)],
                model_of(job, private.schema),
                targets=targets,
                ledger=opened,
                scope=job.scope or None,
                source=None if job.seed is None else SeededSource(job.seed),
                charge_id=charge,
                note=job.note,
                actor=job.actor,
            )
        placed = {folders[name]: one for name, one in made.items()}
        recorded(placed, place)
    completed(placed, opened, place, draws)
    return made, opened, folders


def show(made: Mapping[str, Release], ledger: Ledger, folders: Mapping[str, Path]) -> None:
    from discreet.cli.printed.errors import reworded  # noqa: PLC0415 - loaded on use, not for --help
    from discreet.cli.printed.release import LEVEL, promises, summary  # noqa: PLC0415

    rows = [
        (name, row["parameter"], f"{row['mean']:.6g}", "{:.6g} to {:.6g}".format(*row["interval"]))
        for name, one in made.items()
        for row in summary(one)
    ]
    table(("audience", "", "posterior mean", f"{LEVEL:.0%} interval"), rows, numbers=(2,))
    for name, one in made.items():
        say(f"{name}: {promises(one)[1]}; {folders[name]}")
    some = next(iter(made.values()))
    if some.seeded:
        say("SEEDED: drawn from a public seed, so nothing here is private")
    say(f"paid once, for the innermost: charge {some.receipt.id} in {', '.join(some.receipt.scopes)}")
    for scope in some.receipt.scopes:
        say(f"left     {reworded(ledger.remaining(scope).words)}")


def _plain(one: Release, ledger: Ledger, folder: Path) -> dict[str, Any]:
    from discreet.cli.printed.release import as_json  # noqa: PLC0415

    return as_json(one, ledger, folder)
