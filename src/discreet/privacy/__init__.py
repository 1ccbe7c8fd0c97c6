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
    MetricDP,
    MixedRange,
    PureDP,
    RenyiDP,
    ZeroCDP,
)
from discreet.privacy.under_metric import concentration, distinguishing, lipschitz, relaxed
from discreet.privacy.under_metric.distances import (
    AbsoluteDifference,
    BrokenAxiom,
    DeclaredMetric,
    Hamming,
    Metric,
    NormalDifference,
    Steps,
    TotalDifference,
    Weighted,
    check_axioms,
)
from discreet.privacy.under_metric.lipschitz import Lipschitz

__all__ = [
    "ADD_REMOVE",
    "SUBSTITUTE",
    "AbsoluteDifference",
    "ApproxDP",
    "BoundedRange",
    "BrokenAxiom",
    "Composition",
    "DeclaredMetric",
    "Filter",
    "GaussianDP",
    "Guarantee",
    "Hamming",
    "Lipschitz",
    "Metric",
    "MetricDP",
    "MixedRange",
    "MixedRelations",
    "NormalDifference",
    "NotProved",
    "Overspent",
    "PureDP",
    "Relation",
    "RenyiDP",
    "Spending",
    "Steps",
    "TotalDifference",
    "Unreachable",
    "Weighted",
    "ZeroCDP",
    "check_axioms",
    "compose",
    "concentration",
    "distinguishing",
    "filter_for",
    "lipschitz",
    "parallel",
    "relaxed",
    "repeat",
    "spend",
]
