"""What is promised and what it costs: values and mathematics; no data, no noise, no input or output."""

from discreet.privacy.accounting.composition import Composition, compose, parallel, repeat
from discreet.privacy.accounting.filters import Filter, Overspent, Spending, filter_for, spend
from discreet.privacy.guarantee import (
    ADD_REMOVE,
    SUBSTITUTE,
    Guarantee,
    MixedRelations,
    NotProved,
    Relation,
    Unreachable,
)
from discreet.privacy.kinds import (
    ApproxDP,
    BoundedRange,
    GaussianDP,
    MixedRange,
    PureDP,
    RenyiDP,
    ZeroCDP,
)

__all__ = [
    "ADD_REMOVE",
    "SUBSTITUTE",
    "ApproxDP",
    "BoundedRange",
    "Composition",
    "Filter",
    "GaussianDP",
    "Guarantee",
    "MixedRange",
    "MixedRelations",
    "NotProved",
    "Overspent",
    "PureDP",
    "Relation",
    "RenyiDP",
    "Spending",
    "Unreachable",
    "ZeroCDP",
    "compose",
    "filter_for",
    "parallel",
    "repeat",
    "spend",
]
