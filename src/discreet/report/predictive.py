"""What the next record would look like under the posterior, as the family's likelihood says, unclipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from discreet.catalogue import ROWS, expect
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.family import Floats
from discreet.families.named_columns import INTERCEPT
from discreet.families.normal_mean import NormalMean
from discreet.numerics.search import bisect, doubles
from discreet.report.drawn.pictures import bars
from discreet.report.drawn.svg import Axis, area, bottom_axis, box, curve, line, responsive, tick_teller
from discreet.report.markup import Html, element, joined, paragraphs, table
from discreet.report.numbers import decimals, places_for, shown
from discreet.report.subject import LEVEL, Group, Subject, quoted, shown_first

if TYPE_CHECKING:
    from discreet.posteriors.posterior import FamilyPosterior, Posterior
    from discreet.release.release import Release

    Predictive = Callable[[Release, Subject, FamilyPosterior], Html]


MOST_BARS, MOST_ROWS, FINE, DRAWS = 50, 12, 4096, 4000
MOST_COUNTS = 2**16
TAIL = (1 - LEVEL) / 2


def predictive(release: Release, subject: Subject, posterior: Posterior) -> Html | None:
    """Draw the posterior predictive, as the catalogue has it; None where it has none."""
    row = ROWS.get(release.model.name)
    draw = None if row is None else row.load("report", "predictive")
    drawn: Html | None = None if draw is None else draw(release, subject, posterior)
    return drawn


# --- categories ------------
def true_or_false(release: Release, subject: Subject, posterior: FamilyPosterior) -> Html:
    if getattr(release.model, "grid", 1) != 1:
        return paragraphs(
            "Records lie between 0 and 1 and enter through a pseudo-likelihood, which predicts no single "
            "record; the average above is what it estimates."
        )
    share = float(np.exp(posterior.log_predictive(1)))
    name = quoted(release.columns[0]) if release.columns else "it"
    said = f"In the next record, {name} is true with probability {100 * share:.1f} %."
    rows = [("true", share), ("false", 1 - share)]
    return _figure(bars("predictive", subject.title, rows), said)


def categories(release: Release, subject: Subject, posterior: FamilyPosterior) -> Html:
    (group,) = subject.groups
    shares = posterior.flat_mean()
    trials = getattr(release.model, "trials", None)
    best = group.labels[int(shares.argmax())]
    said = (
        f"The next record is most likely {best}, with probability {100 * shares.max():.1f} %."
        if trials is None
        else f"Of the {trials} items of the next record, {trials * shares.max():.2f} should be {best}."
    )
    return _figure(bars("predictive", subject.title, _largest(group, shares)), said)


def _largest(group: Group, shares: Floats) -> list[tuple[str, float]]:
    chosen = shown_first(group, shares, MOST_ROWS)
    rows = [(group.labels[i], float(shares[i])) for i in chosen]
    rest = shares.size - len(rows)
    return (
        [*rows, (f"{rest:,} more together", float(max(0.0, 1 - sum(s for _, s in rows))))] if rest else rows
    )


# --- counts ------------
def _counted(release: Release, posterior: FamilyPosterior, reach: tuple[int, int]) -> Html:
    """Draw a bar for each count, or a curve where they are many."""
    start, end = reach
    x: Floats = np.unique(np.rint(np.linspace(start, end, min(end - start, FINE) + 1)))
    mass = np.exp(posterior.log_predictive(x)) * (end - start + 1) / x.size
    low, high, first, last = _quantiles(x, mass)
    inside = (x >= first) & (x <= last)
    drawing = _bars_at if inside.sum() <= MOST_BARS else _smooth
    return _figure(drawing(release, x[inside], mass[inside]), _between(release, low, high, 0, whole=True))


def _quantiles(x: Floats, mass: Floats) -> list[float]:
    """Both ends of 90 %, then of nearly all."""
    total = np.cumsum(mass) / mass.sum()
    return [float(x[np.searchsorted(total, q)]) for q in (TAIL, 1 - TAIL, 0.001, 0.999)]


def _poisson_reach(posterior: FamilyPosterior) -> tuple[int, int]:
    """All rates that matter, and eight deviations of a count beyond them."""
    low, high = np.ravel(posterior.interval(0.999))
    return max(0, int(low - 8 * low**0.5) - 1), int(high + 8 * high**0.5) + 9


def _binomial_reach(posterior: FamilyPosterior) -> tuple[int, int]:
    trials = expect(BetaBinomial, posterior.prior).trials
    low, high = np.ravel(posterior.interval(0.999)) * trials
    far = 4 * trials**0.5 + 1
    return max(0, int(low - far)), min(trials, int(high + far) + 1)


def _geometric_reach(posterior: FamilyPosterior) -> tuple[int, int]:
    """(1 − p)^x is below e^{−7} from x = 7/p on, for all but a hundredth of the p."""
    return 0, int(min(7 / max(float(np.ravel(posterior.interval(0.98))[0]), 1e-12), 1e12)) + 1


def _reach(posterior: FamilyPosterior) -> tuple[int, int]:
    """Double the end until it leaves a thousandth of the mass outside, or there are too many to draw."""
    end = 16
    while end < MOST_COUNTS and np.exp(posterior.log_predictive(np.arange(end + 1))).sum() < 0.999:
        end *= 2
    return 0, end


def _counts(reach: Callable[[FamilyPosterior], tuple[int, int]]) -> Predictive:
    return lambda release, _, posterior: _counted(release, posterior, reach(posterior))


counts = _counts(_reach)
poisson_counts = _counts(_poisson_reach)
binomial_counts = _counts(_binomial_reach)
geometric_counts = _counts(_geometric_reach)


def _bars_at(release: Release, x: Floats, mass: Floats) -> Html:
    low, high, top = float(x[0]) - 0.6, float(x[-1]) + 0.6, 1.08 * float(mass.max())

    def draw(width: int) -> tuple[float, Html]:
        across, up = Axis(low, high, 8, width - 8), Axis(0, top, 200, 10)
        each = max(1.5, 0.8 * (across.at(1 + low) - across.at(low)))
        parts = [
            box(across.at(a) - each / 2, up.at(b), each, 200 - up.at(b), "fill", corner=1)
            for a, b in zip(x, mass, strict=True)
        ]
        return 244, joined([bottom_axis(across, 200, 10, _whole, _next(release)), *parts])

    return responsive("predictive", _next(release), "A bar for each possible count.", draw)


def _whole(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else ""


# --- measurements ------------
def _drawn(
    release: Release,
    posterior: FamilyPosterior,
    middle: float,
    reach: float,
    one_sided: bool,  # noqa: FBT001
) -> Html:
    """Find where the density lives by widening around its middle; give up where no picture holds it."""
    for power in range(20):
        x = np.linspace(middle if one_sided else middle - reach * 2**power, middle + reach * 2**power, FINE)
        mass = np.exp(posterior.log_predictive(x)) * (x[1] - x[0])
        if mass.sum() >= 0.996:
            break
    if not 0.97 < mass.sum() < 1.03:
        return paragraphs("Its tails are too heavy to draw: the next value may lie very far out.")
    low, high, first, last = _quantiles(x, mass)
    fine = np.linspace(first, last, 240)
    picture = _smooth(release, fine, np.exp(posterior.log_predictive(fine)))
    return _figure(picture, _between(release, low, high, places_for([high - low])))


def _density(where: Callable[[FamilyPosterior], tuple[float, float, bool]]) -> Predictive:
    """Say where a predictive has its middle, how far a deviation reaches, and if it starts at the middle."""
    return lambda release, _, posterior: _drawn(release, posterior, *where(posterior))


waiting_density = _density(lambda law: (0.0, 1 / law.flat_mean()[0], True))
normal_density = _density(
    lambda law: (
        law.flat_mean()[0],
        (float(expect(NormalMean, law.prior).noise) + law.flat_variance()[0]) ** 0.5,
        False,
    )
)
student_density = _density(
    lambda law: (law.flat_mean()[0], (law.flat_mean()[1] + law.flat_variance()[0]) ** 0.5, False)
)


def _smooth(release: Release, x: Floats, height: Floats) -> Html:
    top = 1.08 * float(height.max())
    low, high = float(x[0]), float(x[-1])

    def draw(width: int) -> tuple[float, Html]:
        across, up = Axis(low, high, 8, width - 8), Axis(0, top, 200, 10)
        path = [(across.at(a), up.at(b)) for a, b in zip(x, height, strict=True)]
        base = line(across.start, 200, across.end, 200, "axis")
        axis = bottom_axis(across, 200, 10, tick_teller(across), _next(release))
        return 244, joined([axis, area(path, 200, "interval"), curve(path, "posterior"), base])

    return responsive("predictive", _next(release), "A curve over the possible values.", draw)


# --- several measurements ------------
def each_column(release: Release, subject: Subject, posterior: FamilyPosterior) -> Html:  # noqa: ARG001
    """x_i | θ ~ N(μ_i, Σ_ii), averaged over draws of θ: ends where the average of Φ reaches 5 and 95 %."""
    labels = subject.groups[0].labels
    d, rows = len(labels), []
    diagonal = d + np.cumsum([0, *range(d, 1, -1)])  # of the packed upper triangle
    theta = release.public_draws(DRAWS).values
    for i, label in enumerate(labels):
        middle, spread = theta[:, i], np.sqrt(theta[:, diagonal[i]])
        ends = [_mixed_quantile(middle, spread, q) for q in (0.5, TAIL, 1 - TAIL)]
        places = places_for([ends[2] - ends[1]])
        rows.append((label, *(shown(float(v), places) for v in ends)))
    return table("The next record, column by column", ("column", "middle", "5 %", "95 %"), rows)


def _mixed_quantile(middle: Floats, spread: Floats, q: float) -> float:
    """Bisect the average of Φ((x − middle)/spread) = q."""
    low, high = float((middle - 9 * spread).min()), float((middle + 9 * spread).max())
    return bisect(lambda x: ndtr((x - middle) / spread).mean() >= q, low, high, doubles, turns=50)


def given_features(release: Release, subject: Subject, posterior: FamilyPosterior) -> Html:
    """y|x, θ ~ N(xᵀw, σ²)."""
    group, means = subject.groups[0], posterior.flat_mean()
    weights, spread = means[:-1], float(means[-1]) ** 0.5
    response = quoted(release.columns[-1]) if release.columns else "the response"
    return paragraphs(
        f"The next {response} depends on its features: its middle is {_line(weights, group.labels)}.",
        f"Around that it has a standard deviation of about {_short(spread)}, and more for features far from "
        "those seen.",
    )


def _line(weights: Floats, labels: tuple[str, ...]) -> str:
    """Write the line as a sum, the intercept first."""
    order = sorted(range(len(labels)), key=lambda i: labels[i] != INTERCEPT)
    terms = []
    for i in order[:6]:
        sign, size, label = "−" if weights[i] < 0 else "+", _short(abs(float(weights[i]))), labels[i]
        what = "" if label == INTERCEPT else f" where {label}" if " = " in label else f" × {label}"
        terms.append(f"{sign} {size}{what}")
    return f"{' '.join(terms).removeprefix('+ ')}{' + …' if len(labels) > 6 else ''}"


def _short(value: float) -> str:
    """Show four digits."""
    return shown(value, decimals(abs(value)) + 1)


# --- words ------------
def _next(release: Release) -> str:
    return f"next value of {quoted(release.columns[0])}" if release.columns else "next value"


def _between(release: Release, low: float, high: float, places: int, *, whole: bool = False) -> str:
    ends = shown(low, places), shown(high, places)
    least = "at least " if whole else ""
    return f"The {_next(release)} lies between {ends[0]} and {ends[1]} with {least}90 % probability."


def _figure(picture: Html, said: str) -> Html:
    return joined([element("p", said), element("figure", picture)])
