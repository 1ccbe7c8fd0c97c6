"""What a browser makes of a report: nothing sticks out, at either width, light or dark, and it prints.

The report runs no script, and its policy forbids any; so a page around it, which holds each report in a frame
of the width wanted, does the measuring and leaves what it found in its own DOM.
"""

import html
import json
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

WIDTHS = (1280, 390)
LONG = "AVeryLongColumnNameWithoutAnySpaceThatNobodyShouldEverUseButSomebodyDoes" * 2
VIEW = LedgerView(
    (ScopeView("default", "PureDP(2.0)", "default: of PureDP(2.0) there fits PureDP(1.5)", 0.75),)
)
MEASURE = """
const found = {};
for (const frame of document.querySelectorAll('iframe')) {
  const page = frame.contentDocument, root = page.documentElement, width = frame.clientWidth;
  const out = [...page.querySelectorAll('body *')].filter(e => !e.closest('.scroll table')
    && e.getClientRects().length && e.getBoundingClientRect().right > width + 1);
  const cut = [...page.querySelectorAll('svg text')].filter(e => {
    const a = e.getBoundingClientRect(), b = e.ownerSVGElement.getBoundingClientRect();
    return a.width && (a.left < b.left - 6 || a.right > b.right + 6);
  });
  const shown = what => [...page.querySelectorAll(what)].filter(e => e.getClientRects().length);
  found[frame.id] = {
    width, scroll: root.scrollWidth, out: out.slice(0, 5).map(e => e.tagName + '.' + e.className),
    cut: cut.slice(0, 5).map(e => e.textContent),
    wide: shown('svg.wide').length, narrow: shown('svg.narrow').length,
    ground: getComputedStyle(page.body).backgroundColor, ink: getComputedStyle(page.body).color,
    smallest: Math.min(...shown('p, li, td, th, dd').map(e => parseFloat(getComputedStyle(e).fontSize))),
    hidden: [...page.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length,
    requests: frame.contentWindow.performance.getEntriesByType('resource').length,
  };
}
document.body.innerHTML = '';
document.body.appendChild(document.createElement('pre')).textContent = JSON.stringify(found);
"""


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


def measured(browser, folder, pages, scheme):
    frames = "".join(
        f'<iframe id="{name}-{width}" style="border:0;width:{width}px;height:900px" '
        f'srcdoc="{html.escape(page, quote=True)}"></iframe>'
        for name, page in pages.items()
        for width in WIDTHS
    )
    harness = folder / "harness.html"
    harness.write_text(
        f'<!doctype html><meta charset="utf-8"><body>{frames}'
        f"<script>addEventListener('load', () => {{{MEASURE}}});</script></body>",
        encoding="utf-8",
    )
    dom = browser(harness, "--window-size=1400,1000", "--dump-dom", scheme=scheme)
    found = re.search(r"<pre>(.*?)</pre>", dom, flags=re.DOTALL)
    assert found, dom[-500:]
    return json.loads(html.unescape(found.group(1)))


@pytest.fixture(scope="module")
def light(browser, pages, tmp_path_factory):
    return measured(browser, tmp_path_factory.mktemp("light"), pages, "1")


@pytest.fixture(scope="module")
def dark(browser, pages, tmp_path_factory):
    return measured(browser, tmp_path_factory.mktemp("dark"), pages, "0")


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


def test_the_ruler_sees_what_sticks_out(browser, tmp_path):
    """The negative control: a page with a line that is too long, and a word beyond its picture."""
    bad = (
        "<!doctype html><body><p style='white-space:nowrap;font-size:9px'><b>"
        + "long " * 200
        + "</b></p><svg width='50' height='20'><text x='40' y='10'>beyond the border</text></svg></body>"
    )
    found = measured(browser, tmp_path, {"bad": bad}, "1")["bad-390"]
    assert found["scroll"] > 390
    assert found["out"]
    assert found["cut"] == ["beyond the border"]
    assert found["smallest"] < 13


def test_it_prints_on_a_few_pages(browser, pages, tmp_path):
    page, paper = tmp_path / "share.html", tmp_path / "share.pdf"
    page.write_text(pages["share"], encoding="utf-8")
    browser(page, "--no-pdf-header-footer", f"--print-to-pdf={paper}", scheme="0")
    content = paper.read_bytes()
    assert content.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 8
