"""Light, dark and paper: the same names in each, and enough contrast to read."""

import base64
import hashlib
import re

import pytest

from discreet.families import BetaBernoulli
from discreet.report import report
from discreet.report.page import style_sheet
from discreet.service.page import assets

STYLE = style_sheet()
LIGHT, DARK, PAPER = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    for block in re.findall(r":root \{(.*?)\}", STYLE, flags=re.DOTALL)
)
PALETTES = {"light": LIGHT, "dark": DARK, "print": LIGHT | PAPER}
READ = [("ink", "page"), ("ink", "surface"), ("quiet", "page"), ("quiet", "surface"), ("ink", "interval")]
READ += [
    ("caution-ink", "caution"),
    ("surface", "alarm"),
    ("alarm-ink", "alarm-surface"),
    ("alarm", "surface"),
]
SEEN = [("posterior", "surface"), ("prior", "surface"), ("promise", "surface"), ("promise", "rule")]


def luminance(colour):
    """WCAG 2.2, relative luminance."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a, b):
    low, high = sorted(map(luminance, (a, b)))
    return (high + 0.05) / (low + 0.05)


def test_the_ruler_is_right():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # the well-known near miss of AA


def test_every_scheme_defines_every_colour():
    page = (asset.content.decode() for name, asset in assets().items() if name.endswith(".css"))
    used = {
        name: set(re.findall(r"var\(--([\w-]+)\)", text))
        for name, text in (("report", STYLE), ("page", "".join(page)))
    }
    assert set(LIGHT) == set(DARK) == used["report"] | used["page"]
    assert all(LIGHT[name] != DARK[name] for name in LIGHT)


def test_the_palette_stands_once():
    sheets = [asset.content.decode() for name, asset in assets().items() if name.endswith(".css")]
    assert sum("--ink:" in text for text in sheets) == 1
    (palette,) = (text for text in sheets if "--ink:" in text)
    assert STYLE.startswith(palette)
    assert STYLE.count("--ink:") == palette.count("--ink:") == 2


def test_paper_is_light_whatever_the_screen_was():
    assert "@media screen and (prefers-color-scheme: dark)" in STYLE  # so that it is not for paper
    assert STYLE.count("prefers-color-scheme") == 1
    assert PAPER == {"page": "#ffffff"}


@pytest.mark.parametrize("scheme", PALETTES)
def test_text_and_pictures_have_contrast_enough(scheme):
    palette = PALETTES[scheme]
    for ink, ground in READ:
        assert contrast(palette[ink], palette[ground]) >= 4.5, (ink, ground)
    for ink, ground in SEEN:
        assert contrast(palette[ink], palette[ground]) >= 3, (ink, ground)


def test_the_policy_admits_this_style_and_nothing_else(release_of):
    page = report(release_of(BetaBernoulli(6, 12), [1, 0, 0] * 20))
    style = re.search(r"<style>(.*?)</style>", page, flags=re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert "default-src &#x27;none&#x27;" in page
    assert f"&#x27;sha256-{digest}&#x27;" in page


def test_every_class_in_a_page_is_styled_or_structural(release_of):
    page = report(release_of(BetaBernoulli(6, 12), [1, 0, 0] * 20))
    classes = {name for value in re.findall(r'class="([^"]+)"', page) for name in value.split()}
    styled = set(re.findall(r"\.([a-z][\w-]*)", STYLE))
    assert classes - styled <= {"wide", "word", "label", "value"}
