"""`discreet schema`: write down what is public about a table, and check it."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: FBT002, D301

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.printed.show import dump, lines, say, table
from discreet.cli.typed import arguments as o
from discreet.cli.typed.job import load_schema, source_of
from discreet.shown import address

schema = typer.Typer(
    name="schema",
    no_args_is_help=True,
    help="""What is public about a private table: columns, levels, bounds.

\b
Examples:
  discreet schema init visits.parquet --out visits.toml
  discreet schema check visits.toml visits.parquet
""",
)

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="Parquet, CSV, a DuckDB file, a postgresql:// or spark:// URL.")
]
InBase = Annotated[str | None, typer.Option("--table", help="The table, where DATA is a database.")]


@schema.command()
def init(
    data: Data,
    out: Annotated[Path | None, typer.Option(help="The file to write; printed if left out.")] = None,
    in_base: InBase = None,
    json: o.Json = False,
) -> None:
    """Write a template of names and types, without reading a value. Fill in every "?" from public knowledge.

    \b
    Examples:
      discreet schema init visits.parquet --out visits.toml
      discreet schema init postgresql://user@host/base --table visits
    """
    if out is not None and out.exists():
        raise FileExistsError(f"{out} exists, and may be filled in already; choose another --out")

    from discreet.tables.template import schema_template  # noqa: PLC0415 - loaded on use, not for --help

    source, name = source_of(data, in_base)
    text = schema_template(source, table=name)
    if out is not None:
        out.write_text(text, encoding="utf-8")
    if json:
        dump({"written": None if out is None else str(out), "template": text})
    else:
        lines(
            text
            if out is None
            else f'wrote {out}; fill in every "?", then: discreet schema check {out} {address(data)}'
        )


@schema.command()
def check(
    path: Annotated[Path, typer.Argument(metavar="SCHEMA", help="A .toml or .json schema.")],
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Its table, to compare names and types.")
    ] = None,
    in_base: InBase = None,
    json: o.Json = False,
) -> None:
    """Check a schema, and compare it with the names and types of a table. Reads no value.

    \b
    Examples:
      discreet schema check visits.toml
      discreet schema check visits.toml visits.parquet --json
    """
    declared = load_schema(str(path))
    if data is not None:
        from discreet.tables.table import Table  # noqa: PLC0415

        source, name = source_of(data, in_base)
        Table.open(source, schema=declared, table=name)
    if json:
        dump(
            {
                "valid": True,
                "hash": declared.hash,
                "held_against": None if data is None else address(data),
                **declared.to_dict(),
            }
        )
        return
    table(("column", "kind", "declared"), [_row(name, kind.described()) for name, kind in declared.items()])
    say(f"valid{'' if data is None else ', and fits the table'}; schema {declared.hash}")


def _row(name: str, declared: dict[str, Any]) -> tuple[str, str, str]:
    return name, declared["kind"], ", ".join(f"{k} = {v}" for k, v in declared.items() if k != "kind")
