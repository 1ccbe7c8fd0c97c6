"""A signature holds a certificate to its release, its charge and its key; whatever is changed is refused."""

import hashlib
import json
import os
import pickle
import shutil
import sqlite3
import stat
from dataclasses import replace

import pandas as pd
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.ledger import Ledger, LedgerError, TamperedError
from discreet.release.receipt import canonical
from discreet.release.signature import BEFORE, BrokenKey, PublicKey, SigningKey, Statement


@pytest.fixture
def book(tmp_path):
    with Ledger.open(tmp_path / "budget.db", dc.PureDP(2)) as opened:
        yield opened


@pytest.fixture
def release(book):
    table = dc.Table.open(pd.DataFrame({"smoker": [True, False, False] * 40}), schema={"smoker": dc.Binary()})
    return dc.privatise(table["smoker"], dc.BetaBernoulli(1, 1), target=dc.PureDP(0.5), ledger=book)


@pytest.fixture
def saved(tmp_path, release):
    release.save(tmp_path / "r", draws=0)
    return tmp_path / "r"


@pytest.fixture
def key(tmp_path, book):
    made = SigningKey.create(tmp_path / "officer.pem")
    book.add_key(made.public, "Zoë")
    return made


@pytest.fixture
def signed(book, saved, release, key):
    book.sign(saved, release, key)
    return saved


def signature(folder):
    return json.loads((folder / "signature.json").read_text())


def test_a_signed_release_is_proved_with_the_library_of_others(book, saved, release, key, tmp_path):
    assert book.signers(saved, release) == ()
    book.sign(saved, release, key)
    assert [signer.name for signer in book.signers(saved, release)] == ["Zoë"]
    book.verify(release)
    # by hand: RFC 8032 over the four digests, with the public key as the ledger has it
    (one,) = signature(saved)["signatures"]
    public = ed25519.Ed25519PublicKey.from_public_bytes(
        bytes.fromhex(book.signing_keys()[0].public.hexadecimal)
    )
    certificate = hashlib.sha256((saved / "certificate.json").read_bytes()).hexdigest()
    said = {
        "charge": release.receipt.id,
        "receipt": release.receipt.hash,
        "release": hashlib.sha256(book.released(release.receipt.id)[""]).hexdigest(),
        "certificate": certificate,
    }
    public.verify(bytes.fromhex(one["signature"]), BEFORE + canonical(said).encode())
    assert (
        PublicKey.load(tmp_path / "officer.pem.pub") == PublicKey.load(tmp_path / "officer.pem") == key.public
    )
    entries = len(book.history())
    book.sign(saved, release, key)  # again: the same bytes, and nothing more on record
    assert len(book.history()) == entries
    assert signature(saved)["signatures"] == [one]


def test_the_private_half_is_for_its_owner_alone(tmp_path, key):
    path = tmp_path / "officer.pem"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    secret = path.read_text().splitlines()[1]
    assert secret not in repr(key)
    assert secret not in (tmp_path / "officer.pem.pub").read_text()
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(key)
    with pytest.raises(FileExistsError, match="not overwritten"):
        SigningKey.create(path)
    path.chmod(0o640)
    with pytest.raises(BrokenKey, match="others can read"):
        SigningKey.load(path)
    path.chmod(0o600)
    path.write_text("-----BEGIN PRIVATE KEY-----\nsecretsecret\n-----END PRIVATE KEY-----\n")
    for load in (SigningKey.load, PublicKey.load):
        with pytest.raises(BrokenKey) as refused:
            load(path)
        assert "secretsecret" not in str(refused.value)
    with pytest.raises(BrokenKey, match="no such file"):
        SigningKey.load(tmp_path / "other.pem")
    made = SigningKey.create(tmp_path / "another.pem")
    mask = os.umask(0)
    try:
        SigningKey.create(tmp_path / "open.pem")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "open.pem").stat().st_mode) == 0o600
    assert made.public != key.public


def changed_certificate(saved):
    path = saved / "certificate.json"
    path.write_text(path.read_text() + " ")


def another_signature(saved):
    held = signature(saved)
    flipped = held["signatures"][0]["signature"]
    held["signatures"][0]["signature"] = ("0" if flipped[0] != "0" else "1") + flipped[1:]
    (saved / "signature.json").write_text(json.dumps(held))


def another_key(saved):
    held = signature(saved)
    stranger = ed25519.Ed25519PrivateKey.generate()
    public = stranger.public_key().public_bytes_raw()
    held["signatures"][0]["key"] = hashlib.sha256(public).hexdigest()
    (saved / "signature.json").write_text(json.dumps(held))


def taken_out(saved):
    (saved / "signature.json").unlink()


def no_signature(saved):
    (saved / "signature.json").write_text('{"format": "discreet-signature/1", "signatures": []}')


@pytest.mark.parametrize(
    ("attack", "words"),
    [
        (changed_certificate, "is not of this certificate"),
        (another_signature, "is not of this certificate"),
        (another_key, "does not know"),
        (taken_out, "signed this release, and the signature is not beside it"),
        (no_signature, "signed this release, and the signature is not beside it"),
    ],
)
def test_what_was_changed_is_refused(book, signed, release, attack, words):
    saved = signed
    book.signers(saved, release)
    attack(saved)
    with pytest.raises(TamperedError, match=words):
        book.signers(saved, release)


NUMBERS = '{"format": "discreet-signature/1", "signatures": [{"key": 1, "signature": "a"}]}'


@pytest.mark.parametrize("text", ["[]", "{", '{"format": 1, "signatures": []}', NUMBERS])
def test_a_file_that_sign_did_not_write_is_refused(book, saved, release, text):
    (saved / "signature.json").write_text(text)
    with pytest.raises(dc.BrokenRelease, match="is not what sign wrote"):
        book.signers(saved, release)


def test_a_signature_of_one_release_is_none_of_another(book, saved, release, key, tmp_path):
    book.sign(saved, release, key)
    table = dc.Table.open(pd.DataFrame({"smoker": [True] * 60}), schema={"smoker": dc.Binary()})["smoker"]
    other = dc.privatise(table, dc.BetaBernoulli(1, 1), target=dc.PureDP(0.5), ledger=book)
    other.save(tmp_path / "o", draws=0)
    shutil.copy(saved / "signature.json", tmp_path / "o" / "signature.json")
    with pytest.raises(TamperedError, match="is not of this certificate"):
        book.signers(tmp_path / "o", other)
    forged = replace(other, receipt=replace(other.receipt, note="another"))
    with pytest.raises(TamperedError):
        book.sign(tmp_path / "o", forged, key)  # nobody signs what the ledger does not hold


def test_a_signature_made_outside_the_ledger_does_not_count(book, saved, release, key):
    """With a valid key, but never put on record: as of a key that was retired, and dated back."""
    made = key.sign(Statement.of(saved, release))
    held = {"format": "discreet-signature/1", "signatures": [{"key": made.key, "signature": made.signature}]}
    (saved / "signature.json").write_text(json.dumps(held))
    with pytest.raises(TamperedError, match="no record that Zoë signed"):
        book.signers(saved, release)


def test_keys_are_rotated_and_revoked(book, saved, release, key, tmp_path):
    stranger = SigningKey.create(tmp_path / "new.pem")
    with pytest.raises(LedgerError, match="does not know the key"):
        book.sign(saved, release, stranger)
    book.sign(saved, release, key)
    with pytest.raises(LedgerError, match="takes a reason"):
        book.retire_key(key.public.fingerprint, " ")
    book.retire_key(key.public.fingerprint[:16], "a new one each year")
    book.add_key(stranger.public, "Zoë")
    assert [k.state for k in book.signers(saved, release)] == ["retired"]  # it was valid when it signed
    (saved / "signature.json").unlink()
    book.sign(saved, release, stranger)  # writes both that are on record
    assert [k.state for k in book.signers(saved, release)] == ["retired", "signs"]
    with pytest.raises(LedgerError, match="retired already"):
        book.retire_key(key.public.fingerprint, "again")
    with pytest.raises(LedgerError, match="already"):
        book.add_key(key.public, "Zoë")
    release.save(tmp_path / "copy", draws=0)
    book.retire_key(key.public.fingerprint, "it was stolen in spring", revoked=True)
    with pytest.raises(TamperedError, match="was revoked"):
        book.signers(saved, release)
    book.verify(release)


def test_a_retired_key_signs_no_more(book, saved, release, key):
    book.retire_key(key.public.fingerprint, "lost")
    with pytest.raises(LedgerError, match="is retired and signs no more"):
        book.sign(saved, release, key)
    for short in ("", "abc"):
        with pytest.raises(LedgerError, match="there is no key"):
            book.retire_key(short, "x")


@pytest.mark.parametrize("kind", ["key", "sign", "retire"])
@pytest.mark.usefixtures("signed")
def test_keys_and_signatures_on_record_cannot_be_changed(book, key, kind, tmp_path):
    book.retire_key(key.public.fingerprint, "over")
    book.close()
    with sqlite3.connect(tmp_path / "budget.db") as base:
        base.execute("DROP TRIGGER discreet_entries_update")
        base.execute("UPDATE discreet_entries SET body = replace(body, 'a', 'b') WHERE kind = ?", (kind,))
    base.close()
    with pytest.raises(TamperedError):
        book.verify()


def test_a_crash_between_record_and_file_loses_nothing(book, saved, release, key, monkeypatch):
    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.ledger.book.written_beside", crash)
    with pytest.raises(KeyboardInterrupt):
        book.sign(saved, release, key)
    monkeypatch.undo()
    with pytest.raises(TamperedError, match="sign writes it again"):
        book.signers(saved, release)
    book.sign(saved, release, key)
    assert len(book.signers(saved, release)) == 1
    assert [entry.kind for entry in book.history()].count("sign") == 1


def test_the_command_makes_keys_signs_and_verifies(saved, tmp_path, book):
    where, path = str(tmp_path / "budget.db"), str(tmp_path / "zoe.pem")

    def run(*words):
        done = CliRunner().invoke(app, ["ledger", *map(str, words)])
        return done.exit_code, done.output

    code, said = run("key", "new", path)
    assert (code, "PRIVATE" in said) == (0, False)
    assert run("key", "add", where, f"{path}.pub", "--owner", "Zoë")[0] == 0
    assert "not signed" in run("verify", where, "--release", saved)[1]
    assert run("verify", where, "--release", saved, "--must-be-signed")[0] == 3
    assert run("sign", where, saved, "--key", path)[0] == 0
    code, said = run("verify", where, "--release", saved, "--must-be-signed")
    assert (code, "signed by Zoë" in said) == (0, True)
    told = json.loads(run("verify", where, "--release", saved, "--json")[1])
    assert told["signed_by"] == {str(saved): ["Zoë"]}
    fingerprint = json.loads(run("key", "list", where, "--json")[1])[0]["fingerprint"]
    assert "retired" in run("key", "retire", where, fingerprint[:12], "--reason", "yearly")[1]
    assert run("sign", where, saved, "--key", path)[0] == 0  # it is on record: written again
    taken_out(saved)
    assert run("verify", where, "--release", saved)[0] == 3


def test_keys_of_other_kinds_are_refused(tmp_path):
    other = rsa.generate_private_key(65537, 2048)
    path = tmp_path / "rsa.pem"
    body = other.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(body)
    path.chmod(0o600)
    with pytest.raises(BrokenKey, match="not an Ed25519 private key"):
        SigningKey.load(path)
