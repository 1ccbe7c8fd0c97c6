"""Bulk draws: kernels judge rows of words, ball arithmetic settles what they leave open on the same words."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.privacy.arithmetic.ball import Exact
from discreet.sampling import ideal
from discreet.sampling.checked_arguments import Numbers
from discreet.sampling.source import Real, Source, Uniform, Words, refine

INFLATE = (
    1.0  # test hook: every float error bound is multiplied by it, which sends more rows to ball arithmetic
)
CHUNK = 1 << 17  # rows judged at once
FINEST = 40  # a grid finer than 2^-40 leaves float64 too little room
LARGEST_SHAPE = 2.0**60
FEW = 256  # up to so many draws, loading the compiled kernels costs more than it saves
_REJECT, _ACCEPT, _UNSURE = 0, 1, 2


def kernels(name: str = "kernels") -> Any:  # noqa: ANN401 (numba's functions carry no types)
    """Import numba's kernels on first use."""
    return importlib.import_module(f"discreet.sampling.in_bulk.{name}")


def errors() -> tuple[float, float]:
    """Return the unit roundoff and the width of a word, in the kernels' terms."""
    return INFLATE * 2.0**-53, INFLATE * 1.01


def uniforms(source: Source, row: Words) -> list[Uniform]:
    return [Uniform(source, int(word)) for word in row]


def double(x: Fraction) -> float:
    """Round to nearest; the kernels assume a relative error of u."""
    return x.numerator / x.denominator


@final
@dataclass(frozen=True)
class Shapes:
    """Positive shapes: the exact numbers, their doubles, and which lie below 1."""

    exact: NDArray[Any]
    doubles: NDArray[np.float64]
    boosts: NDArray[np.bool_]

    @classmethod
    def of(cls, values: Numbers, name: str) -> Shapes:
        floating = isinstance(values, np.ndarray) and values.dtype.kind == "f"
        exact: NDArray[Any] = np.asarray(values, dtype=np.float64 if floating else object)
        if exact.ndim != 1 or exact.size == 0:
            raise ValueError(f"{name} must be a non-empty one-dimensional array, got shape {exact.shape}")
        if not floating:
            exact = np.array([_rational(x, name) for x in exact.tolist()] + [None], dtype=object)[:-1]
        if not (np.all(exact > 0) and (not floating or np.all(np.isfinite(exact)))):
            raise ValueError(f"every entry of {name} must be a finite number greater than 0")
        return cls(exact, np.array([float(x) for x in exact]) if not floating else exact, exact < 1)

    def __getitem__(self, i: int) -> Fraction:
        return Fraction(self.exact[i % self.exact.size])

    @property
    def ordinary(self) -> bool:
        return bool(self.doubles.max() <= LARGEST_SHAPE)


def _rational(x: Exact, name: str) -> Fraction:
    try:
        return Fraction(x)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"every entry of {name} must be a finite number greater than 0") from None


@final
class Gammas:
    """Independent G_i ~ Gamma(shapes[i mod k]) as g·2ⁿ(1 ± e), and the words behind each."""

    def __init__(self, source: Source, shapes: Shapes, count: int) -> None:
        self.g, self.e = np.empty(count), np.empty(count)
        self.n, self.rows = np.zeros(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        self._source, self._shapes = source, shapes
        self._width = 3 if bool(shapes.boosts.any()) else 2
        self._known: dict[int, Real] = {}
        self._words: Words = np.empty((0, self._width), dtype=np.uint64)
        self._fill()

    def _fill(self) -> None:
        fill, (u, w) = kernels().gammas, errors()
        boosts = np.ascontiguousarray(self._shapes.boosts, dtype=np.bool_)
        d = self._shapes.doubles + np.where(boosts, 1.0, 0.0) - 1 / 3
        columns = np.stack((self._shapes.doubles, d, 1 / (3 * np.sqrt(d))), axis=1)
        i, row, status = 0, 0, _ACCEPT
        while status != _REJECT:
            if status == _ACCEPT:
                self._more(self.g.size - i)
            else:
                i, row = self._settle(i, row)
            i, row, status = fill(
                self._words, columns, boosts, i, row, self.g, self.n, self.e, self.rows, u, w
            )

    def _more(self, missing: int) -> None:
        rows = missing + missing // 8 + 16
        fresh = self._source.words(rows * self._width).reshape(rows, self._width)
        self._words = fresh if self._words.size == 0 else np.concatenate((self._words, fresh))

    def _settle(self, i: int, row: int) -> tuple[int, int]:
        """Decide one row exactly; an accepted one is kept with the bits that were drawn for it."""
        real = ideal.gamma_attempt(self._source, self._words[row].tolist(), self._shapes[i])
        if real is None:
            return i, row + 1
        self._known[i], self.rows[i] = real, row
        self.g[i], self.n[i] = refine(lambda: _parts(real()))
        self.e[i] = errors()[0] * 4
        return i + 1, row + 1

    def real(self, i: int) -> Real:
        """Return the ideal G_i."""
        if i not in self._known:
            row = self._words[self.rows[i]].tolist()
            self._known[i] = ideal.gamma_value(self._source, row, self._shapes[i])
        return self._known[i]


def _parts(x: arb) -> tuple[float, int] | None:
    """Return g·2ⁿ within 2u of every point of the ball, or None while it is too wide."""
    if not (x > 0 and x.rel_accuracy_bits() >= 60):
        return None
    mantissa, exponent = (int(part) for part in x.mid().man_exp())
    shift = mantissa.bit_length() - 53
    if shift <= 0:
        return float(mantissa), exponent
    return float(mantissa >> shift), exponent + shift


@final
class Normals:
    """Independent z_i ~ N(0, 1) as z(1 ± e), and the words behind each."""

    def __init__(self, source: Source, count: int) -> None:
        self._source = source
        self._known: dict[int, Real] = {}
        parts: list[tuple[NDArray[np.float64], NDArray[np.float64], Words]] = []
        while (have := sum(part[0].size for part in parts)) < count:
            parts.append(self._judge(have, count - have))
        self.z, self.e = (np.concatenate([part[k] for part in parts] or [np.empty(0)]) for k in (0, 1))
        self._words: Words = np.concatenate([part[2] for part in parts] or [np.empty((0, 2), np.uint64)])

    def _judge(self, have: int, missing: int) -> tuple[NDArray[np.float64], NDArray[np.float64], Words]:
        rows = missing + missing // 16 + 16
        words = self._source.words(2 * rows).reshape(rows, 2)
        z, e, decisions = np.empty(rows), np.empty(rows), np.empty(rows, dtype=np.int8)
        u, w = errors()
        kernels().normals(words, z, e, decisions, u, w)
        settled: dict[int, Real] = {}
        for i in np.flatnonzero(decisions == _UNSURE):
            real = ideal.normal_attempt(self._source, words[i].tolist())
            decisions[i] = _REJECT if real is None else _ACCEPT
            if real is not None:
                settled[int(i)] = real
                z[i], e[i] = _signed_double(real), 4 * u
        kept = np.flatnonzero(decisions == _ACCEPT)[:missing]
        place = {int(row): have + at for at, row in enumerate(kept)} if settled else {}
        self._known.update({place[i]: real for i, real in settled.items() if i in place})
        return z[kept], e[kept], words[kept]

    def real(self, i: int) -> Real:
        """Return the ideal z_i."""
        if i not in self._known:
            self._known[i] = ideal.normal_value(self._source, self._words[i].tolist())
        return self._known[i]


def _signed_double(x: Real) -> float:
    def parts() -> float | None:
        known = _parts(abs(x()))
        return None if known is None else math.copysign(math.ldexp(*known), float(x().mid()))

    return refine(parts)


def leave_open(_words: Words, _values: NDArray[np.int64], decisions: NDArray[np.int8]) -> None:
    """Judge nothing."""
    decisions[:] = _UNSURE


def sieve(
    source: Source,
    size: int,
    width: int,
    judge: Callable[[Words, NDArray[np.int64], NDArray[np.int8]], None],
    settle: Callable[[list[int]], int | None],
) -> NDArray[np.int64]:
    """First `size` accepted rows of words: `judge` decides most, `settle` what it leaves open."""
    parts: list[NDArray[np.int64]] = []
    have, seen = 0, 0
    while have < size:
        guess = (size - have) * (1.05 if not have else 1.02 * seen / have) + 16
        rows = min(CHUNK, int(guess))
        words = source.words(rows * width).reshape(rows, width)
        values, decisions = np.zeros(rows, dtype=np.int64), np.empty(rows, dtype=np.int8)
        judge(words, values, decisions)
        for i in np.flatnonzero(decisions == _UNSURE):
            value = settle([int(word) for word in words[i]])
            decisions[i], values[i] = (_REJECT, 0) if value is None else (_ACCEPT, value)
        parts.append(values[decisions == _ACCEPT])
        have, seen = have + parts[-1].size, seen + rows
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])[:size]
