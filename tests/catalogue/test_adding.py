"""The steps of docs/adding.md, taken on a copy of the package: a file, a row, and nothing else is edited."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.posteriors.scalar.read import read

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs/examples"
PAGE = (ROOT / "docs/adding.md").read_text()
STUB = "from discreet.families.beta_negative_binomial import BetaNegativeBinomial as BetaNegativeBinomial"
WALK = 15  # tests of one family in the walk


def row_for(name):
    """The row that the page shows for an example."""
    blocks = re.findall(r"```py\n(.*?)```", PAGE, flags=re.DOTALL)
    (row,) = (block for block in blocks if f'"{name}"' in block)
    return row


def copied(home, *, file, folder, row, table, before):
    """A copy of the package with one file more, and one row more in front of the end of a table."""
    package = home / "discreet"
    shutil.copytree(Path(discreet.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(EXAMPLES / file, package / folder)
    text = (package / table).read_text()
    assert text.count(before) == 1
    (package / table).write_text(text.replace(before, row + before))
    return home


def stubbed(home):
    """What `make stub` writes for type checkers follows from the catalogue."""
    subprocess.run(
        [sys.executable, "-m", "discreet.stub"],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(home)},
        check=True,
    )
    return home


def hold(home, chosen, *tests):
    """Run tests of this project over the copy; some must be about what was added."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    plain = ("-q", "-p", "no:cacheprovider", "-k", chosen, *tests)
    done = subprocess.run(  # noqa: S603 - our own tests
        [sys.executable, "-m", "pytest", *plain],
        cwd=ROOT,
        env={**os.environ, **one_thread, "PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return int(re.search(r"(\d+) passed", done.stdout)[1])


@pytest.fixture(scope="module")
def with_the_family(tmp_path_factory):
    home = copied(
        tmp_path_factory.mktemp("family"),
        file="beta_negative_binomial.py",
        folder="families",
        row=row_for("beta_negative_binomial"),
        table="catalogue.py",
        before=")\nROWS: ",
    )
    return stubbed(home)


def test_a_family_of_one_file_and_one_row_walks_the_whole_line_and_is_held_to_every_law(with_the_family):
    """Schema, plan, mechanisms, readings, save and load, report, certificate, audit, command; then the laws.

    Left out are the slow ones: many draws, and audits of every mechanism.
    """
    assert STUB in (with_the_family / "discreet/__init__.pyi").read_text()
    about = "(negative_binomial or every_family or family_is_registered or stated or stub)"
    passed = hold(
        with_the_family,
        f"{about} and not draws_follow_the_law and not tier_2",
        "tests/catalogue/test_walk.py",
        "tests/laws",
        "tests/audit/test_cases.py",
        "tests/line/test_matrix.py",
        "tests/test_structure.py",
    )
    assert passed > WALK + 40


def test_the_family_is_not_there_before():
    assert "beta_negative_binomial" not in discreet.families.FAMILIES


# ── a mechanism ──────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def with_the_mechanism(tmp_path_factory):
    return copied(
        tmp_path_factory.mktemp("mechanism"),
        file="balanced.py",
        folder="mechanisms/posterior",
        row=row_for("balanced"),
        table="mechanisms/registry.py",
        before="}\n_NAME = ",
    )


def test_a_mechanism_of_one_file_and_one_row_walks_the_whole_line_and_is_audited(with_the_mechanism):
    """With every family that has a pair, or refused; planned; fitted by the command; its twin is caught.

    A plan beside one family: those of normal families would compile their kernels for this copy.
    """
    passed = hold(
        with_the_mechanism,
        "balanced or (every and (registered or twin or case)) or stated"
        " or (plan_compares and beta_bernoulli)",
        "tests/catalogue/test_walk.py",
        "tests/mechanisms/test_registry.py",
        "tests/audit",
        "tests/line/test_matrix.py",
    )
    assert passed > 90


# ── the family's posterior, by brute force ────────────────────────────────────────────────────────────
def example(file):
    spec = importlib.util.spec_from_file_location(Path(file).stem, EXAMPLES / file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def sums(p, n, successes, upper):
    """P(S = s | p) of n clipped records, by convolution."""
    one = stats.nbinom.pmf(np.arange(upper), successes, p)
    one = np.append(one, stats.nbinom.sf(upper - 1, successes, p))
    law = np.ones(1)
    for _ in range(n):
        law = np.convolve(law, one)
    return law


@pytest.mark.parametrize("noisy", [-3, 9, 21, 40])
def test_the_noise_aware_posterior_is_that_of_enumeration(noisy):
    """p(p | Ŝ) ∝ Beta(p)·Σ_s P(s | p)·e^{−|Ŝ−s|/b}: all sums of four records, 4000 midpoints of p."""
    alpha, beta, successes, upper, n, scale = 3.25, 2, 3, 8, 4, 5
    model = example("beta_negative_binomial.py").BetaNegativeBinomial(alpha, beta, successes, upper)
    mechanism = NoisyStatistics(model, n=n, noise="discrete_laplace", scale=scale)
    found = read(mechanism.as_release((noisy,), seeded=True), model, clips=True)
    p = (np.arange(4000) + 0.5) / 4000
    noise = np.exp(-np.abs(noisy - np.arange(n * upper + 1)) / scale)
    mass = stats.beta.pdf(p, alpha, beta) * [sums(x, n, successes, upper) @ noise for x in p]
    mass /= mass.sum()
    assert found.flat_mean()[0] == pytest.approx(mass @ p, rel=1e-5)
    assert found.flat_variance()[0] == pytest.approx(mass @ (p - mass @ p) ** 2, rel=1e-4)
    for edge in (0.2, 0.4, 0.7):
        assert found.cdf(edge) == pytest.approx(mass[p < edge].sum(), abs=1e-5)
