"""A release's folder: first the record, whole or not at all; then what can be made again from it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import __version__
from discreet.place import KEPT, dated
from discreet.release.json import digest
from discreet.release.receipt import canonical
from discreet.report import LedgerView
from discreet.shown import address, json_text

if TYPE_CHECKING:
    from discreet.release.release import Release


FORMAT = "discreet-release/1"
MEMBERS = ("format", "release", "files")
RECORD, CERTIFICATE, POSTERIOR, REPORT = "release.json", "certificate.json", "posterior.nc", "report.html"


class BrokenRelease(ValueError):  # noqa: N818 - what was found, in the user's words
    """A saved release is not what was written; the message says which file."""


def write_record(release: Release, folder: str | Path) -> Path:
    """Put the certificate and the record in place: the release is saved from here on. Takes no time."""
    target = Path(folder).expanduser()
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise FileExistsError(f"{address(target)} exists; {KEPT}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".release-", dir=target.parent) as made:
        inside = Path(made) / "whole"
        inside.mkdir()
        _write_json(inside / CERTIFICATE, release.certificate())
        files = {CERTIFICATE: _file_digest(inside / CERTIFICATE)}
        _write_json(inside / RECORD, {"format": FORMAT, "release": json.loads(release.body), "files": files})
        for path in (*inside.iterdir(), inside):
            dated(path, release.created)
        os.replace(inside, target)  # noqa: PTH105 - atomic, also over an empty folder
    return target


def write_rest(
    release: Release, folder: Path, *, draws: int = 1000, ledger_view: LedgerView | None = None
) -> None:
    """Add the posterior and the report, which may take long; what fails is left out, and said.

    The record names each file only once it is in place, so that whenever this ends, the folder is whole.
    """
    if draws:
        _add(folder, POSTERIOR, lambda: _posterior(release, draws), release.created)
    _add(folder, REPORT, lambda: _report(release, ledger_view), release.created)


def _posterior(release: Release, draws: int) -> bytes:
    from discreet.posteriors.inference_data import in_bytes  # noqa: PLC0415 - loads arviz

    return in_bytes(release.to_inference_data(draws=draws))


def _report(release: Release, ledger_view: LedgerView | None) -> bytes:
    from discreet.report import report  # noqa: PLC0415 - the report reads releases

    return report(release, ledger_view).encode()


def _add(folder: Path, name: str, make: Callable[[], bytes], created: str) -> None:
    """Leave a file out that can be made again: a release that was paid for is not lost over a picture."""
    try:
        with tempfile.TemporaryDirectory(prefix=".release-", dir=folder.parent) as made:
            part = Path(made) / name
            part.write_bytes(make())
            record = _read_json(folder / RECORD)
            record["files"][name] = _file_digest(part)
            _write_json(Path(made) / RECORD, record)
            for path in (part, Path(made) / RECORD):
                dated(path, created)
            os.replace(part, folder / name)  # noqa: PTH105 - each is whole or not there
            os.replace(Path(made) / RECORD, folder / RECORD)  # noqa: PTH105
            dated(folder, created)
    except Exception as error:  # noqa: BLE001 - nothing here is private, and the release is saved
        warnings.warn(
            f"{name} was left out ({type(error).__name__}: {error}); the release itself is saved",
            RuntimeWarning,
            stacklevel=4,
        )


def read_record(home: Path) -> dict[str, Any]:
    """Read the record of a folder, and verify that its files belong together."""
    record = _read_json(home / RECORD)
    if record.get("format") != FORMAT:
        raise BrokenRelease(
            f"{home / RECORD} has format {record.get('format')!r}; this discreet reads {FORMAT}"
        )
    released, files = record.get("release"), record.get("files")
    if not isinstance(released, dict) or not isinstance(files, dict) or len(record) > len(MEMBERS):
        raise BrokenRelease(f"{home / RECORD} is malformed: it holds release and files, objects, and no more")
    if CERTIFICATE not in files:
        raise BrokenRelease(f"{home / RECORD} names no certificate")
    for name, wanted in files.items():
        path = home / Path(name).name
        if not path.is_file():
            raise BrokenRelease(f"{path} is missing")
        if _file_digest(path) != wanted:
            raise BrokenRelease(f"{path} was changed since it was saved: its hash is not the recorded one")
    certified = _read_json(home / CERTIFICATE).get("release")
    if not isinstance(certified, dict) or certified.get("sha256") != digest(released):
        raise BrokenRelease(
            f"{home / RECORD} was changed since it was saved: the certificate is of another release"
        )
    return released


def refuse_other_record(home: Path, release: Release) -> None:
    """Refuse a record that reads as a release that the ledger has proved and does not say it in its words.

    "0.5" is read as 0.5, true as 1 and a default where nothing stands; other programs may read otherwise.
    """
    if canonical(_read_json(home / RECORD)["release"]).encode() != release.body:
        raise BrokenRelease(f"{home / RECORD} does not say its numbers and names as they were saved")


def refuse_other_certificate(home: Path, release: Release) -> None:
    """Refuse a certificate that says anything else than a release that the ledger has proved.

    Of a release by another version only the facts are compared: words may have changed since.
    """
    held, true = _read_json(home / CERTIFICATE), json.loads(json_text(release.certificate()))
    facts = _differing(*({name: _facts(said, name) for name in FACTS} for said in (held, true)))
    wrong = facts if release.version != __version__ else _differing(held, true)
    if wrong:
        said = f"is not the certificate of this release: {', '.join(wrong)} differs"
        words = (
            "" if facts else "; its facts are right, so that another build may have worded it: save it again"
        )
        raise BrokenRelease(f"{home / CERTIFICATE} {said}{words}")


def _differing(held: dict[str, Any], true: dict[str, Any]) -> list[str]:
    """Name what is not the same text: to Python 1 is True, and 1.0."""
    said, meant = ({name: canonical(part) for name, part in one.items()} for one in (held, true))
    return [name for name in {**meant, **said} if said.get(name) != meant.get(name)]


FACTS = {
    "private": None,
    "protected": ("unit", "relation", "rows_per_unit", "number_of_records"),
    "promised": ("guarantee", "target"),
    "mechanism": ("name", "parameters", "model"),
    "receipt": None,
    "schema": None,
    "software": None,
    "created": None,
}


def _facts(said: dict[str, Any], name: str) -> object:
    part, chosen = said.get(name), FACTS[name]
    return {key: part.get(key) for key in chosen} if chosen and isinstance(part, dict) else part


def _write_json(path: Path, value: object) -> None:
    path.write_text(json_text(value, indent=2) + "\n", encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        read = json.loads(text, parse_constant=_no_number, object_pairs_hook=_each_once)
    except FileNotFoundError:
        raise BrokenRelease(f"{address(path)} is missing; a release is the folder that save wrote") from None
    except (ValueError, RecursionError):
        raise BrokenRelease(f"{address(path)} is not JSON any more") from None
    if not isinstance(read, dict):
        raise BrokenRelease(f"{address(path)} is not what save wrote")
    return read


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not valid JSON")


def _each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that is there twice: a person reads the first, and a program takes the last."""
    read = dict(members)
    if len(read) < len(members):
        raise ValueError("a name occurs twice")
    return read


# ── malformed records ───────────────────────────────────────────────────────────────────────────────

_NAMES = ("mechanism", "theorem", "schema_hash", "version", "created")
_PARTS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("value", "model", "parameters", "guarantee", "target", "schema", "receipt"), dict),
    **dict.fromkeys(_NAMES, str),
    **dict.fromkeys(("unit", "selection"), (str, type(None))),
    "n": (int, type(None)),
    "rows_per_unit": int,
    "columns": list,
    "seeded": bool,
}


@contextmanager
def explained(home: Path, released: dict[str, Any]) -> Iterator[None]:
    """Say which part of a record cannot be read, where its hashes agree with each other."""
    said = f"{home / RECORD} is malformed: "
    missing = [name for name in _PARTS if name not in released]
    if missing:
        raise BrokenRelease(f"{said}the release lacks {', '.join(missing)}")
    wrong = [name for name, kind in _PARTS.items() if not _is(released[name], kind)]
    if wrong:
        raise BrokenRelease(f"{said}{', '.join(wrong)} of the release is of another type than save writes")
    try:
        yield
    except KeyError as error:
        problem = f"something in it lacks {error}"
    except Exception as error:  # noqa: BLE001 - whatever a constructor says of values that are public
        problem = f"{type(error).__name__}: {error}"
    else:
        return
    raise BrokenRelease(f"{said}{problem}")


def _is(value: object, kind: type | tuple[type, ...]) -> bool:
    """Whether JSON says so: to Python true is a whole number as well."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
