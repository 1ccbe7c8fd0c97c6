"""What a release says, as JSON and files: all of it post-processing of bytes that were paid for."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.catalogue import row_of
from discreet.families.family import Family, Floats
from discreet.posteriors.inference_data import PUBLIC_SEED, in_bytes
from discreet.posteriors.posterior import FamilyPosterior
from discreet.posteriors.read import DRAWN
from discreet.privacy.guarantee import Guarantee, NotProved
from discreet.privacy.trade_off import power_at_most
from discreet.release.certificate import certified_points
from discreet.release.release import Release
from discreet.report import report
from discreet.report.drawn.density import span
from discreet.sampling.source import SeededSource
from discreet.service.compute.desk import desk
from discreet.service.compute.orders import Problem, Reply
from discreet.service.compute.plans import finite
from discreet.service.compute.refusals import before_charge

LEVEL, POINTS, DRAWS, MOST = 0.9, 161, 2000, 24  # parameters that are drawn as densities
EPSILONS = tuple(float(x) for x in np.geomspace(1 / 64, 16, 41))
RATES = tuple(i / 100 for i in (*range(11), *range(15, 101, 5)))


def opened(body: bytes) -> Release:
    """Read the bytes of a release, or find it as read before."""
    found: Release = desk().releases.get(hashlib.sha256(body).hexdigest(), lambda: Release.from_body(body))
    return found


def brief(record: Mapping[str, Any]) -> dict[str, Any]:
    """Say what a release is in a few words, from its record alone."""
    receipt = record["receipt"]
    return {
        "id": receipt["id"],
        "table": receipt["about"].get("data"),
        "columns": list(record["columns"]),
        "model": receipt["about"].get("model"),
        "mechanism": record["mechanism"],
        "created": receipt["at"],
        "analyst": receipt["about"].get("actor"),
        "scopes": list(receipt["scopes"]),
        **losses(record["target"]),
    }


def losses(promise: Mapping[str, Any]) -> dict[str, Any]:
    """Take ε and δ of a promise as JSON holds it; null of another kind."""
    if promise.get("kind") not in {"PureDP", "ApproxDP"}:
        return {"epsilon": None, "delta": None}
    return {name: float(Fraction(str(promise.get(name, 0)))) for name in ("epsilon", "delta")}


def detail(body: bytes) -> Reply | Problem:
    return before_charge(lambda: Reply(_detail(opened(body))))


def _detail(release: Release) -> bytes:
    posterior, said = release.posterior, release.certificate()
    points = certified_points(release)
    found = {
        **brief(json.loads(release.body)),
        "n": release.n,
        "summary": _summary(release),
        "cautions": [*said["cautions"], *posterior.cautions],
        "reading": release.reading,
        "price": said["promised"]["guarantee_words"],
        "guarantee": said["promised"],
        "densities": _densities(release),
        "profile": profile(release.guarantee, release.target),
        "trade_off": trade_off(points),
        "can": {
            "query": True,
            "synthetic": isinstance(release.model, Family) and release.reading != DRAWN,
            "predict": not row_of(release.model).unpredicted,
        },
        "receipt": release.receipt.to_json(),
    }
    return json.dumps(finite(found), sort_keys=True, ensure_ascii=False).encode()


def profile(*promises: Guarantee) -> dict[str, list[float]]:
    """δ(ε) of what was promised, the better of the promises at each ε."""
    pure = [p.epsilon(0) for p in promises if p.epsilon(0) < math.inf]
    near = {end * (1 - 2.0**-k) for end in pure for k in range(1, 16)}  # where δ falls to 0
    found = sorted({*EPSILONS, *near, *pure})
    return {"epsilon": found, "delta": [min(p.delta(x) for p in promises) for x in found]}


def trade_off(points: list[tuple[float, float]]) -> dict[str, list[float]]:
    """How often a test between neighbours can be right, at most, for each rate of false alarms."""
    return {"false_alarms": list(RATES), "hits": [power_at_most(points, rate) for rate in RATES]}


def _summary(release: Release) -> list[dict[str, Any]]:
    posterior = release.posterior
    if release.reading == DRAWN:
        held = posterior.flat_mean()
        return [
            {"name": name, "mean": float(mean), "sd": None, "lower": None, "upper": None}
            for name, mean in zip(posterior.names, held, strict=True)
        ]
    said = posterior.summary(LEVEL)[["name", "mean", "sd", "lower", "upper"]]
    return [{**row, "name": str(row["name"])} for row in said.to_dict("records")]


def _densities(release: Release) -> list[dict[str, Any]]:
    """Curves of the first parameters: exact where there is one, else of draws."""
    posterior = release.posterior
    if release.reading == DRAWN:
        return []
    if isinstance(posterior, FamilyPosterior) and len(posterior.names) == 1:
        try:
            low, high, _ = span(posterior.prior, posterior)
            x = np.linspace(low, high, POINTS + 2)[1:-1]
            y = np.exp(np.clip(posterior.log_density(x), -700, 700))
            return [{"name": posterior.names[0], "x": x.tolist(), "y": np.ravel(y).tolist()}]
        except NotProved:
            pass
    draws = posterior.flat_sample(DRAWS, SeededSource(PUBLIC_SEED))
    return [{"name": name, **_histogram(draws[:, i])} for i, name in enumerate(posterior.names[:MOST])]


def _histogram(draws: Floats) -> dict[str, list[float]]:
    heights, ends = np.histogram(draws, bins=60, density=True)
    return {"x": ((ends[1:] + ends[:-1]) / 2).tolist(), "y": heights.tolist()}


# ── files ───────────────────────────────────────────────────────────────────────────────────────────
def certificate(body: bytes) -> Reply | Problem:
    return before_charge(
        lambda: Reply(
            json.dumps(opened(body).certificate(), sort_keys=True, ensure_ascii=False, indent=1).encode()
        )
    )


def page(body: bytes) -> Reply | Problem:
    return before_charge(lambda: Reply(report(opened(body)).encode(), "text/html"))


def inference_data(body: bytes) -> Reply | Problem:
    return before_charge(
        lambda: Reply(in_bytes(opened(body).to_inference_data(draws=1000)), "application/x-netcdf")
    )
