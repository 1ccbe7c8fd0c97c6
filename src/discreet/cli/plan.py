"""`discreet plan`: what to expect of every mechanism, before anything is spent."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: D301

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.catalogue import COUNTS, FAMILY, REGRESSION, names
from discreet.cli.printed.errors import REFUSED, decimal, plain_line
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
    from discreet.families.family import Family


def plan(
    job: Annotated[str | None, typer.Argument(metavar="JOB.toml", help="A job as `fit` takes it.")] = None,
    *,
    model: o.AnyModel = None,
    prior: o.Prior = None,
    n: Annotated[int | None, typer.Option(help="The number of records, public or expected.")] = None,
    target: o.Target = None,
    epsilon: o.Epsilon = None,
    relation: o.Neighbours = None,
    schema: Annotated[
        str | None, typer.Option(help="The schema, for bounds that the prior leaves out.")
    ] = None,
    column: Annotated[str | None, typer.Option(metavar="NAME", help="The column in that schema.")] = None,
    level: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Of intervals: how often they should cover.")
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
        typer.Option(min=1, help="Of a regression or model of counts: how many data sets to imagine."),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"With --width one of {', '.join(mechanisms(FAMILY))}; of a regression, the only one.",
            autocompletion=starting_with(mechanisms(FAMILY, REGRESSION)),
        ),
    ] = None,
    option: o.Options = None,
    width: Annotated[
        float | None, typer.Option(help="Ask backwards: the interval width that is wanted.")
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(help="With --epsilon the δ to promise; with --width and --n that of the answer."),
    ] = None,
    split: Annotated[
        int | None, typer.Option(min=1, help="Split --target evenly over this many questions.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the plan as a PNG too.")] = None,
    seed: Annotated[int, typer.Option(help="For what is simulated.")] = 0,
    json: o.Json = False,
) -> None:
    """Compare the mechanisms that meet a target: error, interval, coverage, KL. Spends and reads nothing.

    Backwards, with --width: give --n for the least ε, --target for the least n, both for the public records
    that would be needed. Exit code 1 if nothing meets the target.

    \b
    Examples:
      discreet plan --model beta_bernoulli --prior 'alpha=6,beta=12' --n 2000 --target approx:0.5,1e-7
      discreet plan job.toml --n 2000 --picture plan.png
      discreet plan --model beta_bernoulli --prior 'alpha=1,beta=1' --n 2000 --width 0.05
      discreet plan --model beta_bernoulli --prior 'alpha=1,beta=1' --target pure:0.1 --width 0.05
      discreet plan --target approx:1,1e-6 --split 3
      discreet plan --model bayesian_logistic_regression --n 5000 --target approx:1,1e-6 \\
        --prior 'target="ill", features=["age", "dose"], norm=1'
    """
    given = {
        "model": model, "prior": prior, "n": n, "target": target, "relation": relation, "schema": schema,
        "column": column, "mechanism": mechanism, "options": option, "epsilon": epsilon,
        "delta": None if epsilon is None else delta,
    }  # fmt: skip
    wanted = read_job(job, given)
    if split is not None:
        _split(wanted, split, json=json)
    elif width is not None:
        _backwards(wanted, width, level, number(delta or "0", "--delta"), seed, json=json)
    else:
        counted = {} if replicates is None else {"replicates": replicates}
        how = {"level": level, "rank_by": rank_by, "seed": seed}
        _forwards(wanted, picture, how, counted | _tried(wanted, mechanism), json=json)


def _model(job: Job) -> Family:
    job.need("model")
    return model_of(job, schema_of(job) if job.schema else None)


def _tried(job: Job, mechanism: str | None) -> dict[str, list[str]]:
    """Return the one mechanism to try, if the option names it: a job's own is one among those compared."""
    if mechanism is None:
        return {}
    if typed_model(job.model) not in names(REGRESSION):
        raise ValueError("a plan compares all mechanisms: --mechanism goes with --width, or a regression")
    return {"mechanisms": [one_of("regression mechanism", mechanism, mechanisms(REGRESSION))]}


def _forwards(
    job: Job, picture: Path | None, how: dict[str, Any], own: dict[str, Any], *, json: bool
) -> None:
    job.need("n", "target", "model")
    target = promise(str(job.target), job.relation)
    model, options = _planned(job, how, own)

    from discreet.planning import plan as compare  # noqa: PLC0415 - loaded on use, not for --help

    found: Any = compare(model, int(job.n or 0), target, **options)
    drawn = str(found.picture(picture)) if picture else None
    if json:
        dump({**found.to_json(), "picture": drawn})
    else:
        lines("\n".join(plain_line(line) for line in found.table().splitlines()))
        if drawn:
            lines(f"\npicture: {drawn}")
    if not found.rows:
        raise typer.Exit(REFUSED)


def _planned(job: Job, how: dict[str, Any], own: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the model, as its columns are declared, and the options that its kind of plan takes."""
    name = typed_model(job.model)
    if name in names(REGRESSION):
        return _declared(job), {**how, **own}
    if name in names(COUNTS):
        return _declared(job), {"seed": how["seed"], **own}
    if own:
        raise ValueError(
            "--replicates is for regressions and models of counts; a family is summed or has its own"
        )
    return _family(job), {**how, "truncation": job.options.get("truncation")}


def _family(job: Job) -> Family:
    """Build a prior; linear regression by name is told what the schema says of its columns."""
    if "target" not in job.prior:
        return _model(job)
    from discreet.statistics.records import line_design  # noqa: PLC0415 - loaded on use, not for --help

    schema = schema_of(job) if job.schema else None
    model: Any = any_model_of(job, schema)  # type: ignore[arg-type]  # it names its columns itself
    found: Family = model if schema is None else model.bind(*line_design(schema, model.named))
    return found


def _declared(job: Job) -> Any:  # noqa: ANN401 - a regression or a model of counts
    """Build the model, and tell it what the schema says of its columns; without one, each is a number."""
    schema = schema_of(job) if job.schema else None
    model: Any = any_model_of(job, schema)  # type: ignore[arg-type]  # it names its columns itself
    if schema is None and not hasattr(model, "design"):
        raise ValueError(
            f"{job.model} is planned by its columns' numbers of codes: give the --schema that says them"
        )
    if schema is None:
        return model
    from discreet.statistics.records import features_of  # noqa: PLC0415 - loaded on use, not for --help
    from discreet.tables.rows import sizes  # noqa: PLC0415

    if hasattr(model, "design"):
        return model.bind([f for name in model.features for f in features_of(schema[name], name)])
    return model.bind({name: sizes(schema[name], name) for name in model.columns})


def _backwards(job: Job, width: float, level: float, delta: Any, seed: int, *, json: bool) -> None:  # noqa: ANN401
    if not job.n and not job.target:
        raise ValueError(
            "--width needs --n (then ε is found), --target (then n is found), or both (public records)"
        )
    model = _family(job)
    mechanism = one_of("posterior mechanism", job.mechanism or mechanisms(FAMILY)[0], mechanisms(FAMILY))
    options = {"mechanism": mechanism, "seed": seed, **job.options}

    from discreet.planning import epsilon_for, n_for, public_records_for  # noqa: PLC0415

    if not job.target:
        near = neighbours(job.relation)
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
