"""The grammar of queries, by recursive descent; nothing of a text is ever run as code.

    query     claim | sum
    claim     sum < sum [< sum …], also <= > >= == != · not claim · claim and claim · claim or claim · (claim)
    sum       sum + sum · sum - sum · sum * sum · sum / sum · -sum · sum ** number · (sum)
              number · name · log(sum) exp(sum) sqrt(sum) abs(sum)
              E[column | column = level, …] · P[column = level, … | column = level, …]

Length, nesting, the number of parts and exponents are bounded, so that reading and answering are, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import NoReturn, TypeVar, final

import numpy as np

from discreet.query.conditional import Conditional, refuse_work
from discreet.query.expression import (
    COMPARISONS,
    FUNCTIONS,
    Applied,
    Arithmetic,
    Comparison,
    Joined,
    Negative,
    Numeral,
    Numeric,
    Opposite,
    Parameter,
    Predicate,
    QueryPart,
    Raised,
)
from discreet.query.text import Piece, QueryError, pieces
from discreet.query.vocabulary import Vocabulary

DEEPEST = 24  # brackets, signs and nots within each other
MOST_PARTS = 120
MOST_CONDITIONALS = 8
LARGEST_EXPONENT = 64

P = TypeVar("P", bound=QueryPart)


def read(text: str, vocabulary: Vocabulary) -> tuple[QueryPart, tuple[str, ...]]:
    """Read a query: its tree, and the parameters and columns that it names."""
    reader = _Reader(pieces(text), vocabulary)
    found = reader.either()
    if reader.now.kind != "end":
        reader.refuse("an operator or the end")
    return found, tuple(dict.fromkeys(reader.names))


@final
class _Reader:
    """Where the reading has come to."""

    def __init__(self, text: tuple[Piece, ...], vocabulary: Vocabulary) -> None:
        self._pieces, self._vocabulary = text, vocabulary
        self._at = self._depth = self._parts = self._conditionals = self._work = 0
        self.names: list[str] = []

    # --- pieces ------------
    @property
    def now(self) -> Piece:
        return self._pieces[self._at]

    def _is(self, *signs: str) -> bool:
        return self.now.kind in {"sign", "word"} and self.now.text in signs

    def _take(self) -> Piece:
        piece, self._at = self.now, min(self._at + 1, len(self._pieces) - 1)
        return piece

    def _expect(self, sign: str) -> None:
        if not self._is(sign):
            self.refuse(repr(sign))
        self._take()

    def refuse(self, expected: str) -> NoReturn:
        hint = "; == compares" if self._is("=") else ""
        raise QueryError(
            f"at character {self.now.at + 1} {expected} was expected, got {self.now.shown}{hint}"
        )

    def _made(self, part: P) -> P:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise QueryError(f"a query has at most {MOST_PARTS} parts; ask for less at once")
        return part

    def _deeper(self, inner: Callable[[], P]) -> P:
        self._depth += 1
        if self._depth > DEEPEST:
            raise QueryError(f"a query is nested at most {DEEPEST} deep")
        found = inner()
        self._depth -= 1
        return found

    # --- claims ------------
    def either(self) -> QueryPart:
        return self._joined("or", partial(self._joined, "and", self._not))

    def _joined(self, word: str, inner: Callable[[], QueryPart]) -> QueryPart:
        found = inner()
        while self._is(word):
            left, at = self._claim(found, self.now), self._take()
            found = self._made(Joined(word, left, self._claim(inner(), at)))
        return found

    def _not(self) -> QueryPart:
        if not self._is("not"):
            return self._comparison()
        at = self._take()
        return self._made(Opposite(self._claim(self._deeper(self._not), at)))

    def _comparison(self) -> QueryPart:
        """Read a sum, a comparison, or a chain of them, all of which hold."""
        found = left = self._sum()
        claims: list[Predicate] = []
        while self._is(*COMPARISONS):
            sign = self._take()
            right = self._term(self._sum(), sign)
            claims.append(self._made(Comparison(sign.text, self._term(left, sign), right)))
            left = right
        if self._is("="):
            self.refuse("a comparison")
        return reduce(_both, claims) if claims else found

    @staticmethod
    def _claim(part: QueryPart, at: Piece) -> Predicate:
        if not isinstance(part, Predicate):
            raise QueryError(
                f"{at.text!r} at character {at.at + 1} joins comparisons, and got a number: p > 0.5 and …"
            )
        return part

    @staticmethod
    def _term(part: QueryPart, at: Piece) -> Numeric:
        if not isinstance(part, Numeric):
            raise QueryError(f"{at.text!r} at character {at.at + 1} needs numbers, and got a comparison")
        return part

    # --- numbers ------------
    def _sum(self) -> QueryPart:
        return self._left_to_right(("+", "-"), partial(self._left_to_right, ("*", "/"), self._signed))

    def _left_to_right(self, signs: tuple[str, ...], inner: Callable[[], QueryPart]) -> QueryPart:
        found = inner()
        while self._is(*signs):
            sign = self._take()
            left, right = self._term(found, sign), self._term(inner(), sign)
            found = self._made(Arithmetic(sign.text, left, right))
        return found

    def _signed(self) -> QueryPart:
        if not self._is("-", "+"):
            return self._power()
        sign = self._take()
        inner = self._term(self._deeper(self._signed), sign)
        return self._made(Negative(inner)) if sign.text == "-" else inner

    def _power(self) -> QueryPart:
        base = self._atom()
        if not self._is("**", "^"):
            return base
        sign = self._take()
        minus = self._is("-") and bool(self._take())
        exponent = (
            float(self._take().text) if self.now.kind == "number" else self.refuse("a number as exponent")
        )
        if exponent > LARGEST_EXPONENT:
            raise QueryError(f"an exponent is a number from -{LARGEST_EXPONENT} to {LARGEST_EXPONENT}")
        if self._is("**", "^"):
            self.refuse("no second exponent: put the first power in brackets")
        return self._made(Raised(self._term(base, sign), -exponent if minus else exponent))

    def _atom(self) -> QueryPart:
        if self.now.kind == "number":
            return self._made(Numeral(float(self._take().text)))
        if self._is("("):
            self._take()
            found = self._deeper(self.either)
            self._expect(")")
            return found
        if not self.now.is_name:
            self.refuse("a number, a name or a bracket")
        name = self._take()
        if name.kind == "word" and self._is("[") and name.text in {"E", "P"}:
            return self._conditional(name.text == "E")
        if name.kind == "word" and self._is("("):
            return self._applied(name)
        self.names.append(name.text)
        return self._made(Parameter(self._vocabulary.place(name.text)))

    def _applied(self, name: Piece) -> Numeric:
        if name.text not in FUNCTIONS:
            raise QueryError(f"no function is called {name.shown}; there are {', '.join(FUNCTIONS)}")
        self._take()
        inner = self._term(self._deeper(self.either), name)
        self._expect(")")
        return self._made(Applied(name.text, inner))

    # --- E[column | …] and P[column = level | …] ------------
    def _conditional(self, expectation: bool) -> Numeric:  # noqa: FBT001 - the two kinds there are
        self._conditionals += 1
        if self._conditionals > MOST_CONDITIONALS:
            raise QueryError(f"a query holds at most {MOST_CONDITIONALS} of E[…] and P[…]")
        self._take()
        wanted: tuple[str, ...]
        if expectation:
            column = self._column()
            if self._is("=", "=="):
                raise QueryError(
                    "the probability of a level is P[column = level | …]; E[…] takes a column alone"
                )
            wanted, weights = (column,), np.array(self._vocabulary.numbers(column))
        else:
            events = self._levels()
            wanted, weights = tuple(events), self._one_cell(events)
        seen: dict[str, int] = {}
        if self._is("|"):
            self._take()
            seen = self._levels(wanted)
        self._expect("]")
        found = Conditional(self._vocabulary.tables, wanted, weights, tuple(seen.items()))
        self._work += found.work
        refuse_work(self._work)
        return self._made(found)

    def _column(self) -> str:
        if not self.now.is_name:
            self.refuse("a column")
        name = self._vocabulary.column(self._take().text)
        self.names.append(name)
        return name

    def _levels(self, taken: tuple[str, ...] = ()) -> dict[str, int]:
        """Read column = level, …, each column once."""
        found: dict[str, int] = {}
        while not found or self._is(","):
            if found:
                self._take()
            column = self._column()
            if column in found or column in taken:
                raise QueryError(f"{column!r} is named twice within one pair of brackets")
            self._expect("==" if self._is("==") else "=")
            found[column] = self._vocabulary.code(column, self._level())
        return found

    def _level(self) -> str:
        minus = "-" if self._is("-") and self._take() else ""
        if self.now.kind != "number" and (minus or not self.now.is_name):
            self.refuse("a level, in quotes where it is not a plain word")
        return minus + self._take().text

    def _one_cell(self, events: dict[str, int]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        size = [len(self._vocabulary.levels[column]) for column in events]
        if np.prod(np.array(size, dtype=float)) > 2**16:
            raise QueryError("P[…] is asked of too many columns at once; put some of them behind |")
        weights = np.zeros(size)
        weights[tuple(events.values())] = 1.0
        return weights


def _both(first: Predicate, second: Predicate) -> Predicate:
    return Joined("and", first, second)
