"""The one place where randomness enters: 64-bit words from the operating system, or from a seed for tests."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeAlias, TypeVar, final

import numpy as np
from flint import arb, ctx, fmpz
from numpy.typing import NDArray

from discreet.privacy.arithmetic.ball import MAX_BITS, PrecisionError, precision

Words = NDArray[np.uint64]


class Source(ABC):
    """A stream of independent uniform bits. `seeded` is stamped on every release drawn from it."""

    seeded: ClassVar[bool]

    @abstractmethod
    def words(self, count: int) -> Words:
        """Return `count` fresh independent uniform 64-bit words."""


@final
@dataclass(frozen=True)
class SystemSource(Source):
    """The operating system's generator: the only source a private release may use."""

    seeded: ClassVar[bool] = False

    def words(self, count: int) -> Words:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@final
@dataclass(frozen=True)
class SeededSource(Source):
    """Philox from a public seed: reproducible, hence NOT private; for tests and demonstrations."""

    seed: int
    seeded: ClassVar[bool] = True
    _stream: np.random.Philox = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_stream", np.random.Philox(self.seed))

    def words(self, count: int) -> Words:
        return np.asarray(self._stream.random_raw(count), dtype=np.uint64)


SYSTEM = SystemSource()


# ── Random reals known as far as anyone has asked: decisions are refined on the same bits, never redrawn.
T = TypeVar("T")

START_BITS = 128
_BLOCK = 256  # words drawn at once when a tape runs out
_LARGEST = math.ldexp(1.0, 1000)  # gamma draws saturate at 2^±1000, far from where doubles end
_LEAST = math.ldexp(1.0, -1000)


@final
class Uniform:
    """U ∈ [k, k+1]·2^-bits: a word is its prefix; a decision that needs more bits draws them."""

    __slots__ = ("_bits", "_prefix", "_source")

    def __init__(self, source: Source, prefix: int, bits: int = 64) -> None:
        self._source, self._prefix, self._bits = source, prefix, bits

    def __call__(self) -> arb:
        """Enclose U with as many bits as the working precision."""
        missing = -(-(ctx.prec - self._bits) // 64)
        if missing > 0:
            for word in self._source.words(missing):
                self._prefix = self._prefix << 64 | int(word)
            self._bits += 64 * missing
        return arb((2 * self._prefix + 1, -self._bits - 1), (1, -self._bits - 1))


@final
class Lazy(Generic[T]):
    """A function of uniforms, evaluated at the working precision and remembered for that precision."""

    __slots__ = ("_bits", "_evaluate", "_known")

    def __init__(self, evaluate: Callable[[], T]) -> None:
        self._evaluate, self._bits = evaluate, 0

    def __call__(self) -> T:
        if self._bits != ctx.prec:
            self._known, self._bits = self._evaluate(), ctx.prec
        return self._known


Real: TypeAlias = Lazy[arb]


@final
class Tape:
    """The words of one call in the order they are consumed; both samplers read the same tape."""

    __slots__ = ("position", "source", "words")

    def __init__(self, source: Source, words: Words | None = None) -> None:
        self.source, self.position = source, 0
        self.words: Words = np.empty(0, dtype=np.uint64) if words is None else words

    def extend(self, count: int) -> None:
        """Append fresh words; those not yet consumed are kept, or draws that need many would be rarer."""
        self.words = np.concatenate((self.words[self.position :], self.source.words(count)))
        self.position = 0

    def word(self) -> int:
        if self.position == self.words.size:
            self.extend(_BLOCK)
        self.position += 1
        return int(self.words[self.position - 1])

    def uniform(self) -> Uniform:
        return Uniform(self.source, self.word())

    def row(self, width: int) -> list[int]:
        return [self.word() for _ in range(width)]

    def uniforms(self, count: int) -> list[Uniform]:
        return [self.uniform() for _ in range(count)]


def refine(attempt: Callable[[], T | None]) -> T:
    """Repeat at doubling precision, on the same bits, until the answer is certain (is not None)."""
    bits = START_BITS
    while bits <= MAX_BITS:
        with precision(bits):
            answer = attempt()
        if answer is not None:
            return answer
        bits *= 2
    raise PrecisionError(f"a random decision was still open after {MAX_BITS} bits; is the source random?")


def positive(value: Callable[[], arb]) -> bool:
    """Whether value > 0, decided on the ideal real."""

    def sign() -> bool | None:
        x = value()
        return True if x > 0 else False if x < 0 else None

    return refine(sign)


def cell(x: arb) -> int | None:
    """Return ⌊x + ½⌋ if all of the ball agrees."""
    if not x.is_finite():
        return None
    low, high = _round_half_up(x.lower()), _round_half_up(x.upper())
    return low if low == high else None


def significant(x: arb, digits: int) -> float | None:
    """Return x ≥ 0 to `digits` significant bits, in {0} ∪ [2^-1000, 2^1000], if all of the ball agrees."""
    if not (x.is_finite() and x >= 0):
        return None
    low, high = _shorten(x.lower(), digits), _shorten(x.upper(), digits)
    return low if low == high else None


def nearest(value: Callable[[], arb]) -> int:
    """Return the integer nearest to the ideal real."""
    return refine(lambda: cell(value()))


def shortened(value: Callable[[], arb], digits: int) -> float:
    """Return the ideal positive real at `digits` significant bits."""
    return refine(lambda: significant(value(), digits))


def _round_half_up(point: arb) -> int:
    mantissa, exponent = _parts(point)
    if exponent >= 0:
        return mantissa << exponent
    if mantissa.bit_length() + exponent < -1:  # |x| < ¼: do not shift by an astronomic exponent
        return 0
    return (mantissa + (1 << (-exponent - 1))) >> -exponent


def _shorten(point: arb, digits: int) -> float:
    mantissa, exponent = _parts(point)
    magnitude = mantissa.bit_length() + exponent
    if mantissa <= 0 or magnitude < -1100:
        return 0.0
    if magnitude > 1010:
        return _LARGEST
    surplus = max(mantissa.bit_length() - digits, 0)
    rounded = (mantissa + (1 << surplus >> 1)) >> surplus
    value = math.ldexp(rounded, exponent + surplus)
    return 0.0 if value < _LEAST else min(value, _LARGEST)


def _parts(point: arb) -> tuple[int, int]:
    mantissa, exponent = point.man_exp()
    return int(fmpz(mantissa)), int(exponent)
