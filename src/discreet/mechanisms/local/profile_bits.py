"""Bits of known profiles: symmetric flips, in closed form, by component or smoothly [GC19]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np

from discreet.mechanisms.local.profile_base import (
    GRID,
    Floats,
    Integers,
    Kernels,
    ProfileMechanism,
    settled,
    wanted,
)
from discreet.privacy.amplification.mixing import Row
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import Unreachable
from discreet.privacy.profile_graph import ProfileGraph
from discreet.sampling.source import Source

HALF = Fraction(1, 2)


@final
@dataclass(frozen=True)
class Flips(Kernels):
    """A_i = [[1−α_i, α_i], [α_i, 1−α_i]], α_i a multiple of 2^-53 up to ½."""

    flip: tuple[Fraction, ...]

    @classmethod
    def of(cls, flips: Sequence[Exact]) -> Flips:
        """Round up, to more noise, which need not be more private on a graph: verify afterwards."""
        return cls(tuple(min(Fraction(math.ceil(Fraction(a) * GRID), GRID), HALF) for a in flips))

    def outputs(self, profiles: Sequence[Row]) -> tuple[Row, ...]:
        ones = [p + a * (1 - 2 * p) for a, (_, p) in zip(self.flip, profiles, strict=True)]
        return tuple((1 - q, q) for q in ones)

    def matrix(self, place: int) -> Floats:
        a = float(self.flip[place])
        return np.array([[1 - a, a], [a, 1 - a]])

    def drawn(self, place: int, values: Integers, source: Source) -> Integers:
        """Compare one word for each bit with α·2^64: exact, and the same work whatever the bit."""
        cut = np.uint64(int(self.flip[place] * 2**64))
        released: Integers = values ^ (source.words(values.size) < cut)
        return released

    def blended(self, constant: Row, share: Fraction) -> Flips:
        del constant  # the only symmetric kernel that forgets is a fair coin
        return Flips.of([a + share * (HALF - a) for a in self.flip])


def two_profile_flip(low: Fraction, high: Fraction, epsilon: Exact) -> float:
    """α = z/(2z + e^ε − 1), z = max(0, p_j − e^ε p_i, (1−p_i) − e^ε(1−p_j)), rounded up [GC19 Obs. 1].

    The least symmetric flip that makes P_i and P_j ε-indistinguishable; the printed formula lacks the
    positive parts and exceeds ½ where no noise is needed [docs/errata.md 18].
    """
    with precision(256):
        ratio = ball(Fraction(epsilon)).exp()
        gaps = (ball(high) - ratio * ball(low), ball(1 - low) - ratio * ball(1 - high))
        z = gaps[0].max(gaps[1]).max(ball(0))
        return max(0.0, min(ceiling(z / (2 * z + ratio - 1)), 0.5))


def edge_flips(graph: ProfileGraph, epsilon: Exact) -> dict[tuple[int, int], float]:
    ones = [law[1] for law in _bits(graph).profiles]
    return {
        (i, j): two_profile_flip(min(ones[i], ones[j]), max(ones[i], ones[j]), epsilon)
        for i, j in graph.edges
    }


def _bits(graph: ProfileGraph) -> ProfileGraph:
    if graph.values != 2:
        raise ValueError(f"these profiles have {graph.values} values, not 2: use SmoothCategorical")
    return graph


@dataclass(frozen=True)
class BitMechanism(ProfileMechanism):
    """Each profile has one probability with which its bits are flipped."""

    @property
    def flip(self) -> tuple[float, ...]:
        """α for each profile, as doubles, which they are."""
        if not isinstance(self.kernels, Flips):
            raise Unreachable("this mechanism has no symmetric flips")
        return tuple(float(a) for a in self.kernels.flip)


@final
@dataclass(frozen=True)
class TwoProfileBit(BitMechanism):
    """Two Bernoulli profiles, one edge: the closed form."""

    name: ClassVar[str] = "two_profile_bit"
    theorem: ClassVar[str] = "GC19 Obs. 1 with positive parts; verified exactly on the edge"

    @classmethod
    def solve(cls, graph: ProfileGraph, epsilon: Exact) -> Self:
        wanted(epsilon)
        if len(graph.profiles) != 2 or len(graph.edges) != 1:
            raise ValueError("TwoProfileBit is for two profiles and the edge between them; use SmoothOneBit")
        flip = next(iter(edge_flips(graph, epsilon).values()))
        return cls(graph, settled(graph, Flips.of([flip, flip]), epsilon))


@final
@dataclass(frozen=True)
class OneBitCluster(BitMechanism):
    """In each component of the graph, the largest flip of its edges for all of its profiles."""

    name: ClassVar[str] = "one_bit_cluster"
    theorem: ClassVar[str] = "GC19 Thm 3 (one-bit cluster); verified exactly on every edge"

    @classmethod
    def solve(cls, graph: ProfileGraph, epsilon: Exact) -> Self:
        wanted(epsilon)
        edges = edge_flips(graph, epsilon)
        flips = [0.0] * len(graph.profiles)
        for part in graph.components:
            inside = [flip for (i, _), flip in edges.items() if i in part]
            for i in part:
                flips[i] = max(inside, default=0.0)
        return cls(graph, settled(graph, Flips.of(flips), epsilon))


@final
@dataclass(frozen=True)
class SmoothOneBit(BitMechanism):
    """Flips that may differ along the graph: least largest flip first, then the least sum by weight."""

    name: ClassVar[str] = "smooth_one_bit"
    theorem: ClassVar[str] = "GC19 Thm 4 (smooth one-bit), by linear program; verified exactly on every edge"

    @classmethod
    def solve(cls, graph: ProfileGraph, epsilon: Exact) -> Self:
        from discreet.mechanisms.local.profile_programs import smooth_flips  # noqa: PLC0415 - loads scipy.optimize

        found = smooth_flips(_bits(graph), wanted(epsilon))
        return cls(graph, settled(graph, Flips.of(found.tolist()), epsilon))
