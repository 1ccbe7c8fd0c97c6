"""The six kinds of guarantee, as frozen values; parameters exact, answers rounded up."""

from discreet.privacy.bounded_loss import ApproxDP, BoundedRange, PureDP
from discreet.privacy.divergence_bounds import GaussianDP, RenyiDP, ZeroCDP

__all__ = ["ApproxDP", "BoundedRange", "GaussianDP", "PureDP", "RenyiDP", "ZeroCDP"]
