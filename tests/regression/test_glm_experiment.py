"""The regression experiment runs, and its tasks, targets and the baseline's chain are what they say."""

import csv
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kstest

from discreet.experiments import glm, glm_data
from discreet.experiments.glm_chain import within
from discreet.experiments.glm_methods import STYLES, bottom, round_above, tempered
from discreet.experiments.registry import find
from discreet.mechanisms.potential import Potential
from discreet.models.margin_losses import Logistic
from discreet.models.regression_records import Records
from discreet.privacy.guarantees import BoundedRange


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    glm_data.digits.cache_clear()
    yield
    glm_data.digits.cache_clear()


def test_the_quick_run_draws_every_mechanism(tmp_path, no_folder):
    pictures, numbers = [], None
    for path in find("glm")(tmp_path, 0, quick=True):
        if path.suffix == ".csv":
            numbers = path
        else:
            pictures.append(path)
            assert path.read_bytes().startswith(b"\x89PNG")
    assert len(pictures) == 3
    with numbers.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["task"] for row in rows} == {"Abalone", "Adult"}  # MNIST is nowhere
    assert set(STYLES) - {"direct"} <= {row["method"] for row in rows}
    assert all(0 <= float(row["error"]) <= 1 and float(row["negative_log_likelihood"]) > 0 for row in rows)

    def of(order, epsilon):
        wanted = {"method": "diffused", "order": order, "epsilon": epsilon}
        return [row["error"] for row in rows if wanted.items() <= row.items()]

    assert of("1.0", "0.1") == of("10.0", "1.0") != []  # one law, one μ² = 2ε/α


@pytest.mark.parametrize(("order", "epsilon"), [(10.0, 1.0), (100.0, 0.1)])
def test_a_draw_meets_its_order_and_no_less(order, epsilon):
    target = glm.Point(glm_data.shells(), "diffused", order, epsilon).target
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
    split = shells.thinned(300).split(np.random.default_rng(0))
    assert split.records.n + split.unseen.n <= 300
    assert np.linalg.norm(split.records.rows, axis=1).max() ** 2 <= float(shells.model.bound_square)


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
