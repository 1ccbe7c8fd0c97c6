"""Posteriors as ArviZ InferenceData. The only module that imports arviz."""

from __future__ import annotations

import importlib
import warnings
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from discreet.inference.draws import Draws
from discreet.inference.parameters import named
from discreet.sampling.source import SeededSource

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from discreet.families.family import Family, Floats
    from discreet.sampling.source import Source

# Draws of a posterior that is public already need no secret bits: a seed makes the file reproducible.
PUBLIC_SEED = 20250101


def inference_data(
    posterior: Family | Draws,
    prior: Family,
    *,
    draws: int = 1000,
    source: Source | None = None,
    facts: Mapping[str, str] | None = None,
) -> Any:  # noqa: ANN401 - arviz.InferenceData
    """Make the groups `posterior` (one chain; Draws give only what they hold) and `prior`, with `facts`."""
    bits = source or SeededSource(PUBLIC_SEED)
    chains = {
        group: {name: values[None] for name, values in named(prior, theta).items()}
        for group, theta in (
            ("posterior", _thetas(posterior, draws, bits)),
            ("prior", prior.sample(draws, bits)),
        )
    }
    made = _arviz().from_dict(**chains)
    made.posterior.attrs.update(facts or {})
    return made


@singledispatch
def _thetas(posterior: Any, draws: int, source: Source) -> Floats:  # noqa: ANN401 - Family or Draws
    drawn: Floats = posterior.sample(draws, source)
    return drawn


@_thetas.register(Draws)
def _(posterior: Draws, draws: int, source: Source) -> Floats:
    del draws, source
    return posterior.sample()


def write(data: Any, path: Path) -> None:  # noqa: ANN401
    data.to_netcdf(str(path), engine="h5netcdf")


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

            importlib.import_module("h5netcdf")  # what writes the file
    except ImportError as missing:
        raise ImportError(
            f"InferenceData needs {missing.name}: pip install 'discreet[arviz]', or save with draws=0"
        ) from missing
    return arviz
