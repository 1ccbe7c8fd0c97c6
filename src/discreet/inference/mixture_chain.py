"""One Markov chain of a mixture: the network's moves on (class, features), classes drawn anew, θ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.inference.bayes_net_chain import Chain, jittered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.families.family import Floats
    from discreet.inference.bayes_net_chain import Problem
    from discreet.models.mixture import Mixture


@final
@dataclass(frozen=True)
class Evidence:
    """What a chain conditions on, in the layout of the mixture's network."""

    model: Mixture
    reading: str
    joint: Floats  # counts of the joint table, noisy or not
    codes: NDArray[np.int32]  # room for the records (class, features, 0); the records themselves if frozen
    n: int
    noise: Any  # the kernel's
    fixed: bool  # n is public
    frozen: bool  # the counts are taken as exact
    scale: float = 0.0  # of the noise

    def like(self, seed: int) -> NDArray[np.int32]:
        """Make n records whose joint counts are the noisy ones with as much noise again, to within one."""
        rng = np.random.default_rng(seed)
        weight = jittered(self.joint, np.full(self.joint.size, self.scale), rng) + 1e-9
        steps = (np.arange(self.n) + rng.random()) / max(self.n, 1)
        where = np.searchsorted(np.cumsum(weight / weight.sum()), steps).clip(max=weight.size - 1)
        codes = np.zeros((self.n, len(self.model.features) + 2), np.int32)
        codes[:, 1:-1] = np.stack(np.unravel_index(where, self.model.sizes), axis=1)
        return codes


@final
@dataclass(frozen=True)
class MixtureChain:
    """Wraps the network's chain; where the counts are taken as exact, only classes and θ move."""

    inner: Chain
    frozen: bool

    @classmethod
    def begin(cls, problem: Problem, evidence: Evidence, shapes: Floats, seed: int) -> MixtureChain:
        """Start from the records, or such as the noisy counts speak of; classes from the mean of `shapes`."""
        from discreet.inference.mixture_kernel import relabel  # noqa: PLC0415 - compiles on first use

        model, records = evidence.model, evidence.codes if evidence.frozen else evidence.like(seed)
        inner = Chain.begin(problem, records, seed)
        totals = [cells.reshape(-1, cells.shape[-1]) for cells in model.network.split(shapes).values()]
        mean = np.concatenate([(t / t.sum(axis=1, keepdims=True)).reshape(-1) for t in totals])
        relabel(inner.codes, inner.n, mean, inner.residual, problem.layout)
        for v in range(problem.layout.size.size - 1):
            inner.redraw(v, problem.prior)
        return cls(inner, evidence.frozen)

    def advance(self, sweeps: int) -> float:
        """Sweep; return ln p(π, θ, records, ŷ) up to a constant, before the last draw of θ."""
        level = 0.0
        for _ in range(sweeps):
            level = self._sweep()
        return level

    def _sweep(self) -> float:
        from discreet.inference.mixture_kernel import log_noise, relabel  # noqa: PLC0415

        chain, layout = self.inner, self.inner.problem.layout
        if not self.frozen:
            chain.advance(1)
        width = layout.stop[-2]
        with np.errstate(divide="ignore"):
            level = float(((chain.problem.prior[:width] - 1) * np.log(chain.theta[:width] + 1e-300)).sum())
        level += float(relabel(chain.codes, chain.n, chain.theta, chain.residual, layout))
        level += 0.0 if self.frozen else float(log_noise(chain.residual, layout, chain.problem.noise))
        for v in range(layout.size.size - 1):
            chain.redraw(v, chain.problem.prior)
        return level
