"""What owners change that touches tables or the ledger."""

from __future__ import annotations

from discreet.cli.typed.arguments import promise
from discreet.ledger import Ledger
from discreet.release.receipt import LedgerError
from discreet.service.budgets import BudgetName
from discreet.service.compute import money
from discreet.service.compute.desk import desk, opened
from discreet.service.compute.orders import Problem, Reply
from discreet.service.compute.plans import to_json
from discreet.service.compute.refusals import before_charge, of_the_line
from discreet.service.settings import Settings
from discreet.service.state.registered import Registered


def checked(table: Registered) -> Reply | Problem:
    """Open a table, hold it against its schema, and count its rows where that is public and not said."""

    def look() -> Reply:
        found = opened(table)
        count = found.size() if table.relation == "substitute" and table.n is None else table.n
        return Reply(to_json({"n": count}))

    return before_charge(look)


def promised(epsilon: str, delta: str) -> str:
    """Spell ε and δ as the command does; a budget of pure ε holds no δ at all."""
    return f"pure:{epsilon}" if float(delta) == 0 else f"approx:{epsilon},{delta}"


def add_budget(settings: Settings, name: BudgetName, words: str) -> None:
    """Open a budget in the ledger, which is started with the first one."""
    with Ledger.open(settings.ledger, budget=promise(words, name.relation), scope=name.scope) as ledger:
        if name.kind == "table" and name.owner not in ledger.required():
            ledger.require(name.owner, name.scope)  # of whoever opens this ledger by other ways, too


def change(settings: Settings, name: BudgetName, action: str, words: str | None, reason: str) -> None:
    """Close, reopen, lower or raise a budget."""
    with Ledger.open(settings.ledger) as ledger:
        if action in {"close", "reopen"}:
            (ledger.close_scope if action == "close" else ledger.reopen_scope)(name.scope, reason)
            return
        if words is None:
            raise ValueError(f"to {action} a budget say its new ε and δ")
        (ledger.lower_scope if action == "lower" else ledger.raise_scope)(
            name.scope, promise(words, name.relation), reason
        )


def change_budget(
    name: BudgetName, action: str, amount: tuple[str, str] | None, reason: str
) -> Reply | Problem:
    def done() -> Reply | Problem:
        words = None if amount is None else promised(*amount)
        change(desk().settings, name, action, words, reason)
        return money.budgets([(name.scope, name.kind, name.owner)])

    return before_charge(done)


def open_budget(name: BudgetName, epsilon: str, delta: str) -> Reply | Problem:
    at = desk()
    try:
        add_budget(at.settings, name, promised(epsilon, delta))
    except LedgerError as error:
        return of_the_line(error)
    return money.budgets([(name.scope, name.kind, name.owner)])
