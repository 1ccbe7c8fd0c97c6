"""How wide the intervals of plain numbers will be: known from the noise alone. Reads and spends nothing."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final

from discreet.catalogue import expect
from discreet.mechanisms.statistics.noisy_numbers import NoisyNumbers
from discreet.models.plain import MeanAndVariance, PlainNumbers
from discreet.planning.offers import Asked, Offer, offers
from discreet.planning.ranked import Ranked, json_row, tried
from discreet.planning.table import LINE, aligned, refusals, to_fit
from discreet.posteriors.noise_law import NoiseLaw
from discreet.posteriors.plain import reach
from discreet.privacy.guarantee import Guarantee


@final
@dataclass(frozen=True)
class PlainPrediction:
    """The noise on each number: its standard deviation, and half of the width of an interval.

    Of mean and variance they are of the mean, given n records; of counts they are of a count.
    """

    mechanism: NoisyNumbers
    name: str
    deviation: float
    half_width: float
    ask: Mapping[str, Any] = field(default_factory=dict)
    price: Guarantee | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON-able."""
        return json_row(self)


@final
@dataclass(frozen=True)
class PlainPlan(Ranked[PlainNumbers, PlainPrediction]):
    """Every noise that meets the target, the narrowest interval first."""

    level: float = 0.9

    def table(self, *, command: bool = False) -> str:
        """Aligned text; `command` spells what to ask for as options of the command."""
        of = "of the mean" if isinstance(self.model, MeanAndVariance) else "of each count"
        head = ("mechanism", "", f"deviation {of}", f"{self.level:.0%} interval")
        cells = [(row.name, "", f"{row.deviation:.4g}", f"± {row.half_width:.4g}") for row in self.rows]
        title = f"{self.model!r}, n = {self.n}, target {self.target}"
        lines = [*textwrap.wrap(title, LINE), "", *aligned([head, *cells], apart=False)]
        lines += refusals(self.refused)
        lines += to_fit(self.rows[0], command=command) if self.rows else []
        return "\n".join(line.rstrip() for line in lines)


def plan_numbers(
    model: PlainNumbers,
    n: int,
    target: Guarantee,
    *,
    level: float = 0.9,
    mechanisms: Sequence[str] | None = None,
    rows_per_unit: int = 1,
    draws: int = 1,
    mechanism: str | None = None,
    **options: Any,  # noqa: ANN401 - noise=, and words of other plans, which do not matter here
) -> PlainPlan:
    """Calibrate every noise and say what it does to a number; nothing is imagined."""
    kept = {name: value for name, value in options.items() if name not in {"seed", "rank_by", "replicates"}}
    asked = Asked(rows_per_unit, draws, mechanism, kept)
    found = offers(model, n, target, asked, mechanisms)
    rows, refused = tried([(offer.name, partial(_one, offer, n, level)) for offer in found], "planning")
    return PlainPlan(model, n, target, tuple(sorted(rows, key=lambda row: row.half_width)), refused, level)


def _one(offer: Offer, n: int, level: float) -> PlainPrediction:
    ready = expect(NoisyNumbers, offer.calibrate())
    law = NoiseLaw(ready.noise, float(ready.scale))
    model = ready.model
    unit = float(model.moments.units[0]) / n if isinstance(model, MeanAndVariance) else 1.0
    return PlainPrediction(
        ready,
        offer.name,
        unit * math.sqrt(law.variance),
        unit * reach(law, level),
        offer.ask,
        offer.price(ready),
    )
