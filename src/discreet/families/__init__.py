"""Likelihoods with their conjugate priors, one per file."""

from typing import Any

from discreet.catalogue import FAMILY, ROWS, names, resolve

_HOMES = {
    "FAMILIES": "families.registry:FAMILIES",
    "Family": "families.family:Family",
    "Sensitivity": "families.family:Sensitivity",
    **{ROWS[name].model.partition(":")[2]: ROWS[name].model for name in names(FAMILY)},
}
__all__ = sorted(_HOMES)  # noqa: PLE0605 - a sorted list of strings, computed


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the names above
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve(_HOMES[name])
