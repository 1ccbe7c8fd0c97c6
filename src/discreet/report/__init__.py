"""The report: one HTML page about a release, for people. Everything here is post-processing."""

from discreet.report.page import report
from discreet.report.promises import LedgerView, ScopeView

__all__ = ["LedgerView", "ScopeView", "report"]
