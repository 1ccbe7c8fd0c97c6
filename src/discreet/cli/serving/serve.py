"""`discreet serve`: private tables over HTTP, in several worker processes."""

# Typer reads annotations at run time (TC), \b keeps the lines of examples (D301)
# ruff: noqa: D301

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.printed.show import say


def serve(
    folder: Annotated[Path, typer.Argument(help="The folder of the service; see discreet service init.")],
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="At which port.")] = 8000,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes that answer; each computes in its own.")
    ] = 1,
) -> None:
    """Serve what the owner registered: the page at /, the interface below /v1. Ctrl-C ends it gracefully.

    Put it behind a proxy that speaks HTTPS wherever others than this machine can reach it.

    \b
    Examples:
      discreet serve kept
      discreet serve kept --host 0.0.0.0 --port 8080 --workers 2
    """
    uvicorn = needed("uvicorn")
    from discreet.service.settings import FOLDER, WORKERS, load  # noqa: PLC0415 - loaded on use, not for --help

    settings = load(folder)
    os.environ[FOLDER], os.environ[WORKERS] = settings.folder, str(workers)
    say(f"serving {settings.folder} at http://{host}:{port}, {workers} worker(s); Ctrl-C ends it")
    uvicorn.run(
        "discreet.service.api.app:from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=30,
        timeout_keep_alive=30,
        timeout_worker_healthcheck=60,  # a worker that starts slowly on a busy machine is not killed for it
        limit_concurrency=1000,
        h11_max_incomplete_event_size=65536,
    )


def needed(name: str):  # type: ignore[no-untyped-def]  # noqa: ANN201 - a module that may be missing
    """Import what the service needs, or say which extra brings it."""
    import importlib.util  # noqa: PLC0415

    if importlib.util.find_spec(name) is None or importlib.util.find_spec("fastapi") is None:
        raise ValueError("serving needs the extra: python -m pip install 'discreet[service]'")
    import uvicorn  # noqa: PLC0415

    return uvicorn
