"""Signed certificates: an Ed25519 key [RFC 8032], what it signs, and the file beside the release.

What is signed names the charge, its receipt, the bytes that the ledger keeps of the release, and the
certificate as it lies in the folder. Needs the extra: pip install 'discreet[signing]'.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

from discreet.release.folder import CERTIFICATE, BrokenRelease
from discreet.release.receipt import Claim, canonical
from discreet.shown import address, json_text

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNATURE = "signature.json"
FORMAT = "discreet-signature/1"
BEFORE = b"discreet signed certificate 1\n"  # so that a key used elsewhere signs nothing of ours
ONLY_OWNER = 0o600


class BrokenKey(ValueError):  # noqa: N818 - what was found, in the user's words
    """A file is not a key that can be used; the message says why, and never holds the key."""


@final
@dataclass(frozen=True)
class Statement:
    """What a signature vouches for."""

    charge: str
    receipt: str  # its hash in the ledger
    release: str  # SHA-256 of the bytes that the ledger keeps
    certificate: str  # SHA-256 of certificate.json

    @classmethod
    def of(cls, folder: Path, claim: Claim) -> Self:
        """Read it off a saved release."""
        certificate = hashlib.sha256((folder / CERTIFICATE).read_bytes()).hexdigest()
        release = hashlib.sha256(claim.body).hexdigest()
        return cls(claim.receipt.id, claim.receipt.hash, release, certificate)

    @property
    def message(self) -> bytes:
        return BEFORE + canonical(asdict(self)).encode()


@final
@dataclass(frozen=True)
class Signature:
    """What a key says of a statement."""

    key: str  # SHA-256 of the public key
    signature: str  # hexadecimal


@final
@dataclass(frozen=True)
class PublicKey:
    """An Ed25519 public key: 32 bytes, hexadecimal."""

    hexadecimal: str

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(bytes.fromhex(self.hexadecimal)).hexdigest()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a public key, or the public half of a private one."""
        _needs_extra()
        from cryptography.hazmat.primitives import serialization as text  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

        body = _read(Path(path).expanduser())
        if b"PRIVATE KEY" in body:
            return cls(SigningKey.load(path).public.hexadecimal)
        try:
            key = text.load_pem_public_key(body)
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise BrokenKey(
                f"{address(path)} is not an Ed25519 key in PEM; discreet ledger key new makes one"
            )
        return cls(key.public_bytes_raw().hex())

    def verifies(self, signature: Signature, statement: Statement) -> bool:
        """Whether it is this key's signature of that statement."""
        _needs_extra()
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.hexadecimal))
            key.verify(bytes.fromhex(signature.signature), statement.message)
        except (InvalidSignature, ValueError):
            return False
        return True


@final
class SigningKey:
    """A private key, held in a file that its owner alone can read; it is shown nowhere."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Write a new private key, and its public half beside it as FILE.pub; nothing is overwritten."""
        _needs_extra()
        from cryptography.hazmat.primitives import serialization as text  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

        key, place = Ed25519PrivateKey.generate(), Path(path).expanduser()
        body = key.private_bytes(text.Encoding.PEM, text.PrivateFormat.PKCS8, text.NoEncryption())
        half = key.public_key().public_bytes(text.Encoding.PEM, text.PublicFormat.SubjectPublicKeyInfo)
        _written(place.with_name(f"{place.name}.pub"), half, 0o644)
        _written(place, body, ONLY_OWNER)
        return cls(key)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a private key; one that others can read is refused."""
        _needs_extra()
        from cryptography.hazmat.primitives import serialization as text  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

        place = Path(path).expanduser()
        body = _read(place)
        if os.name == "posix" and stat.S_IMODE(place.stat().st_mode) & 0o077:
            raise BrokenKey(f"others can read the private key {address(place)}: chmod 600, or make a new one")
        try:
            key = text.load_pem_private_key(body, password=None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise BrokenKey(
                f"{address(place)} is not an Ed25519 private key in PEM; discreet ledger key new makes one"
            )
        return cls(key)

    @property
    def public(self) -> PublicKey:
        return PublicKey(self._key.public_key().public_bytes_raw().hex())

    def sign(self, statement: Statement) -> Signature:
        return Signature(self.public.fingerprint, self._key.sign(statement.message).hex())

    def __repr__(self) -> str:
        return f"SigningKey({self.public.fingerprint[:16]}…)"

    def __reduce__(self) -> str:
        raise TypeError("a private key is not pickled: load it from its file where it is needed")


def _needs_extra() -> None:
    if find_spec("cryptography") is None:
        raise ImportError("signatures need cryptography: pip install 'discreet[signing]'")


def _read(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise BrokenKey(f"cannot read the key {address(place)}: {why}") from None


def _written(place: Path, body: bytes, mode: int) -> None:
    """Write a file that is not there yet, which never had other rights than these."""
    try:
        file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise FileExistsError(
            f"{address(place)} exists, and a key is not overwritten: name another file"
        ) from None
    with os.fdopen(file, "wb") as opened:
        opened.write(body)
        opened.flush()
        os.fsync(opened.fileno())


def written_beside(folder: Path, signatures: Sequence[Signature]) -> Path:
    """Put the signatures beside the certificate, whole or not at all."""
    document = {"format": FORMAT, "signatures": [asdict(signature) for signature in signatures]}
    part, place = folder / f".{SIGNATURE}.{uuid.uuid4().hex}", folder / SIGNATURE
    part.write_text(json_text(document, indent=2) + "\n", encoding="utf-8")
    part.replace(place)
    return place


def read_beside(folder: Path) -> list[Signature]:
    """Read the signatures of a saved release; none where there is no file."""
    place = folder / SIGNATURE
    if not place.exists():
        return []
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
        known = {FORMAT: [Signature(**_texts(one)) for one in document["signatures"]]}
        return known[document["format"]]
    except (ValueError, TypeError, LookupError, RecursionError):
        raise BrokenRelease(f"{address(place)} is not what sign wrote") from None


def _texts(one: dict[str, Any]) -> dict[str, str]:
    if not all(isinstance(value, str) for value in one.values()):
        raise TypeError("a signature holds texts")
    return one
