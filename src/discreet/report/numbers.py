"""Numbers for people: promises rounded up and never down, estimates to the digits their width supports."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, Decimal

from discreet.privacy.words import upward
from discreet.report.markup import Html, element

NONE = "—"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
THIN_SPACE = "\u202f"  # a space that does not break


def certified(value: float | None, words: str | None = None) -> Html | str:
    """Show a promise in its words or at six digits, rounded up, with the very double for programs."""
    if value is None:
        return NONE
    return element("data", words or upward(value), value=repr(value))


def share_upward(probability: float) -> Html:
    """Show a probability that was promised, in percent, rounded up at two decimals."""
    percent = (Decimal(probability) * 100).quantize(Decimal("0.01"), ROUND_CEILING)
    return element("data", f"{min(percent, Decimal(100)).normalize():f} %", value=repr(probability))


def decimals(width: float) -> int:
    """How many places show three digits of a width."""
    if not (0 < width < math.inf):
        return 3
    return min(12, max(0, 2 - math.floor(math.log10(width))))


def shown(value: float, places: int, *, percent: bool = False) -> str:
    """Show an estimate; large and tiny ones in powers of ten, undefined ones as a dash."""
    if not math.isfinite(value):
        return NONE
    if percent:
        return f"{100 * value:z.{max(0, places - 2)}f} %".replace("-", "−")
    if value and not 1e-4 <= abs(value) < 1e7:
        return powers(f"{value:.3g}" if abs(value) >= 1e7 else f"{value:.2e}").replace("-", "−")
    return f"{value:z,.{places}f}".replace(",", THIN_SPACE).replace("-", "−")


def places_for(widths: Iterable[float]) -> int:
    """One number of places for a column: that of its widest interval."""
    good = [width for width in widths if 0 < width < math.inf]
    return decimals(max(good)) if good else 3


def whole(count: int) -> str:
    return f"{count:,}".replace(",", THIN_SPACE)


def powers(text: str) -> str:
    """Write 1e-06 as 10⁻⁶ and 4e-06 as 4×10⁻⁶, which do not break at their hyphens either."""
    return re.sub(r"(?<![\w.])(\d+(?:\.\d+)?)e([-+]?)0*(\d+)\b", _power, text)


def _power(found: re.Match[str]) -> str:
    digits = found[1].rstrip("0").rstrip(".") if "." in found[1] else found[1]
    power = "10" + (found[2].replace("+", "") + found[3]).translate(SUPERSCRIPT)
    return power if digits == "1" else f"{digits}×{power}"


def teller(width: float, *, percent: bool) -> Callable[[float], str]:
    """Say numbers to the digits that a width supports."""
    places = decimals(float(width))
    return lambda value: shown(float(value), places, percent=percent)


def tick(value: float, step: float, *, percent: bool = False) -> str:
    """Just the digits that tell neighbouring ticks apart."""
    unit, sign = (100.0, " %") if percent else (1.0, "")
    size = max(abs(value), abs(step)) * unit
    if size >= 1e6 or size < 1e-4:
        return f"{powers(f'{value * unit:.3g}')}{sign}".replace("-", "−")
    places = max(0, -math.floor(math.log10(step * unit) + 1e-9))
    return f"{value * unit:.{places}f}{sign}".replace("-", "−")
