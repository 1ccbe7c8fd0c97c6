"""How a release was read, and what the reading says against itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.release.release import Release

READ = {
    "noise_aware": "noise-aware: the noise is part of the model, and intervals allow for it",
    "naive": "naive: as if there were no noise, so intervals are too narrow",
    "predictive": "predictive: made for predictions; its intervals are not the weights'",
    "draws": "draws are all that was released: a further draw, or an interval, would cost again",
}


def read_as(release: Release) -> str:
    """Name the reading and, where chains ran that may disagree, whether they do."""
    said = READ.get(release.reading, release.reading)
    modes = release.posterior.modes
    if not modes:
        return said
    found = "one answer" if len(modes) == 1 else f"{len(modes)} DIFFERENT ANSWERS, and the likeliest is shown"
    return f"{said}; {sum(map(len, modes))} chains found {found}"


def cautions(release: Release) -> list[str]:
    """Repeat where intervals are not to be trusted, and what is allowed but may surprise."""
    return [*release.certificate()["cautions"], *release.posterior.cautions]
