"""The trade-off curve: how often an attacker's test may be right, for each rate of false alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.trade_off import power_at_most
from discreet.release.certificate import certified_points
from discreet.release.certificate_text import share
from discreet.report.drawn.svg import Axis, area, bottom_axis, curve, legend, line, responsive, words
from discreet.report.markup import Html, joined

if TYPE_CHECKING:
    from discreet.release.certificate import Certified


RATES = np.concatenate([np.linspace(0, 0.1, 11), np.linspace(0.15, 1, 18)]).tolist()
SHARES = (0, 0.25, 0.5, 0.75, 1)
TOLD = (RATES[5], RATES[10], RATES[18])  # of 5, 10 and 50 %


def trade_off_curve(release: Certified) -> Html:
    points = certified_points(release)
    rates = [(rate, power_at_most(points, rate)) for rate in RATES]

    def draw(width: int) -> tuple[float, Html]:
        across, up = Axis(0, 1, 48, width - 10), Axis(0, 1, 270, 34)
        path = [(across.at(a), up.at(p)) for a, p in rates]
        keys = [("line", "posterior", "right at most"), ("line", "grid", "a coin")]
        parts = [
            bottom_axis(across, 270, 34, lambda rate: f"{rate:.0%}", "false alarms"),
            *(line(48, up.at(rate), width - 10, up.at(rate), "grid") for rate in SHARES),
            *(words(42, up.at(rate) + 4, f"{rate:.0%}", "tick", "end") for rate in SHARES),
            area(path, 270, "interval"),
            line(across.at(0), up.at(0), across.at(1), up.at(1), "grid dashed"),
            curve(path, "posterior"),
            legend(keys, 48, 16),
        ]
        return 314, joined(parts)

    told = "; ".join(f"at {a:.0%} false alarms at most {share(p)} hits" for a, p in rates if a in TOLD)
    return responsive("attack", "What an attacker's test can reach", f"Certified: {told}.", draw)
