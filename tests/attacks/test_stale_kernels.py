"""A changed kernel is never run from the machine code of its callers in other files."""

import ast
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import discreet
from discreet import compiled

PACKAGE = Path(discreet.__file__).parent
# shift, in one file, is compiled with log_gain, of another, inside it: ln η(1) − ln η(3) at 1/b = 1
SCRIPT = """
import sys, numpy as np
from discreet.posteriors.network.exchange_kernel import shift
print(shift(0, 2.0, np.array([3.0]), 1.0, False), sum(shift.stats.cache_hits.values()))
"""


@pytest.fixture
def copy(tmp_path):
    """Source files of the package, alone in a folder that is no one else's."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "src" / "discreet"


def run(copy, **environment):
    told = {"PATH": os.environ["PATH"], "HOME": str(copy.parent / "home"), "PYTHONPATH": str(copy.parent)}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-B", "-c", SCRIPT],
        env=told | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    value, hits = done.stdout.split()
    return float(value), int(hits)


def test_a_caller_follows_its_callee_in_another_file(copy):
    assert run(copy) == (2.0, 0)
    assert run(copy) == (2.0, 1)  # from the cache
    callee = copy / "posteriors" / "network" / "kernel.py"
    text = callee.read_text()
    assert text.count("return sharpness * (abs") == 1
    callee.write_text(text.replace("return sharpness * (abs", "return 5.0 * sharpness * (abs"))
    assert run(copy) == (10.0, 0)


RACE = """
import numpy as np
from discreet.posteriors.network.exchange_kernel import shift
input(print("ready", flush=True) or "")
print(shift(0, 2.0, np.array([3.0]), 1.0, False), sum(shift.stats.cache_misses.values()))
"""


def test_processes_that_start_together_compile_a_kernel_once(copy):
    """One compiles it, the others wait and load it."""
    told = {"PATH": os.environ["PATH"], "HOME": str(copy.parent / "home"), "PYTHONPATH": str(copy.parent)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-B", "-c", RACE]
    racing = [subprocess.Popen(command, env=told, **pipes) for _ in range(3)]  # noqa: S603
    assert [process.stdout.readline() for process in racing] == ["ready\n"] * 3
    for process in racing:
        process.stdin.write("\n")
        process.stdin.flush()
    answers = [process.communicate()[0].split() for process in racing]
    assert sorted(answers) == [["2.0", "0"], ["2.0", "0"], ["2.0", "1"]]


def test_where_nothing_can_be_written_beside_the_package_the_cache_is_at_home_or_nowhere(copy):
    (copy / "__pycache__").write_text("no folder")
    (copy.parent / "home").mkdir()
    assert [run(copy), run(copy)] == [(2.0, 0), (2.0, 1)]
    assert [run(copy, HOME="/dev/null"), run(copy, HOME="/dev/null")] == [(2.0, 0), (2.0, 0)]
    elsewhere = {"NUMBA_CACHE_DIR": str(copy.parent / "there"), "HOME": "/dev/null"}
    assert [run(copy, **elsewhere), run(copy, **elsewhere)] == [(2.0, 0), (2.0, 1)]


def test_machine_code_of_sources_long_gone_is_cleared_away(tmp_path):
    old, young, other = (tmp_path / name for name in ("kernels-old", "kernels-young", "other"))
    for folder in (old, young, other):
        folder.mkdir()
        (folder / "code").touch()
    for folder in (old, other):
        os.utime(folder, 2 * (time.time() - compiled.KEPT - 60,))
    assert compiled._is_ours(tmp_path / "kernels-now")
    assert {path.name for path in tmp_path.iterdir()} == {"kernels-young", "kernels-now", "other"}


class Untyped(ast.NodeTransformer):
    """Takes out annotations and type aliases: numba compiles none of them."""

    def visit_AnnAssign(self, node):
        return None if ast.unparse(node.annotation) == "TypeAlias" else self.generic_visit(node)

    def generic_visit(self, node):
        for field in {"annotation", "returns"} & set(node._fields):
            setattr(node, field, None)
        return super().generic_visit(node)


def imported(name):
    """Modules of the package from which a file takes what it runs, and not what only names a type."""
    tree = ast.parse((PACKAGE / f"{name.replace('.', '/')}.py").read_text())
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    # one name in each import from the package, nothing as a whole: used are names, not attributes
    assert not [node for node in froms if node.module == "discreet" or node.level]
    assert "import discreet" not in ast.unparse(tree)
    used = {node.id for node in ast.walk(Untyped().visit(tree)) if isinstance(node, ast.Name)}
    taken = [node for node in froms if any((alias.asname or alias.name) in used for alias in node.names)]
    return {node.module.removeprefix("discreet.") for node in taken if node.module.startswith("discreet.")}


def test_a_type_alone_is_not_compiled_and_whatever_else_is_taken_is():
    assert imported("sampling.in_bulk.attempts") == {
        "compiled", "sampling.in_bulk.elementary", "sampling.in_bulk.strips",
    }  # fmt: skip


def test_the_digest_holds_kernels_and_what_they_import_and_nothing_else():
    def compiles(name):
        return name == "compiled" or any(map(compiles, imported(name)))

    kernels = set(filter(compiles, compiled.SOURCES))
    assert set(compiled.SOURCES) == kernels.union(*map(imported, kernels))


def test_all_that_is_compiled_into_a_kernel_is_in_the_digest(tmp_path):
    for name in compiled.SOURCES:
        assert imported(name) <= set(compiled.SOURCES), name
        target = tmp_path / f"{name.replace('.', '/')}.py"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((PACKAGE / target.relative_to(tmp_path)).read_bytes())
    seen = {compiled.digest(PACKAGE)}
    assert compiled.digest(tmp_path) in seen
    for name in compiled.SOURCES:
        with (tmp_path / f"{name.replace('.', '/')}.py").open("a") as source:
            source.write("\n")
        assert compiled.digest(tmp_path) not in seen
        seen.add(compiled.digest(tmp_path))


def test_no_kernel_has_a_cache_of_its_own():
    """What numba compiles apart from this one place, it compiles anew in every process."""
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    assert not [path.name for path, text in texts.items() if "cache=True" in text]
    direct = {path.name for path, text in texts.items() if "from numba import njit" in text}
    assert not direct


def test_a_kernel_in_a_file_that_the_digest_leaves_out_is_refused():
    with pytest.raises(RuntimeError, match="add it to SOURCES"):
        compiled.njit(run)
