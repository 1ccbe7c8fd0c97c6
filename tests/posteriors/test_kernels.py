"""Every compiled chain behind a reading of a release, and the joint test (Geweke 2004) that it gets it right.

The kernels of `mcmc/registry.py` have their own list, in test_getting_it_right. Those here look at released
numbers only: they promise nothing and cost nothing, but their law is what intervals rest on.
"""

import ast
import re
from pathlib import Path

import pytest

import discreet
from discreet.posteriors.hidden_markov.chain import READINGS_OF, StateChain

POSTERIORS = Path(discreet.__file__).parent / "posteriors"
TESTS = Path(__file__).parents[1]

HMM = "posteriors/hidden_markov/test_kernels_geweke.py"
HMM_COUNTS = f"{HMM}::test_count_kernels_keep_the_joint_law_and_a_tempered_twin_does_not"
HMM_NOISE = (
    f"{HMM}::test_noise_aware_moves_keep_the_joint_law_and_a_twin_that_believes_in_less_noise_does_not"
)
MOMENTS = (
    "posteriors/normal/test_moments_geweke.py"
    "::test_the_walk_keeps_the_law_of_the_moments_and_a_twin_that_believes_in_less_noise_does_not"
)
NORMAL = "posteriors/normal/test_getting_it_right.py::test_the_kernel_keeps_the_prior"
RECORDS = "posteriors/network/test_records_geweke.py::test_the_chain_keeps_the_prior"

PATHS = "hidden_markov/kernels/paths"
COUNTS = ("hidden_markov/exact_counts", "hidden_markov/kernels/scores", PATHS)
MOVES = ("hidden_markov/kernels/noisy_moves", PATHS)

# kernel → the files that draw in it, and the test that would catch a wrong law
KERNELS = {
    "network": (("network/kernel", "network/exchange_kernel"), RECORDS),
    "mixture": (("mixture/kernel", "network/kernel", "network/exchange_kernel"), RECORDS),
    "normal, moments": (("normal/moments_kernel", "normal/augment_kernel"), MOMENTS),
    "normal, records": (("normal/augment_kernel", "normal/algebra_kernel"), NORMAL),
    "normal, limit": (("normal/limit_kernel", "normal/algebra_kernel"), NORMAL),
    "hmm, ffbs, counts": (COUNTS, HMM_COUNTS),
    "hmm, collapsed, counts": (COUNTS, HMM_COUNTS),
    "hmm, ffbs, noise_aware": (MOVES, HMM_NOISE),
    "hmm, collapsed, noise_aware": (MOVES, HMM_NOISE),
}
# independent draws, no chain: held to enumeration by tests/attacks/test_counts_behind_noise.py
INDEPENDENT = {"counts/kernel"}


def draws(path: Path) -> bool:
    """Whether a file holds compiled code that draws random numbers"""
    text = path.read_text(encoding="utf-8")
    compiled = re.search(r"^@(njit|kernel)\b", text, re.MULTILINE)
    return bool(compiled and re.search(r"np\.random\.", text))


def listed() -> set[str]:
    return {name for files, _ in KERNELS.values() for name in files}


def test_every_file_that_draws_belongs_to_a_kernel_with_a_joint_test():
    found = {
        path.relative_to(POSTERIORS).with_suffix("").as_posix()
        for path in POSTERIORS.rglob("*.py")
        if draws(path)
    }
    assert found == listed() | INDEPENDENT


def test_the_rule_finds_kernels_by_what_they_do():
    """Not by their names: a compiled sweep in a file called otherwise is found, arithmetic is not."""
    assert draws(POSTERIORS / "hidden_markov/kernels/paths.py")
    assert draws(POSTERIORS / "network/exchange_kernel.py")
    assert not draws(POSTERIORS / "hidden_markov/noisy_count_law.py")
    assert not draws(POSTERIORS / "hidden_markov/posterior.py")


@pytest.mark.parametrize("name", KERNELS)
def test_its_joint_test_exists_and_has_a_twin_that_must_fail(name):
    file, _, test = KERNELS[name][1].partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    tests = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert test in tests
    asserts = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    assert any(isinstance(part, ast.Gt) for node in asserts for part in ast.walk(node))  # a z that is large


def test_both_paths_are_tested_with_and_without_noise():
    """The naive reading is the exact one of clipped counts."""
    assert set(READINGS_OF) == {"exact", "naive", "noise_aware"}
    wanted = {f"hmm, {path}, {what}" for path in StateChain.PATHS for what in ("counts", "noise_aware")}
    assert {name for name in KERNELS if name.startswith("hmm, ")} == wanted
