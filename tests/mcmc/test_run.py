"""Runs: planned, stopped, resumed, diagnosed. Nothing private reaches the file."""

import math
import signal
import sqlite3
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from discreet import shown
from discreet.mcmc.annealed import AnnealedImportance
from discreet.mcmc.assignment_gibbs import AssignmentGibbs
from discreet.mcmc.barker import Barker, accepted
from discreet.mcmc.hidden_markov_gibbs import HiddenMarkovGibbs
from discreet.mcmc.metropolis import Metropolis
from discreet.mcmc.mixture import Mixture
from discreet.mcmc.mixture_gibbs import MixtureGibbs
from discreet.mcmc.proposals import CoordinateWalk, SimplexWalk
from discreet.mcmc.registry import KERNELS
from discreet.mcmc.running import run as running
from discreet.mcmc.running.checkpoint import Checkpoint, CheckpointError
from discreet.mcmc.running.endings import NoisyWeights, Resampled
from discreet.mcmc.running.plan import ChainPlan, calibrate
from discreet.mcmc.running.run import resume, run
from discreet.mcmc.target import CellTarget, SimplexTarget
from discreet.models.hidden_markov import HiddenMarkov
from discreet.privacy.arithmetic.ball import ball, precision
from discreet.privacy.guarantee import ADD_REMOVE, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP, PureDP, ZeroCDP
from discreet.sampling.source import SeededSource, Source

TARGET = SimplexTarget(column="x", alpha=(1, 1), truncation=0.0625)
WALK = SimplexWalk(0.25)
MODEL = Mixture(classes=2, columns=("x",), shape=(2,), truncation=0.25)
COUNTS = np.array([8, 4])
KERNEL = {
    "barker": Barker(target=TARGET, walk=WALK, temperature=2),
    "metropolis": Metropolis(target=TARGET, walk=WALK, temperature=2, delta=0.99),
    "mixture_gibbs": MixtureGibbs(model=MODEL, temperature=2),
    "assignment_gibbs": AssignmentGibbs(model=MODEL, records=12, scan=4, temperature=2),
    "annealed_importance": AnnealedImportance(
        target=TARGET, walk=WALK, inverse_temperatures=(0.25, 0.5, 0.75, 0.875, 1), particles=2
    ),
    "hidden_markov_gibbs": HiddenMarkovGibbs(
        HiddenMarkov(states=2, chain="r", step="t", features=("x",)).bind({"r": 1, "t": 1, "x": 2}),
        temperature=2,
    ),
}
STEPS = 6


def test_every_kernel_is_run_here():
    assert KERNEL.keys() == KERNELS.keys()
    assert all(kernel.name == name and kernel.theorem for name, kernel in KERNEL.items())


def stop_at(monkeypatch, kernel, call):
    """Ctrl-C in the middle of a step of the second chain."""
    made, step = [0], type(kernel).step

    def interrupted(self, *args):
        made[0] += 1
        if made[0] == call:
            raise KeyboardInterrupt
        return step(self, *args)

    monkeypatch.setattr(type(kernel), "step", interrupted)


@pytest.mark.parametrize("name", KERNEL)
def test_a_stopped_run_resumes_bit_for_bit(name, tmp_path, monkeypatch):
    plan = ChainPlan(KERNEL[name], STEPS, 2)
    whole = run(plan, COUNTS, source=SeededSource(7))
    stop_at(monkeypatch, KERNEL[name], 8)
    part = run(plan, COUNTS, source=SeededSource(7), file=tmp_path / "chain")
    assert (part.steps, part.complete, part.seeded) == (3, False, True)
    assert "STOPPED after 3" in repr(part)
    assert part.spent.epsilon(0) < plan.guarantee.epsilon(0) or part.spent.epsilon(0) == math.inf
    assert np.array_equal(part.draws, whole.draws[:, :4], equal_nan=True)
    rest = resume(KERNEL[name], COUNTS, tmp_path / "chain")
    assert rest.complete
    assert np.array_equal(rest.draws, whole.draws, equal_nan=True)
    # a finished run has nothing left to make
    assert np.array_equal(resume(KERNEL[name], COUNTS, tmp_path / "chain").draws, whole.draws, equal_nan=True)


def test_a_crash_loses_at_most_what_was_not_written(tmp_path):
    plan, file = ChainPlan(KERNEL["barker"], STEPS, 2), tmp_path / "chain"
    whole = run(plan, COUNTS, source=SeededSource(7), file=file)
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM rows WHERE step > 2")
    connection.close()
    assert np.array_equal(resume(KERNEL["barker"], COUNTS, file).draws, whole.draws)
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM rows WHERE step = 2")
    connection.close()
    with pytest.raises(CheckpointError, match="lacks a step"):
        resume(KERNEL["barker"], COUNTS, file)


KILLED = """
import os, signal, sys
import numpy as np
from discreet.mcmc import Barker, Plan, SimplexTarget, SimplexWalk
from discreet.mcmc.running import checkpoint
from discreet.mcmc.running.run import run
from discreet.sampling.source import SeededSource

checkpoint.PATIENCE = -1.0  # write every step
made, step = [0], Barker.step

def killed(self, *args):
    made[0] += 1
    if made[0] == 8:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *args)

Barker.step = killed
target = SimplexTarget(column="x", alpha=(1, 1), truncation=0.0625)
kernel = Barker(target=target, walk=SimplexWalk(0.25), temperature=2)
run(Plan(kernel, 6, 2), np.array([8, 4]), source=SeededSource(7), file=sys.argv[1])
"""


def test_a_killed_process_gives_its_file_back(tmp_path):
    file = tmp_path / "chain"
    died = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)  # noqa: S603
    assert died.returncode == -signal.SIGKILL
    whole = run(ChainPlan(KERNEL["barker"], STEPS, 2), COUNTS, source=SeededSource(7))
    held = Checkpoint.open(file)
    assert len(held.rows()[0]) == 4  # the start and three whole steps
    held.close()
    assert np.array_equal(resume(KERNEL["barker"], COUNTS, file).draws, whole.draws)


def test_with_the_system_source_a_run_goes_on_with_fresh_randomness(tmp_path, monkeypatch):
    plan, file = ChainPlan(KERNEL["barker"], 40, 2), tmp_path / "chain"
    with monkeypatch.context() as patch:
        stop_at(patch, KERNEL["barker"], 11)
        part = run(plan, COUNTS, file=file)
    copy = tmp_path / "copy"
    copy.write_bytes(file.read_bytes())
    first, second = resume(KERNEL["barker"], COUNTS, file), resume(KERNEL["barker"], COUNTS, copy)
    assert not first.seeded
    assert np.array_equal(first.draws[:, :6], part.draws)
    assert not np.array_equal(first.draws, second.draws)  # equal with chance far below 2⁻⁶⁴


def test_what_the_file_holds(tmp_path):
    file = tmp_path / "chain"
    made = run(ChainPlan(KERNEL["barker"], STEPS, 2), COUNTS, file=file)
    held = Checkpoint.open(file)
    assert set(held.meta) == {
        "format", "kernel", "name", "labels", "steps", "chains", "guarantee", "seed", "receipt", "run",
    }  # fmt: skip
    assert held.meta["seed"] is None
    rows, words = held.rows()
    assert words == 0  # of the system's generator nothing is kept
    assert np.array_equal(np.stack(rows, axis=1), made.draws)
    held.close()


def test_the_file_is_one_processs_and_one_kernels(tmp_path):
    file = tmp_path / "chain"
    run(ChainPlan(KERNEL["barker"], 2, 2), COUNTS, file=file)
    with pytest.raises(CheckpointError, match="exists"):
        run(ChainPlan(KERNEL["barker"], 2, 2), COUNTS, file=file)
    with pytest.raises(CheckpointError, match="another kernel or other settings"):
        resume(KERNEL["barker"].at(3), COUNTS, file)
    held = Checkpoint.open(file)
    with pytest.raises(CheckpointError, match="held by another run"):
        resume(KERNEL["barker"], COUNTS, file)
    held.close()
    with pytest.raises(CheckpointError, match="no checkpoint at"):
        resume(KERNEL["barker"], COUNTS, tmp_path / "none")
    (tmp_path / "text").write_text("a diary")
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        resume(KERNEL["barker"], COUNTS, tmp_path / "text")


def test_a_secret_order_cannot_be_found_again(tmp_path, monkeypatch):
    kernel = KERNEL["assignment_gibbs"]
    stop_at(monkeypatch, kernel, 4)
    run(ChainPlan(kernel, 3, 2), COUNTS, file=tmp_path / "chain")
    with pytest.raises(CheckpointError, match="secret order"):
        resume(kernel, COUNTS, tmp_path / "chain")
    assert AssignmentGibbs(model=MODEL, records=12).memoryless  # a full scan forgets the order's assignments


class Dial(Source):
    """The words of a script, then zeros."""

    seeded = True

    def __init__(self, *words):
        self.script = list(words)

    def words(self, count):
        found = [self.script.pop(0) if self.script else 0 for _ in range(count)]
        return np.array(found, dtype=np.uint64)


def test_a_file_knows_its_source(tmp_path):
    with pytest.raises(CheckpointError, match="this source is neither"):
        run(ChainPlan(KERNEL["barker"], 2, 1), COUNTS, source=Dial(), file=tmp_path / "chain")


@pytest.mark.parametrize("u", [Fraction(1, 3), Fraction(-7), Fraction(40), Fraction(-41, 2)])
def test_accept_bits_are_decided_beyond_the_64th_bit(u):
    # U in the cell of the edge 1 − σ(u): the next 128 bits say on which side it lies, where a double cannot.
    with precision(512):
        scaled = 2**64 / (1 + ball(u).exp())
        cell = int(scaled.floor().unique_fmpz())
        beyond = int(((scaled - cell) * 2**128).floor().unique_fmpz())
    for shift, accepted_there in ((-1, False), (1, True)):
        rest = beyond + shift
        source = Dial(cell, rest >> 64, rest & (2**64 - 1))
        assert accepted(source, u, 1)[0] == accepted_there


def test_interrupted_before_the_first_state_nothing_is_returned(monkeypatch):
    def interrupted(self, source):
        raise KeyboardInterrupt

    monkeypatch.setattr(Barker, "init", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(ChainPlan(KERNEL["barker"], 2, 2), COUNTS)


def test_progress_says_agreement_and_spend():
    plan = ChainPlan(KERNEL["barker"], 20, 2)
    made = run(plan, COUNTS, source=SeededSource(1))
    rows = [made.draws[:, k] for k in range(21)]
    spent = plan.after(20).epsilon(1e-6)
    said = running.status(plan, rows)
    assert f"spent ε {spent:.3g} at δ 1e-6" in said
    assert f"R̂ {max(made.r_hat(9).values()):.3f}, ESS {min(made.effective_size(9).values()):.0f}," in said
    assert "R̂ nan, ESS nan" in running.status(plan, rows[:2])


# ── plans ──


def test_plans_compose_chains_and_steps_by_bounded_range():
    plan = ChainPlan(KERNEL["barker"], 100, 4)
    one = KERNEL["barker"].guarantee
    assert plan.guarantee.zcdp_bound == pytest.approx(400 * float(one.loss) ** 2 / 8)
    assert plan.guarantee.epsilon(1e-6) < 400 * float(one.loss) / 2  # not basic composition


@pytest.mark.parametrize("target", [ApproxDP(3, 1e-6), ZeroCDP(0.25), PureDP(2)], ids=repr)
@pytest.mark.parametrize("name", ["barker", "mixture_gibbs", "annealed_importance"])
def test_calibration_finds_the_coldest_chain_that_meets_the_target(name, target):
    steps = KERNEL[name].length or 50
    kernel = calibrate(KERNEL[name], steps=steps, target=target, chains=2)
    assert ChainPlan(kernel, steps, 2).guarantee <= target
    colder = kernel.at(float(kernel.temperature) * (1 - 1e-9))
    assert not ChainPlan(colder, steps, 2).guarantee <= target


def test_calibration_says_when_no_heat_helps():
    noisy = AnnealedImportance(
        target=TARGET, walk=WALK, inverse_temperatures=(1,), particles=2, ending=NoisyWeights(3)
    )
    with pytest.raises(Unreachable, match="no temperature"):
        calibrate(noisy, steps=2, target=PureDP(2), chains=1)


def test_calibration_of_metropolis_starts_where_it_promises_something():
    hot = KERNEL["metropolis"]
    made = calibrate(
        Metropolis(target=TARGET, walk=WALK, temperature=1e9, delta=1e-6), steps=5, target=ApproxDP(1, 1e-5)
    )
    assert made.temperature > 1e5
    assert hot.guarantee.slack > 0.1


# ── bad input ──


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "3"])
def test_steps_and_chains_are_whole(bad):
    for arguments in ((bad, 2), (2, bad)):
        with pytest.raises(ValueError, match="whole number"):
            ChainPlan(KERNEL["barker"], *arguments)


def test_annealing_fixes_its_own_length():
    with pytest.raises(ValueError, match="has 6 steps"):
        ChainPlan(KERNEL["annealed_importance"], 5, 1)
    state = run(ChainPlan(KERNEL["annealed_importance"], 6, 1), COUNTS, source=SeededSource(1)).draws[0, -1]
    with pytest.raises(ValueError, match="this run is over"):
        KERNEL["annealed_importance"].step(state, COUNTS, SeededSource(1))


@pytest.mark.parametrize("temperature", [0, -1, float("nan"), float("inf"), "hot"])
@pytest.mark.parametrize("name", KERNEL)
def test_temperatures_are_numbers_above_zero(name, temperature):
    with pytest.raises(ValueError, match="temperature"):
        KERNEL[name].at(temperature)


@pytest.mark.parametrize("counts", [[8, 4, 1], [8.0, 4.0], [-1, 4], [[8, 4]]])
def test_counts_are_checked_without_showing_them(counts):
    with pytest.raises(ValueError, match="must be 2 integers of at least 0") as caught:
        run(ChainPlan(KERNEL["barker"], 2, 1), np.array(counts))
    assert "8" not in str(caught.value)


def test_assignments_need_their_public_number_of_records():
    with pytest.raises(NotProved, match="only SUBSTITUTE"):
        AssignmentGibbs(model=MODEL, records=12, relation=ADD_REMOVE)
    with pytest.raises(ValueError, match="do not add up"):
        run(ChainPlan(KERNEL["assignment_gibbs"], 2, 1), np.array([5, 4]))
    with pytest.raises(ValueError, match="between 1 and all of 12"):
        AssignmentGibbs(model=MODEL, records=12, scan=13)


def test_the_secret_order_is_uniform():
    # χ² over the 6 orders of 3 different records, 3000 draws: 30 is exceeded with probability 1.5e-5
    source, model = SeededSource(8), Mixture(classes=2, columns=("x",), shape=(3,), truncation=0.25)
    kernel = AssignmentGibbs(model=model, records=3)
    seen = [tuple(kernel.arranged(np.array([1, 1, 1]), source)) for _ in range(3000)]
    found = np.array([seen.count(order) for order in set(seen)])
    assert found.size == 6
    assert ((found - 500) ** 2 / 500).sum() < 30
    partial = AssignmentGibbs(model=model, records=3, scan=1)
    chosen = np.bincount([int(partial._subset(source)[0]) for _ in range(3000)])
    assert ((chosen - 1000) ** 2 / 1000).sum() < 22


class Jumps(SimplexWalk):
    """BROKEN: goes farther than it says."""

    def shift(self, source):  # noqa: ARG002
        return 4 * float(self.width)


def test_a_walk_that_breaks_its_word_is_stopped():
    kernel = Barker(target=TARGET, walk=Jumps(0.0625), temperature=1)
    with pytest.raises(ValueError, match="farther than its width"):
        run(ChainPlan(kernel, 5, 1), COUNTS, source=SeededSource(1))


def cell_target(**changes):
    settings = {
        "columns": ("x",), "shape": (2,), "labels": ("t",), "lower": -2, "upper": 0,
        "log_likelihood": lambda t: [t[0], -1.0],
        "log_prior_density": lambda _t: 0.0,
        "draw_prior": lambda _source: [0.0],
    }  # fmt: skip
    return CellTarget(**{**settings, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lower": 0}, "lower < upper"),
        ({"lower": float("nan")}, "NaN|nan"),
        ({"shape": (2, 2)}, "one size for each column"),
        ({"lipschitz": 0}, "Lipschitz"),
    ],
)
def test_user_models_are_checked_at_once(changes, words):
    with pytest.raises(ValueError, match=words):
        cell_target(**changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"log_likelihood": lambda _t: [float("nan"), 0.0]}, "finite"),
        ({"log_likelihood": lambda _t: [0.0]}, "2 numbers"),
        ({"log_prior_density": lambda _t: float("nan")}, "finite number, or −∞"),
        ({"draw_prior": lambda _s: [0.0, 1.0]}, "one number for each label"),
        ({"log_prior_density": lambda _t: -math.inf}, "prior is above 0"),
    ],
)
def test_user_functions_are_checked_when_they_answer(changes, words):
    kernel = Barker(target=cell_target(**changes), walk=CoordinateWalk(0.5, 0.25), temperature=1)
    with pytest.raises(ValueError, match=words):
        run(ChainPlan(kernel, 1, 1), COUNTS, source=SeededSource(1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: SimplexTarget(column="x", alpha=(1,), truncation=0.1),
        lambda: SimplexTarget(column="x", alpha=(1, 0), truncation=0.1),
        lambda: SimplexTarget(column="x", alpha=(1, 1), truncation=0.5),
        lambda: SimplexTarget(column="x", alpha=(1, 1), truncation=0),
        lambda: Mixture(classes=0, columns=("x",), shape=(2,), truncation=0.1),
        lambda: Mixture(classes=2, columns=("x", "x"), shape=(2, 2), truncation=0.1),
        lambda: Mixture(classes=2, columns=("x",), shape=(1,), truncation=0.1),
        lambda: Mixture(classes=2, columns=("x",), shape=(2,), truncation=1),
        lambda: Mixture(classes=2, columns=("x",), shape=(2,), truncation=0.1, weight=0),
        lambda: SimplexWalk(0),
        lambda: SimplexWalk(0.1, Fraction(1, 3)),
        lambda: AnnealedImportance(target=TARGET, walk=WALK, inverse_temperatures=(0.5, 0.25), particles=1),
        lambda: AnnealedImportance(target=TARGET, walk=WALK, inverse_temperatures=(), particles=1),
        lambda: AnnealedImportance(target=TARGET, walk=WALK, inverse_temperatures=(1,), particles=0),
        lambda: Metropolis(target=TARGET, walk=WALK, delta=0),
    ],
)
def test_settings_are_refused_with_words(make):
    with pytest.raises(ValueError):
        make()


def test_both_endings_release_one_weight_a_particle():
    for ending in (Resampled(3), NoisyWeights(1)):
        kernel = AnnealedImportance(
            target=TARGET, walk=WALK, inverse_temperatures=(0.5,), particles=4, ending=ending
        )
        state = run(ChainPlan(kernel, 2, 1), COUNTS, source=SeededSource(9)).draws[0, -1]
        particles, weights = kernel.released(state)
        assert particles.shape == (4, 2)
        assert np.isfinite(weights).all()
        assert weights.shape == (4,)


# ── what a run says of itself ──


def test_an_annealed_run_has_no_agreement_to_report():
    made = run(ChainPlan(KERNEL["annealed_importance"], 6, 1), COUNTS, source=SeededSource(4))
    assert all(math.isnan(entry["r_hat"]) for name, entry in made.summary().items() if "@" in name)


def rows_of(kernel, *states):
    """A run whose chains stand still, each at its state"""
    return [np.stack(states)] * 12


def test_chains_that_stand_still_apart_are_the_worst_that_status_shows():
    plan = ChainPlan(KERNEL["barker"], 20, 4)
    apart = rows_of(plan.kernel, *np.array([[0.25, 0.75], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]))
    assert "R̂ inf, ESS 6," in running.status(plan, apart)
    together = rows_of(plan.kernel, *np.full((4, 2), 0.5))
    assert "R̂ 1.000, ESS 24," in running.status(plan, together)


def test_status_looks_at_every_entry():
    many = SimplexTarget(column="x", alpha=(1,) * 40, truncation=0.001)
    plan = ChainPlan(Barker(target=many, walk=WALK, temperature=2), 20, 2)
    states = np.full((2, 40), 1 / 40)
    states[1, 39] = 0.03  # only the last differs
    assert "R̂ inf" in running.status(plan, rows_of(plan.kernel, *states))


SWITCHED = {
    "mixture_gibbs": ([0.75, 0.25, 0.5, 0.5, 0.875, 0.125], [0.25, 0.75, 0.875, 0.125, 0.5, 0.5]),
    "assignment_gibbs": (
        [*[0.0] * 9, *[1.0] * 3, 0.75, 0.25, 0.5, 0.5, 0.875, 0.125],
        [*[1.0] * 9, *[0.0] * 3, 0.25, 0.75, 0.875, 0.125, 0.5, 0.5],
    ),
}


@pytest.mark.parametrize("name", SWITCHED)
def test_renamed_classes_are_the_same_answer_and_are_not_averaged(name):
    """Two chains, the second with its classes' names exchanged; then one whose tables are others."""
    plan, (one, other) = ChainPlan(KERNEL[name], 11, 2), SWITCHED[name]
    draws = np.stack(rows_of(plan.kernel, np.array(one), np.array(other)), axis=1)
    said = running.Chains(plan, draws, seeded=True).summary()
    assert {x: round(entry["mean"], 9) for x, entry in said.items()} == {
        "weight(1)": 0.75,
        "weight(2)": 0.25,
        "x[0]": 0.59375,
        "x[1]": 0.40625,
        "x[0] between classes": round(0.375 * math.sqrt(0.75 * 0.25), 9),
        "x[1] between classes": round(0.375 * math.sqrt(0.75 * 0.25), 9),
    }
    assert all(entry["r_hat"] == 1 for entry in said.values())
    draws = draws.copy()
    draws[1, :, -4:] = 0.5
    assert running.Chains(plan, draws, seeded=True).summary()["x[0] between classes"]["r_hat"] == math.inf


def test_the_bar_appears_on_a_terminal_after_its_patience(monkeypatch, capsys):
    plan = ChainPlan(KERNEL["barker"], 5, 2)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    run(plan, COUNTS, source=SeededSource(1))
    assert capsys.readouterr().err == ""  # over before two seconds have passed
    monkeypatch.setattr(shown, "PATIENCE", -1.0)
    monkeypatch.setattr(shown, "BETWEEN_LABELS", -1.0)
    run(plan, COUNTS, source=SeededSource(1))
    assert "barker: R̂" in capsys.readouterr().err
