"""Keys of those who sign certificates, and what they signed: on record in the chain, in that order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import final

from sqlalchemy import Connection, select

from discreet.ledger.bill import noted, shown
from discreet.ledger.reads import found
from discreet.ledger.schema import ENTRIES
from discreet.ledger.transaction import Transaction
from discreet.release.receipt import Entry, LedgerError, TamperedError
from discreet.release.signature import PublicKey, Signature, Statement


@final
@dataclass(frozen=True)
class Key:
    """A public key, whose it is, and since when it no longer signs."""

    name: str
    public: PublicKey
    since: str
    position: int
    retired: int | None = None  # the entry that ended it
    revoked: bool = False  # what it signed before does not count either

    @property
    def fingerprint(self) -> str:
        return self.public.fingerprint

    @property
    def state(self) -> str:
        return "revoked" if self.revoked else "signs" if self.retired is None else "retired"


def _of_kind(connection: Connection, kind: str) -> list[Entry]:
    query = select(ENTRIES).where(ENTRIES.c.kind == kind).order_by(ENTRIES.c.position)
    return [Entry(**row._mapping) for row in connection.execute(query)]  # noqa: SLF001


def keys(connection: Connection) -> dict[str, Key]:
    """Read all keys by fingerprint, oldest first."""
    ended = {entry.content["key"]: entry for entry in _of_kind(connection, "retire")}
    listed = {}
    for entry in _of_kind(connection, "key"):
        said, end = entry.content, ended.get(entry.id)
        public = PublicKey(str(said["public"]))
        if public.fingerprint != entry.id:
            raise TamperedError(f"entry {entry.position} names another key than it holds")
        retired = end.position if end else None
        revoked = bool(end and end.content["revoked"])
        listed[entry.id] = Key(said["owner"], public, said["at"], entry.position, retired, revoked)
    return listed


def add(book: Transaction, public: PublicKey, name: str) -> Key:
    name = shown("name of a key's owner", name)
    if not name.strip():
        raise LedgerError("say whose key it is: a name")
    known = keys(book.connection).get(public.fingerprint)
    if known is not None:
        raise LedgerError(
            f"this ledger has the key {public.fingerprint[:16]}… of {known.name} already ({known.state})"
        )
    book.append("key", public.fingerprint, scopes=[], owner=name, public=public.hexadecimal)
    return keys(book.connection)[public.fingerprint]


def retire(book: Transaction, fingerprint: str, reason: str, *, revoked: bool) -> None:
    """End a key; the reason stays on record."""
    key = _one(keys(book.connection), fingerprint)
    if not noted("reason", reason).strip():
        raise LedgerError("to retire a key takes a reason, which stays on record")
    if key.revoked or (key.retired is not None and not revoked):
        raise LedgerError(f"the key {key.fingerprint[:16]}… of {key.name} is {key.state} already")
    name = f"{key.fingerprint} {'revoked' if revoked else 'retired'}"
    book.append("retire", name, scopes=[], key=key.fingerprint, revoked=revoked, note=noted("reason", reason))


def _one(listed: dict[str, Key], fingerprint: str) -> Key:
    """Find a key by its fingerprint or a beginning of it that is long enough to be no accident."""
    fits = [key for name, key in listed.items() if len(fingerprint) >= 8 and name.startswith(fingerprint)]
    if len(fits) != 1:
        known = ", ".join(f"{name[:16]}… ({key.name})" for name, key in listed.items()) or "none"
        raise LedgerError(f"there is no key {fingerprint!r}; there are: {known}")
    return fits[0]


def record(book: Transaction, statement: Statement, signature: Signature) -> None:
    """Put a signature on record, once; the key must sign at this moment."""
    key = keys(book.connection).get(signature.key)
    if key is None:
        raise LedgerError(
            f"this ledger does not know the key {signature.key[:16]}…; discreet ledger key add puts it on "
            "record"
        )
    if not key.public.verifies(signature, statement):
        raise LedgerError(f"this is no signature of {key.name} under this certificate")
    name = _id_of(statement, signature)
    if found(book.connection, "sign", name) is not None:
        return
    if key.retired is not None:
        raise LedgerError(f"the key {key.fingerprint[:16]}… of {key.name} is {key.state} and signs no more")
    charge = found(book.connection, "charge", statement.charge)
    scopes = charge.content["scopes"] if charge else []
    book.append("sign", name, scopes=scopes, statement=asdict(statement), **asdict(signature))


def _id_of(statement: Statement, signature: Signature) -> str:
    return f"{signature.key} {statement.certificate}"


def on_record(connection: Connection, statement: Statement) -> dict[Signature, int]:
    """Return the signatures of a certificate, with their places in the chain."""
    return {
        Signature(said["key"], said["signature"]): entry.position
        for entry in _of_kind(connection, "sign")
        if (said := entry.content)["statement"] == asdict(statement)
    }


def signers(connection: Connection, statement: Statement, held: Sequence[Signature]) -> list[Key]:
    """Return who signed; raise if a signature is forged or missing, or of a key that could not sign."""
    known, recorded = keys(connection), on_record(connection, statement)
    missing = [known[one.key].name for one in recorded if one not in held and one.key in known]
    who = [_signer(one, statement, known, recorded) for one in held]
    if missing:
        raise TamperedError(
            f"{', '.join(missing)} signed this release, and the signature is not beside it: it was taken "
            "out, or the folder is an earlier copy; discreet ledger sign writes it again"
        )
    return who


def _signer(
    one: Signature, statement: Statement, known: dict[str, Key], recorded: dict[Signature, int]
) -> Key:
    key = known.get(one.key)
    if key is None:
        raise TamperedError(
            f"the release is signed by the key {one.key[:16]}…, which this ledger does not know"
        )
    if not key.public.verifies(one, statement):
        raise TamperedError(
            f"the signature of {key.name} is not of this certificate: the certificate, the release or the "
            "signature was changed since"
        )
    position = recorded.get(one)
    if position is None or (key.retired is not None and position > key.retired):
        raise TamperedError(
            f"the ledger has no record that {key.name} signed this release while the key was valid"
        )
    if key.revoked:
        raise TamperedError(
            f"the key {one.key[:16]}… of {key.name} was revoked: what it signed does not count"
        )
    return key


def in_words(who: Sequence[Key]) -> str:
    """Say who signed."""
    return "; ".join(f"signed by {key.name} (key {key.fingerprint[:16]}…, {key.state})" for key in who) or (
        "not signed"
    )
