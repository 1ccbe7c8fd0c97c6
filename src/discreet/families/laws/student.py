"""Student's t, the predictive of every normal family with unknown spread."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from discreet.families.family import Floats


def log_student(square: Floats, degrees: float, scale: Floats | float, dimension: int = 1) -> Floats:
    """Γ((ν+d)/2)/(Γ(ν/2)(νπs)^{d/2}) · (1 + q/(νs))^{−(ν+d)/2}, q the squared distance, s the scale."""
    half = (degrees + dimension) / 2
    front = gammaln(half) - gammaln(degrees / 2) - dimension / 2 * np.log(degrees * np.pi * scale)
    return front - half * np.log1p(square / (degrees * scale))
