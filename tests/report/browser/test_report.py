"""What a browser makes of a report: nothing sticks out, at either width, light or dark, and it prints.

`measured` is the ruler: see conftest.py.
"""

import re
from dataclasses import replace

import numpy as np
import pytest

from discreet.families import (
    BayesianLinearRegression,
    BetaBernoulli,
    DirichletCategorical,
    NormalInverseWishart,
)
from discreet.mechanisms.regression.noisy_moments import NoisyMoments
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature
from discreet.privacy.kinds import ApproxDP
from discreet.report import LedgerView, ScopeView, report

WIDTHS = (1280, 390)  # those of conftest.py
LONG = "AVeryLongColumnNameWithoutAnySpaceThatNobodyShouldEverUseButSomebodyDoes" * 2
VIEW = LedgerView(
    (ScopeView("default", "PureDP(2.0)", "default: of PureDP(2.0) there fits PureDP(1.5)", 0.75),)
)


@pytest.fixture(scope="module")
def pages(release_of):
    rng = np.random.default_rng(1)
    levels = ["Private", "Self-employed, not incorporated", LONG, "長い名前" * 10]
    schema = {"columns": {LONG: {"kind": "categories", "levels": levels}}}
    rows = rng.normal(0, 1, (500, 3))
    smokers = (rng.random(2000) < 0.3).astype(int)
    names = ("height", "weight", LONG)
    made = {
        "share": release_of(BetaBernoulli(6, 12), smokers, target=ApproxDP(0.5, 1e-7)),
        "seeded": release_of(BetaBernoulli(6, 12), smokers[:40], seeded=True, selection=LONG, note=LONG),
        "draw": release_of(BetaBernoulli(6, 12), smokers, "one_posterior_sample"),
        "categories": release_of(
            DirichletCategorical([1.0] * 5), rng.integers(0, 5, 900), columns=(LONG,), schema=schema
        ),
        "moments": release_of(
            NormalInverseWishart([0] * 3, 2, degrees=8, scale=np.eye(3).tolist(), radius=4),
            rows,
            columns=names,
        ),
        "regression": release_of(
            BayesianLinearRegression([0, 0], [[1, 0], [0, 1]], shape=5, scale=4, radius=4),
            rows,
            columns=names,
        ),
    }
    made["weights"] = weights(made["share"])
    return {name: report(release, VIEW) for name, release in made.items()}


def weights(like):
    """A logistic regression with names that are long, and more of them than are shown."""
    design = [Feature(LONG), Feature("ward", level=LONG), *(Feature(f"x{i}") for i in range(30))]
    model = BayesianLogisticRegression("ill", (LONG, "ward"), norm=2).bind(design)
    rng, d = np.random.default_rng(2), len(design) + 1
    x = rng.normal(size=(4000, d)) / d
    value = NoisyMoments(
        model=model,
        first=np.sign(x @ rng.normal(size=d)) @ x,
        second=x.T @ x,
        first_noise=5.0,
        second_noise=5.0,
        n=None,
        guarantee=like.guarantee,
        seeded=False,
    )
    return replace(like, value=value, model=model, mechanism="polynomial_statistics")


@pytest.fixture(scope="module")
def light(measured, pages):
    return measured(pages)


@pytest.fixture(scope="module")
def dark(measured, pages):
    return measured(pages, "0")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "name", ["share", "seeded", "draw", "categories", "moments", "regression", "weights"]
)
def test_nothing_sticks_out(light, name, width):
    found = light[f"{name}-{width}"]
    assert found["width"] == width
    assert found["scroll"] <= width
    assert found["out"] == []
    assert found["cut"] == []
    assert found["tall"] == []
    assert found["touching"] == []
    assert found["smallest"] >= 13
    assert found["requests"] == 0


@pytest.mark.parametrize("name", ["share", "seeded", "draw"])
def test_common_tables_need_no_scrolling_on_a_phone(light, name):
    assert light[f"{name}-390"]["hidden"] == 0


def test_each_width_shows_its_own_pictures(light):
    for name, found in light.items():
        wide = name.endswith("1280")
        assert (found["wide"] > 0) is wide
        assert (found["narrow"] > 0) is not wide


def test_the_scheme_follows_the_reader(light, dark):
    for name in light:
        assert _bright(light[name]["ground"])
        assert _bright(dark[name]["ink"])
        assert not _bright(dark[name]["ground"])
        assert not _bright(light[name]["ink"])


def _bright(colour):
    total = sum(int(part) for part in re.findall(r"\d+", colour)[:3])
    assert not 200 < total < 600, colour  # clearly the one or the other
    return total > 400


def test_the_ruler_sees_what_sticks_out(measured):
    """The negative control: a page with a line that is too long, and a word beyond its picture."""
    bad = (
        "<!doctype html><body><p style='white-space:nowrap;font-size:9px'><b>"
        + "long " * 200
        + "</b></p><svg width='50' height='20'><text x='40' y='10'>beyond the border</text>"
        + "<text x='1' y='10' class='key'>one</text><text x='9' y='10' class='key'>two</text></svg>"
        + "<table><tr><th scope='row' style='width:9px;overflow-wrap:anywhere;font-size:9px'>letters</th>"
        + "<td style='width:9999px'>1</td></tr></table></body>"
    )
    found = measured({"bad": bad})["bad-390"]
    assert found["scroll"] > 390
    assert found["out"]
    assert found["cut"] == ["beyond the border"]
    assert found["smallest"] < 13
    assert found["tall"] == ["letters"]
    assert found["touching"] == ["one|two"]


def test_it_prints_on_a_few_pages(browser, pages, tmp_path):
    page, paper = tmp_path / "share.html", tmp_path / "share.pdf"
    page.write_text(pages["share"], encoding="utf-8")
    browser(page, "--no-pdf-header-footer", f"--print-to-pdf={paper}", scheme="0")
    content = paper.read_bytes()
    assert content.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 8
