"""What budgets hold, as JSON: computed here because words of what fits need ball arithmetic."""

from __future__ import annotations

from typing import Any

from discreet.privacy.json import to_json as promise_to_json
from discreet.privacy.words import in_words
from discreet.release.receipt import LedgerError
from discreet.service.compute.desk import desk
from discreet.service.compute.orders import Problem, Reply
from discreet.service.compute.plans import to_json
from discreet.service.compute.refusals import epsilon_delta, of_the_line


def budgets(names: list[tuple[str, str, str]]) -> Reply | Problem:
    try:
        return Reply(to_json({"budgets": [_budget(*name) for name in names]}))
    except LedgerError as error:
        return of_the_line(error)


def _budget(scope: str, kind: str, owner: str) -> dict[str, Any]:
    left = desk().ledger.remaining(scope)
    return {
        "scope": scope,
        "kind": kind,
        "owner": owner,
        "budget": promise_to_json(left.budget),
        "words": in_words(left.budget),
        "spent_fraction": 1 - left.share,
        "left": epsilon_delta(left.guarantee),
        "left_words": left.words,
        "closed": bool(getattr(left, "closed", False)),
    }
