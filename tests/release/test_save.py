"""Saved releases: whole, equal after loading, and found out when changed."""

import json
import pickle
import sys

import numpy as np
import pytest

from discreet.catalogue import ROWS
from discreet.families.registry import EXAMPLES
from discreet.ledger import Ledger
from discreet.posteriors import inference_data
from discreet.posteriors.labels import named
from discreet.posteriors.read import DrawnPosterior, Draws
from discreet.privacy.kinds import ApproxDP
from discreet.privatise import privatise
from discreet.release.release import BrokenRelease, Release
from discreet.sampling.source import SeededSource

MODEL = EXAMPLES[0][0]
TARGET = ApproxDP(0.5, 1e-6)


@pytest.fixture
def release(memory, ledger, smokers):
    return privatise(memory(smokers), MODEL, target=TARGET, ledger=ledger, note="first")


@pytest.fixture
def drawn(memory, ledger, smokers):
    return privatise(memory(smokers), MODEL, mechanism="diffused", draws=3, target=TARGET, ledger=ledger)


def test_a_folder_holds_the_certificate_and_the_posterior(release, tmp_path):
    folder = release.save(tmp_path / "deep" / "out", draws=50)
    written = {path.name for path in folder.iterdir()}
    assert written == {"certificate.json", "posterior.nc", "release.json", "report.html"}
    assert [path.name for path in folder.parent.iterdir()] == ["out"]  # nothing half-written is left
    data = inference_data.read(folder / "posterior.nc")
    assert data.posterior["p"].shape == (1, 50)
    assert data.prior["p"].shape == (1, 50)
    assert data.posterior.attrs["receipt"] == release.receipt.id
    again = release.to_inference_data(draws=50)
    assert np.array_equal(
        again.posterior["p"], data.posterior["p"]
    )  # drawn from what is public: reproducible


def test_loading_gives_an_equal_release(release, drawn, tmp_path):
    for one in (release, drawn):
        loaded = Release.load(one.save(tmp_path / one.mechanism, draws=0))
        assert loaded == one
        assert loaded.certificate() == one.certificate()
        assert repr(loaded) == repr(one)
        assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - our own
    assert release != drawn


def test_draws_are_saved_as_they_were_released(drawn, tmp_path):
    folder = drawn.save(tmp_path / "out", draws=20)
    kept = inference_data.read(folder / "posterior.nc").posterior["p"].to_numpy()
    assert kept.ravel().tolist() == drawn.posterior.sample().values.ravel().tolist()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("certificate.json", lambda text: text.replace('"private": true', '"private": false')),
        ("certificate.json", lambda text: text.replace("0.5", "0.4")),
        ("release.json", lambda text: text.replace('"note": "first"', '"note": "other"')),
        ("release.json", lambda text: text.replace('"rows_per_unit": 1', '"rows_per_unit": 2')),
        ("release.json", lambda text: text.replace("discreet-release/1", "discreet-release/9")),
        ("release.json", lambda text: text[: len(text) // 2]),
        ("release.json", lambda _: "[]"),
        ("posterior.nc", lambda text: text + "x"),
    ],
)
def test_a_changed_file_is_found(release, tmp_path, name, change):
    folder = release.save(tmp_path / "out", draws=5)
    path = folder / name
    before = path.read_bytes().decode("latin-1")
    after = change(before)
    assert after != before
    path.write_bytes(after.encode("latin-1"))
    with pytest.raises(BrokenRelease, match=name):
        Release.load(folder)


def test_missing_files_are_named(release, tmp_path):
    with pytest.raises(BrokenRelease, match=r"release\.json is missing"):
        Release.load(tmp_path / "nowhere")
    folder = release.save(tmp_path / "out", draws=0)
    (folder / "certificate.json").unlink()
    with pytest.raises(BrokenRelease, match=r"certificate\.json is missing"):
        Release.load(folder)


def test_a_release_is_not_overwritten(release, drawn, tmp_path):
    folder = release.save(tmp_path / "out", draws=0)
    with pytest.raises(FileExistsError, match="not overwritten"):
        drawn.save(folder, draws=0)
    assert Release.load(folder) == release
    (tmp_path / "empty").mkdir()
    drawn.save(tmp_path / "empty", draws=0)


def test_a_file_that_cannot_be_made_does_not_lose_the_release(release, tmp_path, monkeypatch):
    monkeypatch.setattr(inference_data, "in_bytes", lambda _: 1 / 0)
    with pytest.warns(RuntimeWarning, match=r"posterior\.nc was left out \(ZeroDivisionError"):
        folder = release.save(tmp_path / "out", draws=5)
    assert not (folder / "posterior.nc").exists()
    assert Release.load(folder) == release


def test_a_failing_save_leaves_nothing(release, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.release.folder._write_json", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        release.save(tmp_path / "out", draws=0)
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir() if "release" in path.name] == []


def test_without_arviz_the_error_says_what_to_install(release, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(ImportError, match=r"pip install 'discreet\[arviz\]'"):
        release.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    release.save(tmp_path / "out", draws=0)


@pytest.mark.parametrize("model", [m for m, _ in EXAMPLES], ids=lambda m: m.name)
def test_every_family_names_its_parameters(model):
    assert "theta" not in ROWS[model.name].parameters
    parts = named(model, model.sample(4, SeededSource(1)))
    assert all(values.shape[0] == 4 for values in parts.values())
    means = {name: values.mean(axis=0) for name, values in parts.items()}
    assert {"mean", "p", "rate", "weights"} & set(means)


def test_the_covariance_is_unpacked():
    model = next(m for m, _ in EXAMPLES if m.name == "normal_inverse_wishart")
    parts = named(model, model.sample(3, SeededSource(1)))
    assert parts["mean"].shape == (3, 2)
    assert parts["covariance"].shape == (3, 2, 2)
    assert np.array_equal(parts["covariance"], parts["covariance"].transpose(0, 2, 1))


def test_draws_of_vectors_keep_their_shape():
    model = EXAMPLES[4][0]
    draws = Draws.of(model, model.sample(1, SeededSource(2))[0], several=False)
    assert draws.sample().shape == (1, 3)
    assert DrawnPosterior(draws).mean().shape == (3,)
    assert hash(draws) == hash(Draws.of(model, draws.sample(), several=True))


def test_json_of_a_release_has_no_floats_that_json_forbids(release, tmp_path):
    text = (release.save(tmp_path / "out", draws=0) / "release.json").read_text()
    assert json.loads(text, parse_constant=pytest.fail)


def test_a_ledger_knows_the_receipt_of_a_loaded_release(release, ledger, tmp_path):
    loaded = Release.load(release.save(tmp_path / "out", draws=0))
    ledger.verify(loaded.receipt)
    other = Ledger.open(tmp_path / "other.db", budget=TARGET)
    with pytest.raises(Exception, match="no charge"):
        other.verify(loaded.receipt)
