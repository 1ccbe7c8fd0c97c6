"""/health and /metrics: whether the service can answer, and how it has."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import JSONResponse, Response

from discreet import __version__
from discreet.service.api.door import Here

routes = APIRouter(tags=["running it"])


@routes.get("/health", summary="200 where the databases and the computing processes answer, else 503")
async def health(at: Here) -> Response:
    async def answers(look: object) -> bool:
        try:
            await asyncio.wait_for(asyncio.to_thread(look), 5)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001 - whatever it is, it does not answer
            return False
        return True

    said = {
        "state": await answers(at.state.layout),
        "ledger": await answers(at.trail().read_on),
        "compute": await _computes(at),
    }
    well = all(said.values())
    return JSONResponse(
        {"status": "ok" if well else "unavailable", "version": __version__, **said}, 200 if well else 503
    )


async def _computes(at: Here) -> bool:
    try:
        return await at.pool.run(bool, 1, timeout=30)
    except Exception:  # noqa: BLE001
        return False


@routes.get("/metrics", summary="Numbers for Prometheus, of this worker")
async def metrics(at: Here) -> Response:
    return Response(generate_latest(at.numbers.registry), media_type=CONTENT_TYPE_LATEST)
