"""The service's page: static files at /, no build step, nothing from another host."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, final

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request

# No inline script or style, no other host, no frame around it, and no markup made of text.
POLICY = (
    "default-src 'self'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)
HEADERS = {
    "Content-Security-Policy": "; ".join(POLICY),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@final
@dataclass(frozen=True)
class Asset:
    """One file of the page, as it is sent."""

    content: bytes
    kind: str

    @property
    def tag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'


def assets() -> dict[str, Asset]:
    """Return every file of the page by its path under /page/; no request chooses a path on disk."""
    here = Path(__file__).parent
    files = (path for path in sorted(here.rglob("*")) if path.suffix in KINDS)
    own = {path.relative_to(here).as_posix(): Asset(path.read_bytes(), KINDS[path.suffix]) for path in files}
    return {**own, "styles/palette.css": Asset(_palette(), KINDS[".css"])}


def _palette() -> bytes:
    """Read the colours, which the report has too."""
    return resources.files("discreet.report").joinpath("palette.css").read_bytes()


def attach(app: FastAPI) -> None:
    """Serve the page at / and its files under /page/."""
    files = assets()

    async def answer(request: Request) -> Response:
        asset = files.get(request.path_params.get("path", "index.html"))
        if asset is None:
            raise HTTPException(404)
        headers = {**HEADERS, "ETag": asset.tag}
        if request.headers.get("if-none-match") == asset.tag:
            return Response(status_code=304, headers=headers)
        return Response(asset.content, media_type=asset.kind, headers=headers)

    app.router.routes += [Route("/", answer), Route("/page/{path:path}", answer)]
