"""`discreet plan`: what to expect of every mechanism, before anything is spent."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: D301

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.catalogue import COUNTS, FAMILY, GROUPS, REGRESSION, ROWS, names
from discreet.cli.fit import chosen_rows
from discreet.cli.printed.errors import REFUSED, decimal, plain_line, spelled
from discreet.cli.printed.show import dump, lines, say, table
from discreet.cli.typed import arguments as o
from discreet.cli.typed.arguments import (
    mechanisms,
    number,
    one_of,
    promise,
    starting_with,
    typed,
    typed_model,
)
from discreet.cli.typed.arguments import relation as neighbours
from discreet.cli.typed.job import Job, any_model_of, model_of, read_job, schema_of

if TYPE_CHECKING:
    from discreet.privacy.guarantee import Guarantee


def plan(
    job: Annotated[str | None, typer.Argument(metavar="JOB.toml", help="A job as `fit` takes it.")] = None,
    *,
    model: o.AnyModel = None,
    by: o.By = None,
    prior: o.Prior = None,
    n: Annotated[int | None, typer.Option(help="The number of records, public or expected.")] = None,
    target: o.Target = None,
    epsilon: o.Epsilon = None,
    relation: o.Neighbours = None,
    schema: Annotated[
        str | None, typer.Option(help="The schema, for bounds that the prior leaves out.")
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME[,NAME]", help="The column(s) in that schema.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="The column that identifies the person each row belongs to.")
    ] = None,
    rows_per_unit: Annotated[int | None, typer.Option(help="How many rows of one unit count.")] = None,
    derive: o.Derive = None,
    where: o.Keep = None,
    draws: Annotated[int | None, typer.Option(help="Posterior draws to release at once.")] = None,
    level: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="How often intervals should cover the truth.")
    ] = 0.9,
    rank_by: Annotated[
        str,
        typer.Option(
            help="error, absolute, honest_width, width, kl, test_error (of a linear regression); "
            "of other regressions error, log_loss, rms, width."
        ),
    ] = "error",
    replicates: Annotated[
        int | None,
        typer.Option(min=1, help="How many data sets to imagine, more for smaller standard errors."),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"The only one to plan: of a family one of {', '.join(mechanisms(FAMILY))}.",
            autocompletion=starting_with(mechanisms()),
        ),
    ] = None,
    option: o.Options = None,
    width: Annotated[
        float | None, typer.Option(help="The interval width that you want; the plan finds what it takes.")
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(help="The δ to promise with --epsilon; with --width and --n, the δ of the answer."),
    ] = None,
    split: Annotated[
        int | None, typer.Option(min=1, help="Split --target evenly over this many questions.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the plan as a PNG too.")] = None,
    seed: Annotated[int, typer.Option(help="For what is simulated.")] = 0,
    json: o.Json = False,
) -> None:
    """Compare the mechanisms that meet a target: error, interval, coverage, KL. Spends nothing.

    Backwards, with --width: give --n for the least ε, --target for the least n, both for the public records
    that would be needed. Exit code 1 if nothing meets the target.

    \b
    Examples:
      discreet plan --model beta_bernoulli --prior 'alpha=6,beta=12' --n 2000 --target approx:0.5,1e-7
      discreet plan job.toml --n 2000 --picture plan.png
      discreet plan --model beta_bernoulli --prior 'alpha=1,beta=1' --n 2000 --width 0.05
      discreet plan --model beta_bernoulli --prior 'alpha=1,beta=1' --target pure:0.1 --width 0.05
      discreet plan --target approx:1,1e-6 --split 3
      discreet plan --model beta_bernoulli --prior 'alpha=1,beta=1' --n 2000 --target metric:0.5,hamming
      discreet plan --model bayesian_logistic_regression --n 5000 --target approx:1,1e-6 \\
        --prior 'target="ill", features=["age", "dose"], norm=1'
    """
    given = {
        "model": model, "prior": prior, "n": n, "target": target, "relation": relation, "schema": schema,
        "column": column, "by": by, "mechanism": mechanism, "options": option,
        "unit": unit, "derive": derive,
        "rows_per_unit": rows_per_unit, "where": where, "draws": draws, "epsilon": epsilon,
        "delta": None if epsilon is None else delta,
    }  # fmt: skip
    wanted = read_job(job, given)
    if split is not None:
        _split(wanted, split, json=json)
    elif width is not None:
        backwards = {"seed": seed, "simulations": replicates}
        _backwards(wanted, width, level, number(delta or "0", "--delta"), backwards, json=json)
    else:
        how: dict[str, Any] = {"level": level, "seed": seed, "rank_by": rank_by}
        _forwards(wanted, picture, how, replicates, json=json)


def _forwards(
    job: Job, picture: Path | None, how: dict[str, Any], replicates: int | None, *, json: bool
) -> None:
    job.need("n", "target", "model")
    target = promise(str(job.target), job.relation)
    model, told = bound_model(job, target)

    from discreet.planning import plan as compare  # noqa: PLC0415 - loaded on use, not for --help

    found: Any = compare(
        model, int(job.n or 0), target, **_of_kind(job, how, replicates), **_asked(job, told)
    )
    drawn = str(found.picture(picture)) if picture else None
    if json:
        dump({**found.to_json(), "picture": drawn})
    else:
        lines("\n".join(plain_line(spelled(line)) for line in found.table(command=True).splitlines()))
        if drawn:
            lines(f"\npicture: {drawn}")
    if not found.rows:
        raise typer.Exit(REFUSED)


def _of_kind(job: Job, how: dict[str, Any], replicates: int | None) -> dict[str, Any]:
    """Return how to simulate and rank, in the words of this kind of plan."""
    name = typed_model(job.model)
    count = "simulations" if name in names(FAMILY, GROUPS) else "replicates"
    ranked = name not in names(COUNTS)  # which are ranked by their noise
    kept = {word: value for word, value in how.items() if ranked or word != "rank_by"}
    return kept if replicates is None else {**kept, count: replicates}


def _asked(job: Job, told: dict[str, Any]) -> dict[str, Any]:
    """Return what the fit of this job would be told, and that its plan must be told."""
    named = None if job.mechanism is None else one_of("posterior mechanism", job.mechanism, mechanisms())
    return {**told, "draws": job.draws, "mechanism": named, **job.options}


def bound_model(job: Job, target: Guarantee) -> tuple[Any, dict[str, Any]]:
    """Walk the line as `fit` does up to the bounded statistic, without rows: the model, and what is told.

    Told are the rows of a unit that count and, of a family, whether values beyond its bounds are clipped.
    Without a schema it is the prior as typed, and a regression takes each feature for a number.
    """
    name = typed_model(job.model)
    if not job.schema:
        if name in names(COUNTS):
            raise ValueError(
                f"{job.model} is planned by its columns' numbers of codes: give the --schema that says them"
            )
        if job.by or name in names(GROUPS):
            raise ValueError("groups are planned by the levels of their columns: give the --schema")
        own = name in names(REGRESSION) or "target" in job.prior
        model = any_model_of(job, None) if own else model_of(job)
        return model, {"rows_per_unit": job.rows_per_unit or 1}
    if name in names(FAMILY) and "target" not in job.prior:
        job.need("column")

    from discreet.statistics import bounded  # noqa: PLC0415 - loaded on use, not for --help
    from discreet.tables.without_rows import without_rows  # noqa: PLC0415

    declared = schema_of(job)
    table = chosen_rows(
        job, lambda: without_rows(declared, n=job.n, unit=job.unit, rows_per_unit=job.rows_per_unit)
    )
    built: Any = any_model_of(job, table.schema)
    ready = bounded(table[(*job.column, *job.by)] if job.column else table, built, target.relation)
    told: dict[str, Any] = {"rows_per_unit": ready.rows_per_unit}
    if name in names(FAMILY):
        told["clips"] = any(getattr(declared.get(column), "clips", False) for column in job.column)
    return ready.model, told


def _backwards(
    job: Job,
    width: float,
    level: float,
    delta: Fraction,
    how: Mapping[str, Any],
    *,
    json: bool,
) -> None:
    if not job.n and not job.target:
        raise ValueError(
            "--width needs --n (then ε is found), --target (then n is found), or both (public records)"
        )
    job.need("model")
    near = neighbours(job.relation)
    imagined = job if job.n else replace(job, n=1)  # whatever n: it is what is asked for
    model, told = bound_model(imagined, promise(job.target or "pure:1", job.relation))
    own = mechanisms(ROWS[typed_model(job.model)].kind)
    mechanism = one_of("posterior mechanism", job.mechanism or own[0], own)
    options: dict[str, Any] = {"mechanism": mechanism, **told, **how, **job.options}

    from discreet.planning import epsilon_for, n_for, public_records_for  # noqa: PLC0415

    if not job.target:
        found: float = epsilon_for(
            model, int(job.n or 0), width, level, delta=delta, relation=near, **options
        )
        answer, words = "epsilon", f"ε = {found:.6g} at δ = {decimal(delta)}"
    elif not job.n:
        found = n_for(model, promise(job.target, job.relation), width, level, **options)
        answer, words = "n", f"n = {found} records"
    else:
        goal = promise(job.target, job.relation)
        found = public_records_for(model, job.n, goal, width=width, coverage=level, **options)
        answer, words = "public_records", f"{found} public records, folded into the prior"
    if json:
        dump({answer: found, "width": width, "level": level, "mechanism": mechanism})
    else:
        say(f"{mechanism} reaches a {level:.0%} interval of width {width:g} with {words}")


def _split(job: Job, questions: int, *, json: bool) -> None:
    job.need("target")

    from discreet.planning import split as parts_of  # noqa: PLC0415
    from discreet.privacy.json import to_json  # noqa: PLC0415

    parts = parts_of(promise(str(job.target), job.relation), questions)
    if json:
        dump({name: to_json(part) for name, part in parts.items()})
        return
    table(("question", "--target"), [(name, typed(part)) for name, part in parts.items()])
    if str(job.target).startswith("approx:"):
        say("each fits a scope that is kept by plain sums, which its first charge with such a target settles")
