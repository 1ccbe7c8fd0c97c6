"""Twins of NoisyCounts, broken on purpose."""

from __future__ import annotations

from dataclasses import replace

from discreet.audit.case import Case
from discreet.audit.cases.counts import discrete_gaussian, discrete_laplace
from discreet.audit.twins.twin import Twins
from discreet.privacy.kinds import PureDP, ZeroCDP

twin = Twins()


@twin("noisy_counts/second_table_for_free", "tables of the same records counted as disjoint ones")
def second_table_for_free() -> Case:
    """Scales 4 and 8 claimed as the ε = 2/4 of the first table: but both are of the same records."""
    return replace(discrete_laplace(), claim=PureDP(0.5), epsilon=0.5)


@twin("noisy_counts/one_cell_a_table", "a substitution taken to move one cell of a table")
def one_cell_a_table() -> Case:
    """ρ = Σ 1/(2σ²), as if a substitution moved one cell of a table and not two."""
    claim = ZeroCDP(1 / 8 + 1 / 18)
    return replace(discrete_gaussian(), claim=claim)
