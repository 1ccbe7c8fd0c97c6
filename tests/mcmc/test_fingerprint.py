"""A file is continued by the kernel that began it: functions are told apart by what they compute."""

import functools
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from discreet.mcmc.barker import Barker
from discreet.mcmc.proposals import CoordinateWalk
from discreet.mcmc.running.checkpoint import CheckpointError
from discreet.mcmc.running.fingerprint import fingerprint
from discreet.mcmc.running.plan import ChainPlan
from discreet.mcmc.running.run import resume, run
from discreet.mcmc.target import CellTarget
from discreet.sampling.source import SeededSource

COUNTS = np.array([8, 4])
SLOPE = np.array([1.0, 2.0])


def scaled(by):
    return lambda t: [by * t[0], -1.0]


def kernel(log_likelihood):
    target = CellTarget(
        columns=("x",),
        shape=(2,),
        labels=("t",),
        lower=-2,
        upper=0,
        log_likelihood=log_likelihood,
        log_prior_density=lambda _t: 0.0,
        draw_prior=lambda _source: [0.0],
    )
    return Barker(target=target, walk=CoordinateWalk(0.5, 0.25), temperature=1)


def test_a_file_is_not_continued_by_another_lambda_of_the_same_place(tmp_path):
    file = tmp_path / "chain"
    made = run(ChainPlan(kernel(scaled(1.0)), 3, 1), COUNTS, source=SeededSource(1), file=file)
    with pytest.raises(CheckpointError, match="another kernel or other settings"):
        resume(kernel(scaled(0.5)), COUNTS, file)
    assert np.array_equal(resume(kernel(scaled(1.0)), COUNTS, file).draws, made.draws)


def reads_a_global(t):
    return SLOPE * t


def calls_itself(n):
    return calls_itself(n - 1) if n else logsumexp(n) in {"a", "b", "c"}


PAIRS = [
    (scaled(1.0), scaled(2.0)),
    (lambda t: t + 1, lambda t: t + 2),
    (lambda t, by=1: t * by, lambda t, by=2: t * by),
    (lambda t, *, by=1: t * by, lambda t, *, by=2: t * by),
    (lambda t: [x + 1 for x in t], lambda t: [x + 2 for x in t]),
    (np.log, np.exp),
    (functools.partial(np.add, 1), functools.partial(np.add, 2)),
    (np.arange(5000), np.where(np.arange(5000) == 2500, 0, np.arange(5000))),
    ({"a": 1}, {"a": 2}),
    (CoordinateWalk(0.5, 0.25).__eq__, CoordinateWalk(0.5, 0.5).__eq__),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_what_computes_differently_is_told_apart(one, other):
    assert fingerprint(one) == fingerprint(one)
    assert fingerprint(one) != fingerprint(other)


def test_a_global_that_was_changed_is_seen(monkeypatch):
    before = fingerprint(reads_a_global)
    monkeypatch.setitem(globals(), "SLOPE", np.array([1.0, 3.0]))
    assert fingerprint(reads_a_global) != before


def test_another_process_finds_the_same_text(tmp_path):
    """Sets of text have another order there, and objects another place."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import test_fingerprint as t; "
    code += "print(t.fingerprint((t.calls_itself, t.scaled(1.0), t.reads_a_global)))"
    folder = str(__import__("pathlib").Path(__file__).parent)
    found = {
        subprocess.run(  # noqa: S603
            [sys.executable, "-c", code, folder],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
            cwd=tmp_path,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


class Opaque:
    def __call__(self, t):
        return [t[0], -1.0]


def test_what_cannot_be_told_apart_is_refused_before_anything_is_written(tmp_path):
    file = tmp_path / "chain"
    for held in (Opaque(), lambda t: [HELD and t[0], -1.0]):
        with pytest.raises(CheckpointError, match="cannot be distinguished from one that holds another"):
            run(ChainPlan(kernel(held), 2, 1), COUNTS, source=SeededSource(1), file=file)
    assert not file.exists()
    assert run(
        ChainPlan(kernel(Opaque()), 2, 1), COUNTS, source=SeededSource(1)
    ).complete  # no file, no matter


HELD = object()


def test_settings_without_functions_are_what_they_were():
    walk = CoordinateWalk(0.5, 0.25)
    assert fingerprint(walk) == "CoordinateWalk(width=0.5,grid=0.25)"
    assert fingerprint(replace(walk, grid=0.125)) != fingerprint(walk)
