"""Where nothing can be written nothing is charged: every kind of bad place, for every command that pays."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from discreet.ledger import Ledger
from discreet.line import chains
from discreet.place import ROOM, new_file, new_folder
from discreet.privacy.kinds import PureDP
from discreet.release.release import Release

from .conftest import FIT

TIERS = ("tiers", *FIT[1:13], "--tier", "team=approx:0.4,1e-6", "--tier", "all=approx:0.2,1e-6")
GRAPH = 'labels = ["yes", "no"]\nedges = [["a", "b"]]\n[profiles]\na = [0.5, 0.5]\nb = [0.3, 0.7]\n'
LOCAL = (
    "local", "rows.parquet", "--column", "smoker", "--profile", "a", "--graph", "graph.toml",
    "--epsilon", "0.5", "--observations", "march", "--ledger", "local.db",
)  # fmt: skip


@pytest.fixture
def mounted(home):
    """Mount a small file system in memory; only root may."""
    made = []

    def call(name, *options):
        place = home / name
        place.mkdir(exist_ok=True)
        command = ["/bin/mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(place)]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
        if done.returncode:
            pytest.skip("mounting a file system needs root")
        made.append(place)
        return place

    yield call
    for place in reversed(made):
        subprocess.run(["/bin/umount", "-l", str(place)], check=True)  # noqa: S603


def folder_inside(home):
    (home / "r" / "x").mkdir(parents=True)


def link_to_a_folder(home):
    (home / "empty").mkdir()
    (home / "r").symlink_to("empty")


BAD = {  # what is there, and what is typed
    "a file": (lambda home, _: (home / "r").write_text("mine"), "r"),
    "a folder with something in it": (lambda home, _: folder_inside(home), "r"),
    "a link to an empty folder": (lambda home, _: link_to_a_folder(home), "r"),
    "a link to nothing": (lambda home, _: (home / "r").symlink_to("nowhere"), "r"),
    "under a file": (lambda home, _: (home / "f").write_text("mine"), "f/deep/r"),
    "a mount point": (lambda _, mounted: mounted("r", "size=16m"), "r"),
    "on a read-only system": (lambda _, mounted: mounted("m", "ro"), "m/r"),
    "on a full system": (lambda _, mounted: mounted("m", "size=64k"), "m/r"),
    "in new folders on a full system": (lambda _, mounted: mounted("m", "size=64k"), "m/deep/er/r"),
    "here": (lambda *_: None, "."),
    "a name that is too long": (lambda *_: None, "r" * 300),
}


def charges(*books):
    return [e.id for book in books for e in Ledger.open(book).history() if e.kind == "charge"]


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_place_is_refused_before_the_charge(run, home, budget, mounted, kind):
    make, out = BAD[kind]
    make(home, mounted)
    before = sorted(str(p) for p in home.rglob("*"))
    done = run(*FIT, "--out", out)
    assert done.code in {2, 3}, done.err
    assert len(done.err.strip().splitlines()) == 1
    assert charges("budget.db") == []
    assert sorted(str(p) for p in home.rglob("*")) == before  # nor is anything left behind


@pytest.mark.parametrize("kind", ["a file", "under a file", "on a full system", "a link to nothing"])
def test_tiers_refuse_it_too(run, home, mounted, kind):
    make, out = BAD[kind]
    make(home, mounted)
    assert run("ledger", "init", "budget.db", "--budget", "approx:1,1e-5").code == 0
    assert run(*TIERS, "--out", out).code in {2, 3}
    assert charges("budget.db") == []


@pytest.fixture
def graph(run, home):
    (home / "graph.toml").write_text(GRAPH)
    words = ("--budget", "pure:1", "--relation", "profile", "--graph", "graph.toml")
    assert run("ledger", "init", "local.db", *words).code == 0


@pytest.mark.parametrize(
    "out", ["nowhere/r.csv", "taken.csv", "link.parquet", "rows.parquet/r.csv", "m/r.csv"]
)
def test_observations_without_a_place_are_not_paid_for(run, home, graph, mounted, out):
    (home / "taken.csv").write_text("mine")
    (home / "link.parquet").symlink_to("nowhere")
    if out.startswith("m/"):
        mounted("m", "size=64k")
    done = run(*LOCAL, "--out", out)
    assert done.code in {2, 3}, done.out
    assert charges("local.db") == []
    assert run(*LOCAL, "--out", "fine.csv").code == 0  # and nothing else was wrong
    assert charges("local.db") == ["observations: march"]


def test_tiers_without_a_folder_is_refused(run, home, budget):
    done = run(*TIERS, "--out", "")
    assert done.code == 2
    assert not (home / "None").exists()


def test_an_empty_folder_is_taken_over_and_a_refusal_leaves_it_as_it_was(home):
    (home / "r").mkdir(mode=0o750)
    inode = (home / "r").stat().st_ino
    assert new_folder("r") == Path("r")
    assert (home / "r").stat().st_ino == inode
    assert (home / "r").stat().st_mode & 0o777 == 0o750
    assert new_folder("deep/er/r") == Path("deep/er/r")
    assert not (home / "deep").exists()


def test_a_file_into_no_folder_is_refused(home):
    with pytest.raises(FileNotFoundError, match="there is no folder nowhere"):
        new_file("nowhere/r.csv")
    assert new_file("r.csv") == Path("r.csv")
    assert not (home / "r.csv").exists()


def test_room_for_a_release_must_be_free(mounted):
    place = mounted("m", f"size={ROOM // 2}")
    with pytest.raises(OSError, match="no space left on device"):
        new_folder(place / "r")
    with pytest.raises(OSError, match="no space left on device"):
        new_file(place / "r.csv")
    assert os.listdir(place) == []  # noqa: PTH208


def test_a_chain_whose_file_cannot_be_written_is_not_paid_for(home):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        chains.writable(None, home / "nowhere" / "chain.db")


def test_the_demonstration_throws_nothing_else_away(run, home):
    (home / "out" / "demo").mkdir(parents=True)
    (home / "out" / "demo" / "thesis.tex").write_text("mine")
    assert run("demo", "--fresh").code == 2
    assert (home / "out" / "demo" / "thesis.tex").read_text() == "mine"
    (home / "taken").write_text("mine")
    assert run("demo", "--out", "taken").code == 2


# ── a disk that fills while the release is saved ────────────────────────────────────────────────────


def test_a_disk_that_fills_after_the_charge_keeps_the_record(run, home, budget, mounted, monkeypatch):
    """HDF5 ends the process where it cannot write: the record is there before, and HDF5 writes in memory."""
    place = mounted("m", "size=48k")
    monkeypatch.setattr("discreet.place.ROOM", 1)
    done = run(*FIT, "--out", "m/r", "--json")
    assert done.code == 0, done.err
    assert "posterior.nc was left out" in done.err
    assert json.loads(done.out)["files"] == ["certificate.json", "release.json"]
    assert Release.load(place / "r").receipt.id == "monday"


def full(*_):
    raise OSError(28, "No space left on device")


def test_a_record_that_cannot_be_written_is_not_lost(run, home, budget, monkeypatch):
    with monkeypatch.context() as disk:
        disk.setattr("discreet.release.folder._write_json", full)
        done = run(*FIT, "--out", "r")
    assert done.code == 3
    assert "no space left on device" in done.err
    assert "charge 'monday' is kept and its release is in the ledger" in done.err
    assert run(*FIT, "--out", "r").code == 0
    assert charges("budget.db") == ["monday"]


def test_observations_that_cannot_be_written_are_not_lost(run, home, graph, monkeypatch):
    with monkeypatch.context() as disk:
        disk.setattr("discreet.cli.local.written", full)
        done = run(*LOCAL, "--out", "r.csv")
    assert done.code == 3
    assert "run it again with --observations 'march', which pays nothing more" in done.err
    assert (run(*LOCAL, "--out", "r.csv").code, run(*LOCAL, "--out", "s.csv").code) == (0, 0)
    assert (home / "r.csv").read_bytes() == (home / "s.csv").read_bytes()
    assert charges("local.db") == ["observations: march"]


def test_an_extra_that_breaks_is_found_before_the_charge(run, home, budget, monkeypatch):
    monkeypatch.setattr("discreet.posteriors.inference_data._arviz", lambda: 1 / 0)
    assert run(*FIT, "--out", "r").code == 0
    assert sorted(p.name for p in (home / "r").iterdir()) == [
        "certificate.json", "release.json", "report.html",
    ]  # fmt: skip


# ── malformed records ───────────────────────────────────────────────────────────────────────────────


def forged(folder, change):
    """Change the record and recompute every hash, as somebody would who knows how."""
    from discreet.release.folder import _file_digest
    from discreet.release.json import digest

    record = json.loads((folder / "release.json").read_text())
    change(record["release"])
    certificate = json.loads((folder / "certificate.json").read_text())
    certificate["release"]["sha256"] = digest(record["release"])
    (folder / "certificate.json").write_text(json.dumps(certificate))
    record["files"]["certificate.json"] = _file_digest(folder / "certificate.json")
    (folder / "release.json").write_text(json.dumps(record))


@pytest.fixture
def saved(home):
    from discreet import privatise
    from discreet.families.beta_bernoulli import BetaBernoulli
    from discreet.tables.schema import Schema
    from discreet.tables.table import Table

    ledger = Ledger.open("malformed.db", PureDP(1))
    table = Table.open("rows.parquet", schema=Schema.load("schema.toml"))
    return privatise(table, BetaBernoulli(1, 3), target=PureDP(0.5), ledger=ledger).save("r", draws=0)


def test_a_malformed_record_says_what_is_wrong(run, home, saved):
    whole = {p.name: p.read_bytes() for p in saved.iterdir()}
    changes = {
        "lacks guarantee, receipt": lambda r: (r.pop("guarantee"), r.pop("receipt")),
        "value of the release is of another type": lambda r: r.update(value=3),
        "rows_per_unit of the release": lambda r: r.update(rows_per_unit="one"),
        "lacks 'noisy'": lambda r: r["value"].pop("noisy"),
        "unknown kind of released value 'magic'": lambda r: r["value"].update(kind="magic"),
        "is malformed": lambda r: r["receipt"].update(colour="red"),
    }
    for words, change in changes.items():
        forged(saved, change)
        done = run("ledger", "verify", "malformed.db", "--release", "r")
        assert done.code == 3, done.err
        assert words in done.err
        for name, content in whole.items():
            (saved / name).write_bytes(content)
    for text in ("{}", '{"format": "discreet-release/1"}', "NaN", "[" * 10**5, '{"a": 1e999}', "\udcff"):
        (saved / "release.json").write_bytes(text.encode("utf-8", "surrogateescape"))
        done = run("ledger", "verify", "malformed.db", "--release", "r")
        assert done.code == 3
        assert "release.json" in done.err
        assert "unexpected" not in done.err


@pytest.mark.parametrize("place", [new_folder, new_file])
def test_an_address_is_no_place_and_its_password_is_not_shown(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="is an address") as refused:
        place("postgresql://ann:otter-7731@host/base")
    assert "otter" not in str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("typed", [("--out", "~/r"), ("--out=~/r",)])
def test_a_tilde_is_home_where_the_shell_left_it(run, budget, home, monkeypatch, typed):
    """In quotes, and after `=`, a shell leaves it: a folder called ~ was made."""
    (home / "me").mkdir()
    monkeypatch.setenv("HOME", str(home / "me"))
    (home / "budget.db").rename(home / "me" / "budget.db")
    (home / "schema.toml").rename(home / "me" / "schema.toml")
    words = ["~/" + word if word in {"budget.db", "schema.toml"} else word for word in FIT]
    done = run(*words, *typed)
    assert done.code == 0, done.err
    assert Release.load("~/r").mechanism == "noisy_statistics"
    assert run("ledger", "verify", "~/budget.db", "--release", "~/r").code == 0
    assert run("ledger", "export", "~/budget.db", "~/history.json").code == 0
    assert sorted(path.name for path in (home / "me").iterdir()) == [
        "budget.db",
        "history.json",
        "r",
        "schema.toml",
    ]
    assert not (home / "~").exists()


def test_a_tilde_in_a_job_file_and_in_python(run, budget, home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    job = dict(zip(FIT[2::2], FIT[3::2], strict=True))
    lines = [f'{name[2:].replace("-", "_")} = "{value}"' for name, value in job.items() if name != "--column"]
    text = "\n".join([f'data = "{FIT[1]}"', 'column = ["smoker"]', 'out = "~/r"', *lines])
    (home / "job.toml").write_text(text)
    done = run("fit", "job.toml")
    assert done.code == 0, done.err
    Release.load(home / "r").save("~/s", draws=0)
    assert (home / "s" / "release.json").exists()
    assert not (home / "~").exists()
