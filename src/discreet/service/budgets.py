"""Budgets of tables, analysts and groups, as scopes of the ledger: `table:visits`, `analyst:ada`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.service.state.people import Person, checked_name
from discreet.service.state.registered import KINDS, Registered

OTHER = "~add_remove"  # ends the name of a budget under which the number of rows is private


@final
@dataclass(frozen=True)
class BudgetName:
    """Whose budget it is, and under which relation: the ledger never mixes two."""

    kind: str
    owner: str
    relation: str = "substitute"

    @property
    def scope(self) -> str:
        return f"{self.kind}:{self.owner}{OTHER if self.relation == 'add_remove' else ''}"

    @classmethod
    def of(cls, scope: str) -> BudgetName | None:
        """Read the name of a scope; None for one that is not the service's."""
        kind, colon, rest = scope.partition(":")
        if not colon or kind not in KINDS:
            return None
        private = rest.endswith(OTHER)
        return cls(kind, rest.removesuffix(OTHER), "add_remove" if private else "substitute")

    @classmethod
    def checked(cls, kind: str, owner: str, relation: str = "substitute") -> BudgetName:
        if kind not in KINDS:
            raise ValueError(f"a budget is for one {', '.join(KINDS)}; got {kind!r}")
        if relation not in {"substitute", "add_remove"}:
            raise ValueError(f"relation is substitute or add_remove, got {relation!r}")
        return cls(kind, checked_name(kind, owner), relation)

    def concerns(self, person: Person) -> bool:
        """Whether somebody may see it: their own, their groups', and every table's."""
        mine = {"analyst": self.owner == person.name, "group": self.owner in person.groups, "table": True}
        return person.owns or mine[self.kind]


def charged(table: Registered, person: Person, scopes: set[str]) -> tuple[list[str], list[str]]:
    """Return the budgets that a release charges, and those that are required and missing.

    All that bear on the table, the person and the person's groups: every one of them, so that none is a way
    around another.
    """
    found = [
        BudgetName("table", table.name, table.relation),
        BudgetName("analyst", person.name, table.relation),
    ]
    found += [BudgetName("group", group, table.relation) for group in person.groups]
    there = [name.scope for name in found if name.scope in scopes]
    kinds = {name.kind for name in found if name.scope in scopes}
    return there, [kind for kind in table.requires if kind not in kinds]
