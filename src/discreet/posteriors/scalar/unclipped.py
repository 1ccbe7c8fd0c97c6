"""Records that no bound has clipped: bounds are facts, and the likelihood is the family's own."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from math import ceil, floor

import numpy as np

from discreet.families.family import Family, Floats
from discreet.families.normal_mean import NormalMean
from discreet.posteriors.scalar.record_law import MANY, Levels, Measurement, RecordLaw, Trial

ROOM = 32  # widths above the lower bound beyond which no record is expected
REACH = 40.0  # deviations of a record, and of its mean under the prior, on either side


@singledispatch
def unclipped(law: RecordLaw, model: Family) -> RecordLaw:
    """Return the law with bounds so far away that they clip nothing."""
    del model
    return replace(law, high=law.low + ROOM * law.width)


@unclipped.register
def _unclipped_trial(law: Trial, model: Family) -> RecordLaw:
    del model
    return law


@unclipped.register
def _unclipped_levels(law: Levels, model: Family) -> RecordLaw:
    del model
    return replace(law, high=max(law.high, min(law.low + ROOM * law.width, int(MANY) // 16)))


@unclipped.register
def _unclipped_measurement(law: Measurement, model: NormalMean) -> RecordLaw:
    reach = REACH * law.sigma * (1 + float(model.strength) ** -0.5)
    ends = float(model.location) - reach, float(model.location) + reach
    low, high = floor(ends[0] / law.grid), ceil(ends[1] / law.grid)
    return replace(law, low=min(low, law.low - law.width), high=max(high, law.high + law.width))


def share_beyond(law: RecordLaw, theta: float) -> float:
    """P(q < low or q > high | θ) of a record that no bound has clipped."""
    if isinstance(law, Trial):
        return 0.0
    at = np.array([theta])
    above = _end(replace(law, high=law.high + 1).ends(at)[1])
    return above + (_end(replace(law, low=law.low - 1).ends(at)[0]) if isinstance(law, Measurement) else 0.0)


def _end(log: Floats) -> float:
    return float(np.exp(log[0]))
