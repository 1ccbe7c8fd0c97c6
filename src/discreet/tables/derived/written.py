"""Expressions as people write them, for certificates and reports: what `discreet fit --where` reads back."""

from __future__ import annotations

import keyword
import unicodedata
from functools import singledispatch

from discreet.tables.derived.columns import (
    Affine,
    Among,
    Both,
    Column,
    Compare,
    Constant,
    Cut,
    Expression,
    Not,
)


@singledispatch
def written(expression: Expression) -> str:
    """Return the text of an expression."""
    raise TypeError(f"no text is registered for {type(expression).__name__}")


@written.register
def _written_column(expression: Column) -> str:
    """Write a name bare where Python's parser gives it back unchanged."""
    name = expression.name
    plain = (
        name.isidentifier() and not keyword.iskeyword(name) and name == unicodedata.normalize("NFKC", name)
    )
    return name if plain else f"col({name!r})"


@written.register
def _written_constant(expression: Constant) -> str:
    return f"constant({expression.number!r})"


@written.register
def _written_compare(expression: Compare) -> str:
    return f"{_within(expression.inner, Compare, Among, Both, Not)} {expression.sign} {expression.constant!r}"


@written.register
def _written_among(expression: Among) -> str:
    return f"{_within(expression.inner, Compare, Among, Both, Not)} in {list(expression.levels)!r}"


@written.register
def _written_cut(expression: Cut) -> str:
    return f"{_within(expression.inner, Affine)}.cut({list(expression.edges)!r})"


@written.register
def _written_affine(expression: Affine) -> str:
    x, slope, shift = _within(expression.inner, Affine), expression.slope, expression.shift
    if slope == -1 and shift:
        return f"{shift!r} - {x}"
    scaled = {1.0: x, -1.0: f"-{x}"}.get(slope, f"{slope!r} * {x}")
    return f"{scaled} {'-' if shift < 0 else '+'} {abs(shift)!r}" if shift else scaled


@written.register
def _written_both(expression: Both) -> str:
    return " and ".join(
        f"({written(side)})" if _either(side) else written(side)
        for side in (expression.left, expression.right)
    )


@written.register
def _written_not(expression: Not) -> str:
    sides = _either(expression)
    return " or ".join(map(written, sides)) if sides else f"not {_within(expression.inner, Both, Not)}"


def _either(expression: Expression) -> tuple[Expression, ...]:
    """Return the sides of an or, which is kept as not (not a and not b)."""
    if not (isinstance(expression, Not) and isinstance(expression.inner, Both)):
        return ()
    left, right = expression.inner.left, expression.inner.right
    return (left.inner, right.inner) if isinstance(left, Not) and isinstance(right, Not) else ()


def _within(expression: Expression, *loose: type[Expression]) -> str:
    """Write in brackets what would bind less tightly than what stands around it."""
    return f"({written(expression)})" if isinstance(expression, loose) else written(expression)
