"""The case study: the log it ships with, the log it finds, and everything that it writes."""

import csv
import hashlib
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.datasets import event_log
from discreet.datasets.event_log import CHAIN, FEATURES, FILE, GOVERNORATES, MONTHS, STEP, synthetic
from discreet.experiments.hidden_markov import held_out as hmm_held_out
from discreet.experiments.hidden_markov import states as hmm_states
from discreet.experiments.hidden_markov.held_out import CellSplit, model_of
from discreet.experiments.registry import EXPERIMENTS
from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.posteriors.hidden_markov.fit import fit
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource
from discreet.statistics.bounded_statistic import bounded
from discreet.tables.schema import Categories, Count


@pytest.fixture(scope="module")
def log():
    return synthetic()


def test_the_synthetic_log_has_the_conflict_events_shape_and_is_always_the_same(log):
    assert log.sizes == {
        "region": 14,
        "t": 120,
        "type": 3,
        "deaths_bin": 5,
        "estimate": 2,
        "side_a": 4,
        "side_b": 5,
    }
    assert not log.real
    assert 60_000 < len(log) < 70_000  # 64 790 conflict events
    counts = log.counts()
    assert counts.shape == (14 * 120 * 19,)
    digest = hashlib.sha256(counts.astype("<i8").tobytes()).hexdigest()
    assert digest == DIGEST
    assert not np.array_equal(counts, synthetic(seed=1).counts())


DIGEST = "b2d3967f9d061dd5c4ba148593f3ad6e80f3b2c1a22390bbe66406a9e1a5ec5e"


def test_rows_follow_their_phase_tables(log):
    """Frequencies within 5 standard errors (76 of them: false alarm 5e-5); not of the next phase's table."""
    phase = log.phases[log.codes[CHAIN], log.codes[STEP]]
    far = 0
    for name, tables in event_log.EVENTS.items():
        for k, law in enumerate(np.array(tables)):
            seen = np.bincount(log.codes[name][phase == k], minlength=len(law))
            error = np.sqrt(seen.sum() * law * (1 - law))
            assert (np.abs(seen - seen.sum() * law) < 5 * error + 1e-9).all()
            other = np.array(tables)[(k + 1) % 4]
            far += (np.abs(seen - seen.sum() * other) > 5 * error).any()
    assert far == 20


def test_its_counts_are_what_the_library_counts(tmp_path):
    small = synthetic(share=0.01)
    path = tmp_path / "log.parquet"
    pd.DataFrame(small.columns()).to_parquet(path)
    schema = {
        name: Categories(list(small.levels[name]), unknown=small.levels[name][0])
        for name in (CHAIN, *FEATURES)
    }
    table = dc.Table.open(str(path), schema=schema | {STEP: Count(MONTHS - 1)}, n=len(small))
    assert np.array_equal(bounded(table, model_of(small, 3)).read().values, small.counts())


def test_real_events_are_read_only_where_the_variable_says(tmp_path, monkeypatch):
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    assert not event_log.available().real
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    assert not event_log.available().real  # the folder does not have them
    rows = {name: list(levels[-2:]) for name, levels in FEATURES.items()}
    pd.DataFrame(rows | {CHAIN: GOVERNORATES[:2], STEP: [7, 119]}).to_parquet(tmp_path / FILE)
    found = event_log.available()
    assert found.real
    assert "UCDP" in found.origin
    assert found.codes[CHAIN].tolist() == [0, 1]
    assert found.codes[STEP].tolist() == [7, 119]
    assert all(found.codes[name].tolist() == [len(v) - 2, len(v) - 1] for name, v in FEATURES.items())
    assert "Aleppo" not in repr(found)


def test_a_split_holds_out_a_tenth_of_the_cells_with_all_their_records(log):
    one, other = CellSplit.of(log, 0, 0), CellSplit.of(log, 1, 0)
    assert one.missing.shape == (14, 120)
    assert one.missing.sum() == 168
    gone = one.missing.reshape(-1)
    model = model_of(log, 2)
    train, test, whole = (model.by_cell(x).sum(axis=1) for x in (one.train, one.test, log.counts()))
    assert np.array_equal(train, np.where(gone, 0, whole))
    assert np.array_equal(test, np.where(gone, whole, 0))
    assert np.array_equal(one.train + one.test, log.counts())
    assert (one.records, one.held_out) == (len(log) - one.held_out, test.sum() // 5)  # five features
    assert not np.array_equal(one.missing, other.missing)
    assert np.array_equal(one.missing, CellSplit.of(log, 0, 0).missing)


def test_cells_are_held_out_uniformly(log):
    """Of 400 splits every region is held out 40·12 times, ± 5 standard errors (14 of them: 1e-5)."""
    held = sum(CellSplit.of(synthetic(share=0.001), index, 0).missing.sum(axis=1) for index in range(400))
    assert (np.abs(held - 400 * 12) < 5 * np.sqrt(400 * 120 * 0.1 * 0.9)).all()


@pytest.mark.parametrize("method", ["exact", "naive"])
def test_no_fit_reads_a_cell_that_is_held_out(log, method):
    """Records put back into those cells change nothing; with others held out the fit is another."""
    split, model = CellSplit.of(log, 0, 0), model_of(log, 2)
    few = replace(hmm_held_out.QUICK, chains=1, burn=0, sweeps=4)  # equal or not: nothing is estimated

    def fitted(given):
        return hmm_held_out.METHODS[method](
            given, model, 1.0, few, hmm_held_out._source(0, 0, 2, method, 1.0)
        )

    found = fitted(split)
    assert np.array_equal(found.missing, split.missing.reshape(-1))
    assert np.array_equal(fitted(replace(split, train=log.counts(), records=len(log))).theta, found.theta)
    assert not np.array_equal(fitted(CellSplit.of(log, 1, 0)).theta, found.theta)


def test_the_final_sample_of_ops_is_read_and_the_cells_held_out_have_no_records(log):
    split, model = CellSplit.of(log, 0, 0), model_of(log, 1)
    found = hmm_held_out.ops(split, model, 1.0, hmm_held_out.QUICK, SeededSource(1))
    assert found.z.shape == (1, 1, 14 * 120)
    assert np.array_equal(found.missing, split.missing.reshape(-1))
    assert not model.by_cell(split.train)[found.missing].any()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("hmm")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DISCREET_DATA", raising=False)
        paths = EXPERIMENTS["hmm"](out, 0, quick=True)
    return {path.name: path for path in paths}


def numbers(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_quick_run_writes_pictures_numbers_and_which_log_it_read(written):
    pictures = [path for name, path in written.items() if name.endswith(".png")]
    assert len(pictures) == 3
    assert all(path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000 for path in pictures)
    said = written["hmm.txt"].read_text(encoding="utf-8")
    assert "synthetic" in said
    assert "made up" in said
    assert said.count("least agreement") == 6  # 2 numbers of states × 3 ways of several chains
    assert said.count("agreement unknown") == 2  # OPS has one chain


def test_held_out_rows_compare_every_method_and_show_disagreement(written):
    rows = numbers(written["hmm-held-out.csv"])
    found = {(int(r["states"]), r["method"]): r for r in rows}
    assert len(found) == len(rows) == 8
    score = {key: float(r["log_likelihood_per_record"]) for key, r in found.items()}
    assert score[10, "exact"] > score[10, "noise_aware"] > score[10, "naive"]  # by .03 and more at ε = 1
    assert score[10, "exact"] > score[1, "exact"] + 0.5  # states are worth having
    assert {r["cells_held_out"] for r in rows} == {"168"}
    assert len({r["records_held_out"] for r in rows}) == 1  # one split, the same for all
    for r in rows:
        assert float(r["lowest_chain"]) <= float(r["log_likelihood_per_record"]) <= float(r["highest_chain"])
        agreement = float(r["least_agreement"])
        assert math.isnan(agreement) if r["chains"] == "1" else 0 < agreement <= 1


def test_states_and_tables_are_written_by_chain(written):
    tables = numbers(written["hmm-emissions.csv"])
    assert len(tables) == 19 * (2 + 3) * (2 + 2 + 2 + 1)  # values × states × chains of the four methods
    sums = {}
    for r in tables:
        key = (r["states"], r["method"], r["chain"], r["state"], r["feature"])
        sums[key] = sums.get(key, 0) + float(r["mean"])
    assert np.allclose(list(sums.values()), 1, atol=1e-6)
    places = numbers(written["hmm-states.csv"])
    assert len(places) == 14 * 120 * 2 * 4
    assert {r["chains_that_say_otherwise"] for r in places} <= {"0", "1"}


def test_four_states_find_the_phases_that_made_the_log(log):
    """Of cells with more than 40 records 9 in 10 are named right at ε = 5; of shuffled ones fewer than 7."""
    model = model_of(log, 4)
    release = NoisyCounts.calibrate(model, n=len(log), target=PureDP(5)).release(
        log.counts(), SeededSource(1)
    )
    found = fit(
        release, model, reading="naive", chains=1, burn=20, sweeps=20, source=SeededSource(2), progress=False
    )
    busy = log.counts()[: 14 * 120 * 3].reshape(14, 120, 3).sum(axis=2) > 40
    path = found.paths()[0][busy]
    table = hmm_states.confusion(path, log.phases[busy], 4)
    right = table[np.arange(4), hmm_states.relabelling(table)].sum() / path.size
    assert right > 0.9
    shuffled = hmm_states.confusion(path, np.random.default_rng(0).permutation(log.phases[busy]), 4)
    assert shuffled[np.arange(4), hmm_states.relabelling(shuffled)].sum() / path.size < 0.7


def test_states_are_renamed_and_nothing_else(log):
    model = model_of(log, 3)
    found = fit(
        log.counts(),
        model,
        reading="exact",
        chains=2,
        burn=0,
        sweeps=4,
        source=SeededSource(3),
        progress=False,
    )
    path = found.paths()[found.modes[0][0]].reshape(-1)
    turned = hmm_states.renamed(found, (path + 1) % 3)
    assert np.array_equal(turned.z, (found.z + 1) % 3)
    assert np.allclose(turned.log_predictive(log.counts()), found.log_predictive(log.counts()))
    assert np.allclose(turned.transition_matrix()[:, 1, 2], found.transition_matrix()[:, 0, 1])


def test_both_readings_see_the_same_noise():
    one = hmm_held_out._source(0, 0, 10, "naive", 1.0)
    other = hmm_held_out._source(0, 0, 10, "noise_aware", 1.0)
    assert np.array_equal(one.words(4), other.words(4))
    assert not np.array_equal(hmm_held_out._source(0, 1, 10, "naive", 1.0).words(4), other.words(4))
