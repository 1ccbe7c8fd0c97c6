"""Around every request: limits of size and rate, headers, a line in the log, numbers for /metrics."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import sys
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, final

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.service.api.problems import TOO_LARGE, response
from discreet.shown import visible

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "strict-transport-security": "max-age=31536000",
    "cache-control": "no-store",
}
RAW = tuple((key.encode(), value.encode()) for key, value in HEADERS.items())
LATE = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
ARRIVES = 30.0  # seconds within which a body must be here
log = logging.getLogger("discreet.service")


@final
@dataclass
class Numbers:
    """What /metrics tells: of requests and answers, by route and status; of nobody's data."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    requests: Counter = field(init=False)
    seconds: Histogram = field(init=False)
    releases: Counter = field(init=False)
    lost: Counter = field(init=False)
    known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        own = self.registry
        self.requests = Counter("discreet_requests", "Requests", ["method", "route", "status"], registry=own)
        self.seconds = Histogram("discreet_seconds", "Seconds", ["route"], registry=own, buckets=LATE)
        self.releases = Counter("discreet_releases", "Releases asked for", ["outcome"], registry=own)
        self.lost = Counter("discreet_compute_lost", "Computing processes that were replaced", registry=own)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; what counts it is looked up once, since that takes longer than counting."""
        key = (method, route, status)
        if key not in self.known:
            labelled = self.requests.labels(method, route, str(status))
            self.known[key] = (labelled, self.seconds.labels(route))
        requests, times = self.known[key]
        requests.inc()
        times.observe(seconds)


@final
class Guards:
    """The outermost layer of the service."""

    def __init__(self, app: ASGIApp, *, numbers: Numbers, body: int) -> None:
        self.app, self.numbers, self.body = app, numbers, body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, read, status = time.perf_counter(), 0, 500
        name, whole = secrets.token_hex(8), False
        ends = asyncio.get_running_loop().time() + ARRIVES

        async def limited() -> Message:
            nonlocal read, whole
            if whole:
                return await receive()
            try:
                async with asyncio.timeout_at(ends):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, f"the body did not arrive within {ARRIVES:g} seconds") from None
            whole = not message.get("more_body", False)
            read += len(message.get("body", b""))
            if read > self.body:
                raise HTTPException(413)  # which the routes let through
            return message

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                said = {key for key, _ in message["headers"]}
                more = [pair for pair in RAW if pair[0] not in said]
                message["headers"] = [*message["headers"], *more, (b"x-request-id", name.encode())]
            await send(message)

        try:
            if _declared(scope) > self.body:
                await response(TOO_LARGE)(scope, receive, sent)
            else:
                await self.app(scope, limited, sent)
        finally:
            self._note(scope, name, status, time.perf_counter() - begun)

    def _note(self, scope: Scope, name: str, status: int, seconds: float) -> None:
        """Count by the pattern of the route, not by what was typed: nobody fills the memory with paths."""
        route = getattr(scope.get("route"), "path", "none")
        self.numbers.count(scope["method"] if route != "none" else "any", route, status, seconds)
        if log.isEnabledFor(logging.INFO):
            who = scope.get("state", {}).get("person", "")
            said = {
                "request": name,
                "method": scope["method"][:10],
                "path": scope["path"][:200],
                "route": route,
            }
            log.info(
                "answered",
                extra={"said": {**said, "status": status, "person": who, "ms": round(1000 * seconds)}},
            )


def _declared(scope: Scope) -> int:
    for key, value in scope["headers"]:
        if key == b"content-length":
            return int(value) if value.isdigit() else 2**62
    return 0


@final
class Rates:
    """A bucket of requests for each name, filled at a rate; only the most recent names are remembered."""

    def __init__(self, rate: float, burst: float, most: int = 10_000) -> None:
        self.rate, self.burst, self.most = rate, burst, most
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()

    @classmethod
    def shared(cls, rate: float, burst: float, workers: int) -> Rates:
        """Return one worker's equal part, so that all of them together allow no more than was said."""
        return cls(rate / workers, max(1.0, burst / workers))

    def allows(self, name: str, cost: float = 1.0) -> bool:
        now = time.monotonic()
        left, at = self._held.pop(name, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.rate)
        allowed = left >= cost
        self._held[name] = (left - cost if allowed else left, now)
        if len(self._held) > self.most:
            self._held.popitem(last=False)
        return allowed


@final
class JsonLines(logging.Formatter):
    """One JSON object a line: what others typed cannot begin a new one."""

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {"at": round(record.created, 3), "level": record.levelname.lower()}
        said["event"] = visible(record.getMessage())
        said |= getattr(record, "said", {})
        return json.dumps(said, default=str)


def log_to_stderr(level: str = "INFO") -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("discreet.service", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
