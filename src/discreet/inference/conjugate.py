"""Release → posterior, in one of its readings. Post-processing: costs nothing, sees nothing private."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

from discreet.inference.cell_posteriors import cell_posterior, drawn_posterior
from discreet.inference.draws import Draws
from discreet.mechanisms.noisy_cells import NoisyCells
from discreet.mechanisms.noisy_release import DEFAULT_READING, NoisyRelease

if TYPE_CHECKING:
    from discreet.families.family import Family
    from discreet.models.count_model import CountModel

DRAWN = "draws"  # the one reading of a release of posterior draws


def reading_of(value: object) -> str:
    """Name the reading that `posterior` gives by default."""
    return DRAWN if isinstance(value, Draws) else DEFAULT_READING


@singledispatch
def posterior(
    value: object,
    *,
    model: Family | None = None,
    reading: str = DEFAULT_READING,
) -> Any:  # noqa: ANN401
    """Read a released value under a prior; `reading` names one of noisy_release.READINGS."""
    del model, reading
    raise TypeError(f"no posterior is known for a released {type(value).__name__}")


@posterior.register(NoisyRelease)
def _(value: NoisyRelease, *, model: Family | None = None, reading: str = DEFAULT_READING) -> Any:  # noqa: ANN401
    return value.posterior(model=model, reading=reading)


@posterior.register(NoisyCells)
def _(value: NoisyCells, *, model: CountModel | None = None, reading: str = "noise_aware") -> Any:  # noqa: ANN401
    return cell_posterior(value, model=model, reading=reading)


@posterior.register(Draws)
def _(value: Draws, *, model: Family | None = None, reading: str = DEFAULT_READING) -> Any:  # noqa: ANN401
    if model is not None or reading not in {DEFAULT_READING, DRAWN}:
        raise ValueError(
            "a release of posterior draws was made under its prior and has one reading; only noisy "
            "statistics can be read under another prior or in another way"
        )
    return drawn_posterior(value)
