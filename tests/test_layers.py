"""All that is right of the release is post-processing: it cannot reach tables, the budget or fresh draws."""

import subprocess
import sys

import pytest

import discreet

FORBIDDEN = ("discreet.tables", "discreet.statistics", "discreet.ledger", "discreet.privatise")
PURE = (  # the released values and their folders, and nothing that draws
    "discreet.mechanisms.released",  # what they have in common
    "discreet.mechanisms.regression",
    "discreet.mechanisms.statistics",
    "discreet.mechanisms.statistics.noisy_statistic",
    "discreet.mechanisms.statistics.noisy_groups",
    "discreet.mechanisms.statistics.noisy_plain",
    "discreet.mechanisms.regression.noisy_moments",
    "discreet.mechanisms.regression.perturbed_fit",
)
RIGHT = [
    "discreet.release.release",
    "discreet.release.certificate",
    "discreet.posteriors.inference_data",
    "discreet.posteriors.labels",
]


def loaded_by(module):
    script = f"import sys, {module}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    return set(done.stdout.split())


@pytest.mark.parametrize("module", RIGHT)
def test_post_processing_loads_neither_data_nor_budget_nor_mechanisms(module):
    loaded = loaded_by(module)
    assert module in loaded
    assert not {name for name in loaded if name in FORBIDDEN or name.startswith("discreet.tables.")}
    drawing = {name for name in loaded if name.startswith("discreet.mechanisms.")} - set(PURE)
    assert not drawing
    assert not loaded & {"arviz", "xarray", "ibis", "sqlalchemy", "pandas", "duckdb"}


def test_the_probe_sees_what_the_walk_loads():
    assert {"discreet.tables.table", "discreet.statistics"} <= loaded_by("discreet.privatise")


def test_arviz_is_named_in_one_module():
    from pathlib import Path

    home = Path(discreet.__file__).parent
    named = [path for path in home.rglob("*.py") if "import arviz" in path.read_text()]
    assert [path.name for path in named] == ["inference_data.py"]
