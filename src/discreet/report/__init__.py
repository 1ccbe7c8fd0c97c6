"""The report: one HTML page about a release, for people. Everything here is post-processing."""

from discreet.report.ledger_view import LedgerView, ScopeView
from discreet.report.page import report

__all__ = ["LedgerView", "ScopeView", "report"]
