"""Undecided cells are settled on the same bits: more bits are appended, never drawn anew."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from flint import ctx

from discreet.privacy.arithmetic.ball import PrecisionError, precision
from discreet.sampling import exact
from discreet.sampling.in_bulk import batches
from discreet.sampling.in_bulk.strips import TABLE
from discreet.sampling.source import SeededSource, Source, Uniform


@dataclass
class Scripted(Source):
    """Plays given words, then zeros would be a lie: it fails instead."""

    script: list[int]
    seeded: ClassVar[bool] = True
    used: int = field(default=0)

    def words(self, count):
        assert self.used + count <= len(self.script), "more words were drawn than the script foresees"
        self.used += count
        return np.array(self.script[self.used - count : self.used], dtype=np.uint64)


@dataclass
class Forked(Source):
    """Rows in bulk from one stream, further bits from another: what is refined then cannot shift the rows."""

    seed: int
    seeded: ClassVar[bool] = True
    asked: int = field(default=0)

    def __post_init__(self):
        self.bulk, self.more = SeededSource(self.seed), SeededSource(self.seed + 1)

    def words(self, count):
        if count > 16:
            return self.bulk.words(count)
        self.asked += count
        return self.more.words(count)


THIRD = (2**64 - 1) // 3  # ⌊2⁶⁴/3⌋: the next word of ⅓'s expansion is the same again


@pytest.mark.parametrize(("further", "expected"), [([THIRD - 9], True), ([THIRD + 9], False)])
def test_bernoulli_word_on_the_edge(further, expected):
    source = Scripted([THIRD, *further])
    assert exact.bernoulli(source, Fraction(1, 3), 1)[0] == expected
    assert source.used == 2


def test_bernoulli_needs_as_many_bits_as_it_takes():
    source = Scripted([THIRD] * 4 + [0, 0, 0, 0])
    assert exact.bernoulli(source, Fraction(1, 3), 1)[0]  # equal for 256 bits, then below
    assert source.used == 8


def test_never_decided_raises_rather_than_guessing():
    with pytest.raises(PrecisionError, match="still open"):
        exact.bernoulli(Scripted([THIRD] * 300), Fraction(1, 3), 1)


@pytest.mark.parametrize(("later", "expected"), [(0, 7), (2**64 - 1, 8)])
def test_normal_row_on_a_rounding_edge(later, expected):
    """z = (i + U)/32 with U's 51 bits straddling the edge 7.5 of ⌊100z + ½⌋: only later bits decide"""
    strip, edge = 2, Fraction(75, 1000)
    fraction = int((32 * edge - strip) * 2**51)  # 2.4 − 2: no dyadic, so the edge lies inside the word's cell
    entry = int(np.flatnonzero(strip == TABLE)[0])
    row = [fraction << 13 | entry, 0]  # the second word's high half is 0: accepted whatever the first
    source = Scripted([*row, *[0] * 254, later, later, 2**63, 0])
    assert exact.normal(source, 0, 10**4, 1, 1)[0] == expected
    assert source.used == 260  # one block, then further bits of U and of the accepting uniform


LAWS = {
    "beta": lambda s: exact.beta(s, 6, Fraction(37, 3), 400),
    "beta_small": lambda s: exact.beta(s, 0.05, 0.5, 400),
    "gamma": lambda s: exact.gamma(s, [2.5, 0.3, 1e6], 200),
    "dirichlet": lambda s: exact.dirichlet(s, np.array([0.5, 2.0, 9.0]), 200),
    "normal": lambda s: exact.normal(s, 1, 2, 400, 2.0**-20),
    "truncated_beta": lambda s: exact.truncated_beta(s, 3, 9, 0.1, 0.6, 400),
    "line": lambda s: exact.truncated_beta(s, 1, 90, 0.2, 0.6, 400),
    "flat": lambda s: exact.truncated_beta(s, 500, 500, 0.5, 0.501, 400),
    "truncated_dirichlet": lambda s: exact.truncated_dirichlet(s, [1, 3, 60], 0.05, 300),
    "normal_inverse_gamma": lambda s: np.stack(exact.normal_inverse_gamma(s, 1, 2, 3, 4, 300, 2.0**-20)),
    "discrete_laplace": lambda s: exact.discrete_laplace(s, 550.5, 400),
    "discrete_gaussian": lambda s: exact.discrete_gaussian(s, Fraction(10**6, 7), 400),
}


@pytest.mark.parametrize("name", LAWS)
def test_inflated_bounds_change_nothing_but_the_work(name, monkeypatch):
    """The same rows give the same draws whether kernels or balls decide; only the bits asked for differ"""
    plain, forced = Forked(11), Forked(11)
    draws = LAWS[name](plain)
    monkeypatch.setattr(batches, "INFLATE", 2.0**38)
    assert np.array_equal(LAWS[name](forced), draws)
    assert forced.asked > plain.asked + 10


def test_seeds_reproduce_and_differ():
    for draw in LAWS.values():
        first, again, other = draw(SeededSource(5)), draw(SeededSource(5)), draw(SeededSource(6))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)


def test_a_uniform_keeps_its_prefix():
    u = Uniform(SeededSource(1), 2**63 + 12345)
    with precision(64):
        wide = u()
    with precision(512):
        narrow = u()
        again = u()
    assert wide.contains(narrow)
    assert narrow.mid() == again.mid()
    assert ctx.prec == 53  # precision() restores what it found
