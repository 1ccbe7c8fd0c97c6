"""A twin of GroupedStatistics, broken on purpose."""

from __future__ import annotations

from dataclasses import replace

from discreet.audit.case import Case
from discreet.audit.cases.grouped import moved_discrete_laplace
from discreet.audit.twins.twin import Twins
from discreet.privacy.kinds import PureDP

twin = Twins()


@twin("grouped_statistics/moved_as_one", "a record that changes its group taken to move one group alone")
def moved_as_one() -> Case:
    """Claim 1/b = 1/2 of the dearest part, where the key is private and a substituted record changes two."""
    return replace(moved_discrete_laplace(), claim=PureDP(0.5), epsilon=0.5)
