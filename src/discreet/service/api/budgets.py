"""/v1/budgets: what remains, as far as it concerns whoever asks."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from discreet.service.api.door import Asking, Here
from discreet.service.api.public import sent
from discreet.service.api.running import Worker
from discreet.service.budgets import BudgetName
from discreet.service.compute import money

routes = APIRouter(prefix="/v1", tags=["budgets"])


@routes.get("/budgets", summary="Your budgets, your groups', and those of tables; of an owner all")
async def budgets(who: Asking, at: Here) -> Response:
    names = [BudgetName.of(scope) for scope in sorted(await at.scope_names())]
    return await shown(at, [name for name in names if name is not None and name.concerns(who)])


async def shown(at: Worker, names: list[BudgetName]) -> Response:
    return sent(await at.compute(money.budgets, [(name.scope, name.kind, name.owner) for name in names]))
