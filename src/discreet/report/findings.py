"""The sections about θ: the headline, the picture, the intervals, the next record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.families.family import Family
from discreet.report.markup import Html, element, joined, paragraphs, table
from discreet.report.numbers import NONE, places_for, shown
from discreet.report.pictures import MOST_ROWS, density, drawn_on_prior, drawn_rows, forest
from discreet.report.predictive import predictive
from discreet.report.summary import (
    LEVELS,
    Summary,
    moved_by_noise,
    noise_deviation,
    released_draws,
    shown_first,
)

if TYPE_CHECKING:
    from discreet.families.family import Floats
    from discreet.release import Release
    from discreet.report.subject import Group, Subject

MOST_LINES = 25  # of a table; the rest is counted
NAIVE = (
    "The noisy statistic is read here as if it were exact. The interval is that of the posterior so read: it does "
    "not widen for the noise, and with few records it covers less often than it says."
)
NO_INTERVAL = (
    "An interval is not available. This mechanism released {} of the posterior and nothing else; the posterior "
    "itself stays as private as the data. For intervals release noisy statistics, which are paid for once and then "
    "read freely."
)


def headline(release: Release, subject: Subject) -> str:
    """The result in one sentence."""
    draws = released_draws(release)
    if draws is not None:
        return _drawn_headline(release, subject, draws)
    group, posterior = subject.groups[0], Summary.of(release.posterior).within(subject.groups[0])
    top = shown_first(group, posterior.mean, 1)[0]
    places = places_for([posterior.widths[top]])
    mean, low, high = (
        shown(float(v), places, percent=group.percent)
        for v in (posterior.mean[top], *posterior.interval[top])
    )
    about = f"is about {mean}, and with 90 % probability" if mean != NONE else "is, with 90 % probability,"
    return f"{group.named(top)} {about} between {low} and {high}."


def _drawn_headline(release: Release, subject: Subject, draws: Floats) -> str:
    group = subject.groups[0]
    part = draws[:, group.first : group.stop]
    top = shown_first(group, part.mean(axis=0), 1)[0]
    width = Summary.of(release.model).within(group).widths[top]
    said = ", ".join(shown(float(v), places_for([width]) + 1, percent=group.percent) for v in part[:4, top])
    how = "was drawn once" if len(draws) == 1 else f"was drawn {len(draws)} times"
    return f"{group.named(top)} {how} from its private posterior: {said}{' …' if len(draws) > 4 else ''}."


def _count_words(draws: Floats) -> str:
    return "one draw" if len(draws) == 1 else f"{len(draws)} draws"


# --- the picture ------------
def picture(release: Release, subject: Subject) -> Html:
    draws = released_draws(release)
    show = _draws_figure if draws is not None else _posterior_figure
    return joined(
        show(release, group, f"group{i}", np.empty(0) if draws is None else draws)
        for i, group in enumerate(subject.groups)
    )


def _posterior_figure(release: Release, group: Group, name: str, draws: Floats) -> Html:
    del draws
    posterior: Family = release.posterior
    if np.size(posterior.mean()) == 1:
        drawn, cut = density(release.model, posterior, group)
        note = "What was believed before (prior) and what is known now (posterior)."
        return _figure(
            drawn, note + (" The prior reaches beyond the picture and looks flat in it." if cut else "")
        )
    both = (Summary.of(law).within(group) for law in (release.model, posterior))
    return _figure(forest(name, group, *both), f"90 % intervals of {group.axis}.{_more(group)}")


def _draws_figure(release: Release, group: Group, name: str, draws: Floats) -> Html:
    if draws.shape[1] == 1:
        drawn = drawn_on_prior(release.model, draws, group)
    else:
        drawn = drawn_rows(name, group, Summary.of(release.model).within(group), draws)
    return _figure(drawn, f"What was released, on the prior.{_more(group)}")


def _more(group: Group) -> str:
    rest = len(group.labels) - MOST_ROWS
    which = "largest" if group.ranked else "first"
    return f" The {MOST_ROWS} {which} are shown; there are {rest:,} more." if rest > 0 else ""


def _figure(drawn: Html, caption: str) -> Html:
    return element("figure", drawn, element("figcaption", caption))


# --- the numbers ------------
def intervals(release: Release, subject: Subject) -> Html:
    draws = released_draws(release)
    if draws is not None:
        tables = [_draws_table(group, draws) for group in subject.groups]
        return joined(
            [element("p", NO_INTERVAL.replace("{}", _count_words(draws)), class_="caution"), *tables]
        )
    posterior: Family = release.posterior
    one = np.size(posterior.mean()) == 1
    tables = [
        _levels_table(release.model, posterior, group)
        if one
        else _lines_table(release.model, posterior, group)
        for group in subject.groups
    ]
    return joined([*tables, paragraphs(NAIVE), _noise_words(release, subject)])


def _levels_table(prior: Family, posterior: Family, group: Group) -> Html:
    """One number: several levels, posterior beside prior."""
    ends = {level: (np.ravel(posterior.interval(level)), np.ravel(prior.interval(level))) for level in LEVELS}
    places = places_for([ends[0.9][0][1] - ends[0.9][0][0]])

    def say(value: float) -> str:
        return shown(float(value), places, percent=group.percent)

    rows = [
        (f"{100 * level:g} %", *map(say, after), *map(say, before)) for level, (after, before) in ends.items()
    ]
    middle = [("mean", say(float(posterior.mean())), "", say(float(prior.mean())), "")]
    heads = ("probability", "from", "to", "prior from", "prior to")
    return table(f"Intervals of the {group.axis}", heads, [*middle, *rows])


def _lines_table(prior: Family, posterior: Family, group: Group) -> Html:
    """Several numbers: one line each."""
    after, before = (Summary.of(law).within(group) for law in (posterior, prior))
    chosen = shown_first(group, after.mean, MOST_LINES)
    places = places_for(after.widths[chosen])

    def say(value: float) -> str:
        return shown(float(value), places, percent=group.percent)

    rows = [
        (group.labels[i], *map(say, (after.mean[i], *after.interval[i], before.mean[i], *before.interval[i])))
        for i in chosen
    ]
    heads = ("", "mean", "from", "to", "prior mean", "prior from", "prior to")
    made = table(f"90 % intervals: {group.axis}", heads, rows)
    return joined([made, _left_out(len(group.labels) - len(rows))])


def _draws_table(group: Group, draws: Floats) -> Html:
    part = draws[:, group.first : group.stop]
    chosen = shown_first(group, part.mean(axis=0), MOST_LINES)
    few = part[:6]
    heads = ("", *(f"draw {i + 1}" for i in range(len(few))))
    rows = [
        (group.labels[i] or group.axis, *(shown(float(v), 6, percent=group.percent) for v in few[:, i]))
        for i in chosen
    ]
    more = f"{len(part) - len(few)} further draws are in the release file." if len(part) > len(few) else ""
    return joined(
        [
            table(f"Released: {group.axis}", heads, rows),
            _left_out(len(group.labels) - len(rows)),
            paragraphs(*([more] if more else [])),
        ]
    )


def _left_out(count: int) -> Html:
    return paragraphs(f"… and {count:,} more, in the release file.") if count > 0 else joined([])


def _noise_words(release: Release, subject: Subject) -> Html:
    """Say what the interval leaves out, in the interval's own unit where that is one number."""
    deviation = noise_deviation(release)
    if deviation is None:
        return joined([])
    moved = moved_by_noise(release)
    if moved is None:
        said = f"The noise on each released number has a standard deviation of {deviation:.4g} units of the statistic."
        return paragraphs(said)
    group = subject.groups[0]
    width = float(np.sqrt(release.posterior.variance()))
    said = (
        f"Noise of one standard deviation moves the mean by {shown(moved, places_for([moved]), percent=group.percent)}; "
        f"the posterior's own standard deviation is {shown(width, places_for([width]), percent=group.percent)}."
    )
    if moved > width / 2:
        return element(
            "p", f"{said} The noise matters here: do not lean on the ends of the interval.", class_="caution"
        )
    return paragraphs(said)


# --- the next record ------------
def next_record(release: Release, subject: Subject) -> Html | None:
    posterior = release.posterior
    if not isinstance(posterior, Family):
        return paragraphs("A prediction needs the posterior, which was not released.")
    return predictive(release, subject, posterior)
