"""`discreet fit`: the straight line, from a private table to a folder that can be published."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: D301

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.ledger import opened_ledger
from discreet.cli.printed.saving import answer, chosen_charge_id, completed, draws_to_save, honest, recorded
from discreet.cli.printed.show import dump, note
from discreet.cli.typed import arguments as o
from discreet.cli.typed.arguments import (
    mechanisms,
    names_own_columns,
    one_of,
    promise,
    relation,
)
from discreet.cli.typed.job import Job, any_model_of, read_job, schema_of
from discreet.shown import bar

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.release.release import Release
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
    by: o.By = None,
    model: o.AnyModel = None,
    prior: o.Prior = None,
    mechanism: o.AnyMechanism = None,
    option: o.Options = None,
    target: o.Target = None,
    epsilon: o.Epsilon = None,
    delta: o.Delta = None,
    relation: o.Neighbours = None,
    ledger: Annotated[str | None, typer.Option(help="Where the budget is kept: a file or URL.")] = None,
    scope: Annotated[str | None, typer.Option(metavar="NAME[,NAME]", help="The scope(s) to charge.")] = None,
    out: Annotated[str | None, typer.Option(help="The folder of the release; it must not exist yet.")] = None,
    unit: Annotated[
        str | None, typer.Option(help="The column that identifies the person each row belongs to.")
    ] = None,
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
    actor: o.Actor = None,
    label: o.Label = None,
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
      discreet fit visits.parquet --schema visits.toml --column smoker --by ward \\
          --model beta_bernoulli --target pure:1 --ledger budget.db --out smokers-by-ward
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
      joint(ward, smoker)       the cells of a table of two or more columns, as one column
      col("any name")           a column whose name is not a plain word
    How many rows a predicate keeps is private: --where needs --relation add_remove, and a budget with it.

    \b
    A job file has the same names:
      data = "visits.parquet"
      schema = "visits.toml"
      column = "smoker"
      model = "beta_bernoulli"
      prior = { alpha = 6, beta = 12 }
      target = "approx:0.5,1e-6"                  # or: epsilon = 0.5, and delta = 1e-6
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
      model = "bayesian_linear_regression"        # an answer that is a number; radius has a default
      prior = { target = "weight", features = ["age", "ward"] }
    Counts as answers are a generalized_linear with loss = { loss = "clipped_poisson", upper = 20 }.

    \b
    Under a metric, what is promised depends on how far two tables are apart: metric:EPSILON[,DELTA],METRIC
    with ε and δ per unit of distance. One posterior draw keeps it; docs/metric.md has the metrics.
      hamming           records that differ: Bernoulli records, categories
      absolute=GRID     Σ|x − y|, total=GRID |Σx − Σy|: waits, with the prior's grid
      steps=WITHIN      one record moved by at most that much
      weighted=A:2+B:1  columns that differ, 1 + its children each: Bayesian networks
      discreet ledger init waits.db --budget metric:2,absolute=1/64
      discreet fit waits.parquet --schema waits.toml --column wait --model gamma_exponential \\
          --prior 'shape=2,rate=1,grid=0.015625' --mechanism one_posterior_sample --option truncation=4 \\
          --target metric:1,absolute=1/64 --ledger waits.db --out waits
    A job file has it as target = "metric:1,absolute=1/64".

    \b
    Exit codes: 0 released, 1 refused (nothing read), 2 bad input, 3 the engine failed, 4 interrupted.
    """
    given = {
        "schema": schema, "column": column, "by": by, "model": model,
        "prior": prior, "mechanism": mechanism, "options": option, "target": target, "epsilon": epsilon,
        "delta": delta, "relation": relation, "ledger": ledger, "scope": scope, "out": out, "unit": unit,
        "rows_per_unit": rows_per_unit, "table": table, "n": n, "draws": draws, "charge_id": charge_id,
        "note": note, "actor": actor, "label": label, "seed": seed, "derive": derive, "where": where,
    }  # fmt: skip
    job = read_job(data, given)
    column_needed = () if names_own_columns(job.model, job.prior) else ("column",)
    job.need("data", "schema", *column_needed, "model", "target", "ledger", "out")
    release, opened, folder = run_job(job)
    answer(release.receipt, folder, lambda: _show(release, opened, folder, json=json), json=json)


def _show(release: Release, ledger: Ledger, folder: Path, *, json: bool) -> None:
    from discreet.cli.printed.release import as_json, show  # noqa: PLC0415 - loaded on use, not for --help

    if json:
        dump(as_json(release, ledger, folder))
    else:
        show(release, ledger, folder)


def run_job(job: Job) -> tuple[Release, Ledger, Path]:
    """Walk the line: table, model, target, ledger, charge, release, folder."""
    from discreet.place import new_folder  # noqa: PLC0415 - loaded on use, not for --help

    declared = schema_of(job)
    target = promise(str(job.target), job.relation)
    mechanism = None if job.mechanism is None else one_of("posterior mechanism", job.mechanism, mechanisms())

    from discreet.privatise import privatise  # noqa: PLC0415
    from discreet.sampling.source import SeededSource  # noqa: PLC0415

    note("opening the ledger")
    opened = opened_ledger(str(job.ledger), (job.scope or ("default",))[0])
    note(f"opening the table by names and types; schema {declared.hash}")
    table = opened_table(job, declared)
    model = any_model_of(job, table.schema)
    folder, draws, name = new_folder(str(job.out)), draws_to_save(), chosen_charge_id(job.charge_id)
    note(f"calibrating {mechanism or 'noise'}, then charging, then reading")
    with honest(opened, name):
        with bar("calibrating, charging, reading, releasing"):
            release = privatise(
                table[(*job.column, *job.by)] if job.column else table,
                model,
                mechanism=mechanism,
                target=target,
                ledger=opened,
                scope=job.scope or None,
                source=None if job.seed is None else SeededSource(job.seed),
                charge_id=name,
                note=job.note,
                actor=job.actor,
                draws=job.draws,
                **job.options,
            )
        note(f"charged {release.receipt.id}; writing {folder}")
        recorded({folder: release}, folder)
    completed({folder: release}, opened, folder, draws)
    return release, opened, folder


def opened_table(job: Job, declared: Schema) -> Table:
    """Open the table, derive columns, keep rows: all of it by names and types alone."""
    from discreet.cli.typed.job import source_of  # noqa: PLC0415
    from discreet.tables.table import Table  # noqa: PLC0415

    def opened() -> Table:
        source, name = source_of(str(job.data), job.table)
        return Table.open(
            source,
            schema=declared,
            unit=job.unit,
            rows_per_unit=job.rows_per_unit,
            table=name,
            n=job.n,
            label=job.label,
        )

    return chosen_rows(job, opened)


def chosen_rows(job: Job, opened: Callable[[], Table]) -> Table:
    """Open the table, then derive columns and keep rows as the job says."""
    if job.where and relation(job.relation).value == "substitute":
        raise ValueError(
            "--where makes the number of rows private: add --relation add_remove, and charge a ledger or "
            "scope that was started with --relation add_remove"
        )
    table = opened()
    if not (job.derive or job.where):
        return table
    from discreet.tables.derived.parsed import selected  # noqa: PLC0415

    return selected(table, job.derive, job.where)
