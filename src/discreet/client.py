"""A small client of `discreet serve`: plans, releases and queries from Python; needs httpx ([service])."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, final

import httpx

from discreet.release.release import Release

__all__ = ["Client", "Paid", "ServiceRefusedError"]

AGAIN = {429, 503}  # nothing is paid twice under one key, so that these are simply asked again


class ServiceRefusedError(RuntimeError):
    """The service said no: `problem` is its problem+json, with what is left and what would fit."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        words = ": ".join(str(problem[name]) for name in ("title", "detail") if problem.get(name))
        super().__init__(f"{words}; {problem['next']}" if problem.get("next") else words)
        self.problem = dict(problem)
        self.status = int(problem.get("status", 0))


@final
@dataclass(frozen=True)
class Paid:
    """A release that was paid for: what the service says of it, and the release itself, to read here."""

    said: Mapping[str, Any]
    release: Release

    @property
    def id(self) -> str:
        return str(self.said["id"])


@final
class Client:
    """One person's way to a service. Prices are ε and δ, as numbers or decimal texts.

    What is asked without a key gets one of its own; keep `key` to get the same release again, also after a
    crash of either side. A request that must wait (for a second person, or a long computation) is polled
    for `patience` seconds.
    """

    def __init__(self, address: str, token: str, *, patience: float = 600, timeout: float = 60) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=address, headers=headers, timeout=timeout)
        self.patience = patience

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # ── what may be asked, and what is left ─────────────────────────────────────────────────────────
    def tables(self) -> list[dict[str, Any]]:
        """List the tables, by what is public of them."""
        found: list[dict[str, Any]] = self._get("/v1/tables")["tables"]
        return found

    def budgets(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._get("/v1/budgets")["budgets"]
        return found

    def releases(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._get("/v1/releases")["releases"]
        return found

    def dummy(self, table: str, rows: int = 20, seed: int = 0) -> dict[str, Any]:
        """Return rows drawn from the public schema alone, to try code on."""
        return self._get(f"/v1/tables/{table}/dummy", rows=rows, seed=seed)

    # ── asking ──────────────────────────────────────────────────────────────────────────────────────
    def plan(self, table: str, columns: str | Sequence[str], model: str, **asked: Any) -> dict[str, Any]:  # noqa: ANN401 - epsilon=, delta=, prior=, mechanisms=
        """Say what to expect of each mechanism; free. One that takes long is asked for until it is there."""
        ends, body = time.monotonic() + self.patience, _body(table, columns, model, asked)
        while (found := self._sent("POST", "/v1/plans", json=body)).status_code == httpx.codes.ACCEPTED:
            if time.monotonic() > ends:
                raise TimeoutError("the plan is still under way; ask again, or for some mechanisms=[…] alone")
        answer: dict[str, Any] = found.json()
        return answer

    def release(
        self,
        table: str,
        columns: str | Sequence[str],
        model: str,
        *,
        key: str | None = None,
        **asked: Any,  # noqa: ANN401 - epsilon=, delta=, prior=, mechanism=, options=, note=
    ) -> Paid:
        """Pay for a release, once for each key, and return it."""
        found = self._paid("/v1/releases", _body(table, columns, model, asked), key)
        body = self._sent("GET", f"/v1/releases/{found['release']['id']}/record").content
        return Paid(found["release"], Release.from_body(body))

    def ask(self, query: str, release: str) -> dict[str, Any]:
        """Answer a query on θ from a release that was paid for; free."""
        return self._asked("/v1/queries", {"query": query, "release": release})

    def draw(
        self,
        query: str,
        table: str,
        columns: str | Sequence[str],
        model: str,
        *,
        key: str | None = None,
        **asked: Any,  # noqa: ANN401 - epsilon=, delta=, prior=
    ) -> dict[str, Any]:
        """Answer a query by one fresh draw of the posterior; charged, once for each key."""
        return self._paid("/v1/queries", {"query": query, **_body(table, columns, model, asked)}, key)

    def certificate(self, release: str) -> dict[str, Any]:
        return self._get(f"/v1/releases/{release}/certificate")

    def report(self, release: str) -> str:
        """Return the report for people: one HTML page."""
        return self._sent("GET", f"/v1/releases/{release}/report").text

    def synthetic(self, release: str, rows: int = 1000) -> str:
        """Return rows that the posterior expects, as CSV; the same for one release."""
        return self._sent("GET", f"/v1/releases/{release}/synthetic", params={"rows": rows}).text

    def inference_data(self, release: str) -> bytes:
        """Return prior and posterior draws as a netCDF file for ArviZ."""
        return self._sent("GET", f"/v1/releases/{release}/inference-data").content

    # ── the wire ────────────────────────────────────────────────────────────────────────────────────
    def _get(self, path: str, **query: object) -> dict[str, Any]:
        found: dict[str, Any] = self._sent("GET", path, params=query).json()
        return found

    def _asked(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self._sent("POST", path, json=body).json()
        return found

    def _paid(self, path: str, body: Mapping[str, Any], key: str | None) -> dict[str, Any]:
        """Ask under one key until there is an answer; what is cut off is asked again."""
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        ends = time.monotonic() + self.patience
        while True:
            found = self._sent("POST", path, json=body, headers=headers, until=ends)
            if found.status_code != httpx.codes.ACCEPTED:
                answer: dict[str, Any] = found.json()
                return answer
            if time.monotonic() > ends:
                job = found.json()["job"]
                raise TimeoutError(
                    f"the request is {job['status']}; ask again with key={headers['Idempotency-Key']!r}"
                )
            time.sleep(0.5)

    def _sent(self, method: str, path: str, *, until: float = 0.0, **sent: Any) -> httpx.Response:  # noqa: ANN401
        while True:
            try:
                found = self._http.request(method, path, **sent)
            except httpx.TransportError:
                if time.monotonic() >= until:
                    raise
            else:
                if found.is_success:
                    return found
                if found.status_code not in AGAIN or time.monotonic() >= until:
                    raise ServiceRefusedError(_problem(found))
            time.sleep(0.5)


def _body(table: str, columns: str | Sequence[str], model: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    names = [columns] if isinstance(columns, str) else list(columns)
    return {"table": table, "columns": names, "model": model, **asked}


def _problem(found: httpx.Response) -> Mapping[str, Any]:
    if "json" in found.headers.get("content-type", ""):
        problem: dict[str, Any] = found.json()
        return problem
    return {"title": f"HTTP {found.status_code}", "status": found.status_code}
