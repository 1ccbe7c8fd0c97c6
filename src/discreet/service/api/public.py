"""What may be asked, and what is left: public schemas, models, dummy rows, what a promise means, budgets."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from discreet.catalogue import ROWS
from discreet.service.api.bodies import Delta, Epsilon
from discreet.service.api.door import Asking, Here
from discreet.service.api.problems import NOTHING, Refused
from discreet.service.api.running import Worker
from discreet.service.budgets import BudgetName, charged
from discreet.service.compute import meaning as meant
from discreet.service.compute import money, plans
from discreet.service.compute.dummy import dummy_rows, model_facts
from discreet.service.compute.orders import Inquiry, Problem, Reply
from discreet.service.state.registered import Registered, all_tables
from discreet.tables.schema import Categorical, Kind, Schema

routes = APIRouter(prefix="/v1", tags=["what may be asked"])
Columns = Annotated[list[str], Query(max_length=50)]


def sent(found: Reply | Problem, status: int = 200) -> Response:
    if isinstance(found, Problem):
        raise Refused(found)
    return Response(found.body, status, media_type=found.kind)


async def table_of(at: Worker, name: str) -> Registered:
    found = await at.table(name)
    if found is None:
        raise Refused(NOTHING)
    return found


@routes.get("/tables", summary="Tables, by what is public of them")
async def tables(who: Asking, at: Here) -> dict[str, Any]:
    found = await at.tables.get("all", lambda: all_tables(at.state))
    there = await at.scope_names()
    return {"tables": [_table(each, charged(each, who, there)[0]) for each in found]}


def _table(table: Registered, scopes: list[str]) -> dict[str, Any]:
    schema = Schema.from_dict(table.schema)
    return {
        "name": table.name,
        "label": table.label or table.name,
        "n": table.public_n,
        "expected": table.n,
        "unit": table.unit,
        "rows_per_unit": table.rows_per_unit,
        "relation": table.relation,
        "columns": [_column(name, kind) for name, kind in schema.items()],
        "models": list(table.allowed),
        "scopes": scopes,
        "requires": list(table.requires),
    }


def _column(name: str, kind: Kind) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind.kind,
        "lower": getattr(kind, "lower", 0 if kind.kind in {"binary", "count"} else None),
        "upper": getattr(kind, "upper", getattr(kind, "max", 1 if kind.kind == "binary" else None)),
        "levels": list(kind.labels) if isinstance(kind, Categorical) else None,
        "unknown": kind.unknown if isinstance(kind, Categorical) else None,
        "clips": getattr(kind, "clips", None),
    }


@routes.get("/tables/{table}/dummy", summary="Rows drawn from the public schema alone, to try code on")
async def dummy(
    table: str,
    who: Asking,
    at: Here,
    rows: Annotated[int, Query(ge=1, le=1000)] = 20,
    seed: Annotated[int, Query(ge=0, lt=2**32)] = 0,
) -> dict[str, Any]:
    del who
    return dummy_rows((await table_of(at, table)).schema, rows, seed)


@routes.get("/models", summary="Models, and the mechanisms that each has")
async def models(who: Asking) -> dict[str, Any]:
    del who
    return {"models": [model_facts(name) for name in ROWS]}


@routes.get("/models/{model}/prior", summary="The prior that is used where none is given")
async def prior(
    model: str, who: Asking, at: Here, table: Annotated[str, Query(max_length=100)], columns: Columns
) -> Response:
    del who
    if model not in ROWS:
        raise Refused(NOTHING)
    question = Inquiry(await table_of(at, table), tuple(columns), model)
    return sent(await at.once(("prior", repr(question)), plans.prior, question))


@routes.get("/meaning", summary="What ε and δ mean: odds, trade-off, δ(ε)")
async def meaning(
    who: Asking,
    at: Here,
    epsilon: Annotated[Epsilon, Query()],
    delta: Annotated[Delta, Query()] = Decimal(0),
) -> Response:
    del who
    said = (str(epsilon), str(delta))
    return sent(await at.once(("meaning", *said), meant.meaning, *said))


@routes.get("/distinguishability", summary="What many answers tell of two data sets, against their distance")
async def distinguishability(
    who: Asking,
    at: Here,
    lipschitz: Annotated[float, Query(gt=0, le=1e6, allow_inf_nan=False)],
    probability: Annotated[float, Query(gt=0, lt=1, allow_inf_nan=False)] = 0.05,
) -> Response:
    del who
    said = (lipschitz, probability)
    return sent(await at.once(("told", *map(str, said)), meant.distinguishability, *said))


@routes.get(
    "/budgets", tags=["budgets"], summary="Your budgets, your groups', and those of tables; of an owner all"
)
async def budgets(who: Asking, at: Here) -> Response:
    names = [BudgetName.of(scope) for scope in sorted(await at.scope_names())]
    return await shown(at, [name for name in names if name is not None and name.concerns(who)])


async def shown(at: Worker, names: list[BudgetName]) -> Response:
    return sent(await at.compute(money.budgets, [(name.scope, name.kind, name.owner) for name in names]))
