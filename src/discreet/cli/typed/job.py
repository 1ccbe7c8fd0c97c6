"""A fit as one value, from the command line, from a TOML file, or from both (the command line wins)."""

from __future__ import annotations

import inspect
import tomllib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

from discreet.catalogue import FAMILY, GROUPS, NUMBERS, REGRESSION, ROWS, names
from discreet.cli.typed.arguments import assignments, derivations, names_own_columns, number, one_of

if TYPE_CHECKING:
    from ibis.expr import types as ir
    from pyspark.sql import SparkSession

    from discreet.families.family import Family
    from discreet.models.count_model import CountModel
    from discreet.models.generalized_linear import GeneralizedLinear
    from discreet.models.model import Model as AnyModel
    from discreet.models.plain import PlainNumbers
    from discreet.tables.schema import Schema


M = TypeVar("M")
PATHS = ("data", "schema", "ledger", "out")
LISTS = ("column", "scope", "by")
SAID_APART = ("epsilon", "delta")  # instead of a target


@final
@dataclass(frozen=True)
class Job:
    """What to fit, to which data, at which price. Names are those of the options and of the TOML keys."""

    data: str | None = None
    schema: Any = None  # a path, or the table itself inside a job file
    column: tuple[str, ...] = ()
    by: tuple[str, ...] = ()  # a posterior for each of their joint levels
    model: str | None = None
    prior: Mapping[str, Any] = field(default_factory=dict)
    mechanism: str | None = None  # the default is the model's
    options: Mapping[str, Any] = field(default_factory=dict)
    target: str | None = None  # also as epsilon and delta
    relation: str = "substitute"
    ledger: str | None = None
    scope: tuple[str, ...] = ()
    out: str | None = None
    unit: str | None = None
    rows_per_unit: int | None = None
    table: str | None = None
    n: int | None = None
    derive: Mapping[str, str] = field(default_factory=dict)
    where: tuple[str, ...] = ()
    draws: int = 1
    charge_id: str | None = None
    note: str = ""
    actor: str | None = None
    label: str | None = None
    seed: int | None = None

    def need(self, *names: str) -> None:
        """Refuse a job that leaves out what it needs, all of it at once."""
        missing = [name for name in names if not getattr(self, name)]
        if missing:
            options = ", ".join(f"--{name}" if name != "data" else "DATA" for name in missing)
            raise ValueError(
                f"missing: {options}; give them as options, or in a job file (fit --help has one)"
            )


def read_job(first: str | None, given: Mapping[str, Any]) -> Job:
    """Merge a job file, if the first argument is one, with the options that were given."""
    from_file: dict[str, Any] = {}
    if first is not None and first.endswith(".toml"):
        from_file = _load(Path(first))
    elif first is not None:
        from_file = {"data": first}
    typed = {name: value for name, value in given.items() if value not in (None, (), [], {}, "")}
    merged = {**_promised(from_file, str(first)), **_promised(typed, "the command line")}
    for name in ("prior", "options"):
        if isinstance(merged.get(name), str | list | tuple):
            merged[name] = assignments(merged[name], f"--{name.removesuffix('s')}")
    for name in LISTS:
        if name in merged:
            value = merged[name]
            merged[name] = tuple(value.split(",")) if isinstance(value, str) else tuple(value)
    return Job(**{**merged, **_selection(merged.get("derive", {}), merged.get("where", ()))})


def _promised(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Read epsilon and delta as the target they are; both ways at once are refused."""
    found = {name: value for name, value in given.items() if name not in SAID_APART}
    epsilon, delta = (given.get(name) for name in SAID_APART)
    if epsilon is None and delta is None:
        return found
    if epsilon is None or found.get("target"):
        raise ValueError(
            f"{where} says what to promise {'twice' if found.get('target') else 'in part'}: give either a "
            "target, as approx:1,1e-6, or epsilon and delta"
        )
    nothing = delta is None or number(str(delta), "delta") == 0
    return {**found, "target": f"pure:{epsilon}" if nothing else f"approx:{epsilon},{delta}"}


def _selection(derive: Any, where: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever the file holds
    """Hold both to texts; what they say is read when the table is open."""
    named = derive if isinstance(derive, dict) else derivations(derive)
    predicates = (where,) if isinstance(where, str) else tuple(where)
    if not all(isinstance(text, str) for text in (*named.values(), *predicates)):
        raise ValueError(
            "derive and where take text: where = 'age >= 65', derive = { band = 'age.cut([18, 65])' }"
        )
    return {"derive": named, "where": predicates}


def _load(path: Path) -> dict[str, Any]:
    """Read a job file; its paths are relative to the folder it lies in."""
    try:
        written = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Fraction)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from None
    known = {f.name for f in fields(Job)} | set(SAID_APART)
    strange = sorted(set(written) - known)
    if strange:
        raise ValueError(f"{path} has unknown keys {', '.join(strange)}; known: {', '.join(sorted(known))}")
    return {name: _beside(path, value) if name in PATHS else value for name, value in written.items()}


def _beside(job: Path, value: object) -> Any:  # noqa: ANN401 - a path, a URL or an inline schema
    if not isinstance(value, str) or "://" in value:
        return value
    return str(job.parent / Path(value).expanduser())  # which an absolute path leaves as it is


def schema_of(job: Job) -> Schema:
    from discreet.tables.schema import Schema  # noqa: PLC0415 - loaded on use, not for --help

    if isinstance(job.schema, dict):
        return Schema.from_dict({key: _floats(value) for key, value in job.schema.items()})
    return load_schema(str(job.schema))


def load_schema(path: str) -> Schema:
    import json  # noqa: PLC0415

    from discreet.tables.schema import Schema  # noqa: PLC0415

    try:
        return Schema.load(path)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is not a valid schema: {error}; discreet schema init writes a template"
        ) from None


def _floats(value: object) -> object:
    """Schemas hold plain numbers."""
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, dict):
        return {k: _floats(v) for k, v in value.items()}
    return [_floats(v) for v in value] if isinstance(value, list) else value


def any_model_of(job: Job, schema: Schema | None) -> AnyModel:
    """Build what is to be fitted: a prior, or a model of counts or regression, which names its columns."""
    if job.by:
        return _grouped(job, schema)
    name = one_of("model", str(job.model), names())
    if not names_own_columns(name, job.prior):
        return model_of(job, schema)
    if name in names(NUMBERS):
        return _plain(name, job)
    if job.column:
        raise ValueError(f"{name} names its columns in its prior: leave the columns (--column) out")
    kind: type[CountModel | GeneralizedLinear] = ROWS[name].load("model")
    given = {**job.prior, **_loss(job.prior.get("loss"))}
    if name in names(GROUPS):
        inner = dict(job.prior.get("model", {}))
        family = Job(model=inner.pop("family", None), prior=inner, column=tuple(job.prior.get("of", ())))
        given["model"] = model_of(family, schema)
    if schema is not None and name in names(REGRESSION):
        from discreet.statistics.from_schema import for_regression  # noqa: PLC0415 - loaded on use

        given = {**for_regression(kind, schema, given), **given}
    return _built(kind, given)


def _plain(name: str, job: Job) -> AnyModel:
    """Build plain numbers, of the columns of the job where they are not told their own."""
    kind: type[PlainNumbers] = ROWS[name].load("model")
    takes = "of" in inspect.signature(kind).parameters
    of = {"of": job.column if len(job.column) > 1 else job.column[0]} if job.column and takes else {}
    return _built(kind, {**of, **job.prior})


def _grouped(job: Job, schema: Schema | None) -> AnyModel:
    """Build the family of the job for each group."""
    from discreet.models.grouped import Grouped  # noqa: PLC0415 - loaded on use

    return Grouped(model_of(job, schema), job.by, job.column)


def _loss(given: object) -> dict[str, Any]:
    """Build a loss by its name, with its constants: loss = { loss = "clipped_poisson", upper = 20 }."""
    if given is None:
        return {}
    from discreet.models.margin_losses import LOSSES, named_loss  # noqa: PLC0415

    named = given if isinstance(given, dict) else {"loss": given}
    if named.get("loss") == "declared":
        raise ValueError("a declared loss is code: fit it from Python")
    one_of("loss", str(named.get("loss")), tuple(LOSSES))
    return {"loss": named_loss(**named)}


BOUND = ("sizes", "design", "named")  # what a model learns from the schema


def _built(kind: type[M], given: Mapping[str, Any]) -> M:
    takes = [name for name in inspect.signature(kind).parameters if name not in BOUND]
    try:
        return kind(
            **{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        )
    except TypeError as error:
        raise ValueError(
            f"{kind.__name__} takes {', '.join(takes)}, as --prior or in the job's prior = {{ … }}; got "
            f"{', '.join(given) or 'nothing'}: {error}"
        ) from None


def model_of(job: Job, schema: Schema | None = None) -> Family:
    """Build the prior; what it leaves out is taken from the schema: bounds, categories, a weak prior."""
    family: type[Family] = ROWS[one_of("model", str(job.model), names(FAMILY))].load("model")
    takes = [name for name in inspect.signature(family).parameters if name not in BOUND]
    strange = sorted(set(job.prior) - set(takes))
    if strange:
        raise ValueError(f"the prior of {family.name} takes {', '.join(takes)}; got {', '.join(strange)}")
    try:
        if schema is None or not job.column:
            return family(**job.prior)

        from discreet.statistics.from_schema import Declared, family_for  # noqa: PLC0415 - loaded on use

        declared = Declared(tuple(schema[name] for name in job.column), job.column)
        return family_for(family, declared, job.prior)
    except TypeError as error:
        raise ValueError(
            f"the prior of {family.name} needs {', '.join(takes)} (grid has a default; --schema and --column "
            f"give the rest); got {', '.join(job.prior) or 'nothing'}: {error}"
        ) from None


# ── Where the rows of a command live: any address of `Table.open`, and Spark by the address of its master.
# spark://host:7077 and sc://host:15002 (Spark Connect) are clusters, spark://local[2] is this machine,
# spark:// is whatever this machine's Spark is configured for. --table is any name that Spark reads:
# base.visits, or files as parquet.`/path`.
SPARK, CONNECT = "spark://", "sc://"


def source_of(address: str, table: str | None) -> tuple[Any, str | None]:
    """Return what Table.open takes, and its table=."""
    if not address.startswith((SPARK, CONNECT)):
        return address, table
    if table is None:
        raise ValueError("Spark holds many tables: name one with --table, e.g. --table base.visits")
    return spark_table(address, table), None


def spark_table(address: str, table: str) -> ir.Table:
    from discreet.tables.table import guarded  # noqa: PLC0415 - loaded on use, not for --help

    session = guarded("connecting to Spark", lambda: _session(address))

    def look() -> ir.Table:
        import ibis  # noqa: PLC0415

        view = f"discreet_{uuid.uuid4().hex}"
        session.table(table).createOrReplaceTempView(view)
        return ibis.pyspark.connect(session).table(view)

    return guarded(f"opening the table {table!r} on Spark", look)


def _session(address: str) -> SparkSession:
    """Join or start a session that keeps its log to itself: the words of a failed task quote rows."""
    from pyspark.sql import SparkSession  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

    from discreet.tables.engine import spill_folder  # noqa: PLC0415 - loaded on use, not for --help

    builder = SparkSession.builder.config("spark.log.level", "OFF")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    master = address.removeprefix(SPARK)
    if address.startswith(CONNECT):
        return builder.remote(address).getOrCreate()
    builder = builder.config("spark.local.dir", str(spill_folder()))  # where the driver, and local[…], spill
    if master:
        builder = builder.master(master if master.startswith("local") else address)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
