"""A private chain as a posterior: its states were released and paid for, and reading them is free."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

from numpy.typing import ArrayLike

from discreet.families.family import Floats
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.private_chain import ReleasedChains, ReleasedKernel, burnt
from discreet.posteriors.hidden_markov.private_chain import read as read_states
from discreet.posteriors.noise_law import cautions, judged
from discreet.posteriors.posterior import Diagnostics, Posterior, Sampled


@final
@dataclass(frozen=True, eq=False, repr=False)
class ChainPosterior(Sampled):
    """States after the warm-up, and of hidden classes only what no renaming of them moves."""

    kernel: ReleasedKernel
    quantities: tuple[str, ...]
    states: Floats  # (chains, draws, quantities)

    @property
    def model(self) -> ReleasedKernel:
        return self.kernel

    @property
    def reading(self) -> str:
        return "private chain"

    @cached_property
    def diagnostics(self) -> Diagnostics:
        count, kept = self.states.shape[:2]
        return Diagnostics(self.kernel.name, count, kept, *judged(self.states))

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the chains say of themselves, and how much wider than the posterior they are meant to be."""
        heat = float(self.kernel.heat)
        tempered = f"tempered at T = {heat:.3g}: a record weighs 1/T" if heat != 1 else None
        return cautions(self.diagnostics, more=(tempered,))

    def own_names(self) -> tuple[str, ...]:
        """Call a code by its level wherever the kernel calls it by its number."""
        names = list(self.quantities)
        for column, size in zip(self.kernel.columns, self.kernel.shape, strict=True):
            for code, level in enumerate(self.labels.declared(column)[:size]):
                names = [name.replace(f"{column}[{code}]", f"{column} = {level}") for name in names]
        return tuple(names)

    def chains(self) -> Floats:
        return self.states


def read(release: ReleasedChains, *, burn: int | None = None, **options: ArrayLike) -> Posterior:
    """Read a run, half of its steps burnt unless said; one of hidden states with their labels resolved."""
    kernel = release.kernel
    if isinstance(getattr(kernel, "model", None), HiddenMarkov):
        return read_states(release, burn=burn, **options)
    if options:
        raise ValueError(f"the reading of {kernel.name} takes no options, got {', '.join(sorted(options))}")
    if kernel.no_posterior:
        raise TypeError(kernel.no_posterior)
    names, states = kernel.told(release.draws[:, 1 + burnt(release.draws.shape[1] - 1, burn) :])
    return ChainPosterior(kernel, tuple(names), states)
