"""Posteriors as ArviZ InferenceData. The only module that imports arviz."""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Mapping
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from discreet.families.family import Family, Floats
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.posteriors.drawn import DrawnPosterior
from discreet.posteriors.named_parameters import named
from discreet.posteriors.posterior import Posterior
from discreet.posteriors.regression.coefficients import NormalCoefficients
from discreet.posteriors.tables import TablePosterior
from discreet.sampling.source import SeededSource, Source

# Draws of a posterior that is public already need no secret bits: a seed makes the file reproducible.
PUBLIC_SEED = 20250101


def inference_data(
    posterior: Posterior,
    prior: Family | CountModel | GeneralizedLinear,
    *,
    draws: int = 1000,
    source: Source | None = None,
    facts: Mapping[str, str] | None = None,
) -> Any:  # noqa: ANN401 - arviz.InferenceData
    """Make the groups `posterior` (one chain; released draws as they are) and `prior`, with `facts`."""
    bits = source or SeededSource(PUBLIC_SEED)
    made = _arviz().from_dict(**_groups(prior, posterior, draws, bits))
    for name in made.groups():
        made[name].attrs.pop("created_at", None)  # the release says when; a second clock would time the work
    made.posterior.attrs.update(facts or {})
    return made


@singledispatch
def _groups(prior: Any, posterior: Posterior, draws: int, source: Source) -> dict[str, Any]:  # noqa: ANN401
    """Variables by name, the chain first, in groups."""
    theta = _drawn(posterior, draws, source)
    before = prior.sample(draws, source)
    return {
        group: {name: values[None] for name, values in named(prior, held).items()}
        for group, held in (("posterior", theta.reshape(len(theta), *before.shape[1:])), ("prior", before))
    }


@_groups.register(CountModel)
def _groups_count_model(
    prior: CountModel, posterior: TablePosterior, draws: int, source: Source
) -> dict[str, Any]:
    """Take the prior as a group where the posterior can be had without data."""
    del prior
    groups = {"posterior": posterior.by_chain(_held(posterior, draws), source)}
    without = posterior.prior()
    return groups | ({} if without is None else {"prior": without.by_chain(draws, source)})


@_groups.register(GeneralizedLinear)
def _groups_generalized_linear(
    prior: GeneralizedLinear, posterior: Posterior, draws: int, source: Source
) -> dict[str, Any]:
    """Take the weights as one variable, by the name of each."""
    d = prior.dimension
    before = NormalCoefficients(prior, np.zeros(d), np.eye(d) / float(prior.strength))
    return {
        "posterior": {"weights": _drawn(posterior, draws, source)[None]},
        "prior": {"weights": before.flat_sample(draws, source)[None]},
        "coords": {"weight": list(prior.names)},
        "dims": {"weights": ["weight"]},
    }


def _held(posterior: Posterior, draws: int) -> int:
    """Return how many draws can be had: of released ones no more than there are."""
    return posterior.size if isinstance(posterior, DrawnPosterior) else draws


def _drawn(posterior: Posterior, draws: int, source: Source) -> Floats:
    return posterior.flat_sample(_held(posterior, draws), source)


def in_bytes(data: Any) -> bytes:  # noqa: ANN401
    """Write netCDF in memory: HDF5 ends the process if the disk is full while it writes there."""
    import h5netcdf  # noqa: PLC0415 - an extra
    from xarray.backends import H5NetCDFStore  # noqa: PLC0415

    held = io.BytesIO()
    with h5netcdf.File(held, "w") as file:
        for name in data.groups():
            group = data[name]
            packed = {
                key: {"zlib": True} for key, part in group.data_vars.items() if part.dtype.kind in "biuf"
            }
            group.dump_to_store(H5NetCDFStore(file.create_group(name)), encoding=packed)
    return held.getvalue()


def read(path: Path) -> Any:  # noqa: ANN401
    return _arviz().from_netcdf(str(path), engine="h5netcdf")


def available() -> None:
    """Refuse early, before anything is written, when the extra is missing."""
    _arviz()


def _arviz() -> Any:  # noqa: ANN401
    try:
        with warnings.catch_warnings():
            # arviz 0.23 announces its split on every import; nothing else is silenced
            warnings.filterwarnings("ignore", message=r"\s*ArviZ is undergoing", category=FutureWarning)
            import arviz  # noqa: PLC0415 - heavy, and an extra

            for name in ("h5py", "h5netcdf"):  # what write the file
                importlib.import_module(name)
    except ImportError as missing:
        raise ImportError(
            f"InferenceData needs {missing.name}: pip install 'discreet[arviz]', or save with draws=0"
        ) from missing
    return arviz
