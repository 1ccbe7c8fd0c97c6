"""Constants that privacy rests on: what is missing or impossible is refused in words about that constant."""

import pytest

import discreet as dc
from discreet.models.generalized_linear import BayesianLogisticRegression
from discreet.models.margin_losses import ClippedPoisson


def logistic(**given):
    return BayesianLogisticRegression("y", ("a",), **given)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: logistic(norm=0), "norm must be a finite number above 0, got 0; it bounds how far one row"),
        (lambda: logistic(norm=1, radius=0), "radius must be .* got 0; the prior must be normalizable"),
        (ClippedPoisson, "upper is missing: counts are clipped to it.*must be public knowledge"),
        (lambda: ClippedPoisson(-1), "upper must be .* got -1; counts are clipped to it"),
        (lambda: dc.BetaBernoulli(0, 1), "alpha must be .* got 0; the prior must be normalizable"),
    ],
)
def test_it_says_which_and_why(build, words):
    with pytest.raises(ValueError, match=words):
        build()
