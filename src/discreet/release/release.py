"""What left the building: a value, what was promised for it, and where it came from. All of it is public."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

from discreet.mechanisms.regression.noisy_moments import NoisyMoments
from discreet.mechanisms.regression.perturbed_fit import PerturbedFit
from discreet.mechanisms.statistics.noisy_groups import NoisyGroups
from discreet.mechanisms.statistics.noisy_plain import NoisyPlain
from discreet.mechanisms.statistics.noisy_statistic import NoisyCells, NoisyStatistic
from discreet.models.model import Model
from discreet.posteriors.inference_data import PUBLIC_SEED
from discreet.posteriors.labels import Labels
from discreet.posteriors.posterior import Posterior
from discreet.posteriors.read import Draws, ReadingOption, clips_matter, posterior, reading_of
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.release.certificate import Certificate, certificate, in_words
from discreet.release.folder import (
    BrokenRelease,
    explained,
    read_record,
    write_record,
    write_rest,
)
from discreet.release.json import canonical, release_arguments, release_to_json
from discreet.release.receipt import Receipt
from discreet.report import LedgerView
from discreet.sampling.source import SeededSource, Source
from discreet.shown import visible

if TYPE_CHECKING:
    import xarray as xr

    from discreet.encoding.encoder import Encoder


__all__ = ["BrokenRelease", "Release"]


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class Release:
    """A frozen record. Everything that is read from it is post-processing and costs nothing."""

    value: NoisyStatistic | NoisyCells | NoisyGroups | NoisyPlain | PerturbedFit | NoisyMoments | Draws
    model: Model  # the prior
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
    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads(self.schema_text)
        return schema

    def __repr__(self) -> str:
        what = f"{self.mechanism} of {', '.join(self.columns)}, {self.model!r}"
        seeded = ", SEEDED: not private" if self.seeded else ""
        return f"Release({visible(what)}, {in_words(self.guarantee)}, receipt {self.receipt.id}{seeded})"

    def _repr_html_(self) -> str:
        """Show a notebook what was promised, for what, and what the posterior says."""
        about = f"{self.mechanism} of {', '.join(self.columns)}; receipt {self.receipt.id}"
        loud = ["<p><strong>SEEDED: not private</strong></p>"] if self.seeded else []
        said = (visible(about), in_words(self.guarantee))
        return "\n".join(
            [*loud, *(f"<p>{escape(words)}</p>" for words in said), self.posterior._repr_html_()]
        )

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def posterior(self) -> Posterior:
        """The noise-aware posterior, or the draws that were released; `reading` says which. Computed once."""
        return self.read()

    @property
    def labels(self) -> Labels:
        """What columns and their levels are called, by the public schema."""
        return Labels(self.columns, self.schema, self.selection or "")

    @property
    def encoder(self) -> Encoder:
        """What encodes rows of the user's own as the private ones were, and decodes codes into labels."""
        return self.labels.encoder

    @property
    def reading(self) -> str:
        """How `posterior` reads the release: noise_aware, or draws; see `read` for the others."""
        return reading_of(self.value)

    def read(
        self,
        *,
        model: Model | None = None,
        reading: str | None = None,
        **options: ReadingOption,
    ) -> Posterior:
        """Read again, under another prior of the same family and bounds or in another named way; free.

        reading="naive" takes the noisy statistic for the exact one. clips= says whether records beyond the
        bounds were clipped, where the schema's own word is not to be taken.
        """
        chosen = reading or self.reading
        if clips_matter(self.value, chosen):
            options = {"clips": self.labels.clips, **options}
        found = posterior(self.value, model=model, reading=chosen, **options)
        return found.labelled(self.labels)

    def public_draws(self, size: int) -> xr.DataArray:
        """`size` draws of the posterior from a fixed seed: what is public already needs no secret bits."""
        return self.posterior.sample(size, SeededSource(PUBLIC_SEED))

    def to_inference_data(self, *, draws: int = 1000, source: Source | None = None) -> xr.DataTree:
        """Prior, posterior and expected records as a DataTree that ArviZ reads; needs the arviz extra."""
        from discreet.posteriors.inference_data import inference_data  # noqa: PLC0415 - loads arviz

        facts = {
            "discreet_version": self.version,
            "mechanism": self.mechanism,
            "guarantee": in_words(self.guarantee),
            "receipt": self.receipt.id,
            "seeded": str(self.seeded),
            "reading": self.reading,
        }
        return inference_data(self.posterior, draws=draws, source=source, facts=facts)

    @cached_property
    def body(self) -> bytes:
        """All of it in one text, as the ledger keeps it: `ledger.verify(release)` compares every byte."""
        return canonical(release_to_json(self)).encode()

    @classmethod
    def from_body(cls, body: bytes, model: Model | None = None) -> Self:
        """Read what the ledger keeps; a model at hand need not be built again."""
        release = cls(**release_arguments(json.loads(body), model))
        vars(release)["body"] = body  # written once, before it was recorded
        return release

    def certificate(self) -> Certificate:
        """Say what is protected, promised, assumed, proved and not covered, as plain JSON."""
        return Certificate(deepcopy(self._certificate))

    @cached_property
    def _certificate(self) -> dict[str, Any]:
        return certificate(self)

    # ── files ───────────────────────────────────────────────────────────────────────────────────────

    def save(self, folder: str | Path, *, draws: int = 1000, ledger_view: LedgerView | None = None) -> Path:
        """Write a new folder: first the record, whole or not at all, then the rest; draws=0: no posterior.nc.

        What cannot be made of the rest is left out with a warning, and the record names what is there.
        `ledger_view`, what was spent and what remains, goes onto the report and nowhere else.
        """
        if draws:
            from discreet.posteriors.inference_data import available  # noqa: PLC0415 - loads arviz

            available()
        target = write_record(self, folder)
        write_rest(self, target, draws=draws, ledger_view=ledger_view)
        return target

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a saved release and verify that its files belong together; hashes find accidents, not forgers.

        Somebody who changes every file alike is found out by the ledger alone: verify(release), and for the
        certificate too `discreet ledger verify --release`.
        """
        home = Path(folder).expanduser()
        released = read_record(home)
        with explained(home, released):
            return cls(**release_arguments(released))
