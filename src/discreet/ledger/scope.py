"""A scope: a budget under a name, how it is kept, and whether it is open."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

from discreet.ledger.amounts import Tariff, rule_for
from discreet.privacy.accounting.filters import SUMS, Spending
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.json import from_json
from discreet.release.receipt import (
    LedgerError,
    canonical,
)


@final
@dataclass(frozen=True)
class Scope:
    """A budget under a name, by which rule it is kept, and what it costs to spend of it."""

    name: str
    budget: Guarantee
    rule: str  # "" until the first charge settles it
    held: str  # the budget as canonical JSON

    @classmethod
    def of(cls, name: str, opened: str, terms: Mapping[str, Any]) -> Scope:
        held = held_now(opened, terms)
        return cls(name, from_json(json.loads(held)), str(terms["rule"]), held)

    @cached_property
    def tariff(self) -> Tariff:
        return Tariff.of(self.budget, self.rule or SUMS)

    def settled(self, guarantee: Guarantee, target: Guarantee | None) -> Scope:
        """Return the scope as its first charge settles it."""
        if self.rule:
            return self
        return replace(self, rule=rule_for(self.budget, guarantee, target))


def held_now(opened: str, terms: Mapping[str, Any]) -> str:
    """Return the budget of a scope: what it was opened with, unless it was lowered or raised."""
    return canonical(terms["budget"]) if "budget" in terms else opened


class ScopeRefusedError(LedgerError):
    """A scope of a charge is closed, or one is missing that the data set requires; the message says which."""


class StaleScopeError(Exception):
    """Another process settled or changed a scope since it was looked up: look it up again."""


class DoesNotFitError(Exception):
    """Leaves a transaction, which is undone, with the state that did not have room."""

    def __init__(self, scope: str, state: Spending) -> None:
        super().__init__(scope)
        self.scope, self.state = scope, state


def closed_words(terms: Mapping[str, Any]) -> str:
    """Say since when a scope is closed, and why."""
    closed = terms["closed"]
    return f"closed since {closed['at'][:10]}" + (f" ({closed['note']})" if closed["note"] else "")
