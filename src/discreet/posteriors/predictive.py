"""Records that a family's posterior expects: one for each draw of its parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.catalogue import expect
from discreet.families.family import Family, Floats
from discreet.posteriors.labels import MEASURE
from discreet.posteriors.posterior import Posterior, generator
from discreet.posteriors.variables import SAMPLES, labelled
from discreet.sampling.source import Source

if TYPE_CHECKING:
    import xarray as xr


def predicted(posterior: Posterior, draws: Floats, source: Source) -> dict[str, xr.DataArray]:
    """One record for each of the draws (chains, draws, parameters); empty where the family draws none."""
    theta = draws.reshape(-1, draws.shape[-1])
    records = expect(Family, posterior.model).draw_records(theta, generator(source))
    if records is None:
        return {}
    columns, width = posterior.labels.columns, records.shape[1]
    axes = [(MEASURE, posterior.labels.axis(width, "column"))] if width > 1 else []
    name = columns[0] if len(columns) == 1 else "record"
    values = records.reshape(*draws.shape[:2], *([width] if axes else []))
    return {name: labelled(values, axes, (*SAMPLES, name))}
