"""`discreet fit`: the straight line, from a private table to a folder that can be published."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: TC001, D301

from __future__ import annotations

import signal
import sys
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options as o
from discreet.cli.errors import plain
from discreet.cli.job import Job, any_model_of, read_job, schema_of
from discreet.cli.ledger import opened_ledger
from discreet.cli.show import dump, note, waiting
from discreet.cli.words import (
    COUNTED,
    MECHANISMS,
    OF_COUNTS,
    OF_REGRESSIONS,
    REGRESSIONS,
    one_of,
    promise,
    relation,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.ledger import Ledger
    from discreet.release import Release
    from discreet.tables.schema import Schema
    from discreet.tables.table import Table


def fit(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA|JOB.toml",
            help="Parquet, CSV, a DuckDB file, a postgresql:// or spark:// URL, or a job.",
        ),
    ] = None,
    *,
    schema: Annotated[str | None, typer.Option(help="The public schema, .toml or .json.")] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME[,NAME]", help="The column(s) to learn from.")
    ] = None,
    model: o.AnyModel = None,
    prior: o.Prior = None,
    mechanism: o.AnyMechanism = None,
    option: o.Options = None,
    target: o.Target = None,
    relation: o.Relation = None,
    ledger: Annotated[str | None, typer.Option(help="Where the budget is kept: a file or URL.")] = None,
    scope: Annotated[str | None, typer.Option(metavar="NAME[,NAME]", help="The scope(s) to charge.")] = None,
    out: Annotated[str | None, typer.Option(help="The folder of the release; it must not exist yet.")] = None,
    unit: Annotated[str | None, typer.Option(help="The column that says whose a row is.")] = None,
    rows_per_unit: Annotated[int | None, typer.Option(help="How many rows of one unit count.")] = None,
    table: Annotated[str | None, typer.Option(help="The table, where DATA is a database.")] = None,
    n: Annotated[int | None, typer.Option(help="The public number of records; counted if left out.")] = None,
    derive: o.Derive = None,
    where: o.Keep = None,
    draws: Annotated[
        int | None, typer.Option(help="Posterior draws to release at once (draw mechanisms).")
    ] = None,
    charge_id: Annotated[
        str | None, typer.Option(help="Pay once under this name, however often it is tried.")
    ] = None,
    note: Annotated[str | None, typer.Option(help="A public note for the ledger.")] = None,
    seed: o.Seed = None,
    json: o.Json = False,
) -> None:
    """Release a posterior, and pay for it.

    The charge is durable before the first private value is read. Bounds and categories that the prior leaves
    out are taken from the schema. Decimals are exact: ten times pure:0.1 is pure:1.

    \b
    Examples:
      discreet fit visits.parquet --schema visits.toml --column smoker --model beta_bernoulli \\
          --prior 'alpha=6,beta=12' --target approx:0.5,1e-6 --ledger budget.db --out smokers
      discreet fit visits.csv --schema visits.toml --column ward --model dirichlet_categorical \\
          --prior alpha=1 --mechanism diffused --target renyi:2,0.1 --ledger budget.db --out wards
      discreet fit visits.parquet --schema visits.toml --derive 'band = age.cut([18, 65])' --column band \\
          --where 'ward in ["A", "B"] and not smoker' --relation add_remove --model dirichlet_categorical \\
          --prior alpha=1 --target pure:0.5 --ledger kept.db --out bands
      discreet fit adult.parquet --schema adult.toml --model naive_bayes \\
          --prior 'label="income", features=["education", "sex"]' --target pure:1 --ledger b.db --out income
      discreet fit adult.parquet --schema adult.toml --model bayesian_logistic_regression \\
          --prior 'target="income", features=["age", "sex"], labels=["<=50K", ">50K"], norm=1.5' \\
          --target approx:1,1e-6 --ledger b.db --out weights
      discreet fit job.toml --out second-try

    \b
    Expressions (--derive, --where) read one row, are never run as code, and know these words:
      age >= 65         18 <= age < 65          age.between(18, 64)     columns against public values
      ward == "A"       ward in ["A", "B"]      ward not in ["C"]       declared levels only
      smoker and not (age < 18 or visits > 3)                           & | ~ too, with brackets
      age.cut([18, 65])         three categories: below 18, 18 to 65, from 65
      1.8 * celsius + 32        one column and numbers; bounds follow from the schema
      col("any name")           a column whose name is no plain word
    How many rows a predicate keeps is private: --where needs --relation add_remove, and a budget with it.

    \b
    A job file has the same names:
      data = "visits.parquet"
      schema = "visits.toml"
      column = "smoker"
      model = "beta_bernoulli"
      prior = { alpha = 6, beta = 12 }
      target = "approx:0.5,1e-6"
      ledger = "budget.db"
      out = "smokers"
      derive = { band = "age.cut([18, 65])" }     # if wanted
      where = ["age >= 18", "not smoker"]         # if wanted; all must hold
    A model of counts names its columns itself, so that column is left out:
      model = "naive_bayes"                       # mechanism = "noisy_counts" if left out
      prior = { label = "income", features = ["education", "sex"], prior = 1 }
      options = { noise = "discrete_gaussian", shares = [0.7, 0.3] }
    So does a regression. Features are scaled to [-1, 1] by the schema's bounds, levels become indicators;
    norm, how long a row may be, must be public; radius is a public guess of the length of the weights:
      model = "bayesian_logistic_regression"      # mechanism = "objective_perturbation" if left out
      prior = { target = "income", features = ["age", "sex"], labels = ["<=50K", ">50K"], norm = 1.5 }
      mechanism = "tuned"                         # one draw of the weights, without intervals
      options = { most = 100000 }                 # draws under add_remove: a public cap of the rows
    Counts as answers are a generalized_linear with loss = { loss = "clipped_poisson", upper = 20 }.

    \b
    Exit codes: 0 released, 1 refused (nothing read), 2 bad input, 3 the engine failed, 4 interrupted.
    """
    given = {
        "schema": schema, "column": column, "model": model, "prior": prior, "mechanism": mechanism,
        "options": option, "target": target, "relation": relation, "ledger": ledger, "scope": scope,
        "out": out, "unit": unit, "rows_per_unit": rows_per_unit, "table": table, "n": n, "draws": draws,
        "charge_id": charge_id, "note": note, "seed": seed, "derive": derive, "where": where,
    }  # fmt: skip
    job = read_job(data, given)
    column_needed = () if job.model in (*COUNTED, *REGRESSIONS) else ("column",)
    job.need("data", "schema", *column_needed, "model", "target", "ledger", "out")
    release, opened, folder = released(job)
    if json:
        from discreet.cli.release import as_json  # noqa: PLC0415

        dump(as_json(release, opened, folder))
    else:
        from discreet.cli.release import show  # noqa: PLC0415

        show(release, opened, folder)


def released(job: Job) -> tuple[Release, Ledger, Path]:
    """Walk the line: table, model, target, ledger, charge, release, folder."""
    folder = free(Path(str(job.out)))
    declared = schema_of(job)
    target = promise(str(job.target), job.relation)
    known = tuple(dict.fromkeys((*MECHANISMS, *OF_COUNTS, *OF_REGRESSIONS)))
    mechanism = None if job.mechanism is None else one_of("posterior mechanism", job.mechanism, known)

    from discreet.privatise import privatise  # noqa: PLC0415 - loaded on use, not for --help
    from discreet.sampling.source import SeededSource  # noqa: PLC0415

    note("opening the ledger")
    opened = opened_ledger(str(job.ledger), (job.scope or ("default",))[0])
    note(f"opening the table by names and types; schema {declared.hash}")
    table = opened_table(job, declared)
    model = any_model_of(job, table.schema)
    note(f"calibrating {mechanism or 'noise'}, then charging, then reading")
    with waiting("calibrating, charging, reading, releasing"):
        release = privatise(
            table[tuple(job.column)] if job.column else table,
            model,
            mechanism=mechanism,
            target=target,
            ledger=opened,
            scope=job.scope or None,
            source=None if job.seed is None else SeededSource(job.seed),
            charge_id=job.charge_id,
            note=job.note,
            draws=job.draws,
            **job.options,
        )
    note(f"charged {release.receipt.id}; writing {folder}")
    return release, opened, saved(release, opened, folder)


def opened_table(job: Job, declared: Schema) -> Table:
    """Open the table, derive columns, keep rows: all of it by names and types alone."""
    from discreet.cli.sources import source_of  # noqa: PLC0415
    from discreet.tables.table import Table  # noqa: PLC0415

    if job.where and relation(job.relation).value == "substitute":
        raise ValueError(
            "--where makes the number of rows private: add --relation add_remove, and charge a ledger or "
            "scope that was started with --relation add_remove"
        )
    source, name = source_of(str(job.data), job.table)
    table = Table.open(
        source, schema=declared, unit=job.unit, rows_per_unit=job.rows_per_unit, table=name, n=job.n
    )
    if not (job.derive or job.where):
        return table
    from discreet.cli.expressions import selected  # noqa: PLC0415

    return selected(table, job.derive, job.where)


def free(folder: Path) -> Path:
    """Refuse a folder that is taken before anything is charged."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(
            f"{folder} exists; a release is a record and is not overwritten: choose another --out"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder


def saved(release: Release, ledger: Ledger, folder: Path) -> Path:
    """Write the folder; what was paid for must not be lost to a late Ctrl-C."""
    from discreet.release import POSTERIOR  # noqa: PLC0415
    from discreet.report import LedgerView  # noqa: PLC0415

    with undisturbed(), spoken():
        try:
            left = LedgerView.of(*(ledger.remaining(scope) for scope in release.receipt.scopes))
            return release.save(folder, draws=1000 if _arviz() else 0, ledger_view=left)
        except OSError as error:
            reason = error.strerror or type(error).__name__
    raise OSError(
        f"charge {release.receipt.id!r} is kept and its release was computed, but {folder} could not be "
        f"written ({reason.lower()}), so {POSTERIOR} and the rest are lost: a new release needs a new charge"
    )


def _arviz() -> bool:
    from importlib.util import find_spec  # noqa: PLC0415

    return find_spec("arviz") is not None and find_spec("h5netcdf") is not None


@contextmanager
def spoken() -> Iterator[None]:
    """Say what could not be written too as the command speaks, without the line of code that warned."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", RuntimeWarning)
        yield
    for warning in heard:
        print(f"discreet: {plain(str(warning.message))}", file=sys.stderr)  # noqa: T201 - as all that is said


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold Ctrl-C back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Any = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
