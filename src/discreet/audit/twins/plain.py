"""A twin of NoisyNumbers, broken on purpose."""

from __future__ import annotations

from dataclasses import replace

from discreet.audit.case import Case
from discreet.audit.cases.plain import discrete_laplace
from discreet.audit.twins.twin import Twins
from discreet.privacy.kinds import PureDP

twin = Twins()


@twin("noisy_numbers/one_cell", "a record that is replaced taken to move one cell of a histogram")
def one_cell() -> Case:
    """Claim κ = 1 of a record added [N19 Example 2.13] for one that is replaced, which moves two cells."""
    return replace(discrete_laplace(), claim=PureDP(0.5), epsilon=0.5)
