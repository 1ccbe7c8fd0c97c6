"""The sections about a regression: every weight with its interval, and what the weights predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import ndtri

from discreet.catalogue import expect
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.posteriors.regression.coefficients import Coefficients
from discreet.report.drawn.pictures import bars, drawn_rows, forest
from discreet.report.markup import Html, cautions, element, joined, paragraphs, table
from discreet.report.numbers import decimals, places_for, shown, whole
from discreet.report.subject import Group, Subject, quoted
from discreet.report.summary import LEVEL, Summary, released_draws

if TYPE_CHECKING:
    from discreet.release.release import Release


MOST_WEIGHTS, MOST_BARS = 24, 10
SCALE = (
    "Every number is scaled by its public bounds to between −1 and 1, and every level is 0 or 1, so that "
    "weights can be compared: each is how much the {} when the feature goes from the middle of its range to "
    "its top, or from absent to present. A row longer than the norm {} is scaled down to it; the intercept "
    "is multiplied by half the norm in every row."
)
AWARE = (
    "The posterior is that of the weights given what was released and the law of its noise: intervals are as "
    "wide as the noise and the sampling of the records make them."
)
NAIVE = "What was released is read here as if it had no noise: the intervals are too narrow."
ONLY_DRAWS = (
    "An interval is not available. This mechanism released {} of the weights and nothing else; their "
    "posterior stays as private as the data. For intervals release by objective perturbation, which is paid "
    "for once and then read freely."
)
AVERAGED = (
    "A new record is predicted by averaging over the posterior, or over its reading made for predictions, so "
    "that what noise left uncertain makes predictions less bold."
)
DRAWN = "A new record is predicted with the weights that were released."


@final
@dataclass(frozen=True)
class CoefficientFindings:
    """What a release says about the weights, the largest first, from positive to negative."""

    release: Release
    subject: Subject
    order: tuple[int, ...]  # of the weights that are shown

    @classmethod
    def of(cls, release: Release) -> CoefficientFindings:
        model = expect(GeneralizedLinear, release.model)
        mean = release.posterior.flat_mean()
        largest = np.argsort(-np.abs(mean), kind="stable")[:MOST_WEIGHTS]
        order = tuple(int(i) for i in largest[np.argsort(-mean[largest], kind="stable")])
        group = Group(
            f"In predicting {_answer(model)}, the weight of",
            f"weight in predicting {_answer(model)}",
            tuple(model.names[i] for i in order),
        )
        return cls(release, Subject(_title(model), (group,)), order)

    @property
    def model(self) -> GeneralizedLinear:
        return expect(GeneralizedLinear, self.release.model)

    @property
    def prior(self) -> Summary:
        """N(0, R²/d) for every weight."""
        spread = float(self.model.strength) ** -0.5
        ends = spread * ndtri(np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
        count = len(self.order)
        return Summary(np.zeros(count), np.full(count, spread), np.tile(ends, (count, 1)))

    @property
    def posterior(self) -> Summary | None:
        """Of the weights that are shown; None where draws are all that was released."""
        if released_draws(self.release) is not None:
            return None
        all_of_them, shown_ones = Summary.of(self.release.posterior), list(self.order)
        return Summary(
            all_of_them.mean[shown_ones], all_of_them.deviation[shown_ones], all_of_them.interval[shown_ones]
        )

    def headline(self) -> str:
        """Say the largest weight in one sentence."""
        group, mean = self.subject.groups[0], self.release.posterior.flat_mean()[list(self.order)]
        named = [i for i, place in enumerate(self.order) if place < len(self.model.design)]
        top = max(named, key=lambda i: abs(mean[i]))
        after = self.posterior
        if after is None:
            places = decimals(float(self.prior.widths[top])) + 1
            return (
                f"{group.named(top)} was drawn from its private posterior: {shown(float(mean[top]), places)}."
            )
        places = max(0, decimals(float(after.widths[top])) - 1)
        middle, low, high = (shown(float(v), places) for v in (mean[top], *after.interval[top]))
        return f"{group.named(top)} is about {middle}, and with 90 % probability between {low} and {high}."

    def picture(self) -> Html:
        group, after, draws = self.subject.groups[0], self.posterior, released_draws(self.release)
        if after is None and draws is not None:
            drawn = drawn_rows("weights", group, self.prior, draws[:, list(self.order)], most=MOST_WEIGHTS)
            return _figure(drawn, f"What was released, on the prior.{self._more}")
        assert after is not None  # noqa: S101 - for the type checker
        drawn, cut = forest("weights", group, self.prior, after, most=MOST_WEIGHTS)
        beyond = " A prior that reaches beyond the picture is cut at its border." if cut else ""
        return _figure(drawn, f"90 % intervals: {group.axis}.{self._more}{beyond}")

    @property
    def _more(self) -> str:
        rest = self.model.dimension - len(self.order)
        return f" The {MOST_WEIGHTS} largest are shown; there are {whole(rest)} more." if rest > 0 else ""

    def intervals(self) -> Html:
        meaning = SCALE.replace("{}", _effect(self.model), 1).replace("{}", f"{float(self.model.norm):g}", 1)
        said = cautions(*self.release.posterior.cautions)
        return joined([self._table(), paragraphs(self._reading(), meaning), said])

    def _table(self) -> Html:
        group, after, before = self.subject.groups[0], self.posterior, self.prior
        mean = self.release.posterior.flat_mean()[list(self.order)]
        places = places_for((before if after is None else after).widths)
        heads: tuple[str, ...] = ("", "released", "prior from", "prior to")
        caption, ends = f"Released, and the prior's 90 % intervals: {group.axis}", before.interval
        if after is not None:
            heads, caption = ("", "mean", "from", "to", *heads[2:]), f"90 % intervals: {group.axis}"
            ends = np.hstack([after.interval, before.interval])
        rows = [
            (label, *(shown(float(v), places) for v in (mean[i], *ends[i])))
            for i, label in enumerate(group.labels)
        ]
        return table(caption, heads, rows, class_="many bare")

    def _reading(self) -> str:
        if (draws := released_draws(self.release)) is not None:
            return ONLY_DRAWS.replace("{}", "one draw" if len(draws) == 1 else f"{len(draws)} draws")
        return NAIVE if self.release.posterior.reading == "naive" else AWARE

    def next_record(self) -> Html:
        """E[y | x] where one feature is 1 and all others are 0, for the features that matter most."""
        predict, d = expect(Coefficients, self.release.posterior).probability, len(self.model.design)
        chosen = [i for i in self.order if i < d]
        mean = self.release.posterior.flat_mean()
        largest = set(sorted(chosen, key=lambda i: -abs(mean[i]))[:MOST_BARS])
        kept = [i for i in chosen if i in largest]
        base, each = float(predict(np.zeros((1, d)))[0]), predict(np.eye(d)[kept])
        said = (
            f"{DRAWN if self.posterior is None else AVERAGED} Where every number is in the middle of its "
            f"range and no level is present, {_prediction(self.model, base)}. With one feature at its top or "
            "present, and no other:"
        )
        rows = [(self.model.names[i], float(p)) for i, p in zip(kept, each, strict=True)]
        drawn = _bars(self.model, self.subject.title, rows)
        return joined([paragraphs(said), drawn])


# --- words ------------
def _logistic(model: GeneralizedLinear) -> bool:
    return model.loss.name == "logistic"


def _answer(model: GeneralizedLinear) -> str:
    wanted = getattr(model, "labels", (False, True))[1] if _logistic(model) else True
    return quoted(model.target) if wanted is True else f"{quoted(model.target)} = {quoted(str(wanted))}"


def _title(model: GeneralizedLinear) -> str:
    return (
        f"What makes {_answer(model)} likely?"
        if _logistic(model)
        else f"What does {_answer(model)} depend on?"
    )


def _effect(model: GeneralizedLinear) -> str:
    grown = {
        "logistic": f"log odds of {_answer(model)} grow",
        "clipped_poisson": f"logarithm of the rate of {_answer(model)} grows",
    }
    return grown.get(model.loss.name, f"prediction of {_answer(model)} grows")


def _prediction(model: GeneralizedLinear, value: float) -> str:
    if _logistic(model):
        return f"{_answer(model)} has a probability of {100 * value:.1f} %"
    return f"{_answer(model)} is expected to be {value:.4g}"


def _bars(model: GeneralizedLinear, title: str, rows: list[tuple[str, float]]) -> Html:
    if _logistic(model):
        return element("figure", bars("predictive", title, rows))
    return table(f"Expected {_answer(model)}", ("", "expected"), [(name, f"{v:.4g}") for name, v in rows])


def _figure(drawn: Html, caption: str) -> Html:
    return element("figure", drawn, element("figcaption", caption))
