"""What a notebook shows: pictures, frames and pages of releases, certificates and plans."""

import sys
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

import discreet as dc
from discreet import shown
from discreet.posteriors.variables import distinct

mpl.use("Agg")
MODEL = dc.DirichletCategorical([1, 1, 1])
WARD = dc.Categories(["<b>A</b>", "B", "C"], unknown="C")
TARGET = dc.ApproxDP(1, 1e-6)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    table = dc.Table.open({"ward": ["B", "C", "C", "B"] * 50}, schema=dc.Schema({"ward": WARD}))
    with dc.Ledger.open(tmp_path_factory.mktemp("shown") / "b.db", budget=dc.ApproxDP(9, 1e-4)) as ledger:
        ask = {"target": TARGET, "ledger": ledger, "source": dc.SeededSource(1)}
        return [
            dc.privatise(table["ward"], MODEL, mechanism=name, **ask)
            for name in ("noisy_statistics", "diffused")
        ]


def test_a_frame_has_a_column_for_each_name(released):
    frame = released[0].posterior.to_pandas(50)
    assert list(frame.columns) == ["<b>A</b>", "B", "C"]
    assert np.allclose(frame.sum(axis=1), 1)


def test_a_picture_has_a_line_for_each_name_and_draws_have_no_interval(released):
    for release, intervals in zip(released, (1, 0), strict=True):
        axes = release.posterior.plot()
        assert [label.get_text() for label in axes.get_yticklabels()] == list(release.posterior.names)
        assert len(axes.collections) == intervals
        assert axes.lines
        mpl.pyplot.close(axes.figure)


def test_pages_escape_what_others_wrote(released):
    for release in released:
        page = release._repr_html_()
        assert "SEEDED" in page
        assert release.receipt.id in page
        assert "&lt;b&gt;A" in page
        assert "<b>A" not in page
    certificate = released[0].certificate()
    assert "What is protected" in certificate._repr_html_()
    assert certificate == dict(certificate)
    assert "noisy_statistics" in dc.plan(MODEL, 100, TARGET, simulations=16)._repr_html_()


def test_names_that_a_file_cannot_hold_get_others():
    assert distinct(["a/b", "chain", "", "x", "x"], ["chain"]) == (
        *("a∕b", "chain variable", "unnamed"),
        *("x", "x variable"),
    )


def test_the_bar_is_a_line_in_a_notebook(monkeypatch, capsys):
    kinds = [type(name, (), {})() for name in ("TerminalInteractiveShell", "ZMQInteractiveShell")]
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: kinds[-1]))
    monkeypatch.setattr(shown, "PATIENCE", -1.0)
    monkeypatch.setattr(shown, "BETWEEN_LABELS", 0.0)
    assert list(shown.steps([1, 2], "weighing")) == [1, 2]
    assert "weighing 100%" in capsys.readouterr().err
    kinds.pop()
    assert list(shown.steps([1, 2], "weighing")) == [1, 2]
    assert capsys.readouterr().err == ""
