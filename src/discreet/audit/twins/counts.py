"""Twins of NoisyCounts, broken on purpose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.audit.cases.counts import discrete_gaussian, discrete_laplace
from discreet.audit.twins.twin import BOTH, Twin
from discreet.privacy.kinds import PureDP, ZeroCDP

if TYPE_CHECKING:
    from discreet.audit.case import Case


def second_table_for_free() -> Case:
    """Scales 4 and 8 claimed as the ε = 2/4 of the first table: but both are of the same records."""
    return replace(
        discrete_laplace(), name="noisy_counts/second_table_for_free", claim=PureDP(0.5), epsilon=0.5
    )


def one_cell_a_table() -> Case:
    """ρ = Σ 1/(2σ²), as if a substitution moved one cell of a table and not two."""
    claim = ZeroCDP(1 / 8 + 1 / 18)
    return replace(discrete_gaussian(), name="noisy_counts/one_cell_a_table", claim=claim)


COUNT_TWINS: dict[str, Twin] = {
    "noisy_counts/second_table_for_free": Twin(
        "noisy_counts",
        "tables of the same records counted as disjoint ones",
        BOTH,
        second_table_for_free,
    ),
    "noisy_counts/one_cell_a_table": Twin(
        "noisy_counts", "a substitution taken to move one cell of a table", BOTH, one_cell_a_table
    ),
}
