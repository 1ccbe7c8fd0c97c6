"""What a ledger says of its budgets, as words: all that a report may know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.words import in_words


class WhatIsLeft(Protocol):
    """What `Ledger.remaining(scope)` returns; named here because a report cannot import the ledger."""

    @property
    def scope(self) -> str: ...
    @property
    def budget(self) -> Guarantee: ...
    @property
    def share(self) -> float: ...
    @property
    def words(self) -> str: ...


@final
@dataclass(frozen=True)
class ScopeView:
    """One budget: how large, how much of it is used, what would still fit."""

    scope: str
    budget: str
    remaining: str
    share_left: float  # 0 to 1

    def __post_init__(self) -> None:
        if not 0 <= self.share_left <= 1:
            raise ValueError(f"the share left of a budget lies in [0, 1], got {self.share_left!r}")


@final
@dataclass(frozen=True)
class LedgerView:
    """Every budget that the release was charged to, as it stood when the report was written."""

    scopes: tuple[ScopeView, ...]

    @classmethod
    def of(cls, *left: WhatIsLeft) -> LedgerView:
        """Take `ledger.remaining(scope)` of each scope."""
        return cls(tuple(ScopeView(x.scope, in_words(x.budget), x.words, x.share) for x in left))
