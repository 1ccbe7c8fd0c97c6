"""The page is well formed, self-contained, accessible, true to the certificate, and tells nothing private."""

import ast
import re
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import discreet.report
from discreet.families import (
    BetaBernoulli,
    DirichletCategorical,
    GammaPoisson,
    NormalInverseGamma,
    NormalMean,
)
from discreet.families.registry import EXAMPLES
from discreet.ledger import Ledger
from discreet.mechanisms.registry import offered_to
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.report import LedgerView, ScopeView, report

OF_FAMILIES = offered_to("family")

SMOKERS = [1, 0, 0, 1, 0] * 40
MODEL = BetaBernoulli(6, 12)
VIEW = LedgerView(
    (ScopeView("survey", "PureDP(2.0)", "survey: of PureDP(2.0) there fits PureDP(1.5)", 0.75),)
)
VOID = {"meta"}


class Page(HTMLParser):
    """A page taken apart by a strict reader."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.texts, self.data, self.ids = [], [], [], [], []
        self.feed(page)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, text):
        if self.open and self.open[-1] == "data":
            self.data.append((self.tags[-1][1]["value"], text))
        if "style" not in self.open:
            self.texts.append(text)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).replace("\u00a0", " ").split())

    def named(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def check(page):
    """Everything that holds for every page."""
    read = Page(page)
    tags = {tag for tag, _ in read.tags}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "use", "image"}
    assert not [
        a for _, attrs in read.tags for a in attrs if a.startswith("on") or a in {"src", "href", "style"}
    ]
    assert not [outside for outside in ("http:", "https:", "url(", "@import") if outside in page]
    assert not re.search(
        r'="[^"]*\b(nan|inf)\b[^"]*"', re.sub(r"<style>.*</style>", "", page, flags=re.DOTALL)
    )
    assert len(read.ids) == len(set(read.ids))
    for svg in read.named("svg"):
        assert svg["role"] == "img"
        assert set(svg["aria-labelledby"].split()) <= set(read.ids)
    for section in read.named("section"):
        assert section["aria-labelledby"] in read.ids
    assert all(head.get("scope") in {"col", "row"} for head in read.named("th"))
    assert [tag for tag, _ in read.tags].count("h1") == 1
    assert read.named("html") == [{"lang": "en"}]
    page.encode("utf-8")
    return read


# --- every family and mechanism ------------
@pytest.mark.parametrize("mechanism", OF_FAMILIES)
@pytest.mark.parametrize(
    ("model", "data"), EXAMPLES, ids=[f"{m.name}{i}" for i, (m, _) in enumerate(EXAMPLES)]
)
def test_every_family_and_mechanism_has_a_page(release_of, model, data, mechanism):
    target = ApproxDP(8, 0.1) if mechanism == "direct" else ApproxDP(2, 1e-6)
    try:
        release = release_of(model, data, mechanism, target=target)
    except (NotProved, Unreachable):
        assert mechanism != "noisy_statistics"
        return
    read = check(report(release))
    drawn = mechanism != "noisy_statistics"
    assert ("An interval is not available" in read.text) is drawn
    assert ("90 % probability between" in read.text) is not drawn
    assert len([s for s in read.named("svg") if s["class"] == "picture wide"]) >= 2


@pytest.mark.parametrize(
    ("model", "data"), EXAMPLES, ids=[f"{m.name}{i}" for i, (m, _) in enumerate(EXAMPLES)]
)
def test_a_private_number_of_records_is_said_to_be_private(release_of, model, data):
    release = release_of(model, data, target=ApproxDP(2, 1e-6, relation=ADD_REMOVE))
    assert "records private" in check(report(release)).text


@pytest.mark.parametrize(
    "target", [PureDP(0.5), ZeroCDP(0.05), GaussianDP(0.3), RenyiDP.at(8, 0.5), ApproxDP(0.5, 1e-9)], ids=repr
)
def test_every_kind_of_target_has_a_curve(release_of, target):
    noise = {PureDP: "laplace", GaussianDP: "gaussian"}.get(type(target), "discrete_gaussian")
    check(report(release_of(MODEL, SMOKERS, target=target, options={"noise": noise})))


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (BetaBernoulli(0.1, 0.1), [0]),  # a pole at both ends
        (BetaBernoulli(0.001, 30), [0] * 5),
        (GammaPoisson(0.05, 0.001, upper=10**9), [0, 10**9]),
        (NormalMean(0, 1e-9, variance=1e-12, lower=-1e6, upper=1e6), [3.0] * 5),
        (NormalMean(1e9, 1e15, variance=1e-3, lower=0, upper=1), [0.5]),  # narrower than doubles tell
        (NormalInverseGamma(0, 1, shape=0.3, scale=1, lower=-4, upper=4), [1.0]),  # no mean
        (DirichletCategorical([1e-3] * 3), [0, 0]),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_strange_laws_keep_finite_pictures(release_of, model, data):
    check(report(release_of(model, data)))
    try:
        release = release_of(model, data, "diffused")
    except (NotProved, Unreachable):
        return
    check(report(release))


def test_several_draws_are_all_there(release_of):
    release = release_of(MODEL, SMOKERS, "diffused", draws=3)
    read = check(report(release))
    assert "drawn 3 times" in read.text
    wide = re.search(r'class="picture wide".*?</svg>', report(release), flags=re.DOTALL).group()
    assert wide.count('class="draw"') == 3 + 1  # and the legend's


# --- the numbers ------------
@pytest.mark.parametrize("mechanism", OF_FAMILIES)
def test_promises_are_the_certificates_numbers_and_never_look_smaller(release_of, mechanism):
    target = ApproxDP(4, 0.05) if mechanism == "direct" else ApproxDP(0.7, 1e-7)
    release = release_of(MODEL, SMOKERS, mechanism, target=target)
    promised = release.certificate()["promised"]
    read = check(report(release))
    rows = [row["epsilon"] for row in promised["epsilon_at_delta"] + promised["renyi"]]
    rows += [promised[name] for name in ("pure_epsilon", "zcdp_rho", "gdp_mu")]
    rows += [row["after_at_most"] for row in promised["odds"]]
    wanted = {repr(value) for value in rows if value is not None}
    assert wanted == {value for value, _ in read.data}
    for value, text in read.data:
        number = text.replace("\u00a0", " ")
        shown = Decimal(number.removesuffix(" %")) / (100 if number.endswith("%") else 1)
        assert Decimal(value) <= shown <= Decimal(value) * Decimal("1.01")


def test_the_first_card_is_at_the_targets_own_delta_also_where_that_is_exact(release_of):
    target = ApproxDP(1, Fraction(1, 10**6))  # as the command reads approx:1,1e-6
    text = check(report(release_of(MODEL, SMOKERS, target=target, options={"noise": "gaussian"}))).text
    assert text.index("ε at δ = 10⁻⁶") < text.index("What was learned")


def test_the_interval_is_the_posteriors(release_of):
    release = release_of(MODEL, SMOKERS)
    ((low, high),) = release.posterior.interval(0.9).values
    text = check(report(release)).text
    assert f"90 % {100 * low:.1f} % {100 * high:.1f} %" in text
    assert f"mean {100 * release.posterior.mean().item():.1f} %" in text


def test_the_certificate_is_all_there(release_of):
    release = release_of(MODEL, SMOKERS)
    said, text = release.certificate(), check(report(release)).text.lower()
    for line in [*said["assumed_public"], *said["not_covered"], said["protected"]["meaning"]]:
        assert line.lower() in text
    for exact in (said["mechanism"]["theorem"], said["schema"]["sha256"], said["release"]["sha256"], "0.1.0"):
        assert exact.lower() in text
    assert said["receipt"]["id"] in text
    assert said["receipt"]["hash"] in text
    assert said["promised"]["odds"][0]["words"].lower() in text


def test_the_page_says_what_the_naive_reading_would_have_said(release_of):
    release = release_of(MODEL, SMOKERS[:20], target=PureDP(0.1))
    ((low, high),) = release.read(reading="naive").interval(0.9).values
    (wide,) = release.posterior.interval(0.9).values
    assert wide[1] - wide[0] > 1.2 * (high - low)
    text = check(report(release)).text
    assert "given the noisy statistic and the law of its noise" in text
    assert f"would give {100 * low:.1f} % to {100 * high:.1f} %" in text


# --- the budget ------------
def test_what_remains_is_shown_when_it_is_known(release_of):
    release = release_of(MODEL, SMOKERS, note="first look")
    with_view, without = check(report(release, VIEW)).text, check(report(release)).text
    assert "25.0 % used, 75.0 % left" in with_view
    assert "there fits PureDP(1.5)" in with_view
    assert "first look" in with_view
    assert "discreet ledger show" in without
    assert "PureDP(2.0)" not in without


def test_a_view_is_taken_from_a_real_ledger(release_of, tmp_path):
    with Ledger.open(tmp_path / "budget.db", budget=ApproxDP(4, 1e-5)) as ledger:
        before = LedgerView.of(ledger.remaining())
        ledger.charge(PureDP(1))
        after = LedgerView.of(ledger.remaining())
    assert before.scopes[0].share_left == 1
    assert 0.7 < after.scopes[0].share_left < 1
    text = check(report(release_of(MODEL, SMOKERS), after)).text
    assert after.scopes[0].remaining.replace("1e-05", "10⁻⁵") in text or after.scopes[0].remaining in text


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_an_impossible_share_is_refused(share):
    with pytest.raises(ValueError, match="share left"):
        ScopeView("a", "b", "c", share)


# --- seeded ------------
def test_a_seeded_release_says_so_first_and_last(release_of):
    page = report(release_of(MODEL, SMOKERS, seeded=True))
    read = check(page)
    assert page.count('class="alarm"') == 2
    assert page.index('class="alarm"') < page.index("<h1>")
    assert read.text.startswith("Not private:")
    assert "public seed" in read.text
    honest = report(release_of(MODEL, SMOKERS))
    assert 'class="alarm"' not in honest
    assert "Not private" not in honest


# --- hostile names ------------
NASTY = [
    "</style><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)",
    "a\x00b\u202ec\ud800d",
    "&lt;b&gt;",
    "{}{0}%s",
    "長い" * 80,
]


def test_hostile_names_stay_text(release_of):
    for name in NASTY:
        schema = {"columns": {name: {"kind": "categories", "levels": NASTY}}}
        alpha, codes = [1.0] * (len(NASTY) + 1), [0, 1, 2, 3, 4, 5, 6, 7] * 4
        view = LedgerView((ScopeView(name, name, name, 0.5),))
        for mechanism in ("noisy_statistics", "one_posterior_sample"):
            release = release_of(
                DirichletCategorical(alpha),
                codes,
                mechanism,
                columns=(name,),
                schema=schema,
                selection=name,
                unit=name,
                note=name,
            )
            read = check(report(release, view))
            assert "(unknown)" in read.text
    assert "</style><script>alert(1)</script>" in read.text  # as text, that is


def test_percent_of_a_label_is_escaped_once(release_of):
    release = release_of(MODEL, SMOKERS, columns=("a & b",))
    assert "“a & b”" in check(report(release)).text


# --- size ------------
def test_five_thousand_categories_are_cut_to_the_largest(release_of):
    levels = [f"category with a fairly long name {i}" for i in range(5000)]
    schema = {"columns": {"zip": {"kind": "categories", "levels": levels, "unknown": levels[0]}}}
    codes = np.minimum(np.random.default_rng(1).geometric(0.02, 20_000), 4999)
    release = release_of(DirichletCategorical([1.0] * 5000), codes, columns=("zip",), schema=schema)
    page = report(release)
    text = check(page).text
    assert len(page.encode()) < 300_000
    assert "there are 4 988 more" in text
    assert "and 4 975 more" in text
    assert "as wide as the noise makes them" in text  # so that picking the largest needs no caution


# --- nothing private ------------
def test_the_true_statistic_and_its_posterior_are_nowhere(release_of):
    """Counts that are nowhere but in the data, looked for in every spelling that a page might use."""
    data = [123_456_789, 400_000_007, 464_197_525]
    model = GammaPoisson(3, 1, upper=10**9)
    total = sum(data)  # 987654321
    for mechanism in ("noisy_statistics", "diffused"):
        release = release_of(model, data, mechanism, target=ApproxDP(1, 1e-6))
        page = report(release, VIEW)
        truth = model.update(model.statistic(data), len(data))
        private = [total, *data, truth.mean(), *truth.interval(0.9)]
        digits = re.sub(r"[\s,\u202f\u00a0_]", "", page)
        for value in private:
            assert str(round(value)) not in digits
            assert f"{value:.3e}" not in digits
            assert f"{value:.6g}" not in digits
    control = re.sub(
        r"[\s\u202f]", "", report(release_of(model, data, target=ApproxDP(1, 1e-6), n=987654321))
    )
    assert "987654321" in control  # the search finds what is there


def test_the_report_imports_nothing_left_of_the_release():
    home = Path(discreet.report.__file__).parent
    for path in home.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
            parts = {name.split(".")[1] for name in names if name.startswith("discreet.")}
            assert parts <= {
                "report",
                "release",
                "privacy",
                "families",
                "models",
                "numerics",
                "posteriors",
                "catalogue",
            }, path.name
        assert len(path.read_text().splitlines()) <= 300


# --- the same page, and the saved one ------------
def test_a_page_depends_on_the_release_alone(release_of):
    assert report(release_of(MODEL, SMOKERS)) == report(release_of(MODEL, SMOKERS))


def test_a_saved_release_has_its_page(release_of, tmp_path):
    release = release_of(MODEL, SMOKERS)
    folder = release.save(tmp_path / "saved", draws=0)
    assert (folder / "report.html").read_text(encoding="utf-8") == report(release)


def test_relations_differ_in_words(release_of):
    substitute = report(release_of(MODEL, SMOKERS, target=PureDP(1, relation=SUBSTITUTE)))
    added = report(release_of(MODEL, SMOKERS, target=PureDP(1, relation=ADD_REMOVE)))
    assert "may be replaced" in substitute
    assert "may be added or removed" in added
