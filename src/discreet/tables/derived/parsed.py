"""What --where and --derive hold: a closed part of Python's syntax, read by `ast` and never evaluated.

Columns by name, or col("any name") · numbers, texts, True and False · == != < <= > >=, in chains too, in and
not in · and or not, or & | ~ · + - * / with numbers · .between(a, b) .isin([…]) .cut([…]) · constant(1).
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial, singledispatch
from typing import TYPE_CHECKING, Any, NoReturn

from discreet.tables.derived.columns import Column, Compare, Expression, col, constant
from discreet.tables.derived.joint import Joint
from discreet.tables.schema import Scalar

if TYPE_CHECKING:
    from discreet.tables.table import Table


LONGEST, DEEPEST, MOST_LEVELS = 2000, 30, 100  # beyond, engines and Python's stack give up less clearly

SIGNS: dict[type[ast.cmpop], tuple[str, str]] = {  # as written, and with its sides exchanged
    ast.Eq: ("==", "=="),
    ast.NotEq: ("!=", "!="),
    ast.Lt: ("<", ">"),
    ast.LtE: ("<=", ">="),
    ast.Gt: (">", "<"),
    ast.GtE: (">=", "<="),
}
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
LOGIC: dict[type[ast.operator | ast.boolop], Callable[[Any, Any], Any]] = {
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.And: operator.and_,
    ast.Or: operator.or_,
}
KNOWN = (
    "known: names, values, == != < <= > >= in, and or not, + - * /, .between .isin .cut, "
    "col(…), constant(…), joint(…)"
)


def selected(table: Table, derive: Mapping[str, str], where: Iterable[str]) -> Table:
    """Add the derived columns in their order, then keep the rows for which every predicate holds."""
    for name, text in derive.items():
        table = _applied(f"{name} = {text}", partial(_derived, table, name), parse(text))
    for text in where:
        table = _applied(text, table.where, parse(text))
    return table


def _derived(table: Table, name: str, expression: Expression) -> Table:
    return table.derive(**{name: expression})


def _applied(text: str, step: Callable[[Expression], Table], expression: Expression) -> Table:
    """Say in which text the schema found a fault."""
    try:
        return step(expression)
    except (KeyError, TypeError, ValueError) as error:
        words = str(error.args[0]) if error.args else str(error)
    raise ValueError(f"in {text!r}: {words}")


def parse(text: str) -> Expression:
    """Read one expression; whatever is not on the list above is refused by name."""
    source = text.strip()
    if not 0 < len(source) <= LONGEST:
        raise ValueError(
            f"an expression has 1 to {LONGEST} characters, got {len(source)}; give several, all of which hold"
        )
    found = _read(_tree(source), source)
    if isinstance(found, Expression):
        return found
    raise ValueError(f"{source!r} reads no column; the same number in every row is constant({source})")


def _tree(source: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an odd backslash is a fault, not a remark
            tree = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else "Python's parser does not accept it"
    else:
        if _depth(tree) <= DEEPEST:
            return tree
        why = f"it is nested more than {DEEPEST} deep, so join predicates by and, or, in"
    raise ValueError(
        f'cannot read {source!r}: {why}; write e.g. age >= 65 and ward in ["A", "B"], and a column whose '
        'name is not a plain word as col("its name")'
    )


def _depth(tree: ast.AST) -> int:
    level, depth = [tree], 0
    while level:
        level, depth = [child for node in level for child in ast.iter_child_nodes(node)], depth + 1
    return depth


def _refuse(node: ast.AST, source: str, why: str) -> NoReturn:
    got = ast.get_source_segment(source, node) or source
    raise ValueError(f"cannot read {got!r}: {why}")


@singledispatch
def _read(node: ast.AST, source: str) -> Expression | Scalar:
    """Build the expression of a node, or the value of a literal."""
    _refuse(node, source, f"{type(node).__name__} is not among the operations; {KNOWN}")


@_read.register
def _read_name(node: ast.Name, source: str) -> Expression:
    if ast.get_source_segment(source, node) != node.id:  # Python folds look-alikes into one name
        _refuse(node, source, 'this name has letters with look-alikes; write it as col("…")')
    return col(node.id)


@_read.register
def _read_constant(node: ast.Constant, source: str) -> Scalar:
    value = node.value
    if isinstance(value, bool | str):
        return value
    if not isinstance(value, int | float) or not _is_finite(value):
        _refuse(node, source, "a value is a finite number, a text in quotes, True or False")
    return value


@_read.register
def _read_bool_op(node: ast.BoolOp, source: str) -> Expression:
    return _folded(LOGIC[type(node.op)], [_column(value, source) for value in node.values])


@_read.register
def _read_unary_op(node: ast.UnaryOp, source: str) -> Expression | Scalar:
    if isinstance(node.op, ast.Not | ast.Invert):
        return ~_column(node.operand, source)
    inner = _term(node.operand, source)
    return -inner if isinstance(node.op, ast.USub) else inner


@_read.register
def _read_bin_op(node: ast.BinOp, source: str) -> Expression | Scalar:
    if type(node.op) in LOGIC:
        return _folded(LOGIC[type(node.op)], [_column(side, source) for side in (node.left, node.right)])
    if type(node.op) not in ARITHMETIC:
        _refuse(node, source, f"{type(node.op).__name__} is not among the operations; {KNOWN}")
    left, right = _term(node.left, source), _term(node.right, source)
    if isinstance(right, Expression) and (isinstance(left, Expression) or isinstance(node.op, ast.Div)):
        _refuse(node, source, "arithmetic holds one column and public numbers, e.g. 1.8 * celsius + 32")
    try:
        result: Expression | float = ARITHMETIC[type(node.op)](left, right)
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        return _refuse(node, source, f"the result is not finite ({error})")
    if isinstance(result, Expression) or _is_finite(result):
        return result
    return _refuse(node, source, "the result is not finite")


@_read.register
def _read_compare(node: ast.Compare, source: str) -> Expression:
    sides = [node.left, *node.comparators]
    pairs = zip(sides, node.ops, sides[1:], strict=False)
    return _folded(operator.and_, [_compared(node, *pair, source) for pair in pairs])


def _compared(node: ast.AST, first: ast.expr, sign: ast.cmpop, second: ast.expr, source: str) -> Expression:
    if isinstance(sign, ast.In | ast.NotIn):
        found = _among(_column(first, source), second, source)
        return ~found if isinstance(sign, ast.NotIn) else found
    if type(sign) not in SIGNS:
        _refuse(node, source, "compare with == or !=, not with is")
    left, right = _read(first, source), _read(second, source)
    as_written, exchanged = SIGNS[type(sign)]
    if isinstance(left, Expression) and not isinstance(right, Expression):
        return Compare(left, as_written, right)
    if isinstance(right, Expression) and not isinstance(left, Expression):
        return Compare(right, exchanged, left)
    return _refuse(node, source, "a comparison is between a column and a public value, e.g. age >= 65")


@_read.register
def _read_call(node: ast.Call, source: str) -> Expression:
    if node.keywords:
        _refuse(node, source, "give the arguments by position, without names")
    if isinstance(node.func, ast.Attribute):
        return _method(node, node.func, source)
    if isinstance(node.func, ast.Name) and node.func.id == "joint":
        return _joint(node, source)
    if isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and len(node.args) == 1:
        return FUNCTIONS[node.func.id](_read(node.args[0], source), node, source)
    return _refuse(node, source, f"it is not an operation on a row; {KNOWN}")


def _joint(node: ast.Call, source: str) -> Expression:
    read = [_read(argument, source) for argument in node.args]
    names = tuple(part.name for part in read if isinstance(part, Column))
    if len(set(names)) < max(2, len(read)):
        _refuse(node, source, "joint takes two or more different columns, e.g. joint(ward, smoker)")
    return Joint(names)


def _method(node: ast.Call, called: ast.Attribute, source: str) -> Expression:
    column, arguments = _column(called.value, source), len(node.args)
    if called.attr == "between" and arguments == 2:
        lower, upper = (_number(argument, source) for argument in node.args)
        return column.between(lower, upper)
    if called.attr == "isin" and arguments == 1:
        return _among(column, node.args[0], source)
    if called.attr == "cut" and arguments == 1:
        return column.cut([_number(edge, source) for edge in _items(node.args[0], source)])
    return _refuse(node, source, "columns have .between(lower, upper), .isin([…]) and .cut([…]), and no more")


def _named(name: Expression | Scalar, node: ast.AST, source: str) -> Expression:
    return col(name) if isinstance(name, str) else _refuse(node, source, 'col takes a text: col("its name")')


def _same(value: Expression | Scalar, node: ast.AST, source: str) -> Expression:
    if isinstance(value, Expression | str | bool):
        _refuse(node, source, "constant takes a number, e.g. constant(1)")
    return constant(value)


FUNCTIONS: dict[str, Callable[[Expression | Scalar, ast.AST, str], Expression]] = {
    "col": _named,
    "constant": _same,
}


# --- what may stand at a place ------------
def _column(node: ast.AST, source: str) -> Expression:
    found = _read(node, source)
    if not isinstance(found, Expression):
        _refuse(
            node, source, "a column or a comparison belongs here; & and | bind more tightly than "
            "comparisons, so write and, or, not, or put every comparison in brackets"
        )  # fmt: skip
    return found


def _term(node: ast.AST, source: str) -> Expression | float:
    found = _read(node, source)
    if isinstance(found, str | bool):
        _refuse(node, source, "arithmetic needs numbers")
    return found


def _number(node: ast.AST, source: str) -> float:
    found = _term(node, source)
    return _refuse(node, source, "a public number belongs here") if isinstance(found, Expression) else found


def _items(node: ast.AST, source: str) -> list[ast.expr]:
    if not isinstance(node, ast.List | ast.Tuple) or not 1 <= len(node.elts) <= MOST_LEVELS:
        _refuse(node, source, f"a list of 1 to {MOST_LEVELS} values in square brackets belongs here")
    return node.elts


def _among(column: Expression, node: ast.AST, source: str) -> Expression:
    found = [_read(item, source) for item in _items(node, source)]
    if any(isinstance(level, Expression) for level in found):
        _refuse(node, source, "lists hold public values")
    return column.isin([level for level in found if not isinstance(level, Expression)])


def _folded(join: Callable[[Any, Any], Any], parts: list[Expression]) -> Expression:
    """Join in halves: engines compile by recursion, and a chain of a hundred is too deep for some."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    joined: Expression = join(_folded(join, parts[:middle]), _folded(join, parts[middle:]))
    return joined


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond doubles
        return False
