"""What to expect of the noise-aware reading: its posteriors tabulated over Ŝ, read off for every node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.families.scalar import ScalarFamily
from discreet.inference.noise_aware_batch import batch
from discreet.inference.noise_aware_likelihood import Likelihood
from discreet.mechanisms.noisy_statistics import NoisyStatistics
from discreet.planning.marginals import Atoms
from discreet.planning.released import Released, noised, template

if TYPE_CHECKING:
    from discreet.families.family import Floats
    from discreet.mechanisms.mechanism import Mechanism
    from discreet.planning.imagined import Cases

PLACES = 384  # of Ŝ at which the posterior is computed; it is smooth in between


def tabulated(mechanism: Mechanism | None) -> bool:
    """Whether one sum was noised and n is public: then a plan can afford the reading for every node."""
    return (
        isinstance(mechanism, NoisyStatistics)
        and isinstance(mechanism.model, ScalarFamily)
        and mechanism.n is not None
        and not mechanism.joint
    )


def noise_aware(mechanism: NoisyStatistics, cases: Cases, level: float) -> Released:
    """Point: the posterior mean; interval: the posterior's. KL to the exact one is not computed: NaN."""
    node, noisy, weights, exact = noised(mechanism, cases)
    seen = np.unique(noisy[:, 0])
    places = seen[np.unique(np.linspace(0, seen.size - 1, PLACES).astype(np.int64))]
    read = batch(Likelihood.of(template(mechanism), cases.model), places[:, None])  # type: ignore[arg-type]

    def at(values: Floats) -> Floats:
        return np.asarray(np.interp(noisy[:, 0], places, values)[:, None])

    ends = tuple(at(read.quantile(p)) for p in ((1 - level) / 2, (1 + level) / 2))
    unknown = np.full(len(weights), np.nan)
    return Released(Atoms(at(read.mean())), ends, unknown, cases.theta[node], weights, exact)
