"""Failures as refusals: what happened and what to do, never in words that could quote a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.cli.printed.errors import ours
from discreet.ledger import Ledger, ScopeRefusedError
from discreet.line.after_charge import ChargeKept
from discreet.privacy.accounting.filters import Overspent
from discreet.privacy.arithmetic.curves import downward
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import ApproxDP, PureDP
from discreet.query.text import QueryError
from discreet.release.receipt import LedgerError, LedgerUnavailableError
from discreet.service.compute.orders import Problem, Reply
from discreet.tables.table import TableError

AGAIN = (
    "ask again with the same Idempotency-Key: it pays nothing more, and gives the release that was paid for"
)
LATER = Problem(503, "Unavailable", "the ledger did not answer, so nothing was released", AGAIN)
LOST = Problem(503, "Interrupted", "the process that computed this is gone", AGAIN)
GRAMMAR = "/v1/queries/names lists what may be named; docs/query.md has the grammar and its limits"
MISSING_BUDGET = "ask the owner of the service for one: discreet service budget"


def before_charge(work: Callable[[], Reply | Problem]) -> Reply | Problem:
    """Run what looks at public things only: whatever fails there was asked wrongly."""
    try:
        return work()
    except (LedgerError, TableError, Overspent) as error:
        return of_the_line(error)
    except QueryError as error:
        return Problem(422, "Cannot be asked", _words(error), GRAMMAR)
    except Exception as error:  # noqa: BLE001 - no private value has been read, and words are ours or none
        return Problem(
            422, "Cannot be asked", _words(error), "see /v1/models and /v1/tables for what can be asked"
        )


def of_the_line(error: Exception) -> Problem:
    """Say what a failure of the ledger or the table means for whoever asked."""
    if isinstance(error, LedgerUnavailableError):
        return LATER
    if isinstance(error, ChargeKept):
        return Problem(503, "Charged, and not released", "reading or drawing failed after the charge", AGAIN)
    if isinstance(error, TableError):
        return Problem(
            503, "The table cannot be read", "nothing was charged", "tell the owner of the service"
        )
    if isinstance(error, ScopeRefusedError):
        return Problem(402, "The budget is closed", str(error), "ask the owner of the service")
    if isinstance(error, Overspent):
        return Problem(402, "Does not fit the budget", str(error))
    return Problem(
        409, "The ledger refuses", str(error), "choose another Idempotency-Key for another release"
    )


def _words(error: Exception) -> str:
    if not ours(error):
        return "the model cannot be built or calibrated from what was given"
    said = error.args[0] if isinstance(error, KeyError) and error.args else error
    return " ".join(str(said).split())[:2000]


# ── what is left, and what would fit ────────────────────────────────────────────────────────────────
def overspent(ledger: Ledger, scopes: Sequence[str], words: str) -> Problem:
    """Say what remains of every budget that would be charged, and what would fit all of them."""
    left = [what_is_left(ledger, scope) for scope in scopes]
    found = [each["left"] for each in left]
    fits = None
    if all(found):
        fits = {name: min(each[name] for each in found) for name in ("epsilon", "delta")}
    return Problem(
        402, "Does not fit the budget", words, "ask for less, or for more budget", tuple(left), fits
    )


def what_is_left(ledger: Ledger, scope: str) -> dict[str, Any]:
    remaining = ledger.remaining(scope)
    return {"scope": scope, "left": epsilon_delta(remaining.guarantee), "left_words": remaining.words}


def epsilon_delta(promise: Guarantee | None) -> Mapping[str, float] | None:
    """Write a promise as ε and δ, rounded down; None for what has no such form."""
    if isinstance(promise, PureDP):
        return {"epsilon": _decimal(Fraction(promise.loss)), "delta": 0.0}
    if isinstance(promise, ApproxDP):
        return {"epsilon": _decimal(Fraction(promise.loss)), "delta": _decimal(Fraction(promise.slack))}
    return None


def _decimal(exact: Fraction) -> float:
    """Return the double whose shortest decimal is at most this: decimals are read as they are written."""
    near = float(exact)
    return near if Fraction(repr(near)) <= exact else downward(exact)
