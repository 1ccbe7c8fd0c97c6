"""A release with every hash recomputed is found out: the ledger keeps what it paid for, byte for byte."""

import hashlib
import json
from dataclasses import replace

import pandas as pd
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.ledger import Ledger, TamperedError
from discreet.line.tiers import privatise_tiers
from discreet.release.folder import refuse_other_certificate
from discreet.release.json import digest, release_arguments
from discreet.release.release import BrokenRelease, Release

FRAME = pd.DataFrame({"smoker": [True, False, False] * 40})


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "budget.db", dc.ApproxDP(2, 1e-5)) as opened:
        yield opened


@pytest.fixture
def table():
    return dc.Table.open(FRAME, schema={"smoker": dc.Binary()})["smoker"]


@pytest.fixture
def saved(tmp_path, ledger, table):
    release = dc.privatise(table, dc.BetaBernoulli(1, 1), target=dc.PureDP(0.5), ledger=ledger, note="lunch")
    release.save(tmp_path / "r", draws=0)
    return tmp_path / "r"


def verified(folder):
    """Return the exit code of the command."""
    ask = ["ledger", "verify", str(folder.parent / "budget.db"), "--release", str(folder)]
    return CliRunner().invoke(app, ask).exit_code


def same(_):
    """Change nothing."""


def rewritten(folder, change, change_certificate=same):
    """Change a saved release as a forger would: all hashes are made right again."""
    record = json.loads((folder / "release.json").read_text())
    before = json.dumps(record["release"])
    change(record["release"])
    if json.dumps(record["release"]) != before:  # its own certificate, as our code would write it
        forged = Release(**release_arguments(record["release"]))
        (folder / "certificate.json").write_text(json.dumps(forged.certificate()))
    said = json.loads((folder / "certificate.json").read_text())
    change_certificate(said)
    said["release"]["sha256"] = digest(record["release"])
    (folder / "certificate.json").write_text(json.dumps(said))
    named = hashlib.sha256((folder / "certificate.json").read_bytes()).hexdigest()
    record["files"] = {"certificate.json": named}
    (folder / "release.json").write_text(json.dumps(record))


FORGERIES = {
    "value": lambda r: r["value"].update(noisy=[r["value"]["noisy"][0] + 9]),
    "promise of the value": lambda r: r["value"]["guarantee"].update(epsilon=0.01),
    "epsilon": lambda r: r["guarantee"].update(epsilon=0.01),
    "target": lambda r: r["target"].update(epsilon=0.01),
    "receipt's promise": lambda r: r["receipt"]["guarantee"].update(epsilon=0.01),
    "note": lambda r: r["receipt"].update(note="dinner"),
    "time": lambda r: r["receipt"].update(at="2001-01-01T00:00:00+00:00"),
    "created": lambda r: r.update(created="2001-01-01T00:00:00+00:00"),
    "scopes": lambda r: r["receipt"].update(scopes=["other"]),
    "position": lambda r: r["receipt"].update(position=1),
    "hash": lambda r: r["receipt"].update(hash="0" * 64),
    "previous": lambda r: r["receipt"].update(previous="1" * 64),
    "number of records": lambda r: (r.update(n=99), r["value"].update(n=99)),
    "seeded": lambda r: r.update(seeded=True),
    "theorem": lambda r: r.update(theorem="a better one"),
    "unit": lambda r: r.update(unit="patient"),
    "selection": lambda r: r.update(selection="where age > 65"),
    "prior": lambda r: r["model"].update(alpha=5),
    "version": lambda r: r.update(version="9.9"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_release_is_refused_by_its_ledger(saved, ledger, forgery):
    ledger.verify(Release.load(saved))  # control
    rewritten(saved, FORGERIES[forgery])
    forged = Release.load(saved)  # its files agree with each other
    with pytest.raises(TamperedError, match="differs"):
        ledger.verify(forged)


@pytest.mark.parametrize("forgery", ["value", "epsilon", "note"])
def test_the_command_says_so_with_code_3(saved, forgery):
    assert verified(saved) == 0  # control
    rewritten(saved, same)
    assert verified(saved) == 0  # and so is what was rewritten without a change
    rewritten(saved, FORGERIES[forgery])
    assert verified(saved) == 3


def forged_promise(said):
    said["promised"]["guarantee_words"] = "PureDP(0.01)"


CERTIFICATES = {
    "words": forged_promise,
    "odds": lambda said: said["promised"].update(odds=[]),
    "epsilon": lambda said: said["promised"].update(pure_epsilon=0.01),
    "private": lambda said: said["protected"].update(rows_per_unit=4),
    "added": lambda said: said.update(approved_by="nobody"),
    "null added": lambda said: said.update(approved_by=None),
    "true written as 1": lambda said: said.update(private=1),
    "1 written as true": lambda said: said["protected"].update(rows_per_unit=True),
    "a whole number as a double": lambda said: said["protected"].update(number_of_records=120.0),
}


@pytest.mark.parametrize("forgery", CERTIFICATES)
def test_a_certificate_of_another_promise_is_refused(saved, forgery):
    rewritten(saved, same)
    refuse_other_certificate(saved, Release.load(saved))  # control
    rewritten(saved, same, CERTIFICATES[forgery])
    with pytest.raises(BrokenRelease, match="not the certificate of this release") as refused:
        refuse_other_certificate(saved, Release.load(saved))
    worded = {"words", "odds", "epsilon", "added", "null added"}  # what a build may say in other words
    assert ("its facts are right" in str(refused.value)) == (forgery in worded)
    assert verified(saved) == 3


@pytest.mark.parametrize("change", [{"n": True}, {"rows_per_unit": True}, {"seeded": 0}, {"seeded": 1}])
def test_truths_and_numbers_are_not_each_other_in_a_record(saved, change):
    rewritten(saved, same, same)
    record = json.loads((saved / "release.json").read_text())
    record["release"].update(change)
    said = json.loads((saved / "certificate.json").read_text())
    said["release"]["sha256"] = digest(record["release"])
    (saved / "certificate.json").write_text(json.dumps(said))
    record["files"] = {
        "certificate.json": hashlib.sha256((saved / "certificate.json").read_bytes()).hexdigest()
    }
    (saved / "release.json").write_text(json.dumps(record))
    with pytest.raises(BrokenRelease, match="of another type than save writes"):
        Release.load(saved)


SPELLINGS = {
    "a number in quotes": lambda r: r["guarantee"].update(epsilon="0.5"),
    "1 written as true": lambda r: r["model"].update(alpha=True),
    "1 written as 1.0": lambda r: r["model"].update(alpha=1.0),
    "a noisy number in quotes": lambda r: r["value"].update(noisy=[str(r["value"]["noisy"][0])]),
    "a default left out": lambda r: r["model"].pop("grid"),
    "a replay left out": lambda r: r["receipt"].pop("replay"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_record_that_only_we_would_read_as_the_release_is_refused(saved, ledger, spelling):
    rewritten(saved, SPELLINGS[spelling])
    ledger.verify(Release.load(saved))  # to us it is the same
    assert verified(saved) == 3


def test_receipts_are_compared_in_every_field(ledger):
    receipt = ledger.charge(dc.PureDP(0.25), note="lunch")
    ledger.verify(receipt)
    for change in (
        {"note": "dinner"},
        {"at": "2001-01-01T00:00:00+00:00"},
        {"guarantee": {**receipt.guarantee, "epsilon": 0.01}},
        {"scopes": ("other",)},
        {"position": 9},
        {"previous": "1" * 64},
        {"hash": "0" * 64},
        {"computed": True},
    ):
        with pytest.raises(TamperedError, match=f"{next(iter(change))} differs"):
            ledger.verify(replace(receipt, **change))


def test_each_audience_of_a_tiered_release_is_held_to_its_own(ledger, table, tmp_path):
    targets = {"team": dc.ApproxDP(0.5, 1e-7), "all": dc.ApproxDP(0.1, 1e-7)}
    made = privatise_tiers(table, dc.BetaBernoulli(1, 1), targets=targets, ledger=ledger)
    ledger.verify(*made.values())
    with pytest.raises(TamperedError, match="value differs"):
        ledger.verify(replace(made["all"], value=made["team"].value))
    ledger.export(tmp_path / "history.json")
    noisy = str(made["team"].value.noisy[0])
    assert noisy not in json.dumps(json.loads((tmp_path / "history.json").read_text())["entries"])


def test_a_release_that_the_ledger_did_not_keep_is_not_vouched_for(ledger, saved):
    other = ledger.charge(dc.PureDP(0.25))
    ledger.mark_computed(other.id)
    release = Release.load(saved)
    with pytest.raises(TamperedError, match="cannot be proved"):
        ledger.verify(replace(release, receipt=ledger.receipt(other.id)))


TWICE = {
    "release.json": ('"epsilon":', '"epsilon": 0.0001, "epsilon":'),
    "certificate.json": ('"guarantee_words":', '"guarantee_words": "PureDP(0.0001)", "guarantee_words":'),
}


@pytest.mark.parametrize("name", TWICE)
def test_a_name_that_is_there_twice_is_refused(saved, name):
    """A person reads the first one and a program takes the last, so that all hashes agree."""
    before = (saved / name).read_text()
    (saved / name).write_text(before.replace(*TWICE[name], 1))
    assert (saved / name).read_text() != before
    record, named = saved / "release.json", (saved / "certificate.json").read_bytes()
    files = json.loads(record.read_text())["files"]
    record.write_text(
        record.read_text().replace(files["certificate.json"], hashlib.sha256(named).hexdigest())
    )
    assert verified(saved) == 3


def test_nothing_is_added_beside_the_release(saved):
    record = json.loads((saved / "release.json").read_text())
    (saved / "release.json").write_text(json.dumps(record))
    assert verified(saved) == 0  # control
    (saved / "release.json").write_text(json.dumps({**record, "approved": "by nobody"}))
    assert verified(saved) == 3


def test_what_a_learner_released_is_held_to_its_ledger(ledger):
    rows = [[0.1, 0.9], [0.4, 0.2], [0.8, 0.3]]
    scaler = dc.learn.StandardScaler(bounds=(0, 1), epsilon=0.5, delta=0, ledger=ledger).fit(rows)
    found = scaler.release_
    ledger.verify(found)
    first, *rest = found.released
    for change in ({"released": ((first[0] + 1,), *rest)}, {"n": 4}, {"seeded": True}):
        with pytest.raises(TamperedError, match="not the release that charge"):
            ledger.verify(replace(found, **change))
    with pytest.raises(ValueError, match="another promise"):
        replace(found, guarantee=dc.PureDP(0.01))
