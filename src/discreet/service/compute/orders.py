"""What the processes are asked to do and answer: plain values, since they cross from one to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from discreet.service.state.registered import Registered


@final
@dataclass(frozen=True)
class Inquiry:
    """What is asked of a table, at which promise; all of it public. Numbers are decimals as written."""

    table: Registered
    columns: tuple[str, ...]
    model: str
    prior: Mapping[str, Any] = field(default_factory=dict)
    mechanism: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    epsilon: str = "1"
    delta: str = "0"
    derive: Mapping[str, str] = field(default_factory=dict)
    where: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class Order:
    """A question that will be paid for: by whom, from which budgets, under which id."""

    id: str
    inquiry: Inquiry
    person: str
    scopes: tuple[str, ...]
    note: str = ""


@final
@dataclass(frozen=True)
class Problem:
    """Why not, in the words of problem+json; never of anything private."""

    status: int
    title: str
    detail: str
    next: str = ""
    left: tuple[Mapping[str, Any], ...] = ()
    fits: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        said = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
        more = {"next": self.next, "left": list(self.left), "fits": self.fits}
        return {**said, **{name: value for name, value in more.items() if value}}


@final
@dataclass(frozen=True)
class Reply:
    """Bytes that may leave."""

    body: bytes
    kind: str = "application/json"
