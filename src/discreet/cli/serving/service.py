"""`discreet service`: what the owner of a service sets up: people, tokens, tables, budgets."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: D301, FBT002, PLR0917

from __future__ import annotations

import json as js
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.printed.show import dump, say, table
from discreet.cli.typed import arguments as o
from discreet.cli.typed.job import load_schema

if TYPE_CHECKING:
    from discreet.service.settings import Settings
    from discreet.service.state.store import StateStore

service = typer.Typer(
    name="service",
    no_args_is_help=True,
    help="""Set up what `discreet serve` serves: people, tokens, tables, budgets.

\b
Examples:
  discreet service init kept --owner grace
  discreet service table kept visits --data visits.parquet --schema visits.toml
  discreet service budget kept table visits --epsilon 1 --delta 1e-6
  discreet service analyst kept ada --group epidemiology
  discreet service budget kept analyst ada --epsilon 0.5 --delta 1e-6
  discreet service token kept ada --days 30
  discreet serve kept
""",
)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the service.")]
Reason = Annotated[str, typer.Option(help="Why; kept on record.")]
Days = Annotated[float, typer.Option(help="How long it lasts.")]


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Settings, StateStore]]:
    """Open the state database of a service, of this version's layout."""
    from discreet.service.settings import load  # noqa: PLC0415 - loaded on use, not for --help
    from discreet.service.state.store import StateStore  # noqa: PLC0415

    settings = load(folder)
    state = StateStore(settings.state)
    state.check()
    try:
        yield settings, state
    finally:
        state.close()


@service.command()
def init(
    folder: Folder,
    owner: Annotated[str, typer.Option(help="The first owner's name.")] = "owner",
    days: Days = 90,
    json: o.Json = False,
) -> None:
    """Start a service: its folder, its databases, and a token of its first owner, which is shown once.

    With a PostgreSQL URL in the variable DISCREET_DATABASE state and ledger are kept there.

    \b
    Example:
      discreet service init kept --owner grace
    """
    from discreet.service.settings import load, write  # noqa: PLC0415
    from discreet.service.state.people import OWNER, add_person, issue  # noqa: PLC0415
    from discreet.service.state.store import StateStore  # noqa: PLC0415

    home = write(folder)
    state = StateStore(load(home).state)
    layout = state.upgrade()
    add_person(state, owner, OWNER)
    _, secret = issue(state, owner, days)
    state.close()
    if json:
        dump({"folder": str(home), "layout": layout, "owner": owner, "token": secret})
        return
    say(f"started {home}; settings are in {home / 'service.toml'}")
    say(f"token of {owner}, shown once: {secret}")


@service.command()
def example(folder: Folder, json: o.Json = False) -> None:
    """Start a filled example on bundled data: two tables, owners grace and mary, analysts ada and blaise.

    A release above ε = 1 waits there for an owner's approval. Tokens are written to tokens.txt in the folder:
    no service but an example should do so.

    \b
    Example:
      discreet service example out/service
      discreet serve out/service
    """
    from discreet.service.example import fill  # noqa: PLC0415
    from discreet.service.settings import FILE, load, write  # noqa: PLC0415
    from discreet.service.state.store import StateStore  # noqa: PLC0415

    home = write(folder)
    (home / FILE).write_text("approve_above = 1.0\n", encoding="utf-8")
    settings = load(home)
    state = StateStore(settings.state)
    tokens = fill(settings, state)
    state.close()
    text = "".join(f"{name} {secret}\n" for name, secret in tokens.items())
    (home / "tokens.txt").write_text(text, encoding="utf-8")
    if json:
        dump({"folder": str(home), "tokens": tokens})
        return
    table(("who", "token"), list(tokens.items()))
    say(f"serve it: discreet serve {home}")


@service.command()
def upgrade(folder: Folder, json: o.Json = False) -> None:
    """Bring the state database to the layout of this version; the ledger upgrades itself.

    \b
    Example:
      discreet service upgrade kept
    """
    from discreet.service.settings import load  # noqa: PLC0415
    from discreet.service.state.store import StateStore  # noqa: PLC0415

    state = StateStore(load(folder).state)
    layout = state.upgrade()
    state.close()
    if json:
        dump({"layout": layout})
    else:
        say(f"the state database has layout {layout}")


@service.command()
def backup(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="A new folder to write the copies into.")],
    json: o.Json = False,
) -> None:
    """Copy the ledger, the state and the settings as they are at one moment each, while the service runs.

    State first: a person, table or token of the copy is never newer than the ledger's copy. On PostgreSQL use
    pg_dump, which copies both at one moment.

    \b
    Example:
      discreet service backup kept --out monday
    """
    import shutil  # noqa: PLC0415
    import sqlite3  # noqa: PLC0415
    from contextlib import closing  # noqa: PLC0415

    from discreet.service.settings import BUDGET, FILE, STATE, load  # noqa: PLC0415

    settings = load(folder)
    if settings.database:
        raise ValueError("state and ledger are on PostgreSQL: copy them by pg_dump --format=custom")
    out.mkdir(mode=0o700)
    shutil.copy2(Path(settings.folder) / FILE, out / FILE)
    names = [name for name in (STATE, BUDGET) if (Path(settings.folder) / name).exists()]
    for name in names:
        source = sqlite3.connect(f"file:{Path(settings.folder) / name}?mode=ro", uri=True)
        with closing(source), closing(sqlite3.connect(out / name)) as copy:
            source.backup(copy)
    if json:
        dump({"written": str(out), "files": [FILE, *names]})
    else:
        say(f"wrote {out}: {', '.join([FILE, *names])}")


@service.command()
def restored(
    folder: Folder,
    keep_tokens: Annotated[
        bool, typer.Option("--keep-tokens", help="Leave tokens valid: none was revoked since the copy.")
    ] = False,
    json: o.Json = False,
) -> None:
    """Make a back-up that was put back safe to serve; asked before anybody is served again.

    The copy knows nothing of what came after it. All budgets are closed, until you have compared them with a
    newer export and reopened them; charges that were open are drawn no more; requests that waited are ended;
    everybody is signed out, and every token of the copy is revoked, since one that was revoked later would
    be valid again: issue new ones, or keep them all by --keep-tokens.

    \b
    Examples:
      discreet service restored kept
      discreet service restored kept --keep-tokens
    """
    from discreet.service.restored import settle  # noqa: PLC0415

    with opened(folder) as (settings, state):
        found = settle(settings, state, keep_tokens=keep_tokens)
    if json:
        dump(found)
        return
    say(f"closed {len(found['closed'])} budgets; reopen them once compared: discreet ledger reopen")
    say(f"{len(found['marked'])} open charges are drawn no more, {found['ended']} waiting requests are ended")
    if keep_tokens:
        say("everybody is signed out; tokens are as in the copy: one that was revoked since is valid again")
        return
    whose = ", ".join(sorted({token["person"] for token in found["revoked"]})) or "nobody"
    say(
        f"everybody is signed out, and {len(found['revoked'])} tokens are revoked; issue new ones for {whose}"
    )


@service.command("table")
def add_table(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the table is called.")],
    data: Annotated[str, typer.Option(help="Parquet, CSV, a DuckDB file, a postgresql:// URL.")],
    schema: Annotated[str, typer.Option(help="The public schema, .toml or .json.")],
    n: Annotated[int | None, typer.Option(help="The public number of records; counted if left out.")] = None,
    unit: Annotated[
        str | None, typer.Option(help="The column that identifies the person each row belongs to.")
    ] = None,
    rows_per_unit: Annotated[int | None, typer.Option(help="How many rows of one unit count.")] = None,
    relation: o.Neighbours = None,
    model: Annotated[list[str] | None, typer.Option(help="A model that may be asked. [default: all]")] = None,
    requires: Annotated[
        list[str] | None,
        typer.Option(help="A kind of budget that every release needs. [default: table, analyst]"),
    ] = None,
    in_base: Annotated[
        str | None, typer.Option("--table", help="The table, where DATA is a database.")
    ] = None,
    label: Annotated[str, typer.Option(help="What people call it.")] = "",
    json: o.Json = False,
) -> None:
    """Register a private table; registered again, it is read anew. No value is read but the number of rows.

    \b
    Examples:
      discreet service table kept visits --data visits.parquet --schema visits.toml
      discreet service table kept stays --data stays.parquet --schema stays.toml --unit patient \\
          --rows-per-unit 4 --relation add_remove --n 5000 --model gamma_poisson
    """
    from dataclasses import asdict  # noqa: PLC0415

    from discreet.service import owning  # noqa: PLC0415
    from discreet.service.compute.owned import checked  # noqa: PLC0415

    said: dict[str, Any] = {
        "name": name, "address": data if "://" in data else str(Path(data).expanduser().resolve()),
        "schema": load_schema(schema).to_dict(), "n": n, "unit": unit, "rows_per_unit": rows_per_unit,
        "relation": relation or "substitute", "source_table": in_base, "label": label, "models": model or (),
        **({"requires": requires} if requires else {}),
    }  # fmt: skip
    with opened(folder) as (_, state):
        table_ = owning.described(said)
        found = accepted(checked(table_))
        made = owning.keep_table(state, table_, found["n"])
    if json:
        dump(asdict(made))
    else:
        say(f"{name} may be asked for {', '.join(made.allowed)}; n = {made.n}, revision {made.revision}")


@service.command()
def budget(
    folder: Folder,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="table, analyst or group.")],
    owner: Annotated[str, typer.Argument(metavar="NAME", help="Which one.")],
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="ε of the whole budget.")],
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="δ of the whole budget.")] = "0",
    relation: o.Neighbours = None,
    json: o.Json = False,
) -> None:
    """Open a budget. A release is charged to the table's, the analyst's, and their groups', all at once.

    \b
    Examples:
      discreet service budget kept table visits --epsilon 1 --delta 1e-6
      discreet service budget kept group epidemiology --epsilon 2 --delta 1e-6
    """
    from discreet.service import owning  # noqa: PLC0415
    from discreet.service.budgets import BudgetName  # noqa: PLC0415
    from discreet.service.compute.owned import add_budget, promised  # noqa: PLC0415

    with opened(folder) as (settings, state):
        name = BudgetName.checked(kind, owner, relation or "substitute")
        owning.refuse_nobody(state, name)
        words = promised(epsilon, delta)
        add_budget(settings, name, words)
    if json:
        dump({"scope": name.scope, "budget": words})
    else:
        say(f"{name.scope} has {words}")


@service.command()
def analyst(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What they are called.")],
    group: Annotated[list[str] | None, typer.Option(help="A group they belong to. Repeatable.")] = None,
    role: Annotated[str, typer.Option(help="analyst, or owner.")] = "analyst",
    json: o.Json = False,
) -> None:
    """Enter somebody, or change their groups and role.

    \b
    Example:
      discreet service analyst kept ada --group epidemiology
    """
    from dataclasses import asdict  # noqa: PLC0415

    from discreet.service.state.people import add_person  # noqa: PLC0415

    with opened(folder) as (_, state):
        made = add_person(state, name, role, group or ())
    if json:
        dump(asdict(made))
    else:
        say(f"{name} is {role}{' in ' + ', '.join(made.groups) if made.groups else ''}")


@service.command()
def token(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is.")],
    days: Days = 90,
    json: o.Json = False,
) -> None:
    """Issue a token. It is shown once; only its digest is kept.

    \b
    Example:
      discreet service token kept ada --days 30
    """
    from dataclasses import asdict  # noqa: PLC0415

    from discreet.service.state.people import issue  # noqa: PLC0415

    with opened(folder) as (_, state):
        made, secret = issue(state, name, days)
    if json:
        dump({**asdict(made), "token": secret})
    else:
        say(f"token {made.id} of {name}, shown once: {secret}")


@service.command()
def tokens(folder: Folder, json: o.Json = False) -> None:
    """List tokens, without their texts.

    \b
    Example:
      discreet service tokens kept
    """
    from dataclasses import asdict  # noqa: PLC0415
    from datetime import UTC, datetime  # noqa: PLC0415

    from discreet.service.state.people import tokens as all_tokens  # noqa: PLC0415

    def day(seconds: int | None) -> str:
        return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()

    with opened(folder) as (_, state):
        found = all_tokens(state)
    if json:
        dump({"tokens": [asdict(each) for each in found]})
    else:
        rows = [(t.id, t.person, day(t.created), day(t.expires), day(t.revoked)) for t in found]
        table(("token", "of", "issued", "expires", "revoked"), rows)


@service.command()
def revoke(
    folder: Folder,
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, as `tokens` lists it.")],
    json: o.Json = False,
) -> None:
    """End a token, and the sessions that it began; every worker knows within a second.

    \b
    Example:
      discreet service revoke kept 9f86d081884c7d65
    """
    from discreet.service.state import people  # noqa: PLC0415

    with opened(folder) as (_, state):
        try:
            people.revoke(state, token)
        except people.Unknown as error:
            raise ValueError(f"{error}; discreet service tokens lists them") from None
    if json:
        dump({"revoked": token})
    else:
        say(f"revoked {token}")


@service.command()
def approvals(folder: Folder, json: o.Json = False) -> None:
    """List releases that wait for a second person.

    \b
    Example:
      discreet service approvals kept
    """
    from dataclasses import asdict  # noqa: PLC0415

    from discreet.service.state import jobs  # noqa: PLC0415

    with opened(folder) as (_, state):
        found = jobs.awaiting(state)
    if json:
        dump({"approvals": [asdict(each) for each in found]})
        return
    names = ("table", "model", "epsilon", "delta", "note")
    rows = [(each.id, each.person, *(str(each.request.get(name, "")) for name in names)) for each in found]
    table(("job", "asked by", *names), rows)


@service.command()
def decide(
    folder: Folder,
    job: Annotated[str, typer.Argument(metavar="JOB", help="Its id, as `approvals` lists it.")],
    by: Annotated[str, typer.Option(help="Who decides: an owner who did not ask.")],
    reason: Reason,
    approve: Annotated[bool, typer.Option("--approve/--reject", help="Yes or no.")],
    json: o.Json = False,
) -> None:
    """Approve or reject a release that waits, once; a running service takes up what is approved.

    \b
    Example:
      discreet service decide kept 3f2a… --by mary --approve --reason 'as agreed on Monday'
    """
    from discreet.service.state import jobs, people  # noqa: PLC0415

    with opened(folder) as (_, state):
        try:
            if not people.person(state, by).owns:
                raise ValueError(f"{by} is no owner, and only owners decide")
            made = jobs.decide(state, job, by, approve=approve, reason=reason)
        except (people.Unknown, PermissionError) as error:
            raise ValueError(str(error)) from None
    if json:
        dump({"job": made.id, "status": made.status})
    else:
        say(f"{made.id} is {made.status}")


@service.command()
def trail(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option(help="A file to write, .json or .csv; printed if left out.")
    ] = None,
    json: o.Json = False,
) -> None:
    """Show or export who asked what, when, at which price.

    \b
    Examples:
      discreet service trail kept
      discreet service trail kept --out trail.csv
    """
    from discreet.ledger import Ledger  # noqa: PLC0415
    from discreet.service import owning  # noqa: PLC0415
    from discreet.service.trail import Trail  # noqa: PLC0415
    from discreet.shown import cell  # noqa: PLC0415

    with opened(folder) as (settings, _), Ledger.open(settings.ledger) as book:
        found = Trail(book).read_on().all()
    fields = ("created", "analyst", "table", "model", "mechanism", "epsilon", "delta", "outcome", "id")
    if out is not None:
        whole = tuple(found[0]) if found else fields
        text = owning.as_csv(found, whole, cell) if out.suffix == ".csv" else js.dumps(found, indent=1)
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
        say(f"wrote {out}")
    elif json:
        dump({"trail": found})
    else:
        table(fields, [[str(row[name]) for name in fields] for row in found])


def accepted(found: Any) -> dict[str, Any]:  # noqa: ANN401 - Reply | Problem, which load on use
    """Read an answer, or raise what it refuses."""
    from discreet.service.compute.orders import Problem  # noqa: PLC0415

    if isinstance(found, Problem):
        raise ValueError(f"{found.title}: {found.detail}")  # noqa: TRY004 - an answer, not a type
    answer: dict[str, Any] = js.loads(found.body)
    return answer
