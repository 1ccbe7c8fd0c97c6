"""(Table, model) → exact integers and their sensitivity; the only builders of Ibis aggregates."""

from discreet.statistics.bounded_statistic import BoundedStatistic, PrivateValue, bounded

__all__ = ["BoundedStatistic", "PrivateValue", "bounded"]
