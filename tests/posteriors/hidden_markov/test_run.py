"""A run that is stopped anywhere goes on bit for bit; a file of another run is refused; progress is told."""

import signal
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov import fit as hmm
from discreet.posteriors.hidden_markov import run as hmm_run
from discreet.posteriors.hidden_markov.chain import StateChain
from discreet.posteriors.hidden_markov.noisy_counts import NoisyEmissions
from discreet.posteriors.hidden_markov.run import SWEEPS_OF_STARTS
from discreet.posteriors.read import cell_posterior
from discreet.sampling.source import SeededSource

MODEL = HiddenMarkov(states=3, chain="r", step="t", features=("x", "y")).bind(
    {"r": 3, "t": 6, "x": 4, "y": 2}
)
SHORT = {"chains": 2, "sweeps": 12, "burn": 8, "progress": False}


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(5)
    sizes = rng.poisson(20, 18)
    table = np.concatenate([rng.multinomial(sizes, rng.dirichlet(np.ones(k), 18)) for k in (4, 2)], axis=1)
    mechanism = NoisyCounts(MODEL, n=int(sizes.sum()), noise="discrete_laplace", scales=(2.0, 2.0))
    return mechanism.release(MODEL.flat(table), SeededSource(3))


def interrupt():
    raise KeyboardInterrupt


def signalled():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def _heard():
    """A shell that starts the tests in the background has them ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def stopping(function, at, stop, *, before):
    """The function, but for its call number `at`, which is stopped before or after its work"""
    calls = iter(range(10**6))

    def stopped(*args, **options):
        last = next(calls) == at
        if last and before:
            stop()
        value = function(*args, **options)
        if last:
            stop()
        return value

    return stopped


class Told:
    """A bar that remembers"""

    bars: ClassVar[list["Told"]] = []

    def __init__(self, label, total, *, show):
        self.label, self.total, self.show, self.seen = label, total, show, []
        Told.bars.append(self)

    def __enter__(self):
        return self.advance

    def __exit__(self, *_):
        pass

    def advance(self, sweeps):
        self.seen.append(sweeps)


PLACES = [  # owner, name, how often it is called in a chain's starts; in the chain, 20 times
    (NoisyEmissions, "step", SWEEPS_OF_STARTS),
    (StateChain, "sweep", SWEEPS_OF_STARTS),
    (StateChain, "log_joint", SWEEPS_OF_STARTS),
    (hmm_run, "_record", 0),
    (Told, "advance", 20),
    (hmm_run.Mark, "move", 0),
]
STOPS = [  # how, before the work of the call or after, and in which sweep of the second chain
    (interrupt, True, 8),  # the first after the warm-up
    (interrupt, False, 1),
    (signalled, False, 15),
]


@pytest.fixture(scope="module")
def whole(release):
    return hmm.fit(release, MODEL, source=SeededSource(8), **SHORT)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place[1])
@pytest.mark.parametrize("stopped", STOPS, ids=["before", "after", "signal"])
def test_a_run_stopped_anywhere_goes_on_bit_for_bit(release, whole, tmp_path, place, stopped):
    (owner, name, starts), (stop, before, sweep) = place, stopped
    at = starts + 20 + starts + sweep
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hmm_run, "BETWEEN_MARKS", 1)
        patched.setattr(hmm_run, "bar", Told)
        patched.setattr(owner, name, stopping(getattr(owner, name), at, stop, before=before))
        stop_and_compare(release, whole, tmp_path / "chains.npz", patched)


def stop_and_compare(release, whole, book, patched):
    with pytest.raises(KeyboardInterrupt):
        hmm.fit(release, MODEL, source=SeededSource(8), checkpoint=book, **SHORT)
    patched.undo()
    resumed = hmm.fit(release, MODEL, source=SeededSource(8), checkpoint=book, **SHORT)
    for part in ("z", "theta", "transitions", "log_joint"):
        assert np.array_equal(getattr(whole, part), getattr(resumed, part)), part


@pytest.mark.parametrize("sweep", [5, 14, 19])
def test_sweeps_since_the_last_mark_are_done_again(release, whole, tmp_path, sweep):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hmm_run, "_record", stopping(hmm_run._record, 20 + sweep, interrupt, before=False))
        stop_and_compare(release, whole, tmp_path / "chains.npz", patched)


@pytest.mark.parametrize("at", [0, 2 * SWEEPS_OF_STARTS - 100 + 20])  # of the first chain and the second
def test_a_run_stopped_in_its_starts_begins_them_again(release, whole, tmp_path, at):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StateChain, "sweep", stopping(StateChain.sweep, at, interrupt, before=False))
        stop_and_compare(release, whole, tmp_path / "chains.npz", patched)


def test_another_seed_gives_other_draws(release, whole):
    assert not np.array_equal(hmm.fit(release, MODEL, source=SeededSource(9), **SHORT).theta, whole.theta)


# --- a file of another run ------------
def test_a_checkpoint_of_another_reading_noise_size_mask_or_plan_is_refused(release, tmp_path):
    book = tmp_path / "chains.npz"
    hmm.fit(release, MODEL, source=SeededSource(8), checkpoint=book, **SHORT)
    mask = np.zeros((3, 6), dtype=bool)
    mask[0, 0] = True
    others = [
        (release, {"reading": "naive"}),
        (replace(release, scales=(10.0, 10.0)), {}),
        (replace(release, noise="discrete_gaussian"), {}),
        (replace(release, n=release.n + 1), {}),
        (release, {"missing": mask}),
        (release, {"kernel": "collapsed"}),
        (release, {"sweeps": 13}),
    ]
    for data, options in others:
        with pytest.raises(ValueError, match="of another run"):
            hmm.fit(data, MODEL, checkpoint=book, **{**SHORT, **options})
    again = hmm.fit(release, MODEL, checkpoint=book, **SHORT)  # its own run goes on, whatever the seed
    assert np.array_equal(again.theta, hmm.fit(release, MODEL, source=SeededSource(8), **SHORT).theta)


# --- progress ------------


def test_the_bar_counts_the_starts_and_ends_full_also_when_resumed(release, tmp_path, monkeypatch):
    monkeypatch.setattr(hmm_run, "bar", Told)
    Told.bars.clear()
    for _ in range(2):  # the second finds everything done
        hmm.fit(release, MODEL, source=SeededSource(1), checkpoint=tmp_path / "c.npz", **SHORT)
    first, second = Told.bars
    assert first.total == sum(first.seen) == sum(second.seen) == 2 * (SWEEPS_OF_STARTS + 20)
    assert max(first.seen) < 30  # in small pieces
    assert second.seen == [SWEEPS_OF_STARTS + 20] * 2


def test_reading_a_release_shows_its_progress(release, monkeypatch):
    monkeypatch.setattr(hmm_run, "bar", Told)
    monkeypatch.setattr(hmm_run, "_run_chain", lambda *_: interrupt())  # the rest is not looked at
    Told.bars.clear()
    with pytest.raises(KeyboardInterrupt):
        cell_posterior(release)
    assert [bar.show for bar in Told.bars] == [True]
