"""Noisy counts → posterior of the model: each model has its reader. Post-processing: costs nothing."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.mechanisms.statistics.noisy_tables import NoisyCells
    from discreet.models.count_model import CountModel
    from discreet.posteriors.draws import Draws
    from discreet.sampling.source import Source

# model → module:function of (NoisyCells, model, reading); loaded when the first posterior is asked for
READERS = {
    "naive_bayes": "counts.naive_bayes:read",
    "bayesian_network": "network.read:read",
    "mixture": "mixture.read:read",
    "hidden_markov": "hidden_markov.read:read",
}
# model → module:function of (posterior, draws), where draws are kept by chain and never mixed
CHAINED = {
    "hidden_markov": "hidden_markov.read:variables",
}
# model → module:function of (Draws, model), where one draw is read as more than numbers in a row
DRAWN = {
    "bayesian_network": "network.read:drawn",
    "generalized_linear": "regression.coefficients:drawn",
    "bayesian_logistic_regression": "regression.coefficients:drawn",
}
READINGS = ("noise_aware", "naive")

M = TypeVar("M", bound="CountModel")


def cell_posterior(
    cells: NoisyCells, *, model: CountModel | None = None, reading: str = "noise_aware"
) -> Any:  # noqa: ANN401
    """Read noisy counts, also under another prior over the same tables; the same each time."""
    prior = cells.model if model is None else refitted(model, cells)
    return _read(cells, prior, known_reading(reading))


def drawn_posterior(draws: Draws) -> Any:  # noqa: ANN401
    """Read posterior draws as what the model makes of them; draws of a family are their own reading."""
    return _function(DRAWN[draws.model.name])(draws, draws.model) if draws.model.name in DRAWN else draws


def known_reading(reading: str) -> str:
    """Return the name of a reading, or refuse it: every reader of counts has these and no other."""
    if reading not in READINGS:
        raise ValueError(f"unknown reading {reading!r}; known: {', '.join(READINGS)}")
    return reading


def refitted(model: M, cells: NoisyCells) -> M:
    """Return the model, bound, if the release holds its very tables: of other columns counts say nothing."""
    released = cells.model
    bound = model if model.sizes or model.columns != released.columns else model.bind(released.size_of)
    if type(bound) is not type(released) or bound.sizes == () or bound.cells != released.cells:
        raise ValueError(
            f"the release holds the tables of {released!r}: read it under a prior of that kind, over the "
            "same columns"
        )
    return bound


@lru_cache(maxsize=8)
def _read(cells: NoisyCells, model: CountModel, reading: str) -> Any:  # noqa: ANN401
    if model.name not in READERS:
        raise TypeError(f"no posterior is known for {type(model).__name__}; known: {', '.join(READERS)}")
    return _function(READERS[model.name])(cells, model, reading)


def named_draws(posterior: Any, draws: int, source: Source) -> dict[str, Any]:  # noqa: ANN401
    """Draws by name, the chain first: those that were kept, or fresh ones as one chain."""
    if posterior.model.name in CHAINED:
        found: dict[str, Any] = _function(CHAINED[posterior.model.name])(posterior, draws)
        return found
    return {name: values[None] for name, values in posterior.sample(draws, source).items()}


def _function(home: str) -> Callable[..., Any]:
    module, _, name = home.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(f"discreet.posteriors.{module}"), name)
    return found
