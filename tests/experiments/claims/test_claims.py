"""Every claim of the literature: its quick form finds the verdict on record, and the pages tell it."""

from functools import cache
from pathlib import Path

import pytest

from discreet.experiments.claims.claim import Finding, Judgement, PublishedClaim, Work
from discreet.experiments.claims.page import html_page, markdown_page
from discreet.experiments.claims.registry import DOCUMENTS, about, claims
from discreet.experiments.registry import EXPERIMENTS, called

CLAIMS = claims()


@pytest.fixture(scope="module")
def found_of(tmp_path_factory):
    """Judge each claim once, quickly."""
    work = Work(tmp_path_factory.mktemp("figures"), quick=True, seed=0)
    return cache(lambda name: CLAIMS[name].judge(work))


@pytest.mark.parametrize("name", CLAIMS)
def test_the_verdict_is_the_recorded_one(name, found_of):
    found = found_of(name)
    assert found.verdict is CLAIMS[name].recorded, found.found
    assert len(found.found) > 20
    assert "nan" not in found.found


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_names_figures_that_exist_and_a_known_document(name):
    claim = CLAIMS[name]
    assert claim.document in DOCUMENTS
    assert claim.where.startswith(claim.document)
    assert set(claim.figures) <= set(EXPERIMENTS)


def test_claims_are_found_by_name_document_and_figure():
    assert [one.name for one in about(["G20-5.T7"])] == ["G20-5.T7"]
    assert {one.document for one in about(["G20"])} == {"G20"}
    assert {one.name for one in about(["figure-5.8"])} == {"G20-5.F8", "G20-5.7"}


def test_every_number_of_a_figure_in_a_paper_belongs_to_one_experiment():
    numbers = [number for one in EXPERIMENTS.values() for number in one.also]
    assert len(set(numbers)) == len(numbers)
    assert all(called(number) for number in numbers)


def made_up(verdict, recorded):
    claim = PublishedClaim(
        "G20-0.1",
        "G20 §0",
        "Pigs <fly>.",
        lambda _: Finding(verdict, "0 of 3 did"),
        recorded,
        ("figure-5.1",),
    )
    return [(claim, claim.judge(Work(Path())))]


def test_a_changed_verdict_stands_out_on_the_page(tmp_path):
    picture = tmp_path / "figure-5.1.png"
    picture.write_bytes(b"\x89PNG")
    page = html_page(made_up(Judgement.FAILS, Judgement.HOLDS), {"figure-5.1": [picture]})
    assert "fails (changed: holds is recorded)" in page
    assert "Pigs &lt;fly&gt;." in page
    assert "data:image/png;base64,iVBORw==" in page
    assert "changed" not in html_page(made_up(Judgement.FAILS, Judgement.FAILS), {}).split("</style>")[1]


def test_the_page_of_the_docs_is_the_one_that_is_computed(found_of):
    written = (Path(__file__).parents[3] / "docs" / "claims.md").read_text(encoding="utf-8")
    computed = markdown_page([(claim, found_of(name)) for name, claim in CLAIMS.items()])
    assert rows(written) == rows(computed)


def rows(page):
    """Return each claim of the page with its verdict; digits may differ on another machine."""
    cells = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return [(row[0], row[-1]) for row in cells]
