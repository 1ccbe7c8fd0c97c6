"""What left the building: a value, what was promised for it, and where it came from. All of it is public."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

from discreet.certificate import certificate, in_words
from discreet.inference.conjugate import posterior, reading_of
from discreet.inference.inference_data import PUBLIC_SEED
from discreet.release_json import digest, release_arguments, release_to_json
from discreet.sampling.source import SeededSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.inference.draws import Draws
    from discreet.mechanisms.noisy_cells import NoisyCells
    from discreet.mechanisms.noisy_moments import NoisyMoments
    from discreet.mechanisms.noisy_release import NoisyRelease
    from discreet.mechanisms.perturbed_fit import PerturbedFit
    from discreet.privacy.guarantee import Guarantee, Relation
    from discreet.receipts import Receipt
    from discreet.report import LedgerView
    from discreet.sampling.source import Source

FORMAT = "discreet-release/1"
RECORD, CERTIFICATE, POSTERIOR, REPORT = "release.json", "certificate.json", "posterior.nc", "report.html"


class BrokenRelease(ValueError):  # noqa: N818 - what was found, in the user's words
    """A saved release is not what was written; the message says which file."""


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class Release:
    """A frozen record. Everything that is read from it is post-processing and costs nothing."""

    value: NoisyRelease | NoisyCells | PerturbedFit | NoisyMoments | Draws
    model: Any  # the prior: a Family, a CountModel or a GeneralizedLinear
    mechanism: str
    parameters: tuple[tuple[str, Any], ...]  # the knobs, as JSON values, by name
    theorem: str
    guarantee: Guarantee  # of all rows of one unit
    target: Guarantee  # what was asked for; the calibration proved it
    n: int | None  # public, or None where it is private
    unit: str | None  # the column that names the unit; None: each row is one
    rows_per_unit: int
    columns: tuple[str, ...]
    selection: str | None  # public words for filters and derived columns
    schema_hash: str
    schema_text: str = field(repr=False)  # canonical JSON
    version: str
    created: str
    receipt: Receipt
    seeded: bool  # drawn from a public seed, hence not private

    @property
    def relation(self) -> Relation:
        return self.guarantee.relation

    @property
    def schema(self) -> Any:  # noqa: ANN401 - plain JSON
        return json.loads(self.schema_text)

    def __repr__(self) -> str:
        what = f"{self.mechanism} of {', '.join(self.columns)}, {self.model!r}"
        seeded = ", SEEDED: not private" if self.seeded else ""
        return f"Release({what}, {in_words(self.guarantee)}, receipt {self.receipt.id}{seeded})"

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def posterior(self) -> Any:  # noqa: ANN401 - NoiseAware, a model's posterior, or Draws
        """The noise-aware posterior, or the draws that were released; `reading` says which. Computed once."""
        return posterior(self.value)

    @property
    def reading(self) -> str:
        """How `posterior` reads the release: noise_aware, or draws; see `read` for the others."""
        return reading_of(self.value)

    def read(
        self,
        *,
        model: Any | None = None,  # noqa: ANN401 - a prior of the same kind
        reading: str | None = None,
        **options: Any,  # noqa: ANN401 - the reading's own, such as design= or plan=
    ) -> Any:  # noqa: ANN401
        """Read again, under another prior of the same family and bounds or in another named way; free.

        reading="naive" takes the noisy statistic for the exact one, and gives a member of the family.
        """
        return posterior(self.value, model=model, reading=reading or self.reading, **options)

    def public_draws(self, size: int) -> Any:  # noqa: ANN401 - an array of θ
        """`size` draws of the posterior from a fixed seed: what is public already needs no secret bits."""
        return self.posterior.sample(size, SeededSource(PUBLIC_SEED))

    def to_inference_data(self, *, draws: int = 1000, source: Source | None = None) -> Any:  # noqa: ANN401
        """Prior and posterior as ArviZ InferenceData; needs the arviz extra."""
        from discreet.inference.inference_data import inference_data  # noqa: PLC0415 - loads arviz

        facts = {
            "discreet_version": self.version,
            "mechanism": self.mechanism,
            "guarantee": in_words(self.guarantee),
            "receipt": self.receipt.id,
            "seeded": str(self.seeded),
            "reading": self.reading,
        }
        return inference_data(self.posterior, self.model, draws=draws, source=source, facts=facts)

    def certificate(self) -> dict[str, Any]:
        """Say what is protected, promised, assumed, proved and not covered, as plain JSON."""
        return certificate(self)

    # ── files ───────────────────────────────────────────────────────────────────────────────────────

    def save(self, folder: str | Path, *, draws: int = 1000, ledger_view: LedgerView | None = None) -> Path:
        """Write a new folder, whole or not at all; draws=0 leaves posterior.nc out.

        `ledger_view`, what was spent and what remains, goes onto the report and nowhere else.
        """
        target = Path(folder)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise FileExistsError(
                f"{target} exists; a release is a record and is not overwritten: choose a new name"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        if draws:
            from discreet.inference.inference_data import available  # noqa: PLC0415 - loads arviz

            available()
        with tempfile.TemporaryDirectory(prefix=".release-", dir=target.parent) as made:
            inside = Path(made) / "whole"
            inside.mkdir()
            self._write(inside, draws, ledger_view)
            os.replace(inside, target)  # noqa: PTH105 - atomic, also over an empty folder
        return target

    def _write(self, folder: Path, draws: int, ledger_view: LedgerView | None) -> None:
        _write_json(folder / CERTIFICATE, self.certificate())
        if draws:
            _attempt(folder / POSTERIOR, lambda path: self._write_posterior(path, draws))
        _attempt(folder / REPORT, lambda path: self._write_report(path, ledger_view))
        files = {path.name: _file_digest(path) for path in sorted(folder.iterdir())}
        _write_json(folder / RECORD, {"format": FORMAT, "release": release_to_json(self), "files": files})

    def _write_posterior(self, path: Path, draws: int) -> None:
        from discreet.inference.inference_data import write  # noqa: PLC0415 - loads arviz

        write(self.to_inference_data(draws=draws), path)

    def _write_report(self, path: Path, ledger_view: LedgerView | None) -> None:
        from discreet.report import report  # noqa: PLC0415 - the report reads releases

        path.write_text(report(self, ledger_view), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a saved release and verify that its files belong together; hashes find accidents, not forgers.

        Somebody who changes every file alike is found out by the ledger alone: verify(release.receipt).
        """
        home = Path(folder)
        record = _read_json(home / RECORD)
        if record.get("format") != FORMAT:
            raise BrokenRelease(
                f"{home / RECORD} has format {record.get('format')!r}; this discreet reads {FORMAT}"
            )
        _verify(home, record)
        return cls(**release_arguments(record["release"]))


def _attempt(path: Path, write: Callable[[Path], None]) -> None:
    """Leave a file out that can be made again: a release that was paid for is not lost over a picture."""
    try:
        write(path)
    except Exception as error:  # noqa: BLE001 - nothing here is private, and the record must be written
        path.unlink(missing_ok=True)
        warnings.warn(
            f"{path.name} was left out ({type(error).__name__}: {error}); the release itself is saved",
            RuntimeWarning,
            stacklevel=5,
        )


def _verify(home: Path, record: dict[str, Any]) -> None:
    if CERTIFICATE not in record["files"]:
        raise BrokenRelease(f"{home / RECORD} names no certificate")
    for name, wanted in record["files"].items():
        path = home / Path(name).name
        if not path.exists():
            raise BrokenRelease(f"{path} is missing")
        if _file_digest(path) != wanted:
            raise BrokenRelease(f"{path} was changed since it was saved: its hash is not the recorded one")
    if _read_json(home / CERTIFICATE)["release"]["sha256"] != digest(record["release"]):
        raise BrokenRelease(
            f"{home / RECORD} was changed since it was saved: the certificate is of another release"
        )


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BrokenRelease(f"{path} is missing; a release is the folder that save wrote") from None
    except ValueError:
        raise BrokenRelease(f"{path} is not JSON any more") from None
    if not isinstance(read, dict):
        raise BrokenRelease(f"{path} is not what save wrote")
    return read


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
