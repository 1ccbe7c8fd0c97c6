"""`discreet local`: randomise observations before they leave, so that their source stays hidden."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: D301

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.ledger import opened_ledger
from discreet.cli.printed.saving import answer, honest, lost_if_unwritten, undisturbed
from discreet.cli.printed.show import dump, say, table
from discreet.cli.typed import arguments as o
from discreet.cli.typed.arguments import one_of, starting_with
from discreet.place import dated
from discreet.shown import bar, cell

if TYPE_CHECKING:
    from discreet.line.local import LocalRelease
    from discreet.mechanisms.local.profile_base import ProfileMechanism
    from discreet.privacy.profile_graph import ProfileGraph

KINDS = ("keep", "corruption", "largest_error", "smooth_bit", "cluster_bit")


def local(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Parquet or CSV, one observation per row.")],
    *,
    column: Annotated[str, typer.Option(help="The column of observations.")],
    profile: Annotated[
        str, typer.Option(help="The column that names each row's profile, or one profile for all rows.")
    ],
    graph: Annotated[Path, typer.Option(help="The public graph: profiles, edges, labels (.toml or .json).")],
    epsilon: Annotated[float, typer.Option(help="How alike the profiles of an edge must look.")],
    observations: Annotated[str, typer.Option(help="A public name of this set; it is released once.")],
    ledger: Annotated[str, typer.Option(help="Where the budget is kept: a file or URL.")],
    out: Annotated[Path, typer.Option(help="The file of released values (.csv or .parquet).")],
    kind: Annotated[
        str, typer.Option(help=f"One of {', '.join(KINDS)}.", autocompletion=starting_with(KINDS))
    ] = "keep",
    unknown: Annotated[
        str | None,
        typer.Option(
            help="The profile that rows with an undeclared one count as; needs a column of profiles."
        ),
    ] = None,
    per_source: Annotated[int, typer.Option(help="How many rows one source has at most.")] = 1,
    scope: Annotated[str | None, typer.Option(metavar="NAME[,NAME]", help="The scope(s) to charge.")] = None,
    actor: o.Actor = None,
    seed: o.Seed = None,
    json: o.Json = False,
) -> None:
    """Release observations so that nobody can tell which of two neighbouring profiles made them.

    The graph is public and says which profiles there are (their laws over the values) and which pairs must
    look alike. Each row is randomised by the kernel of its own profile; the profile column itself never
    leaves. A row whose profile the graph does not have is released as a fresh draw from the law of --unknown,
    so that nobody can tell it was there. The same set of observations cannot be released twice.

    \b
    Examples:
      discreet ledger init local.db --budget pure:2 --graph roles.toml
      discreet local usage.csv --column level --profile role --graph roles.toml --epsilon 0.5 \\
          --unknown engineer --observations march --ledger local.db --out released.csv
    """
    if out.suffix not in {".csv", ".parquet"}:
        raise ValueError(f"--out ends in .csv or .parquet, got {out.name!r}")

    from discreet.line.local import charge_name, release_observations  # noqa: PLC0415 - loaded on use, not for --help
    from discreet.place import new_file  # noqa: PLC0415
    from discreet.privacy.profile_graph import ProfileGraph  # noqa: PLC0415
    from discreet.sampling.source import SeededSource  # noqa: PLC0415

    book = opened_ledger(ledger)
    with bar("solving"):
        mechanism = solved(ProfileGraph.load(graph), epsilon, kind)
    new_file(out)
    with honest(book, charge_name(observations)):
        with bar("randomising"):
            made = release_observations(
                data,
                mechanism,
                column=column,
                profile=profile,
                observations=observations,
                ledger=book,
                unknown=unknown,
                per_source=per_source,
                scope=scope.split(",") if scope else None,
                actor=actor,
                source=None if seed is None else SeededSource(seed),
            )
        with undisturbed(), lost_if_unwritten(made.receipt, out):
            written(made, column, out)
    answer(made.receipt, out, lambda: print_summary(made, mechanism, out, json), json=json)


def solved(graph: ProfileGraph, epsilon: float, kind: str) -> ProfileMechanism:
    from discreet.mechanisms.local import profile_bits as bits  # noqa: PLC0415
    from discreet.mechanisms.local import profile_categorical as categories  # noqa: PLC0415

    smooth = categories.SmoothCategorical.solve
    build: dict[str, Any] = {
        "keep": smooth,
        "corruption": lambda g, e: smooth(g, e, objective=categories.EXPECTED_CORRUPTION),
        "largest_error": lambda g, e: smooth(g, e, objective=categories.LARGEST_ERROR),
        "smooth_bit": bits.SmoothOneBit.solve,
        "cluster_bit": bits.OneBitCluster.solve,
    }
    made: ProfileMechanism = build[one_of("kind", kind, KINDS)](graph, epsilon)
    return made


def written(made: LocalRelease, column: str, out: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - heavy
    from pyarrow import csv, parquet  # noqa: PLC0415

    text = cell if out.suffix == ".csv" else str  # a spreadsheet must not run a label
    labels = pa.array([text(label) for label in made.graph.labels], pa.string())
    rows = pa.table({text(column): labels.take(pa.array(made.values))})
    with tempfile.TemporaryDirectory(prefix=".release-", dir=out.parent) as folder:
        part = Path(folder) / out.name
        (csv.write_csv if out.suffix == ".csv" else parquet.write_table)(rows, part)
        dated(part, made.receipt.at)
        os.replace(part, out)  # noqa: PTH105 - whole or not at all


def print_summary(made: LocalRelease, mechanism: ProfileMechanism, out: Path, json: bool) -> None:  # noqa: FBT001
    loss = float(made.guarantee.epsilon(0))
    changed = dict(zip(made.graph.names, mechanism.corruption().tolist(), strict=True))
    if json:
        dump(
            {
                "released": str(out),
                "epsilon": loss,
                "changed": changed,
                "receipt": made.receipt.id,
                "seeded": made.seeded,
            }
        )
        return
    say(f"released {out}; profiles joined by an edge look alike up to ε = {loss:.6g}, verified exactly")
    table(
        ("profile", "share of observations changed, on average"),
        [(name, f"{share:.4f}") for name, share in changed.items()],
        numbers=(1,),
    )
    if made.seeded:
        say("SEEDED: drawn from a public seed, hence not private")
