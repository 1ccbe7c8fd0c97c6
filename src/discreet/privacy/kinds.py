"""The kinds of guarantee, as frozen values; parameters exact, answers rounded up."""

from discreet.privacy.bounded_loss import ApproxDP, BoundedRange, MixedRange, PureDP
from discreet.privacy.divergence_bounds import GaussianDP, RenyiDP, ZeroCDP
from discreet.privacy.integer_noise import DiscreteGaussianDP
from discreet.privacy.under_metric.promise import MetricDP

__all__ = [
    "ApproxDP",
    "BoundedRange",
    "DiscreteGaussianDP",
    "GaussianDP",
    "MetricDP",
    "MixedRange",
    "PureDP",
    "RenyiDP",
    "ZeroCDP",
]
