"""A release on the terminal: what it says, what was promised, what is left, where the files are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.catalogue import expect
from discreet.cli.printed.errors import reworded, spelled
from discreet.cli.printed.show import heading, say, table
from discreet.families.family import Family, Floats
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.grouped import Grouped
from discreet.models.model import Model
from discreet.models.plain import PlainNumbers
from discreet.posteriors.read import DRAWN, DrawnPosterior
from discreet.privacy.words import in_words
from discreet.release.certificate_text import asked_delta, losses, of_metric

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.release.release import Release


# ── How a release was read, and what the reading says against itself.
READ = {
    "noise_aware": "noise-aware: the noise is part of the model, and intervals allow for it",
    "naive": "naive: as if there were no noise, so intervals are too narrow",
    "predictive": "predictive: made for predictions; its intervals are not the weights'",
    "draws": "draws are all that was released: a further draw, or an interval, would cost again",
}


def read_as(release: Release) -> str:
    """Name the reading and, where chains ran that may disagree, whether they do."""
    said = READ.get(release.reading, release.reading)
    modes = release.posterior.modes
    if not modes:
        return said
    found = "one answer" if len(modes) == 1 else f"{len(modes)} DIFFERENT ANSWERS, and the likeliest is shown"
    return f"{said}; {sum(map(len, modes))} chains found {found}"


def cautions(release: Release) -> list[str]:
    """Repeat where intervals are not to be trusted, and what is allowed but may surprise, as typed here."""
    return [spelled(words) for words in (*release.certificate()["cautions"], *release.posterior.cautions)]


# ── release
LEVEL = 0.9
FEW = 3  # tables of shares on the terminal


def show(release: Release, ledger: Ledger, folder: Path) -> None:
    """Show what was released just now, what it cost, and what is left."""
    show_saved(release)
    say(f"paid     charge {release.receipt.id} in {', '.join(release.receipt.scopes)}")
    for scope in release.receipt.scopes:
        say(f"left     {reworded(ledger.remaining(scope).words)}")
    say(f"files    {folder}: {', '.join(sorted(p.name for p in folder.iterdir()))}")


def show_saved(release: Release) -> None:
    """Show what a release says, how it was read, and what was promised."""
    heading(f"{release.model.name} of {', '.join(release.columns)}, released by {release.mechanism}")
    if release.seeded:
        say("SEEDED: drawn from a public seed, so nothing here is private")
    rows = summary(release)
    if isinstance(release.model, CountModel):
        show_shares(rows)
    elif isinstance(release.model, PlainNumbers):
        table(
            ("", "number", f"{LEVEL:.0%} interval"),
            [
                (row["parameter"], f"{row['mean']:.6g}", "{:.6g} to {:.6g}".format(*row["interval"]))
                for row in rows
            ],
            numbers=(1,),
        )
    elif release.reading == DRAWN:
        shown = [(row["parameter"], *(f"{x:.6g}" for x in row["draws"])) for row in rows]
        table(("", *(f"draw {i + 1}" for i in range(len(rows[0]["draws"])))), shown)
    else:
        table(
            ("", "prior mean", "posterior mean", "sd", f"{LEVEL:.0%} interval"),
            [
                (
                    row["parameter"], f"{row['prior_mean']:.4g}", f"{row['mean']:.6g}", f"{row['sd']:.4g}",
                    "{:.6g} to {:.6g}".format(*row["interval"]),
                )
                for row in rows
            ],
            numbers=(1, 2, 3),
        )  # fmt: skip
    for column, level in getattr(release.posterior, "references", {}).items():
        say(f"against  {column} = {level}, which has no indicator of its own")
    say(f"read     {read_as(release)}")
    for words in cautions(release):
        say(f"caution  {words}")
    for line in promises(release):
        say(line)


def show_shares(rows: list[dict[str, Any]]) -> None:
    """Show the first shares, all of a table or none of it; the folder has the others."""
    tables = list(dict.fromkeys(row["table"] for row in rows))
    few = [row for row in rows if row["table"] in tables[:FEW]]
    table(
        ("", "given", "mean", f"{LEVEL:.0%} interval"),
        [(row["parameter"], row["given"], f"{row['mean']:.4f}", _ends(row["interval"])) for row in few],
        numbers=(2,),
    )
    if len(few) < len(rows):
        say(
            f"… and {len(rows) - len(few)} shares of {', '.join(tables[FEW:])}, in the report and with --json"
        )


def _ends(interval: list[float | None]) -> str:
    ends = [f"{end:.4f}" for end in interval if end is not None]
    return " to ".join(ends) or "not released"


def promises(release: Release) -> list[str]:
    """Say what is promised: in the words of the target, and of the certificate."""
    said = release.certificate()["promised"]
    first = asked_delta(said)
    far = " of two tables at distance 1" if of_metric(said) else ""
    numbers = [
        f"ε = {loss.words} at δ = {loss.delta:g}{far}" for loss in losses(said) if loss.delta in {0.0, first}
    ] or [f"ε = {loss.words} at δ = {loss.delta:g}{far}" for loss in losses(said)]
    return [
        f"target   {in_words(release.target)}, {release.relation.name}",
        f"promised {'; '.join(numbers) or reworded(said['guarantee_words'])}",
    ]


def summary(release: Release) -> list[dict[str, Any]]:
    """Return one row for each coordinate of θ: moments and interval, or the draws themselves."""
    if isinstance(release.model, CountModel):
        return shares(release)
    posterior = release.posterior
    if isinstance(posterior, DrawnPosterior):
        drawn = posterior.held.T.tolist()
        return [{"parameter": name, "draws": row} for name, row in zip(posterior.names, drawn, strict=True)]
    prior = before(release.model)
    return [
        {
            "parameter": row.name,
            **({} if prior is None else {"prior_mean": float(prior[i])}),
            "mean": float(row.mean),
            "sd": float(row.sd),
            "level": LEVEL,
            "interval": [float(row.lower), float(row.upper)],
        }
        for i, row in enumerate(posterior.summary(LEVEL).itertuples())
    ]


def before(model: Model) -> Floats | None:
    """Return the prior means of the coordinates of θ; None where there is no prior."""
    if isinstance(model, GeneralizedLinear):
        return np.zeros(model.dimension)
    if isinstance(model, PlainNumbers):
        return None
    if isinstance(model, Grouped):
        return np.repeat(np.ravel(model.model.in_units().mean()), model.count)
    return np.ravel(expect(Family, model).in_units().mean())


def shares(release: Release) -> list[dict[str, Any]]:
    """Return one row for each share of a model of counts: of which level, given what."""
    from discreet.report.cells import CellFindings  # noqa: PLC0415

    return [
        {
            "table": one.name,
            "parameter": f"{one.name} = {level}",
            "given": group,
            "mean": float(one.mean[g, i]),
            "level": LEVEL,
            "interval": [None if np.isnan(end) else float(end) for end in one.interval[g, i]],
        }
        for one in CellFindings.of(release).tables
        for g, group in enumerate(one.groups)
        for i, level in enumerate(one.levels)
    ]


def as_json(release: Release, ledger: Ledger, folder: Path) -> dict[str, Any]:
    left = [reworded(ledger.remaining(scope).words) for scope in release.receipt.scopes]
    return {**saved_as_json(release, folder), "remaining": left}


def saved_as_json(release: Release, folder: Path) -> dict[str, Any]:
    return {
        "release": str(folder),
        "files": sorted(p.name for p in folder.iterdir()),
        "seeded": release.seeded,
        "model": release.model.name,
        "mechanism": release.mechanism,
        "reading": release.reading,
        "read_as": read_as(release),
        "cautions": cautions(release),
        "posterior": summary(release),
        "certificate": release.certificate(),
    }
