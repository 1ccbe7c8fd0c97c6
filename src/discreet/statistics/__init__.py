"""(Table, model) → exact integers and their sensitivity; the only builders of Ibis aggregates."""

from discreet.statistics.bounded_statistic import BoundedStatistic, Counted, bounded
from discreet.statistics.counts import BoundedCounts, counts

__all__ = ["BoundedCounts", "BoundedStatistic", "Counted", "bounded", "counts"]
