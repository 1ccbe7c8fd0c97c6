"""Records that no bound has clipped: bounds are facts, and the likelihood is the family's own."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from math import ceil, floor

import numpy as np

from discreet.families.beta_geometric import BetaGeometric
from discreet.families.family import Family, Floats
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_mean import NormalMean
from discreet.posteriors.scalar.record_law import (
    Events,
    Failures,
    Levels,
    Measurement,
    RecordLaw,
    Trial,
)

ROOM, MOST = 32, 2**20  # widths above the lower bound beyond which no record is expected, and at most
LEVELS = 2**26  # as many levels are added up at most, or ROOM widths
EACH = 2**13  # where each level costs a likelihood of its own, or ROOM widths up to half of that
NATS = 64  # scales of the noise, within which a record is sought whatever the prior says
REACH = 40.0  # deviations of a record, and of its mean under the prior, on either side


@singledispatch
def unclipped(law: RecordLaw, model: Family, scale: float) -> RecordLaw:
    """Return the law with bounds so far away that they clip nothing; noise of such a scale, in steps of q.

    Wide noise hides records far beyond the bounds: e^{−q/scale} of them is what is left of the law.
    """
    del model
    return _wider(law, NATS * scale)


def _wider(law: RecordLaw, reach: float) -> RecordLaw:
    return replace(law, high=law.low + (ROOM + int(min(reach / law.width, MOST))) * law.width)


@unclipped.register
def _unclipped_events(law: Events, model: GammaPoisson, scale: float) -> RecordLaw:
    """Reach as far as a prior pulls against the noise: its shape times the scale."""
    wider = _wider(law, (NATS + float(model.shape)) * scale)
    return replace(wider, high=min(wider.high, law.low + max(ROOM * law.width, LEVELS)))


@unclipped.register
def _unclipped_failures(law: Failures, model: BetaGeometric, scale: float) -> RecordLaw:
    return _wider(law, (NATS + float(model.beta)) * scale)


@unclipped.register
def _unclipped_trial(law: Trial, model: Family, scale: float) -> RecordLaw:
    del model, scale
    return law


@unclipped.register
def _unclipped_levels(law: Levels, model: Family, scale: float) -> RecordLaw:
    """Reach as far as the noise hides records, as long as levels can be added up; `read` says where not."""
    del model
    wide, hidden = min(ROOM * law.width, EACH // 2), min(int(NATS * min(scale, EACH)), EACH)
    return replace(law, high=max(law.high, law.low + max(wide, hidden)))


@unclipped.register
def _unclipped_measurement(law: Measurement, model: NormalMean, scale: float) -> RecordLaw:
    del scale
    reach = REACH * law.sigma * (1 + float(model.strength) ** -0.5)
    ends = float(model.location) - reach, float(model.location) + reach
    low, high = floor(ends[0] / law.grid), ceil(ends[1] / law.grid)
    return replace(law, low=min(low, law.low - law.width), high=max(high, law.high + law.width))


def farther(law: RecordLaw) -> RecordLaw:
    """Return the law with its ends twice as far away: it says the same wherever the ends do not matter."""
    low = law.low - law.width if isinstance(law, Measurement) else law.low
    return replace(law, low=low, high=law.high + law.width)


def share_at_ends(law: RecordLaw, theta: Floats) -> Floats:
    """P(q at an end that stands for all beyond it | θ)."""
    low, high = law.ends(theta)
    return np.asarray(np.exp(high) + (np.exp(low) if isinstance(law, Measurement) else 0.0))


def share_beyond(law: RecordLaw, theta: float) -> float:
    """P(q < low or q > high | θ) of a record that no bound has clipped."""
    return float(shares_beyond(law, np.array([theta]))[0])


def shares_beyond(law: RecordLaw, theta: Floats) -> Floats:
    """Return that share for every θ."""
    if isinstance(law, Trial):
        return np.zeros(theta.shape)
    above = np.exp(replace(law, high=law.high + 1).ends(theta)[1])
    below = np.exp(replace(law, low=law.low - 1).ends(theta)[0]) if isinstance(law, Measurement) else 0.0
    return np.asarray(above + below)
