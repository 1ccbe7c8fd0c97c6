"""The sections about a family in groups: a line for each group, of each parameter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.catalogue import expect
from discreet.posteriors.grouped import GroupedPosterior
from discreet.release.release import Release
from discreet.report.findings import Findings
from discreet.report.subject import Group, Subject, Summary, quoted, subject


class GroupFindings:
    """Builds the findings of a release of groups: those of its family, with the groups as labels."""

    @staticmethod
    def of(release: Release) -> Findings:
        """Return what the release says of each group."""
        posterior = expect(GroupedPosterior, release.posterior)
        family = posterior.grouped.model
        own = replace(release, model=family, columns=posterior.grouped.of)
        asked, count = subject(own), len(posterior.parts)
        prior = Summary.of(family.in_units())
        repeated = Summary(
            *(np.repeat(part, count, axis=0) for part in (prior.mean, prior.deviation, prior.interval))
        )
        groups = tuple(
            _one_parameter(group, i, posterior.groups)
            for group in asked.groups
            for i in range(len(group.labels))
        )
        by = " and ".join(quoted(name) for name in posterior.grouped.by)
        title = f"{asked.title.removesuffix('?')}, by {by}?"
        return Findings(release, Subject(title, groups), repeated, Summary.of(posterior))


def _one_parameter(group: Group, i: int, groups: tuple[str, ...]) -> Group:
    """Return one coordinate of the family's θ in every group."""
    label = group.labels[i]
    of = f"{group.axis}, {label}" if len(group.labels) > 1 and label != group.axis else group.axis
    place = (group.first + i) * len(groups)
    named = f"{group.named(i)} in"
    return Group(named, of, groups, first=place, percent=group.percent)
