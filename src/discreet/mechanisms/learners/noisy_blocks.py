"""Noise on several integer vectors of the same records, in turn: each may depend on those released before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, sqrt
from typing import ClassVar, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from discreet.families.exact_fields import power_of_two_above
from discreet.families.family import Integers, root_above
from discreet.mechanisms.mechanism import WIDEST_DISCRETE, Mechanism, integers, least_noise, positive, whole
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.noise.gaussian import FINEST, Gaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace, default_grid
from discreet.privacy.accounting.composition import compose, repeat
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SYSTEM, Source

Floats = NDArray[np.float64]
Ask: TypeAlias = Callable[[int, tuple[Floats, ...]], Integers]  # (which block, what was released) → integers


@final
@dataclass(frozen=True)
class Block:
    """One vector of integers: how far neighbouring tables move it, at most, and its share of the budget."""

    name: str
    size: int
    l1: int
    square: Exact  # L2²
    share: Exact = 1  # of μ² with Gaussian noise, of ε with Laplace noise; only ratios matter

    def __post_init__(self) -> None:
        whole(self.size, "the size of a block")
        whole(self.l1, "the L1 sensitivity of a block")
        positive(self.square, "the squared L2 sensitivity of a block")
        positive(self.share, "the share of a block")


@final
@dataclass(frozen=True)
class NoisyBlocks(Mechanism):
    """v_i + noise for each block: Gaussian, σ_i = scale·Δ_i/√share_i, or Laplace, b_i = scale·Δ_i/share_i.

    Gaussian: μ² = ΣΔ_i²/σ_i², also where a block was chosen by what was released before [DRS22 Thm 2.7,
    Cor. 3.3]. Discrete Laplace: ε = ΣΔ_i/b_i [DR14 Thm 3.16].
    """

    name: ClassVar[str] = "noisy_blocks"
    theorem: ClassVar[str] = "DRS22 Thm 2.7 and Cor. 3.3, or DR14 Thm 3.16 for Laplace noise; post-processing"

    blocks: tuple[Block, ...]
    noise: str  # gaussian or discrete_laplace
    scale: float
    relation: Relation = field(default=SUBSTITUTE, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(self.blocks))
        if self.noise not in NOISY:
            raise ValueError(f"noise must be one of {', '.join(NOISY)}, got {self.noise!r}")
        if not self.blocks:
            raise ValueError("there must be at least one block of numbers to release")
        _ = self.noisers

    @classmethod
    def calibrate(cls, blocks: tuple[Block, ...], *, target: Guarantee) -> Self:
        """Return the least noise, to one double, whose certified composition meets the target.

        Laplace noise for a pure target, as Gaussian noise never meets one; else Gaussian noise.
        """
        noise = "discrete_laplace" if isinstance(target, PureDP) else "gaussian"

        def at(scale: float) -> Self:
            return cls(blocks, noise, scale, relation=target.relation)

        furthest = max(NOISY[noise](block, 1.0, target.relation)[1] for block in blocks)
        widest = WIDEST_DISCRETE / furthest if noise == "discrete_laplace" else 2.0**40
        return at(least_noise(lambda scale: at(scale).guarantee, target, widest=widest))

    @cached_property
    def noisers(self) -> tuple[BasicMechanism, ...]:
        """The noise of each block; they carry the guarantee."""
        kinds = {_kind(block): block for block in self.blocks}  # boosting has hundreds, and most are alike
        made = {k: NOISY[self.noise](block, self.scale, self.relation)[0] for k, block in kinds.items()}
        return tuple(made[_kind(block)] for block in self.blocks)

    @property
    def deviations(self) -> tuple[float, ...]:
        """The standard deviation of the noise on each block's entries, in its integers."""
        each = (NOISY[self.noise](block, self.scale, self.relation)[1] for block in self.blocks)
        spread = sqrt(2) if self.noise == "discrete_laplace" else 1.0
        return tuple(spread * width for width in each)

    @property
    def knob(self) -> tuple[str, float]:
        return "scale", self.scale

    @cached_property
    def guarantee(self) -> Guarantee:
        """What all blocks promise together; every reading of them, however often, is free."""
        times = Counter(self.noisers)
        return compose(*(repeat(noiser.guarantee, k) for noiser, k in times.items()))

    def release(self, value: Ask, source: Source | None = None) -> tuple[Floats, ...]:
        """Ask for each block's integers in turn, given what was released before it, and add its noise."""
        bits, released = source or SYSTEM, tuple[Floats, ...]()
        for i, (block, noiser) in enumerate(zip(self.blocks, self.noisers, strict=True)):
            exact = integers(value(i, released), "the sums")
            if exact.shape != (block.size,):
                raise ValueError(f"the block {block.name!r} has {block.size} integers")
            noisy = np.asarray(noiser.release(exact, bits), dtype=np.float64)
            released = (*released, noisy)
        return released


def _kind(block: Block) -> tuple[int, Exact, Exact]:
    """All that the noise of a block depends on."""
    return block.l1, block.square, block.share


# ── (block, scale, relation) ↦ its noise mechanism, and the scale of that
Noisy: TypeAlias = Callable[[Block, float, Relation], tuple[BasicMechanism, float]]


def _gaussian(block: Block, scale: float, relation: Relation) -> tuple[BasicMechanism, float]:
    """σ = scale·Δ₂/√share; a grid that integers lie on, but where the noise is wider than 2^40."""
    length = root_above(Fraction(block.square))
    sigma = scale * float(length) / sqrt(block.share)
    finest = power_of_two_above(Fraction(sigma) / 2**FINEST)
    grid = max(min(default_grid(Fraction(sigma)), Fraction(1)), finest)
    return Gaussian(length, sigma, grid, relation=relation), sigma


def _laplace(block: Block, scale: float, relation: Relation) -> tuple[BasicMechanism, float]:
    width = scale * block.l1 / float(block.share)
    return DiscreteLaplace(ceil(block.l1), width, relation=relation), width


NOISY: dict[str, Noisy] = {"gaussian": _gaussian, "discrete_laplace": _laplace}
