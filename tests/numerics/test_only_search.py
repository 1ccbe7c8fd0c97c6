"""Nothing is bisected by hand outside numerics/search.py, but for what stands here with its reason."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import discreet

if TYPE_CHECKING:
    from collections.abc import Iterator

SRC = Path(discreet.__file__).parent
# Searches by halving that stay outside numerics/search.py, and why.
OTHER_SEARCHES = {
    "privacy/accounting/conversions.py:_illinois": "regula falsi, which halves when it stalls",
    "privacy/under_metric/relaxed.py:_omega": "needs both ends, for the ball between them",
    "posteriors/counts/nested_counts.py:_meeting": "needs the values at both ends, to interpolate",
    "posteriors/counts/nested_counts.py:_class_total": "Newton's rule, which halves where it would leave",
}


# the middle of two names, brackets left out: (a + b) / 2, a + (b - a) / 2, sqrt(a * b) and the like
MIDDLE = re.compile(
    r"(\w+) \+ (\w+) (?:/ 2|// 2|>> 1|\* 0\.5)|0\.5 \* (\w+) \+ (\w+)|(?:math\.|np\.)?sqrt(\w+) \* (\w+)"
    r"|(\w+) \+ (\w+) - \7 //? 2|(\w+) \+ 0\.5 \* (\w+) - \9"
)

KERNEL = re.compile(r"njit|kernel|inlined")


def _ends(value: ast.expr) -> Iterator[set[str]]:
    """Yield the two names of every middle within an expression."""
    for node in ast.walk(value):
        found = MIDDLE.fullmatch(re.sub(r"[()]", "", ast.unparse(node)))
        if found:
            yield set(found.groups()) - {None}


def _set_by(step: ast.AST) -> set[str]:
    """Names that an assignment sets."""
    targets = step.targets if isinstance(step, ast.Assign) else [step.target]
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def _searches(tree: ast.Module) -> set[str]:
    """Names of functions with a loop that takes the middle of two names and moves both; no kernels."""
    found = set()
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        if any(KERNEL.search(ast.unparse(decorator)) for decorator in function.decorator_list):
            continue
        for loop in (n for n in ast.walk(function) if isinstance(n, ast.While | ast.For)):
            steps = [n for n in ast.walk(loop) if isinstance(n, ast.Assign | ast.NamedExpr)]
            moved = set().union(*map(_set_by, steps))
            if any(ends <= moved - _set_by(step) for step in steps for ends in _ends(step.value)):
                found.add(function.name)
    return found


def test_every_search_by_halving_is_in_numerics():
    found = {
        f"{path.relative_to(SRC).as_posix()}:{name}"
        for path in SRC.rglob("*.py")
        if path.parent != SRC / "numerics"
        for name in _searches(ast.parse(path.read_text()))
    }
    assert found == set(OTHER_SEARCHES)


@pytest.mark.parametrize(
    "middle",
    [
        "(a + b) / 2",
        "(a + b) // 2",
        "a + (b - a) / 2",
        "0.5 * (a + b)",
        "math.sqrt(a * b)",
        "a + b >> 1",
        "f(a + 0.5 * (b - a))",
    ],
)
def test_a_search_by_halving_is_seen(middle):
    loop = f"def f(a, b):\n while g(a, b):\n  m = {middle}\n  a, b = (a, m) if h(m) else (m, b)"
    assert _searches(ast.parse(loop)) == {"f"}
    assert not _searches(ast.parse(loop.replace("while g(a, b)", "if g(a, b)")))
