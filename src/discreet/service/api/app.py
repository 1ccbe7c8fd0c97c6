"""The application: routes, guards, and what a worker begins and ends with."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI

from discreet import __version__
from discreet.service import page
from discreet.service.api import (
    health,
    openid,
    owner,
    plans,
    problems,
    public,
    queries,
    releases,
    session,
)
from discreet.service.api.guards import Guards, Numbers, log_to_stderr
from discreet.service.api.running import Worker
from discreet.service.api.taking_over import take_over
from discreet.service.settings import FOLDER, Settings, load

ABOUT = (
    "Private tables behind budgets. Plans are free; a release is charged before anything is read, once for "
    "each Idempotency-Key, and leaves at a time that is known beforehand. Errors are problem+json (RFC 9457)."
)
log = logging.getLogger("discreet.service")


def build(settings: Settings) -> FastAPI:
    """Return the application of one worker."""
    numbers = Numbers()

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        worker = await asyncio.to_thread(Worker.begin, settings, numbers)
        app.state.worker = worker
        taking = asyncio.create_task(take_over(worker))
        log.info("started", extra={"said": {"version": __version__, "processes": worker.pool.ids}})
        try:
            yield
        finally:
            taking.cancel()
            with suppress(asyncio.CancelledError):
                await taking
            worker.close()
            log.info("stopped")

    app = FastAPI(
        title="discreet", version=__version__, description=ABOUT, lifespan=life, docs_url=None, redoc_url=None
    )
    problems.install(app)
    app.add_middleware(Guards, numbers=numbers, body=settings.body)
    for part in (session, openid, public, plans, releases, queries, owner, health):
        app.include_router(part.routes)
    page.attach(app)
    return app


def from_environment() -> FastAPI:
    """Return the application for the folder that the environment names: uvicorn's workers call this."""
    log_to_stderr(os.environ.get("DISCREET_LOG", "INFO"))
    return build(load(os.environ[FOLDER]))
