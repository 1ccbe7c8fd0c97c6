"""One Markov chain of a mixture, as Python holds it; its moves are compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Floats
from discreet.models.mixture import Mixture
from discreet.posteriors.network.chain import REACH, jittered, noise_of, size_of, strain

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_tables import NoisyCells
    from discreet.posteriors.mixture.kernel import Shape


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """What a chain conditions on: joint counts, exact or noisy, and n."""

    model: Mixture
    reading: str
    joint: Floats
    n: int  # or where to start, if it is private
    most: int
    sharpness: float = 0.0  # of the noise
    squared: bool = False
    scale: float = 0.0
    fixed: bool = True  # n is public
    frozen: bool = False  # the counts are taken as exact

    @classmethod
    def exactly(cls, reading: str, counts: NDArray[np.int64], model: Mixture) -> Evidence:
        n = int(counts.sum())
        return cls(model, reading, counts.astype(np.float64), n, n, frozen=True)

    @classmethod
    def noisily(cls, cells: NoisyCells, model: Mixture) -> Evidence:
        (n, most), noisy = size_of(cells), cells.noisy.astype(np.float64)
        noise, scale, public = noise_of(cells, most), float(cells.scales[0]), cells.n is not None
        sharpness = float(noise.sharpness[0])
        return cls(model, "noise_aware", noisy, n, most, sharpness, noise.squared, scale, fixed=public)

    def counts(self, seed: int) -> NDArray[np.int64]:
        """Return the counts or, of noisy ones, some that add up to n: theirs with as much noise again."""
        if self.frozen:
            return self.joint.astype(np.int64)
        rng = np.random.default_rng(seed)
        weight = jittered(self.joint, np.full(self.joint.size, self.scale), rng) + 1e-9
        ends = np.floor(self.n * np.cumsum(weight) / weight.sum() + rng.random()).clip(max=self.n)
        ends[-1] = self.n
        return np.asarray(np.diff(ends, prepend=0.0), dtype=np.int64)


@final
@dataclass
class MixtureChain:
    """The state (counts, n, θ); numba's generator is seeded when it begins."""

    shape: Any  # the kernel's Shape and Said: importing them compiles
    said: Any
    prior: Floats
    joint: NDArray[np.int64]
    n: int
    theta: Floats  # π, then the tables of each feature, class by class

    @classmethod
    def begin(cls, evidence: Evidence, shapes: Floats, seed: int) -> MixtureChain:
        """Start from the mean of `shapes`, and counts such as the noisy ones speak of."""
        from discreet.posteriors.mixture import kernel  # noqa: PLC0415 - compiles on first use
        from discreet.posteriors.network.kernel import seed as sow  # noqa: PLC0415

        sow(seed % 2**31)
        shape, joint = shape_of(evidence.model), evidence.counts(seed)
        reach = int(np.clip(REACH * evidence.scale, 1, max(evidence.most, 1)))
        said = kernel.NoisyInput(
            evidence.joint.copy(),
            evidence.sharpness,
            evidence.squared,
            reach,
            evidence.most,
            evidence.fixed,
            evidence.frozen,
        )
        rows = zip(shape.rows.tolist(), shape.length.tolist(), strict=True)
        theta = np.concatenate([shapes[a : a + b] / shapes[a : a + b].sum() for a, b in rows])
        return cls(shape, said, prior_of(evidence.model), joint, int(joint.sum()), theta)

    def strain(self) -> float:
        """Σ|e|/b or Σe²/σ² of the noise that the counts leave"""
        return strain(self.said.noisy - self.joint, self.said.sharpness, self.said.squared)

    def advance(self, sweeps: int) -> float:
        """Sweep; return ln p(π, θ, counts, ŷ) up to a constant, before the last draw of θ."""
        from discreet.posteriors.mixture.kernel import sweep  # noqa: PLC0415

        self.n, level = sweep(self.joint, self.n, self.theta, self.prior, self.shape, self.said, sweeps)
        return float(level)


def prior_of(model: Mixture) -> Floats:
    """Dirichlet entries of π and of every θ."""
    weights = np.full(model.components, float(model.weight))
    return np.concatenate([weights, np.full(model.components * sum(model.sizes), float(model.prior))])


def shape_of(model: Mixture) -> Shape:
    """Say where each θ lies, for the kernel."""
    from discreet.posteriors.mixture.kernel import Shape  # noqa: PLC0415 - loads numba

    K, size = model.components, np.array(model.sizes, dtype=np.int64)
    begins = K + K * (np.cumsum(size) - size)
    codes = np.stack(np.unravel_index(np.arange(model.size), model.sizes), axis=1)
    rows = [0, *(b + k * s for b, s in zip(begins.tolist(), size.tolist(), strict=True) for k in range(K))]
    return Shape(
        classes=K,
        place=np.ascontiguousarray(codes + begins, dtype=np.int64),
        size=size,
        rows=np.array(rows, dtype=np.int64),
        length=np.concatenate([[K], np.repeat(size, K)]).astype(np.int64),
    )
