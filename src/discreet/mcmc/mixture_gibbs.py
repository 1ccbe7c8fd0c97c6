"""Gibbs through the exponential mechanism, latent assignments drawn and forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from discreet.mcmc.kernel import Counts, Kernel, State, bounded_range, check_temperature, mixed_range
from discreet.mcmc.mixture import Mixture
from discreet.privacy.accounting.composition import compose
from discreet.privacy.guarantee import Guarantee
from discreet.sampling.source import Source


@final
@dataclass(frozen=True, kw_only=True)
class MixtureGibbs(Kernel):
    """One sweep: z_i | x_i, φ for every record, then φ = (π, θ) | z, x; only φ is released.

    The joint is p₀(φ) Π_i (π_{z_i} Π_d θ_{z_i,d,x_id})^{1/T}. Each update of φ is an exponential mechanism of
    range 2Δ/T [F16 §4.1; DDR20]. The assignments cost nothing: write the law of φ' on both sides as a mixture
    over (z_{−i}, k, k') with the SAME weights, z_i = k on one and z_i = k' on the other. Given them blocks
    are independent, π moves by one record, and so does, for each column, either one θ_{k,d} by a substitution
    or two by one record more or less, whose ranges add up to no more; forgetting the mixture's index is
    post-processing. Hence the composition of 2Δ_π/T and 2Δ_d/T, d = 1 … D, also over many sweeps.
    """

    name: ClassVar[str] = "mixture_gibbs"
    theorem: ClassVar[str] = (
        "F16 §4.1, DDR20 Lemma 3.2; forgotten assignments by coupling and post-processing"
    )

    model: Mixture

    def __post_init__(self) -> None:
        check_temperature(self)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.model.columns

    @property
    def shape(self) -> tuple[int, ...]:
        return self.model.shape

    @property
    def labels(self) -> tuple[str, ...]:
        return self.model.labels

    @property
    def guarantee(self) -> Guarantee:
        records = 2 if self.relation.replaces else 1
        sizes = (self.model.classes, *self.model.shape)
        spreads = [self.model.spread(size) for size in sizes]
        block = bounded_range if self.model.classes == 1 else mixed_range  # k and k' are forgotten
        return compose(*(block(records * s / self.heat, self.relation) for s in spreads if s))

    def told(self, draws: State) -> tuple[tuple[str, ...], State]:
        return self.model.told(draws)

    def init(self, source: Source) -> State:
        return self.model.start(source)

    def step(self, state: State, counts: Counts, source: Source) -> State:
        found = self.model.assigned(state, counts, self.heat, source)
        weights = self.model.weights_given(found.sum(axis=0), self.heat, source)
        return np.concatenate([weights, *self.model.emissions_given(found, self.heat, source)])
