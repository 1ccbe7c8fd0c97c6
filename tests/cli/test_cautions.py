"""What was read, and what the reading says against itself, is told with the numbers."""

from types import SimpleNamespace as Posterior

import pytest

from discreet.cli.printed.errors import reworded
from discreet.cli.printed.release import cautions, read_as


def _release(reading="noise_aware", modes=(), promised=(), **said):
    certificate = {"cautions": list(promised)}
    return Posterior(
        reading=reading, posterior=Posterior(modes=modes, **said), certificate=lambda: certificate
    )


@pytest.mark.parametrize(
    ("modes", "words"),
    [(((0, 2, 1),), "3 chains found one answer"), (((1,), (0, 2)), "3 chains found 2 DIFFERENT ANSWERS")],
)
def test_chains_that_disagree_are_told(modes, words):
    assert words in read_as(_release(modes=modes))


def test_the_reading_is_named():
    assert read_as(_release()).startswith("noise-aware: ")
    assert read_as(_release("naive")).startswith("naive: ")
    assert read_as(_release("draws")).startswith("draws are all")


def test_cautions_are_repeated():
    assert cautions(_release(cautions=())) == []
    both = _release(cautions=("too narrow", "empty cells"), promised=("δ ≥ 1/n",))
    assert cautions(both) == ["δ ≥ 1/n", "too narrow", "empty cells"]  # of the promise, then of the reading


def test_a_table_is_named_as_on_the_command_line():
    assert reworded("name one with table=…") == "name one with --table"
    assert (
        reworded("the database has no table 'x'; check table=")
        == "the database has no table 'x'; check --table"
    )
