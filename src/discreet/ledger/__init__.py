"""The durable budget: `book` is the ledger, `transaction` what it writes, `proof` what verifies it."""

from discreet.ledger.book import (
    Entry,
    Head,
    Ledger,
    LedgerError,
    LedgerUnavailableError,
    Overspent,
    Receipt,
    Remaining,
    ScopeRefusedError,
    TamperedError,
)

__all__ = [
    "Entry",
    "Head",
    "Ledger",
    "LedgerError",
    "LedgerUnavailableError",
    "Overspent",
    "Receipt",
    "Remaining",
    "ScopeRefusedError",
    "TamperedError",
]
