"""The durable budget: `book` is the ledger, `store` its transactions, `amounts` its prices."""

from discreet.ledger.book import (
    Entry,
    Head,
    Ledger,
    LedgerError,
    LedgerUnavailableError,
    Overspent,
    Receipt,
    Remaining,
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
    "TamperedError",
]
