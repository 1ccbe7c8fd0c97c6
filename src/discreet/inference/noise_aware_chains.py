"""What several chains say of themselves; the same numbers for every sampler of the library."""

from discreet.sampling.agreement import effective_size as ess
from discreet.sampling.agreement import r_hat

__all__ = ["ess", "r_hat"]
