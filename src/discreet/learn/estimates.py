"""What a learner without a model says of its numbers: means, deviations, intervals, a page about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import ndtri

from discreet.models.margin_losses import Floats
from discreet.posteriors.posterior import LEVEL
from discreet.report.markup import Html, table
from discreet.report.numbers import decimals, shown

if TYPE_CHECKING:
    import pandas as pd

MOST_LINES = 25  # of a table; the rest is counted


@final
@dataclass(frozen=True)
class Estimates:
    """Numbers that follow from what was released, with the deviation that noise and sampling give."""

    title: str
    names: tuple[str, ...]
    mean: Floats
    sd: Floats

    def interval(self, level: float = LEVEL) -> Floats:
        """Equal-tailed intervals of the normal approximation, (numbers, 2)."""
        if not 0 < level < 1:
            raise ValueError(f"the level of an interval lies strictly between 0 and 1, got {level!r}")
        far = ndtri((1 + level) / 2) * self.sd
        return np.column_stack([self.mean - far, self.mean + far])

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """One row for each number: name, mean, sd, lower and upper end."""
        import pandas as pd  # noqa: PLC0415 - heavy

        ends = self.interval(level)
        columns = {"mean": self.mean, "sd": self.sd, "lower": ends[:, 0], "upper": ends[:, 1]}
        return pd.DataFrame({"name": self.names, **columns})

    # ── sections of the page ──
    def headline(self) -> str:
        """Name what was learned; the numbers are in the table."""
        return f"{len(self.names)} numbers were read from noisy sums; intervals allow for the noise."

    def picture(self) -> Html | None:
        """Nothing is drawn: the numbers are of many kinds."""
        return None

    def intervals(self) -> Html:
        ends, kept = self.interval(), range(min(MOST_LINES, len(self.names)))
        rows = [
            (
                self.names[i],
                *(shown(float(v), decimals(float(2 * self.sd[i]))) for v in (self.mean[i], *ends[i])),
            )
            for i in kept
        ]
        rest = len(self.names) - len(kept)
        caption = f"90 % intervals{f'; {rest} more are in summary_' if rest else ''}"
        return table(caption, ("number", "mean", "from", "to"), rows)

    def next_record(self) -> Html | None:
        """Leave out what the page says of a next record under a model."""
        return None
