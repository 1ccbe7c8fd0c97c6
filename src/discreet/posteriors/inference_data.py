"""Posteriors as a DataTree that ArviZ reads, from 0.23 on. The only module that imports ArviZ."""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from discreet.families.family import Family
from discreet.posteriors.posterior import Posterior
from discreet.posteriors.predictive import predicted
from discreet.sampling.source import SeededSource, Source

if TYPE_CHECKING:
    import xarray as xr


# Draws of a posterior that is public already need no secret bits: a seed makes the file reproducible.
PUBLIC_SEED = 20250101


def inference_data(
    posterior: Posterior,
    *,
    draws: int = 1000,
    source: Source | None = None,
    facts: Mapping[str, str] | None = None,
) -> xr.DataTree:
    """Make the groups `posterior`, with `facts`, and `prior`, and of families the records that each expects.

    Chains are kept apart and thinned to `draws` each; where none ran, `draws` fresh draws are one chain.
    """
    bits = source or SeededSource(PUBLIC_SEED)
    held, before = posterior.by_chain(draws, bits), posterior.prior_sample(draws, bits)
    groups = {"posterior": posterior.beside(draws) | posterior.arranged(held)}
    if before is not None:
        groups["prior"] = posterior.arranged(before[None])
    if isinstance(posterior.model, Family):
        groups["posterior_predictive"] = predicted(posterior, held, bits)
        if before is not None:
            groups["prior_predictive"] = predicted(posterior, before[None], bits)
    groups = {name: parts for name, parts in groups.items() if parts}
    made = _arviz().from_dict(
        {group: {name: part.values for name, part in parts.items()} for group, parts in groups.items()},
        coords={
            name: part.coords[name].values
            for parts in groups.values()
            for part in parts.values()
            for name in part.coords
        },
        dims={name: list(part.dims[2:]) for parts in groups.values() for name, part in parts.items()},
    )
    for name in groups:
        made[name].attrs.pop("created_at", None)  # the release says when; a second clock would time the work
    made["posterior"].attrs.update(facts or {})
    return made


def in_bytes(data: xr.DataTree) -> bytes:
    """Write netCDF in memory: HDF5 ends the process if the disk is full while it writes there."""
    import h5netcdf  # noqa: PLC0415 - an extra
    from xarray.backends import H5NetCDFStore  # noqa: PLC0415

    held = io.BytesIO()
    with h5netcdf.File(held, "w") as file:
        for name, node in data.children.items():
            group = node.to_dataset()
            packed = {
                key: {"zlib": True} for key, part in group.data_vars.items() if part.dtype.kind in "biuf"
            }
            group.dump_to_store(H5NetCDFStore(file.create_group(name)), encoding=packed)
    return held.getvalue()


def read(path: Path) -> xr.DataTree:
    from xarray import load_datatree  # noqa: PLC0415 - heavy

    _arviz()
    return load_datatree(path, engine="h5netcdf")


def available() -> None:
    """Refuse early, before anything is written, when the extra is missing."""
    _arviz()


def _arviz() -> ModuleType:
    try:
        import arviz_base  # noqa: PLC0415 - heavy, and an extra

        for name in ("h5py", "h5netcdf"):  # what write the file
            importlib.import_module(name)
    except ImportError as missing:
        raise ImportError(
            f"InferenceData needs {missing.name}: pip install 'discreet[arviz]', or save with draws=0"
        ) from missing
    found: ModuleType = arviz_base
    return found
