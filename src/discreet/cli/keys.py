"""`discreet ledger sign` and `discreet ledger key`: certificates signed with Ed25519, keys on record."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: FBT002, D301

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.ledger import ledger, opened_ledger
from discreet.cli.printed.show import dump, say, table
from discreet.cli.typed import arguments as o
from discreet.shown import address

__all__ = ["ledger"]

if TYPE_CHECKING:
    from discreet.ledger.keys import Key

keys = typer.Typer(
    name="key",
    no_args_is_help=True,
    help="""Keys of those who sign certificates: made here, their public halves on record in the ledger.

\b
Examples:
  discreet ledger key new officer.pem
  discreet ledger key add budget.db officer.pem.pub --owner 'Zoë, privacy officer'
  discreet ledger sign budget.db smokers --key officer.pem
  discreet ledger verify budget.db --release smokers
""",
)
ledger.add_typer(keys)


@ledger.command()
def sign(
    where: o.Where,
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A saved release; it is proved first.")],
    *,
    key: Annotated[Path, typer.Option(help="The file of the private key.")],
    json: o.Json = False,
) -> None:
    """Sign the certificate of a release: signature.json beside it, and on record in the ledger.

    \b
    Example:
      discreet ledger sign budget.db smokers --key officer.pem
    """
    from discreet.release.folder import (  # noqa: PLC0415 - loaded on use, not for --help
        refuse_other_certificate,
        refuse_other_record,
    )
    from discreet.release.release import Release  # noqa: PLC0415
    from discreet.release.signature import SigningKey  # noqa: PLC0415

    private, claim, opened = SigningKey.load(key), Release.load(release), opened_ledger(where)
    refuse_other_record(release, claim)
    refuse_other_certificate(release, claim)
    written = opened.sign(release, claim, private)
    if json:
        dump({"signed": str(written), "key": private.public.fingerprint})
    else:
        say(f"signed: {address(written)}, with the key {private.public.fingerprint[:16]}…")


@keys.command()
def new(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where the private key is written.")],
    json: o.Json = False,
) -> None:
    """Make a key: FILE holds the private half, for its owner's eyes only; FILE.pub the public one.

    \b
    Example:
      discreet ledger key new officer.pem
    """
    from discreet.release.signature import SigningKey  # noqa: PLC0415

    public = SigningKey.create(path).public
    if json:
        dump({"private": str(path), "public": f"{path}.pub", "fingerprint": public.fingerprint})
    else:
        say(f"wrote {address(path)} (private, mode 600: keep it) and {address(path)}.pub")
        say(f"fingerprint {public.fingerprint}")


@keys.command()
def add(
    where: o.Where,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The public key.")],
    *,
    owner: Annotated[str, typer.Option(help="Whose key it is.")],
    json: o.Json = False,
) -> None:
    """Put a public key on record: from now on its owner's signatures count.

    \b
    Example:
      discreet ledger key add budget.db officer.pem.pub --owner 'Zoë, privacy officer'
    """
    from discreet.release.signature import PublicKey  # noqa: PLC0415

    _answer([opened_ledger(where).add_key(PublicKey.load(path), owner)], json=json)


@keys.command()
def retire(
    where: o.Where,
    fingerprint: Annotated[str, typer.Argument(metavar="KEY", help="Its fingerprint, or the start of it.")],
    *,
    reason: Annotated[str, typer.Option(help="Why; stays on record.")],
    revoke: Annotated[
        bool, typer.Option("--revoke", help="What it signed before does not count either, as after a theft.")
    ] = False,
    json: o.Json = False,
) -> None:
    """Stop a key from signing. What it signed before stays valid, unless it is revoked.

    \b
    Example:
      discreet ledger key retire budget.db 3f2a91c04b77 --reason 'a new key each year'
    """
    opened = opened_ledger(where)
    opened.retire_key(fingerprint, reason, revoked=revoke)
    _answer([key for key in opened.signing_keys() if key.fingerprint.startswith(fingerprint)], json=json)


@keys.command("list")
def listed(where: o.Where, json: o.Json = False) -> None:
    """List the keys on record, oldest first.

    \b
    Example:
      discreet ledger key list budget.db
    """
    _answer(opened_ledger(where).signing_keys(), json=json)


def _answer(found: list[Key] | tuple[Key, ...], *, json: bool) -> None:
    if json:
        told = [
            {"owner": k.name, "fingerprint": k.fingerprint, "public": k.public.hexadecimal, "state": k.state}
            for k in found
        ]
        dump(told)
    else:
        rows = [[k.fingerprint[:16], k.name, k.state, k.since[:10]] for k in found]
        table(("key", "owner", "state", "since"), rows)
