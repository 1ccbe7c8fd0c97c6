"""A mechanism that a plan leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Refusal:
    """A mechanism that cannot meet the target, and why."""

    name: str
    reason: str
