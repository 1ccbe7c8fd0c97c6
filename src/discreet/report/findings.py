"""The sections about θ: the headline, the picture, the intervals, the next record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from discreet.catalogue import expect
from discreet.families.family import Family, Floats
from discreet.posteriors.posterior import FamilyPosterior
from discreet.report.drawn.pictures import MOST_ROWS, drawn_rows, forest
from discreet.report.markup import (
    NONE,
    Axis,
    Html,
    area,
    bottom_axis,
    cautions,
    curve,
    decimals,
    diamond,
    element,
    joined,
    legend,
    line,
    paragraphs,
    places_for,
    responsive,
    shown,
    table,
    teller,
    tick_teller,
    whole,
)
from discreet.report.predictive import predictive
from discreet.report.subject import (
    LEVEL,
    LEVELS,
    Group,
    Law,
    Subject,
    Summary,
    noise_deviation,
    released_draws,
    shown_first,
    subject,
)

if TYPE_CHECKING:
    from discreet.release.release import Release


# ── The picture of one number: prior and posterior densities, or the prior with what was drawn.
ROOM = 1.2  # shown of the prior on either side, in posteriors; more is cut, and the caption says so
POINTS = 240


def density(prior: Family, posterior: FamilyPosterior, group: Group) -> tuple[Html, bool]:
    """Draw both laws, the interval marked; and say whether the prior reaches beyond the picture."""
    low, high, cut = span(prior, posterior)
    x = np.linspace(low, high, POINTS + 2)[1:-1]
    before, after = (np.exp(np.clip(law.log_density(x), -700, 700)) for law in (prior, posterior))
    ends, mean = np.ravel(posterior.interval(LEVEL)), float(np.ravel(posterior.mean())[0])
    top = _height(after, (x >= ends[0]) & (x <= ends[1]))
    say = teller(ends[1] - ends[0], percent=group.percent)

    def draw(width: int) -> tuple[float, Html]:
        across, up = Axis(low, high, 8, width - 8), Axis(0, top, 250, 34)
        inside = (x >= ends[0]) & (x <= ends[1])
        path = [(across.at(a), up.at(b)) for a, b in zip(x, after, strict=True)]
        parts = [
            bottom_axis(across, 250, 34, tick_teller(across, percent=group.percent), group.axis),
            area([p for p, keep in zip(path, inside, strict=True) if keep] or path, 250, "interval"),
            curve([(across.at(a), up.at(b)) for a, b in zip(x, before, strict=True)], "prior"),
            curve(path, "posterior"),
            line(across.at(mean), 34, across.at(mean), 250, "mean"),
            line(across.at(ends[0]), 250, across.at(ends[1]), 250, "bar"),
            legend(
                [("line", "posterior", "posterior"), ("line", "prior", "prior"), ("box", "interval", "90 %")],
                8,
                16,
            ),
        ]
        return 294, joined(parts)

    story = (
        f"The posterior has its mean at {say(mean)}; 90 % of it lies between {say(ends[0])} and "
        f"{say(ends[1])}. The prior has its mean at {say(float(prior.mean()))}."
    )
    return responsive("density", f"Prior and posterior: {group.axis}", story, draw), cut


def span(prior: Family, posterior: FamilyPosterior) -> tuple[float, float, bool]:
    """Choose what to show: the posterior, and the prior as far as that leaves it readable."""
    inner, outer = (np.ravel(law.interval(p)) for law, p in ((posterior, 0.9995), (prior, 0.98)))
    room = (inner[1] - inner[0]) * ROOM
    low, high = min(inner[0], max(outer[0], inner[0] - room)), max(inner[1], min(outer[1], inner[1] + room))
    pad = 0.04 * (high - low)
    ends = [end for law in (prior, posterior) for end in np.ravel(law.interval(0.999999))]
    cut = bool(outer[0] < low - pad or outer[1] > high + pad)
    return *_apart(max(low - pad, min(ends)), min(high + pad, max(ends))), cut


def drawn_on_prior(prior: Family, draws: Floats, group: Group) -> Html:
    """Draw the prior, and what was released upon it."""
    ends = np.ravel(prior.interval(0.998))
    low, high = _apart(min(ends[0], draws.min()), max(ends[1], draws.max()))
    x = np.linspace(low, high, POINTS + 2)[1:-1]
    before = np.exp(np.clip(prior.log_density(x), -700, 700))
    top = 1.08 * _height(before, np.ones(x.shape, dtype=bool))
    say = teller(ends[1] - ends[0], percent=group.percent)

    def draw(width: int) -> tuple[float, Html]:
        across, up = Axis(low, high, 8, width - 8), Axis(0, top, 210, 34)
        parts = [
            bottom_axis(across, 210, 34, tick_teller(across, percent=group.percent), group.axis),
            curve([(across.at(a), up.at(b)) for a, b in zip(x, before, strict=True)], "prior"),
            *(line(across.at(t), 60, across.at(t), 210, "draw-stem") for t in draws.ravel()),
            *(diamond(across.at(t), 60, 7, "draw") for t in draws.ravel()),
            legend([("diamond", "draw", "released draw"), ("line", "prior", "prior")], 8, 16),
        ]
        return 254, joined(parts)

    said = ", ".join(say(float(t)) for t in draws.ravel()[:20])
    story = f"Released: {said}. The prior has its mean at {say(float(prior.mean()))}."
    return responsive("draws", f"What was drawn, on the prior: {group.axis}", story, draw)


def _apart(low: float, high: float) -> tuple[float, float]:
    """Keep some distance where a law is narrower than doubles can tell."""
    gap = 1e-9 * max(abs(low), abs(high), 1e-9)
    return (float(low), float(high)) if high - low > gap else (float(low) - gap, float(high) + gap)


def _height(heights: Floats, inside: NDArray[np.bool_]) -> float:
    """Fit the hill, but not a pole at the border of the support."""
    usual = float(np.median(heights[inside])) if inside.any() else 0.0
    tallest = float(heights.max())
    return 1.08 * (min(tallest, 6 * usual) if usual > 0 else tallest)


# ── findings
MOST_LINES = 25  # of a table; the rest is counted
AWARE = (
    "The posterior is that of the parameter given the noisy statistic and the law of its noise: intervals "
    "are as wide as the noise makes them, and clipping at the public bounds is part of the model."
)
NO_INTERVAL = (
    "An interval is not available. This mechanism released {} of the posterior and nothing else; the "
    "posterior itself stays as private as the data. For intervals release noisy statistics, which are paid "
    "for once and then read freely."
)


@final
@dataclass(frozen=True)
class Findings:
    """What a release says about θ, worked out once: intervals of some laws take a while."""

    release: Release
    subject: Subject
    prior: Summary
    posterior: Summary

    @classmethod
    def of(cls, release: Release) -> Findings | DrawnFindings:
        """Find the sections about a family's θ: a posterior's, or those of single draws."""
        asked, prior, draws = (
            subject(release),
            Summary.of(_family(release).in_units()),
            released_draws(release),
        )
        if draws is not None:
            return DrawnFindings(release, asked, prior, draws)
        return cls(release, asked, prior, Summary.of(release.posterior))

    @property
    def scalar(self) -> bool:
        return self.posterior.mean.size == 1

    def headline(self) -> str:
        """Say the result in one sentence."""
        group = self.subject.groups[0]
        here = self.posterior.within(group)
        top = shown_first(group, here.mean, 1)[0]
        places = max(0, decimals(float(here.widths[top])) - 1)
        mean, low, high = (
            shown(float(v), places, percent=group.percent) for v in (here.mean[top], *here.interval[top])
        )
        about = (
            f"is about {mean}, and with 90 % probability" if mean != NONE else "is, with 90 % probability,"
        )
        return f"{group.named(top)} {about} between {low} and {high}."

    def picture(self) -> Html:
        if self.scalar:
            return _density_figure(_family(self.release), _posterior(self.release), self.subject.groups[0])
        return joined(self._forest(f"group{i}", group) for i, group in enumerate(self.subject.groups))

    def _forest(self, name: str, group: Group) -> Html:
        drawn, cut = forest(name, group, self.prior.within(group), self.posterior.within(group))
        return _figure(drawn, f"90 % intervals: {group.axis}.{_more(group)}{CUT if cut else ''}")

    def intervals(self) -> Html:
        if self.scalar:
            tables = [_levels_table(_family(self.release), _posterior(self.release), self.subject.groups[0])]
        else:
            tables = [self._lines_table(group) for group in self.subject.groups]
        return joined([*tables, paragraphs(AWARE), self._noise_words()])

    def _lines_table(self, group: Group) -> Html:
        """Several numbers: one line each."""
        after, before = self.posterior.within(group), self.prior.within(group)
        chosen = shown_first(group, after.mean, MOST_LINES)
        common = places_for(after.widths[chosen])
        rows = []
        for i in chosen:
            places = common if group.percent else decimals(float(after.widths[i]))
            said = (after.mean[i], *after.interval[i], before.mean[i], *before.interval[i])
            rows.append((group.labels[i], *(shown(float(v), places, percent=group.percent) for v in said)))
        heads = ("", "mean", "from", "to", "prior mean", "prior from", "prior to")
        made = table(f"90 % intervals: {group.axis}", heads, rows, class_="many bare")
        return joined([made, _left_out(len(group.labels) - len(rows))])

    def _noise_words(self) -> Html:
        """Say what the noise is, what the naive reading would say, and what this one says against itself."""
        deviation = noise_deviation(self.release)
        said = [f"The noise on each released number has a standard deviation of {deviation:.4g}."]
        if self.scalar:
            group, (low, high) = (
                self.subject.groups[0],
                self.release.read(reading="naive").flat_interval(LEVEL)[0],
            )
            places = places_for(self.posterior.widths)
            ends = (shown(float(end), places, percent=group.percent) for end in (low, high))
            said.append(f"Read as if it were exact, it would give {' to '.join(ends)}, and cover too rarely.")
        return joined([paragraphs(" ".join(said)), cautions(*self.release.posterior.cautions)])

    def next_record(self) -> Html | None:
        return predictive(self.release, self.subject, self.release.posterior)


@final
@dataclass(frozen=True)
class DrawnFindings:
    """What a release of draws says about θ: the draws, on the prior."""

    release: Release
    subject: Subject
    prior: Summary
    draws: Floats  # one per row

    def headline(self) -> str:
        group = self.subject.groups[0]
        part = self.draws[:, group.first : group.stop]
        top = shown_first(group, part.mean(axis=0), 1)[0]
        places = decimals(float(self.prior.within(group).widths[top])) + 1
        said = ", ".join(shown(float(v), places, percent=group.percent) for v in part[:4, top])
        how = "was drawn once" if len(part) == 1 else f"was drawn {len(part)} times"
        return f"{group.named(top)} {how} from its private posterior: {said}{' …' if len(part) > 4 else ''}."

    def picture(self) -> Html:
        if self.draws.shape[1] == 1:
            drawn = [drawn_on_prior(_family(self.release), self.draws, self.subject.groups[0])]
        else:
            drawn = [
                drawn_rows(f"group{i}", group, self.prior.within(group), self.draws)
                for i, group in enumerate(self.subject.groups)
            ]
        pairs = zip(drawn, self.subject.groups, strict=True)
        return joined(
            _figure(made, f"What was released, on the prior.{_more(group)}") for made, group in pairs
        )

    def intervals(self) -> Html:
        count = "one draw" if len(self.draws) == 1 else f"{len(self.draws)} draws"
        tables = (_draws_table(group, self.draws) for group in self.subject.groups)
        return joined([element("p", NO_INTERVAL.replace("{}", count), class_="caution"), *tables])

    def next_record(self) -> Html:
        return paragraphs("A prediction needs the posterior, which was not released.")


def _family(release: Release) -> Family:
    return expect(Family, release.model)


def _posterior(release: Release) -> FamilyPosterior:
    return expect(FamilyPosterior, release.posterior)


# --- pictures ------------
CUT = " A prior that reaches beyond the picture is cut at its border."


def _density_figure(prior: Family, posterior: FamilyPosterior, group: Group) -> Html:
    drawn, cut = density(prior, posterior, group)
    return _figure(
        drawn, f"What was believed before (prior) and what is known now (posterior).{CUT if cut else ''}"
    )


def _more(group: Group) -> str:
    rest = len(group.labels) - MOST_ROWS
    which = "largest" if group.ranked else "first"
    return f" The {MOST_ROWS} {which} are shown; there are {whole(rest)} more." if rest > 0 else ""


def _figure(drawn: Html, caption: str) -> Html:
    return element("figure", drawn, element("figcaption", caption))


# --- tables ------------
def _levels_table(prior: Family, posterior: FamilyPosterior, group: Group) -> Html:
    """One number: several levels, posterior beside prior."""
    laws: tuple[Law, Law] = (posterior, prior)
    places = places_for(np.diff(np.ravel(posterior.interval(0.9))))

    def say(value: float) -> str:
        return shown(float(value), places, percent=group.percent)

    rows = [
        (f"{100 * level:g} %", *(say(end) for law in laws for end in np.ravel(law.interval(level))))
        for level in LEVELS
    ]
    means = [text for law in laws for text in (say(np.ravel(law.mean())[0]), "")]
    heads = ("level", "from", "to", "prior from", "prior to")
    return table(f"Intervals of the {group.axis}; first the means", heads, [("mean", *means), *rows])


def _draws_table(group: Group, draws: Floats) -> Html:
    part = draws[:, group.first : group.stop]
    chosen = shown_first(group, part.mean(axis=0), MOST_LINES)
    few = part[:6]
    heads = ("", *(f"draw {i + 1}" for i in range(len(few))))
    rows = [
        (group.labels[i] or group.axis, *(shown(float(v), 6, percent=group.percent) for v in few[:, i]))
        for i in chosen
    ]
    further = (
        [f"{len(part) - len(few)} further draws are in the release file."] if len(part) > len(few) else []
    )
    made = table(f"Released: {group.axis}", heads, rows)
    return joined([made, _left_out(len(group.labels) - len(rows)), paragraphs(*further)])


def _left_out(count: int) -> Html:
    return paragraphs(f"… and {whole(count)} more, in the release file.") if count > 0 else joined([])
