"""Releases saved before the files of the library moved still load, whole, and are written as they were.

The archive holds release.json and certificate.json of 43 seeded releases of made-up rows (every model, every
mechanism that covers it), saved on 18 November 2026 by the version before the move; the list of files in
release.json is cut to the certificate, because reports and posteriors are left out.
"""

import json
import zipfile
from pathlib import Path

import pytest

import discreet as dc
from discreet.release.json import release_to_json

ARCHIVE = Path(__file__).parents[1] / "reference" / "releases_of_november_2026.zip"
with zipfile.ZipFile(ARCHIVE) as archive:
    NAMES = sorted({name.partition("/")[0] for name in archive.namelist()})


def unpacked(name, folder):
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(folder, [f"{name}/release.json", f"{name}/certificate.json"])
    return folder / name


def test_the_archive_has_every_model():
    assert len(NAMES) == 43
    assert len({name.partition("-")[0] for name in NAMES}) == 16


@pytest.mark.parametrize("name", NAMES)
def test_an_old_release_loads_and_says_what_it_said(name, tmp_path):
    saved = unpacked(name, tmp_path)
    release = dc.Release.load(saved)
    model, _, mechanism = name.partition("-")
    assert release.model.name == model
    assert mechanism.split("_")[0] in release.mechanism
    written = json.loads((saved / "release.json").read_text())
    assert json.loads(json.dumps(release_to_json(release))) == written["release"]
    then = json.loads((saved / "certificate.json").read_text())["promised"]
    now = release.certificate()["promised"]
    assert numbers({key: now[key] for key in then}) == numbers(then)


def numbers(promised):
    """Everything that was promised; how the odds are put in words may change."""
    odds = [{key: value for key, value in row.items() if key != "words"} for row in promised["odds"]]
    return {**promised, "odds": odds}


@pytest.mark.parametrize("name", NAMES)
def test_an_old_release_encodes_rows_by_its_schema_as_it_counted_them(name, tmp_path):
    release = dc.Release.load(unpacked(name, tmp_path))
    sizes = getattr(release.model, "size_of", {})
    assert {column: len(release.encoder.labels(column)) for column in sizes} == sizes
    assert set(release.columns) <= set(release.encoder.schema)


def test_a_changed_old_release_is_refused(tmp_path):
    saved = unpacked(NAMES[0], tmp_path)
    text = (saved / "certificate.json").read_text()
    (saved / "certificate.json").write_text(text + " ")
    with pytest.raises(dc.BrokenRelease):
        dc.Release.load(saved)
