"""The regression experiment runs, and its tasks, targets and the baseline's chain are what they say."""

import csv
import os
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kstest

from discreet.experiments.registry import find
from discreet.experiments.regression import data as glm_data
from discreet.experiments.regression import figures as glm
from discreet.experiments.regression.methods import STYLES, bottom, round_above, tempered, within
from discreet.mechanisms.regression.samplers.potential import Potential
from discreet.models.margin_losses import Logistic
from discreet.models.regression_records import Records
from discreet.privacy.kinds import BoundedRange


@pytest.fixture
def folder(monkeypatch):
    """Name a folder of data sets, or none."""

    def name(path):
        monkeypatch.delenv("DISCREET_DATA", raising=False)
        if path is not None:
            monkeypatch.setenv("DISCREET_DATA", str(path))
        forget()

    def forget():
        glm_data.digits.cache_clear()
        glm.task_of.cache_clear()

    yield name
    forget()


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_quick_run_draws_every_mechanism_and_goes_on_where_it_was_cut(
    tmp_path, folder, monkeypatch, capsys
):
    folder(None)
    numbers, *pictures = find("glm")(tmp_path, 0, quick=True)
    assert len(pictures) == 3
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
    assert (
        "Adult, diffused, order 1, ε = 0.1: error" in capsys.readouterr().err
    )  # a line a law, off a terminal
    rows, whole = read(numbers), numbers.read_bytes()
    assert {row["task"] for row in rows} == {"Abalone", "Adult"}  # MNIST is nowhere
    assert set(STYLES) - {"direct"} <= {row["method"] for row in rows}
    assert all(0 <= float(row["error"]) <= 1 and float(row["negative_log_likelihood"]) > 0 for row in rows)

    def of(order, epsilon):
        wanted = {"method": "diffused", "order": order, "epsilon": epsilon}
        return [row["error"] for row in rows if wanted.items() <= row.items()]

    assert of("1.0", "0.1") == of("10.0", "1.0") != []  # one law, one μ² = 2ε/α

    lines = whole.splitlines(keepends=True)
    numbers.write_bytes(b"".join(lines[:-3]) + lines[-3][:40])  # killed while it wrote
    again, work = [], glm.Point.scores
    monkeypatch.setattr(glm.glm_pictures, "finish", lambda _, path: path)  # seen above
    monkeypatch.setattr(
        glm.Point, "scores", lambda point, seeds: again.append(point.method) or work(point, seeds)
    )
    find("glm")(tmp_path, 0, quick=True)
    assert numbers.read_bytes() == whole
    assert sorted(again) == ["concentrated", "direct", "direct", "one_posterior_sample"]  # direct has no rows
    assert f"{len(rows) - 3} rows are kept" in capsys.readouterr().err


def test_rows_of_another_run_are_not_kept_and_no_picture_loses_a_row(tmp_path, folder, monkeypatch):
    folder(None)
    monkeypatch.setattr(glm.Point, "scores", lambda _, seeds: [(seed / 100, 1.0) for seed in seeds])
    monkeypatch.setattr(glm.glm_pictures, "approximate", lambda *_: 1 / 0)
    for seed in (0, 1):  # seeds 0, 1 and then 1, 2: of the first run, those of seed 1 are kept
        with pytest.raises(ZeroDivisionError):
            glm.figures(tmp_path, seed, quick=True)
        rows = read(tmp_path / "glm.csv")
        assert {row["seed"] for row in rows} == {str(seed), str(seed + 1)}
        assert all(float(row["error"]) == int(row["seed"]) / 100 for row in rows)


def test_draws_that_are_one_law_are_drawn_once():
    def law(method, order, epsilon):
        return glm.Point("Adult", 2, method, order, epsilon).law

    assert law("diffused", 1.0, 10.0) == law("concentrated", 10.0, 100.0)  # ρ = 1 and m = d/R² in both
    assert law("diffused", 1.0, 1.0) == law("diffused", 100.0, 100.0) != law("concentrated", 1.0, 1.0)
    laws = {law(method, 0.0, 1.0) for method in ("tuned", "diffused", "polynomial_statistics", "direct")}
    assert len(laws) == 4


@pytest.mark.parametrize(("order", "epsilon"), [(10.0, 1.0), (100.0, 0.1)])
def test_a_draw_meets_its_order_and_no_less(order, epsilon):
    target = glm.Point("Abalone", 1, "diffused", order, epsilon).target
    assert target.renyi(order) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize(("order", "epsilon"), [(1.0, 0.1), (10.0, 1.0), (0.0, 1.0)])
def test_one_posterior_sample_spends_its_epsilon(order, epsilon):
    law = tempered(glm_data.shells().model, order, epsilon, 3133).ideal
    more = BoundedRange(float(law.loss) * 1.001)
    if order:
        assert law.renyi(max(order, 1 + 1e-6)) <= epsilon < more.renyi(max(order, 1 + 1e-6))
    else:
        assert law.delta(epsilon) <= 1e-5 < more.delta(epsilon)


def test_tasks_are_encoded_by_public_bounds():
    shells, census = glm_data.shells(), glm_data.census()
    assert (shells.n, shells.model.dimension) == (4177, 11)
    assert (census.n, census.model.dimension, int(census.train.sum())) == (48842, 108, 32561)
    numbers = len(glm_data.CENSUS)
    assert np.abs(census.features[:, :numbers]).max() <= 1
    levels = census.features[:, numbers:]
    assert (levels.sum(axis=1) == len(glm_data.ANSWERS)).all()  # every answer is a documented level
    assert abs(shells.answers.mean()) < 0.01  # nine rings part the shells in halves
    few = shells.thinned(14)
    split = few.split(np.random.default_rng(0))
    assert split.records.n + split.unseen.n == few.n == 299
    assert split.records.n == few.trained == 224  # every fourteenth of 3133
    assert np.linalg.norm(split.records.rows, axis=1).max() ** 2 <= float(shells.model.bound_square)


def digits_in(folder, path, rng):
    """Write 30 images in the file's own form."""
    images = rng.integers(0, 256, (30, 28, 28), dtype=np.uint8)
    labels = np.array([3, 8] * 15)
    parts = {"X_train": images[:20], "y_train": labels[:20], "X_test": images[20:], "y_test": labels[20:]}
    np.savez(path / glm_data.DIGITS, **parts)
    folder(path)
    return images, glm_data.digits()


def test_digits_are_read_where_the_folder_has_them(tmp_path, folder):
    folder(tmp_path)
    assert glm_data.digits() is None
    images, task = digits_in(folder, tmp_path, np.random.default_rng(0))
    assert (task.n, task.trained, task.model.dimension) == (30, 20, 785)
    assert np.array_equal(task.answers, [-1, 1] * 15)  # 3 is −1, 8 is 1
    assert np.array_equal(task.features, images.reshape(30, 784) / 255)
    split = task.split(np.random.default_rng(0))
    assert np.array_equal(split.train[0], task.features[:20])
    assert split.records.rows.shape == (20, 785)


@pytest.mark.skipif("DISCREET_DATA" not in os.environ, reason="DISCREET_DATA names no folder")
def test_the_digits_themselves():
    task = glm_data.digits()
    assert (task.n, task.trained, task.model.dimension) == (13966, 11982, 785)
    assert [int((task.answers == y).sum()) for y in (-1, 1)] == [7141, 6825]  # threes and eights of MNIST
    assert (task.features.min(), task.features.max()) == (0, 1)
    assert 0.1 < (task.features > 0).mean() < 0.3  # images of ink on a blank ground


def test_caps_are_round_and_enough():
    assert [round_above(n) for n in (7, 426, 3132, 32561)] == [7, 430, 3200, 33000]


def line():
    """1-D records and the posterior on [−2, 2] by quadrature."""
    rng = np.random.default_rng(3)
    rows = rng.uniform(-1, 1, (40, 1))
    records = Records(rows, np.where(rng.random(40) < 0.7, np.sign(rows[:, 0]), -np.sign(rows[:, 0])))
    potential = Potential(records, Logistic(), Fraction(1, 2), Fraction(1, 4))
    grid = np.linspace(-2, 2, 4001)
    density = np.exp(-np.array([potential.value(np.array([w])) for w in grid]))
    return potential, grid, np.cumsum(density) / density.sum()


def test_the_chain_has_the_law_on_the_ball():
    # level 1e-6 with 2000 independent chains: the truth is refused once in a million seeds
    potential, grid, cumulative = line()
    mode = bottom(potential)
    assert np.abs(potential.gradient(mode)).max() < 1e-3
    w = within(potential, mode, 2.0, 2000, np.random.default_rng(1))[:, 0]
    assert np.abs(w).max() <= 2
    assert kstest(w, lambda x: np.interp(x, grid, cumulative)).pvalue > 1e-6
    assert kstest(w, lambda x: np.interp(x - 0.15, grid, cumulative)).pvalue < 1e-6  # sees a small shift
